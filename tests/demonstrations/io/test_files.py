"""Every format gives back what went in, and says what is wrong with what it cannot read."""

import io
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import Demonstrations, load, save
from robustirl.demonstrations.io.csv_files import require_names
from robustirl.demonstrations.io.files import _is_missing
from robustirl.demonstrations.io.npz import _some
from robustirl.demonstrations.io.separators import sniff_separator
from robustirl.demonstrations.io.versions import SCHEMA
from tests.demonstrations.strategies import demonstrations

SUFFIXES = (".npz", ".jsonl", ".csv", ".parquet")
WALKS = Demonstrations.from_arrays(
    [[3, 1, 4, 1], [5], [9, 2, 6]], [[0, 1, 0], [], [2, 2]], terminated=[True, False, False]
)


@pytest.fixture(params=SUFFIXES)
def suffix(request):
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return request.param


@given(demonstrations())
def test_every_format_gives_back_what_went_in(demos):
    with tempfile.TemporaryDirectory() as folder:
        for suffix in SUFFIXES:
            save(demos, f"{folder}/demos{suffix}")
            assert load(f"{folder}/demos{suffix}") == demos


@pytest.mark.parametrize("with_actions", [False, True])
def test_start_states_alone_remember_whether_there_were_actions(tmp_path, suffix, with_actions):
    demos = Demonstrations.from_arrays([[2], [7]], [[], []] if with_actions else None)
    save(demos, tmp_path / f"demos{suffix}")
    assert load(tmp_path / f"demos{suffix}") == demos


def test_the_largest_states_survive(tmp_path, suffix):
    demos = Demonstrations.from_arrays([[2**53 + 1, 0]], [[10**17 + 1]], terminated=True)
    save(demos, tmp_path / f"demos{suffix}")
    assert load(tmp_path / f"demos{suffix}") == demos


def test_the_same_demonstrations_give_the_same_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        save(WALKS, tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


def test_a_file_cut_off_anywhere_is_recognized(tmp_path, suffix, refused):
    whole, part = tmp_path / f"whole{suffix}", tmp_path / f"part{suffix}"
    save(WALKS, whole)
    content = whole.read_bytes()
    # The newline at the end of a text file carries nothing.
    last = len(content) - 1 - (suffix in (".jsonl", ".csv"))
    for size in {*range(0, last, max(1, last // 60)), *range(last - 12, last + 1)}:
        part.write_bytes(content[:size])
        with refused("part"):
            load(part)


def test_saving_leaves_one_file_and_replaces_it_whole(tmp_path, suffix, refused):
    path = tmp_path / f"demos{suffix}"
    save(WALKS, path)
    save(WALKS[:1], path)
    assert load(path) == WALKS[:1]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    (tmp_path / "taken.csv").mkdir()
    with refused("taken.csv", "cannot be written"):
        save(WALKS, tmp_path / "taken.csv")
    with refused("nowhere", "existing folder"):
        save(WALKS, tmp_path / "nowhere" / f"demos{suffix}")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, "taken.csv"])


def test_missing_empty_and_unknown_files_are_refused(tmp_path, suffix, refused):
    with refused("absent", "cannot be read"):
        load(tmp_path / f"absent{suffix}")
    (tmp_path / f"hollow{suffix}").write_bytes(b"")
    with refused("hollow", "is empty"):
        load(tmp_path / f"hollow{suffix}")
    with refused("there is no file or folder", ".npz, .jsonl, .csv, .parquet"):
        load(tmp_path / "demos")
    (tmp_path / "demos").write_bytes(b"1")
    for suffix in (".txt", "", ".NPZ"):
        with refused(repr(suffix), ".npz, .jsonl, .csv, .parquet"):
            load(tmp_path / f"demos{suffix}")


def test_noise_is_no_file_of_any_format(tmp_path, suffix, refused):
    path = tmp_path / f"noise{suffix}"
    path.write_bytes(np.random.default_rng(0).bytes(2000))
    with refused("noise"):
        load(path)


# CSV.


def csv_file(tmp_path, *lines, comment=None):
    path = tmp_path / "demos.csv"
    path.write_text("\n".join(([comment] if comment else []) + list(lines)) + "\n")
    return path


HEADER = "episode,step,state,action,terminated"
GOOD = ("0,0,3,1,", "0,1,4,,true", "1,0,5,,false")


def test_the_csv_file_reads_as_documented(tmp_path):
    save(WALKS[1:], tmp_path / "demos.csv")
    assert (tmp_path / "demos.csv").read_text().splitlines() == [
        "# robustirl.demonstrations schema=1 rows=4 actions=true",
        HEADER,
        "0,0,5,,false",
        "1,0,9,2,",
        "1,1,2,2,",
        "1,2,6,,false",
    ]


def test_csv_files_made_elsewhere_are_read(tmp_path):
    expected = Demonstrations.from_arrays([[3, 4], [5]], [[1], []], terminated=[True, False])
    assert load(csv_file(tmp_path, HEADER, *GOOD)) == expected
    shuffled = ("terminated,note,step,state,episode", ",x,0,3,0", "TRUE,y,1,4,0", "False,,0,5,1")
    assert load(csv_file(tmp_path, *shuffled)) == expected.without_actions()
    path = csv_file(tmp_path, HEADER, *GOOD)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load(path) == expected


def test_csv_files_written_by_hand_are_read(tmp_path):
    expected = Demonstrations.from_arrays([[3, 4, 2], [5]], [[1, 0], []], terminated=[True, False])
    spaced = ("0, 0, 3, 1, false", "0, 1, 4, 0, false", "0, 2, 2, , true", "", "1, 0, 5, , false", "", "")
    assert load(csv_file(tmp_path, HEADER.replace(",", ", "), *spaced)) == expected


@pytest.mark.parametrize(
    ("lines", "culprits"),
    [
        ((HEADER,), ["no rows"]),
        (("episode,step,link", "0,0,1"), ["'state'", "episode, step, link", 'columns={"state": ...}']),
        ((HEADER + ",state", "0,0,1,,true,1"), ["'state'", "more than once"]),
        (
            (HEADER, "0,0,3,1,", "0,1,4,,true", "1,1,5,,false"),
            ["line 4", "step 1 of episode '1'", "step 0 is due"],
        ),
        ((HEADER, "0,0,3,1,", "0,2,4,,true"), ["line 3", "step 2", "step 1 is due"]),
        ((HEADER, "0,0,3,,true", "1,0,4,,true", "0,0,4,,true"), ["line 4", "episode '0'", "step 1 is due"]),
        ((HEADER, "0,0,nan,,true"), ["line 2", "'state'", "'nan'"]),
        ((HEADER, "0,0,,,true"), ["line 2", "'state'", "empty"]),
        ((HEADER, "0,0,1.5,,true"), ["line 2", "'state'", "'1.5'"]),
        ((HEADER, "0,0,1,0,", "0,1,two,,true"), ["line 3", "'state'", "'two'"]),
        (("episode,state", "0,1", "1,1", "0,2"), ["line 4", "episode '0'", "'step'"]),
        ((HEADER, "0,0,-1,,true"), ["line 2", "'state'", "'-1'"]),
        ((HEADER, "0,0,99999999999999999999,,true"), ["line 2", "'state'", "99999999999999999999"]),
        ((HEADER, "0,0,3,1,", "0,1,4,,perhaps"), ["line 3", "'terminated'", "'perhaps'"]),
        ((HEADER, "0,0,3,,true", "1,0,4,,"), ["line 3", "'terminated'", "says nothing"]),
        ((HEADER, "0,0,3,1,", "", "0,1,4,,perhaps"), ["line 4", "'perhaps'"]),  # Blank lines are counted.
        ((HEADER, "0,0,3,1,true", "0,1,4,,true"), ["line 2", "'terminated'", "says true"]),
        ((HEADER, "0,0,3,1,", "0,1,4,2,true"), ["line 3", "'action'", "filled"]),
        ((HEADER, "0,0,3,1,", "0,1,4,,", "0,2,4,,true"), ["line 3", "'action'", "empty"]),
        ((HEADER, "0,0,3,1,", "0,1"), ["line 3", "2 columns", "5"]),
        ((HEADER, '0,0,"3,1,'), ["CSV"]),
    ],
)
def test_faults_in_csv_files_are_named(tmp_path, lines, culprits, refused):
    with refused("demos.csv", *culprits):
        load(csv_file(tmp_path, *lines))


def test_the_comment_of_a_csv_file_is_held_against_it(tmp_path, refused):
    name = "# robustirl.demonstrations"
    load(csv_file(tmp_path, HEADER, *GOOD, comment=f"{name} schema=1 rows=3 actions=true"))
    load(csv_file(tmp_path, HEADER, *GOOD, comment="# recorded on a Tuesday"))
    for comment, culprit in (
        ("schema=1 rows=4 actions=true", "says 4"),
        ("schema=1 rows=3 actions=false", "'action'"),
        ("schema=2 rows=3 actions=true", "schema 2"),
        ("schema=one", "line 1"),
    ):
        with refused(culprit):
            load(csv_file(tmp_path, HEADER, *GOOD, comment=f"{name} {comment}"))
    with refused("no column 'action'"):
        load(
            csv_file(
                tmp_path, "episode,step,state,terminated", "0,0,3,true", comment=f"{name} schema=1 rows=1 actions=true"
            )
        )


# JSON lines.


def jsonl_file(tmp_path, *lines, **header):
    path = tmp_path / "demos.jsonl"
    top = {"format": "robustirl.demonstrations", "schema": 1, "episodes": len(lines), "has_actions": True} | header
    path.write_text("\n".join([json.dumps(top), *lines]) + "\n")
    return path


EPISODE = '{"states": [0, 1], "actions": [2], "terminated": true}'


@pytest.mark.parametrize(
    ("line", "culprits"),
    [
        ('{"states": [0, 1], "actions": [2], "termin', ["line 3", "not JSON"]),
        ("[0, 1]", ["line 3", "object"]),
        ('{"states": [0, NaN], "actions": [2], "terminated": true}', ["line 3", "nan", "step 1"]),
        ('{"states": [0, -4], "actions": [2], "terminated": true}', ["line 3", "-4"]),
        ('{"states": [0, 0.5], "actions": [2], "terminated": true}', ["line 3", "float64"]),
        ('{"states": "01", "actions": [2], "terminated": true}', ["line 3"]),
        ('{"states": [0, 1], "actions": [2, 2], "terminated": true}', ["line 3", "2 states and 2 actions"]),
        ('{"states": [0, 1], "terminated": true}', ["line 3", "'actions'"]),
        ('{"states": [0, 1], "actions": [2]}', ["line 3", "'terminated'"]),
        ('{"states": [0, 1], "actions": [2], "terminated": 1}', ["line 3", "true or false"]),
        ('{"states": [], "actions": [], "terminated": true}', ["line 3"]),
        ("", ["line 3"]),
    ],
)
def test_faults_in_json_lines_are_named(tmp_path, line, culprits, refused):
    assert len(load(jsonl_file(tmp_path, EPISODE, EPISODE))) == 2
    with refused("demos.jsonl", *culprits):
        load(jsonl_file(tmp_path, EPISODE, line))


def test_the_header_of_json_lines_is_held_against_them(tmp_path, refused):
    for header, culprits in (
        ({"schema": SCHEMA + 1}, ["schema 2", "upgrade"]),
        ({"schema": "1"}, ["schema '1'"]),
        ({"schema": True}, ["schema True"]),
        ({"format": "other"}, ["line 1", "header"]),
        ({"episodes": 2}, ["1 episodes", "says 2"]),
        ({"has_actions": None}, ["line 1", "header"]),
        ({"has_actions": False}, ["line 2", "'actions'"]),
    ):
        with refused(*culprits):
            load(jsonl_file(tmp_path, EPISODE, **header))
    (tmp_path / "bare.jsonl").write_text(EPISODE + "\n")
    with refused("line 1", "has_actions"):
        load(tmp_path / "bare.jsonl")


# NumPy archives.


def npz_file(tmp_path, **changes):
    arrays = {"schema": 1, "states": [0, 1, 2], "actions": [5], "lengths": [2, 1], "terminated": [True, False]}
    path = tmp_path / "demos.npz"
    np.savez(path, **{name: np.array(value) for name, value in (arrays | changes).items() if value is not None})  # pyright: ignore[reportArgumentType]
    return path


@pytest.mark.parametrize(
    ("changes", "culprits"),
    [
        ({"states": None}, ["no array 'states'", "actions, lengths, schema, terminated"]),
        ({"state_names": ["a", "b"]}, ["state 2 occurs", "2 state names"]),
        ({"state_names": ["a", "b", "b"]}, ["state name 'b'", "more than once"]),
        ({"schema": None}, ["no array 'schema'"]),
        ({"schema": 2}, ["schema 2", "upgrade"]),
        ({"schema": [1, 1]}, ["[1, 1]"]),
        ({"schema": 1.0}, ["1.0"]),
        ({"states": [0.0, 1.0, 2.0]}, ["'states'", "float64"]),
        ({"states": [0, 1, -2]}, ["'states'", "-2"]),
        ({"states": [[0, 1, 2]]}, ["'states'", "(1, 3)"]),
        ({"lengths": [2, 2]}, ["3 states", "4"]),
        ({"lengths": [3, 0]}, ["episode 1 is empty"]),
        ({"actions": [5, 5]}, ["2 actions", "need 1"]),
        ({"terminated": [1, 0]}, ["terminated", "int64"]),
        ({"terminated": [True]}, ["terminated", "(1,)"]),
        ({"states": [{}, 1, 2]}, ["plain arrays"]),
    ],
)
def test_faults_in_numpy_archives_are_named(tmp_path, changes, culprits, refused):
    assert load(npz_file(tmp_path)) == Demonstrations.from_arrays([[0, 1], [2]], [[5], []], terminated=[True, False])
    with refused("demos.npz", *culprits):
        load(npz_file(tmp_path, **changes))


def test_a_pickle_is_never_opened(tmp_path, refused):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the pickle ran",))

    path = tmp_path / "demos.npz"
    np.savez(path, states=np.array([Trap()], dtype=object))
    with refused("demos.npz", "plain arrays"):
        load(path)
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    path.write_bytes(buffer.getvalue())
    with refused("single array"):
        load(path)


# Parquet.


def test_parquet_files_made_elsewhere_are_read_and_their_faults_named(tmp_path, refused):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "demos.parquet"

    def write(metadata=None, **changes):
        columns = {
            "state": pyarrow.array([3, 4, 5], pyarrow.int32()),
            "episode": pyarrow.array([0, 0, 1], pyarrow.uint8()),
            "step": [0, 1, 0],
            "action": [1, None, None],
            "terminated": [None, True, False],
        } | changes
        table = pyarrow.table({name: column for name, column in columns.items() if column is not None})
        parquet.write_table(table.replace_schema_metadata(metadata), path)
        return path

    expected = Demonstrations.from_arrays([[3, 4], [5]], [[1], []], terminated=[True, False])
    assert load(write()) == expected
    assert load(write(action=None)) == expected.without_actions()
    assert load(write(action=pyarrow.nulls(3))) == expected.without_actions()
    for changes, culprits in (
        ({"state": None}, ["no column 'state'"]),
        ({"state": [3, None, 5]}, ["'state'", "row 1", "empty"]),
        ({"state": [3.0, 4.0, float("nan")]}, ["'state'", "row 2", "empty"]),
        ({"state": [3.0, 4.5, 5.0]}, ["'state'", "row 1", "4.5"]),
        ({"state": [3, -4, 5]}, ["'state'", "row 1", "-4"]),
        ({"step": [0, 2, 0]}, ["row 1", "step 2", "step 1 is due"]),
        ({"episode": [0, 0, 0]}, ["row 2"]),
        ({"terminated": [None, 2, 0]}, ["'terminated'", "row 1", "2"]),
        ({"terminated": [None, True, None]}, ["'terminated'", "row 2", "says nothing"]),
        ({"action": [None, 1, None]}, ["'action'", "row 0", "empty"]),
        ({"metadata": {"robustirl.schema": "2"}}, ["schema 2", "upgrade"]),
        ({"metadata": {"robustirl.schema": "x"}}, ["schema 'x'"]),
        ({"metadata": {"robustirl.schema": "1", "robustirl.has_actions": "false"}}, ["'action'", "filled"]),
    ):
        with refused("demos.parquet", *culprits):
            load(write(**changes))
    empty = pyarrow.table({name: pyarrow.array([], pyarrow.int64()) for name in ("episode", "step", "state")})
    parquet.write_table(empty.append_column("terminated", pyarrow.array([], pyarrow.bool_())), path)
    with refused("no rows"):
        load(path)


def test_a_machine_without_pyarrow_is_told_what_to_install(tmp_path, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with refused("pyarrow", "pip install pyarrow"):
        save(WALKS, tmp_path / "demos.parquet")
    assert list(Path(tmp_path).iterdir()) == []


def test_a_name_that_cannot_be_looked_up_is_not_missing(tmp_path):
    assert _is_missing(tmp_path / "nothing")
    assert not _is_missing(tmp_path)
    assert not _is_missing(Path("a\0b"))


def test_a_separator_under_which_a_header_cannot_be_read_is_not_chosen():
    assert sniff_separator('trip;"link"s', ["trip"]) == ","  # A cell may not go on after its closing quote.
    assert sniff_separator("trip;links", ["trip"]) == ";"


def test_names_survive_and_long_versions_are_words(tmp_path, suffix, refused):
    named = Demonstrations(np.array([0, 1]), np.array([0]), np.array([2]), state_names=("A", "B"), action_names=("go",))
    save(named, tmp_path / f"named{suffix}")
    assert load(tmp_path / f"named{suffix}") == named
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(tmp_path / "named.parquet")
        for digits, said in ((18, f"schema {'1' * 18}"), (19, f"schema '{'1' * 19}'")):  # More may not be a number.
            changed = {**table.schema.metadata, b"robustirl.schema": b"1" * digits}
            parquet.write_table(table.replace_schema_metadata(changed), tmp_path / "late.parquet")
            with refused(said):
                load(tmp_path / "late.parquet")


def test_a_few_names_stand_for_many():
    assert _some("hgfedcba") == "a, b, c, d, e, f and 2 more"
    assert _some("fedcba") == "a, b, c, d, e, f"
    assert _some([]) == "nothing"


@pytest.mark.parametrize(
    "found",
    [
        ["a", "b"],
        "state_names",
        3,
        {"names": ["a"]},
        {"state_names": "ab"},
        {"state_names": ["a", 1]},
        {"state_names": ["a"], "action_names": {"a": 1}},
        {"state_names": ["a"], "others": ["b"]},
    ],
)
def test_names_beside_a_table_are_lists_of_words(found, refused):
    with refused("the names in here are", "but lists of words by state_names and action_names are needed"):
        require_names(found, "here")
    for names in ({}, {"state_names": []}, {"state_names": ["a", "b"], "action_names": ["c"]}):
        assert require_names(names, "here") is names
