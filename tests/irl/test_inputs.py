"""What users hand to `RobustIRL.fit` as demonstrations."""

import types

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, Episode, OccupancyEstimate, save
from robustirl.irl.inputs import from_episodes, require_occupancy, understand_demonstrations

WALKS = Demonstrations.from_arrays([[0, 1, 2], [0, 2]])
MOVES = Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[1, 1], [0]])


class Frame:
    """A table as pandas and polars have it: columns by name, a shape, and rows."""

    columns = ("episode", "state")
    shape = (5, 2)

    def __getitem__(self, name):
        return {"episode": [0, 0, 0, 1, 1], "state": [0, 1, 2, 0, 2]}[name]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([[0, 1, 2], [0, 2]], WALKS),
        ((np.array([0, 1, 2]), np.array([0, 2])), WALKS),
        ([([0, 1, 2], [1, 1]), ([0, 2], [0])], MOVES),
        (Frame(), WALKS),
        (np.array([[0, 1], [1, 2]]), Demonstrations.from_arrays([[0, 1], [1, 2]])),
        (list(WALKS), Demonstrations.from_arrays([[0, 1, 2], [0, 2]], terminated=False)),
    ],
)
def test_lists_arrays_and_tables_are_episodes(given, expected):
    assert understand_demonstrations(given) == expected


def test_files_are_read(tmp_path):
    save(MOVES, tmp_path / "walks.csv")
    assert understand_demonstrations(tmp_path / "walks.csv") == MOVES
    assert understand_demonstrations(str(tmp_path / "walks.csv")) == MOVES


def test_imitations_trajectories_are_read_without_imitation():
    walk = types.SimpleNamespace(obs=np.array([0, 1, 2]), acts=np.array([1, 1]), infos=None, terminal=True)
    found = understand_demonstrations([walk])
    assert found == Demonstrations.from_arrays([[0, 1, 2]], [[1, 1]], terminated=True)


@pytest.mark.parametrize("occupancy", [[0.5, 0.5], np.array([0.5, 0.5]), (0.25, 0.75)])
def test_occupancies_stay_what_they_are(occupancy):
    assert understand_demonstrations(occupancy) is occupancy


def test_lists_of_episodes_keep_their_actions_and_ends():
    walks = Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[1, 1], [0]], terminated=[True, False])
    assert from_episodes(walks) is walks
    assert from_episodes(list(walks)) == walks


def test_demonstrations_in_the_place_of_an_occupancy_are_told(refused, tmp_path):
    rho = np.array([0.25, 0.75])
    estimate = OccupancyEstimate(rho, None, None, None, 0.1, 0.0, 7, 0.9, "hold", 0.95)
    assert require_occupancy(estimate) is rho
    for same in (rho, [0.25, 0.75], [], ()):
        assert require_occupancy(same) is same
    walk = types.SimpleNamespace(obs=np.array([0, 1, 2]))
    for given, kind in (
        (MOVES, "demonstrations"),
        ([[0, 1], [0, 2]], "a list of episodes"),
        ((np.array([0, 1]),), "a list of episodes"),
        ([walk], "a list of episodes"),
        ("walks.csv", "the file 'walks.csv'"),
    ):
        with refused(
            f"{kind} stands where fit needs the expert's occupancy, [S]; call RobustIRL().fit(world, demonstrations),"
            " or estimate it with demonstrations.estimate_occupancy(demos, world).occupancy."
        ):
            require_occupancy(given)


def test_what_is_neither_stays_what_it_is():
    for given in (np.array([[0.5, 0.5]]), [], [0.5, [0.5]], [[[0, 1]], [[1, 2]]]):
        assert understand_demonstrations(given) is given


def test_the_first_of_a_list_tells_what_it_holds(refused):
    single = Episode(np.array([0, 1]), np.array([0]), True)
    assert from_episodes([single]).actions.tolist() == [0]  # pyright: ignore[reportOptionalMemberAccess]
    with refused("actions"):
        understand_demonstrations([([0, 1], 0)])  # States, and a number in the place of their actions.
    numbers = [np.array(0.25), np.array(0.75)]  # Without an axis, so that they are no episodes.
    assert require_occupancy(numbers) is numbers
