"""Names and numbers of states: what a column may mean, alone and in a world with names."""

import pytest

from robustirl.demonstrations import Demonstrations, TableOptions, WorldNames, load_with_note, save
from robustirl.demonstrations.io.columns import as_column
from robustirl.demonstrations.io.names import Numbering, in_order, names_or_numbers

REVERSED = ("3", "2", "1", "0")
ROOMS = ("hall", "stairs", "attic")


def read(cells, **options):
    found, names = names_or_numbers(as_column(cells), lambda i: f"row {i}", Numbering("state", **options))
    return found.tolist(), names


@pytest.mark.parametrize(
    ("cells", "known", "numbers"),
    [
        (["hall", "attic"], ROOMS, [0, 2]),
        (["0", "2"], ROOMS, [0, 2]),  # Numbers, as if the world had no names.
        ([0, 2.0, None], ROOMS, [0, 2, None]),
        (["11", "12"], ("10", "11", "12"), [1, 2]),  # These can only be names.
        ([11.0, 12], ("10", "11", "12"), [1, 2]),
        (["0", "1"], ("10", "11", "12"), [0, 1]),  # And these only numbers.
        (["1", "2", "3"], ("1", "2", "3"), [0, 1, 2]),  # As numbers there would be a fourth state.
        (["0", "1", "2"], ("0", "1", "2"), [0, 1, 2]),  # Both readings agree.
        (["hall", "3"], ("3", "hall"), [1, 0]),
    ],
)
def test_a_column_of_a_world_with_names_is_read_in_the_one_way_it_can_be(cells, known, numbers):
    assert read(cells, known=known, world="house.npz")[0] == numbers


@pytest.mark.parametrize("cells", [["3", "2", "1", "0"], [3, 2], [3.0, None, 1.0], [" 3 "], ["2.0"]])
def test_a_column_that_can_be_read_in_two_ways_is_refused(cells, refused):
    with refused("in row 0", "by its name in house.npz", "give first_state=0 if", "state_names=... if it holds names"):
        read(cells, known=REVERSED, world="house.npz")
    with refused("give --first-state 0 if the column holds numbers, or --state-names FILE if it holds names."):
        read(cells, known=REVERSED, world="house.npz", command_line=True)
    by_number, names = read(cells, known=REVERSED, world="house.npz", first=0)
    by_name, given = read(cells, known=REVERSED, world="house.npz", given=REVERSED)
    assert (names, given) == (None, REVERSED)
    assert [None if a is None else a + b for a, b in zip(by_number, by_name, strict=True)] == [
        None if a is None else 3 for a in by_number
    ]


def test_what_is_no_name_of_the_world_is_named_with_its_row(refused):
    for cells in (["hall", "cellar"], ["hall", "7"], ["cellar", "hall"]):
        wrong = next(i for i, cell in enumerate(cells) if cell != "hall")
        with refused(f"{cells[wrong]!r} in row {wrong}", "not among the 3 state names in house.npz"):
            read(cells, known=ROOMS, world="house.npz")
    with refused("'north' in row 1", "not among the 1 state names given"):
        read(["east", "north"], given=["east"])


def test_names_are_not_numbered_by_guess_where_a_world_numbers_them(refused):
    assert read(["north", "east"]) == ([1, 0], ("east", "north"))
    with refused("holds names, as 'north' in row 0, but the world has no names for its states", "state_names"):
        read(["north", "east"], sort=False, world="the world")
    with refused("holds names, as 'north' in row 0, but first_state is for numbers"):
        read(["north", "east"], first=1)
    assert read(["north", "east"], first=0)[0] == [1, 0]


def test_numbers_that_are_names_may_be_spelled_as_programs_spell_numbers():
    assert read([7.0, "101", " 7 "], given=["7", "101"])[0] == [0, 1, 0]
    assert read(["7.0", "7"], given=["7", "7.0"])[0] == [1, 0]  # Two names, if both are given.
    assert in_order({"b": 1, "a": 0}) == in_order(["a", "b"]) == ("a", "b")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".jsonl"])
def test_files_of_our_own_hold_numbers_whatever_the_world_calls_its_states(tmp_path, suffix):
    save(Demonstrations.from_arrays([[3, 2, 1, 0]]), tmp_path / f"walks{suffix}")
    world = WorldNames("house.npz", REVERSED)
    found, _ = load_with_note(tmp_path / f"walks{suffix}", TableOptions(world=world))
    assert found.states.tolist() == [3, 2, 1, 0]
    (tmp_path / "log.csv").write_text("episode,state\n0,hall\n")
    found, understood = load_with_note(tmp_path / "log.csv", TableOptions(world=WorldNames("house.npz", ROOMS)))
    assert "3 states by name, as in house.npz" in understood


def test_a_spelling_that_two_names_share_is_neither(refused):
    numbering = Numbering("state", given=["1.0", "1.00", "2.0"])
    assert names_or_numbers(as_column(["1.00", "2", "1.0"]), str, numbering)[0].tolist() == [1, 2, 0]
    with refused("holds '1' in 0, which is not among the 3 state names given"):
        names_or_numbers(as_column(["1"]), str, numbering)
