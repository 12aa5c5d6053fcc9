"""What separates the cells of a table is found, or named."""

import pytest

from robustirl.demonstrations import TableOptions, load, load_with_note
from robustirl.demonstrations.io.separators import sniff_separator


def test_a_separator_under_which_a_header_cannot_be_read_is_not_chosen():
    assert sniff_separator('trip;"link"s', ["trip"]) == ","  # A cell may not go on after its closing quote.
    assert sniff_separator("trip;links", ["trip"]) == ";"


TRIP = {"episode": "trip", "state": "link"}


def written(folder, text, name="log.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "|")])
def test_cells_are_separated_as_they_are(tmp_path, separator, word):
    text = "trip,link,done\n7,A,0\n7,B,1\n8,A,0\n".replace(",", separator)
    path = written(tmp_path, text, "log.tsv" if separator == "\t" else "log.csv")
    found, understood = load_with_note(path, TableOptions({**TRIP, "terminated": "done"}))
    assert (found.states.tolist(), found.terminated.tolist()) == ([0, 1, 0], [True, False])
    assert f"3 rows; cells separated by {word}, episode from 'trip'" in understood


def test_a_separator_may_be_named(tmp_path, refused):
    path = written(tmp_path, "episode:state\n0:1\n0:2\n")
    with refused("has one column, 'episode:state', but episode and state need one each", "separator names it"):
        load(path)
    assert load(path, separator=":").states.tolist() == [1, 2]
    with refused("separator is '::', but one of comma, semicolon, tab, pipe, space or a single character is needed"):
        load(path, separator="::")
    with refused("--separator is ';'; correct it"):
        load_with_note(path, TableOptions(separator="semicolon", command_line=True))


def test_a_comma_in_a_cell_does_not_separate(tmp_path):
    walks = load(written(tmp_path, 'episode;state;note\n0;"2,1";a, b\n0;"0,0";c, d\n'))
    assert (walks.state_names, walks.states.tolist()) == (("0,0", "2,1"), [1, 0])


def test_decimal_commas_are_refused(tmp_path, refused):
    with refused("the column 'state' holds '1,0' in line 2", "a number with a decimal comma", "write numbers with"):
        load(written(tmp_path, "episode;state\n0;1,0\n0;2,0\n"))
    with refused("line 2 of", "has 3 columns, but the header has 2; write numbers with points, not with decimal"):
        load(written(tmp_path, "episode,state\n0,1,0\n"))
    with refused("the column 'time' holds '0,5' in line 2", "not with decimal commas"):
        load(written(tmp_path, "episode;time;state\n0;0,5;1\n"), time_step=1)
