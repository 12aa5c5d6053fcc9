"""What users hand to `RobustIRL.fit` as demonstrations."""

import types

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, OccupancyEstimate, save
from robustirl.demonstrations.episodes import Episode
from robustirl.irl import RobustIRL
from robustirl.irl.inputs import from_episodes, require_occupancy, understand_demonstrations
from robustirl.mdp import MDP

WALKS = Demonstrations.from_arrays([[0, 1, 2], [0, 2]])
MOVES = Demonstrations.from_arrays([[0, 1, 2], [0, 2]], [[1, 1], [0]])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([[0, 1, 2], [0, 2]], WALKS),
        ((np.array([0, 1, 2]), np.array([0, 2]), np.array([1])), Demonstrations.from_arrays([[0, 1, 2], [0, 2], [1]])),
        (([0, 1], [0, 1]), Demonstrations.from_arrays([[0, 1], [0, 1]])),
        ([([0, 1, 2], [1, 1]), ([0, 2], [0])], MOVES),
        (np.array([[0, 1], [1, 2]]), Demonstrations.from_arrays([[0, 1], [1, 2]])),
        (list(WALKS), WALKS),
        (list(MOVES), MOVES),
        (WALKS[0], WALKS[:1]),
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
    for given in (np.array([[0.5, 0.5]]), [], [0.5, 0.5], [[[0, 1]], [[1, 2]]]):
        assert understand_demonstrations(given) is given


def test_the_first_of_a_list_tells_what_it_holds(refused):
    single = Episode(np.array([0, 1]), np.array([0]), True)
    assert from_episodes([single]).actions.tolist() == [0]  # pyright: ignore[reportOptionalMemberAccess]
    with refused("actions"):
        understand_demonstrations([([0, 1], 0)])  # States, and a number in the place of their actions.
    numbers = [np.array(0.25), np.array(0.75)]  # Without an axis, so that they are no episodes.
    assert require_occupancy(numbers) is numbers


STATES = Episode(np.array([0, 1]), None, True)
WITH_ACTIONS = Episode(np.array([0, 1]), np.array([1]), True)
OPEN = Episode(np.array([0, 1]), None, None)


@pytest.mark.parametrize(
    "pair", [([8, 7, 6], [3, 3]), (np.array([0, 1]), [1]), ((0, 1, 2), (0, 0)), (np.array([1]), np.array([], int))]
)
def test_a_pair_that_may_be_states_and_actions_is_refused(pair, refused):
    lengths = f"lists of {len(pair[0])} and {len(pair[1])} numbers"
    with refused(lengths, "may be two episodes, or the states and actions of one", "[([...], [...])]"):
        understand_demonstrations(pair)
    if len(pair[1]):
        assert len(understand_demonstrations(list(pair))) == 2
    assert understand_demonstrations([pair]).has_actions


@pytest.mark.parametrize(
    ("given", "culprits"),
    [
        ([STATES, [0, 1]], ("entry 0", "an Episode", "entry 1 is a list of states")),
        ([[0, 1], STATES], ("entry 0", "a list of states", "entry 1 is an Episode")),
        ([([0, 1], [1]), [0, 1]], ("a pair of states and actions", "entry 1 is a list of states")),
        ([types.SimpleNamespace(obs=[0, 1]), STATES], ("a trajectory", "entry 1 is an Episode")),
        ([[0, 1], [0, 1], 5], ("entry 2 is 5, which is no episode",)),
        ([[0, 1], [[0], [0, 1]]], ("entry 1 is [[0], [0, 1]], which is no episode",)),
        ([0.5, [0.5]], ("entry 0 of the demonstrations is 0.5, which is no episode",)),
        ([STATES, WITH_ACTIONS], ("episode 1 of the demonstrations has actions and episode 0 does not",)),
        ([WITH_ACTIONS, STATES], ("episode 0 of the demonstrations has actions and episode 1 does not",)),
        ([STATES, OPEN], ("episode 0 of the demonstrations says how it ended and episode 1 does not",)),
        ([OPEN, STATES], ("episode 1 of the demonstrations says how it ended and episode 0 does not",)),
    ],
)
def test_episodes_in_several_forms_are_refused(given, culprits, refused):
    with refused(*culprits):
        understand_demonstrations(given)
    if isinstance(given[0], Episode):
        with refused(*culprits):
            from_episodes(given)


def test_what_was_not_recorded_is_not_made_up():
    world = MDP(np.eye(3)[[1, 2, 2]][:, None], discount=0.9, initial=[1.0, 0.0, 0.0])
    walks = Demonstrations.from_arrays([[0, 1, 2], [0, 1]])
    whole, apart = (
        RobustIRL(1.0, steps=2, tail="renormalize", throw=False).fit(world, w) for w in (walks, list(walks))
    )
    np.testing.assert_array_equal(whole.expert_occupancy_, apart.expert_occupancy_)
    assert whole.score(world, walks) == whole.score(world, list(walks))
    assert [episode.terminated for episode in walks] == [None, None]
    assert [episode.terminated for episode in walks.in_world(world)] == [True, False]


def test_frames_that_are_yet_to_be_computed_are_read():
    polars = pytest.importorskip("polars")
    found = understand_demonstrations(polars.LazyFrame({"episode": [0, 0, 0, 1, 1], "state": [0, 1, 2, 0, 2]}))
    assert found == WALKS
