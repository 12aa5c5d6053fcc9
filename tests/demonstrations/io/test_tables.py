"""Tables as people have them: other names of columns, other numbering, names, missing columns."""

import fractions
import logging

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, TableOptions, load, load_with_note, save

TRIP = {"episode": "trip", "state": "link"}


def written(folder, text, name="log.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_columns_have_the_names_they_have(tmp_path, refused):
    path = written(tmp_path, "time,trip,link\n9:00,a7,3\n9:01,a7,4\n9:00,b1,3\n")
    found, understood = load_with_note(path, TableOptions(TRIP))
    assert found == Demonstrations.from_arrays([[3, 4], [3]])
    assert understood == (
        f"{path}: 2 episodes in 3 rows; episode from 'trip', state from 'link', steps by the order of rows, no actions,"
        " ends not recorded."
    )
    with refused("no column 'route', only time, trip, link", "correct the name"):
        load(path, columns={"episode": "trip", "state": "route"})
    with refused("columns names 'reward'", "time do"):
        load(path, columns={"reward": "link"})


def test_the_log_says_what_was_understood(tmp_path, caplog):
    path = written(tmp_path, "episode,state\n0,3\n")
    with caplog.at_level(logging.INFO, logger="robustirl"):
        load(path)
    assert caplog.messages == [
        f"{path}: 1 episodes in 1 rows; steps by the order of rows, no actions, ends not recorded."
    ]


def test_numbers_and_answers_as_programs_write_them(tmp_path):
    rows = "1,1,18.0,2.0,0\n1,2,19.0,NaN,1.0\n2,1,5.0,nan,FALSE\n"
    found = load(written(tmp_path, "episode,step,state,action,terminated\n" + rows))
    assert found == Demonstrations.from_arrays([[18, 19], [5]], [[2], []], terminated=[True, False])


def test_tables_that_count_from_one(tmp_path, refused):
    path = written(tmp_path, "episode,state,action\n1,1,4\n1,36,\n")
    found, understood = load_with_note(path, TableOptions(first_state=1, first_action=1))
    assert found == Demonstrations.from_arrays([[0, 35]], [[3]])
    assert "states numbered from 1, actions numbered from 1" in understood
    with refused("holds '0' in line 2", "at least 1"):
        load(written(tmp_path, "episode,state\n1,0\n"), first_state=1)
    with refused("first_state is 2", "0 or 1"):
        load(path, first_state=2)


def test_states_by_name_keep_their_names_in_every_format(tmp_path, refused):
    path = written(tmp_path, 'episode,state,action\n0,"Hall, east",go\n0,Attic,\n')
    found, understood = load_with_note(path)
    assert (found.states.tolist(), found.state_names, found.action_names) == ([1, 0], ("Attic", "Hall, east"), ("go",))
    assert "2 states by name in alphabetical order (Attic = 0, Hall, east = 1), 1 actions by name" in understood
    for suffix in (".npz", ".jsonl", ".csv", ".parquet"):
        save(found, tmp_path / f"again{suffix}")
        assert load(tmp_path / f"again{suffix}") == found
    names = ["Cellar", "Hall, east", "Attic"]
    for given in (names, dict(zip(names, range(3), strict=True))):
        again = load(path, state_names=given, action_names=["stay", "go"])
        assert (again.states.tolist(), again.state_names) == ([1, 2], tuple(names))
        assert again.actions is not None
        assert again.actions.tolist() == [1]
    with refused("'Attic' in line 3", "not among the 1 state names"):
        load(path, state_names=["Hall, east"])
    with refused("maps names to [0, 2]", "0 to 1"):
        load(path, state_names={"Hall, east": 0, "Attic": 2})


def test_numbers_may_be_names_where_names_are_given(tmp_path):
    found = load(written(tmp_path, "episode,state\n0,101\n0,7\n"), state_names=["7", "101"])
    assert (found.states.tolist(), found.state_names) == ([1, 0], ("7", "101"))


def test_blank_lines_line_ends_and_marks_do_not_matter(tmp_path):
    expected = Demonstrations.from_arrays([[3, 4], [5]], terminated=[True, False])
    text = "episode,state,terminated\n\n0,3,\n   \n0,4,true\n,,\n1,5,false\n\n  \n"
    assert load(written(tmp_path, text)) == expected
    assert load(written(tmp_path, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())) == expected


def test_rows_in_any_order_are_put_in_order_by_their_steps(tmp_path, refused):
    text = "episode,step,state\nb,1,4\na,1,2\nb,0,3\na,0,1\n"
    assert load(written(tmp_path, text)) == Demonstrations.from_arrays([[3, 4], [1, 2]])
    with refused("line 3", "step 0 of episode 'b'", "step 1 is due"):
        load(written(tmp_path, "episode,step,state\nb,0,4\nb,0,2\n"))


def test_a_spreadsheet_may_have_quoted_the_comments(tmp_path):
    named = Demonstrations(np.array([0, 1]), None, np.array([2]), np.array([True]), state_names=("A", "B, or C"))
    path = tmp_path / "named.csv"
    save(named, path)
    lines = path.read_text().splitlines()
    assert lines[1] == '# robustirl.names {"state_names": ["A", "B, or C"]}'
    quoted = [f'"{line.replace(chr(34), chr(34) * 2)}",,,,' if line.startswith("#") else line for line in lines]
    assert load(written(tmp_path, "\n".join(quoted))) == named


@pytest.mark.usefixtures("mistyped")
def test_options_of_tables_are_refused_elsewhere(tmp_path, refused):
    save(Demonstrations.from_arrays([[0, 1]]), tmp_path / "walks.npz")
    with refused("columns is for tables", "walks.npz"):
        load(tmp_path / "walks.npz", columns=TRIP)
    with refused("first_state is for tables", "walks.npz"):
        load(tmp_path / "walks.npz", first_state=1)
    for options in ({"state_names": []}, {"time_step": 1.0}, {"action_names": np.array(["go"])}, {"separator": ";"}):
        with refused(f"{next(iter(options))} is for tables"):
            load(tmp_path / "walks.npz", **options)
    load(tmp_path / "walks.npz", first_state=0)  # Which they begin with anyway.
    options = TableOptions(first_state=1, command_line=True)
    with refused("--first-state is for tables"):
        load_with_note(tmp_path / "walks.npz", options)


@pytest.mark.parametrize(
    "numbers",
    [{"a": "0", "b": 1}, {"a": None, "b": 1}, {"a": True, "b": False}, {"a": 0.0, "b": 1.0}, {"a": 0, "b": 2}],
)
@pytest.mark.parametrize("kind", ["state", "action"])
@pytest.mark.usefixtures("mistyped")
def test_mappings_of_names_go_to_whole_numbers(numbers, kind, refused):
    rows = {"episode": [0, 0, 0], "state": ["a", "b", "a"], "action": ["a", "b", None]}
    with refused(f"{kind}_names maps names to", "each whole number from 0 to 1 is needed once"):
        Demonstrations.from_frame(rows, **{f"{kind}_names": numbers})
    found = Demonstrations.from_frame(rows, **{f"{kind}_names": {"b": np.int64(0), "a": 1}})
    assert found.names[f"{kind}_names"] == ("b", "a")


def test_no_option_is_accepted_and_ignored(tmp_path, refused):
    rows = {"episode": [0, 0], "state": [0, 1]}
    for options, culprits in (
        ({"columns": {"episode": "state"}}, ["columns takes 'state' for 'episode', but it is needed for 'state'"]),
        ({"columns": {"state": "episode"}}, ["columns takes 'episode' for 'state', but it is needed for 'episode'"]),
        ({"first_state": 1, "state_names": ["0", "1"]}, ["first_state is for states by number", "state_names"]),
        ({"first_action": 1}, ["first_action is for actions, but the frame has no column 'action'"]),
        ({"action_names": ["go"]}, ["action_names is for actions, but the frame has no column 'action'"]),
        ({"separator": ";"}, ["separator is for text tables (.csv, .tsv), but the frame is none"]),
    ):
        with refused(*culprits):
            Demonstrations.from_frame(rows, **options)
    save(Demonstrations.from_arrays([[0, 1]]), tmp_path / "walks.parquet")
    with refused("separator is for text tables", "walks.parquet is none"):
        load(tmp_path / "walks.parquet", separator=";")
    named = {"episode": [0, 0], "state": ["hall", "attic"], "action": ["go", None]}
    with refused("'action' holds names, as 'go' in row 0", "first_action is for numbers"):
        Demonstrations.from_frame(named, first_action=1)


def test_columns_may_change_places_and_a_named_one_is_read_once():
    swapped = {"episode": [4, 5], "state": [7, 7], "step": [0, 20]}
    found = Demonstrations.from_frame(
        swapped, columns={"episode": "state", "state": "episode", "time": "step"}, time_step=10
    )
    assert found.states.tolist() == [4, 4, 5]  # Times, and not steps as well.


def test_options_are_the_numbers_and_words_they_seem_to_be(refused):
    table = {"episode": [0, 0], "state": [1, 2], "time": [0, 1]}
    assert Demonstrations.from_frame(table, time_step=fractions.Fraction(1, 2)).states.tolist() == [1, 1, 2]
    with refused("state_names is array('x', dtype='<U1'), but a list of words is needed"):
        Demonstrations.from_frame(table, state_names=np.array("x"))
    with refused("first_state is True, but 0 or 1 is needed"):
        Demonstrations.from_frame(table, first_state=True)
