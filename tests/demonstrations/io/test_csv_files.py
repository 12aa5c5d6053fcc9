"""CSV files, from here and from elsewhere: what they say, and what is wrong with them."""

import pytest

from robustirl.demonstrations import Demonstrations, load, save
from robustirl.demonstrations.io.csv_files import require_names

WALKS = Demonstrations.from_arrays(
    [[3, 1, 4, 1], [5], [9, 2, 6]], [[0, 1, 0], [], [2, 2]], terminated=[True, False, False]
)


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
