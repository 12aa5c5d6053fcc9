"""What users hand to `RobustIRL.fit` as demonstrations, and actions that they get back."""

import types

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, save
from robustirl.demonstrations.episodes import Episode
from robustirl.irl.acting import ActingPolicy, draw_actions
from robustirl.irl.inputs import as_demonstrations, from_episodes

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
def test_lists_and_arrays_are_episodes(given, expected):
    assert as_demonstrations(given) == expected


def test_files_and_frames_are_read(tmp_path):
    save(MOVES, tmp_path / "walks.csv")
    assert as_demonstrations(tmp_path / "walks.csv") == MOVES
    pandas = pytest.importorskip("pandas")
    assert as_demonstrations(pandas.DataFrame({"episode": [0, 0, 0, 1, 1], "state": [0, 1, 2, 0, 2]})) == WALKS


def test_imitations_trajectories_are_read_without_imitation():
    walk = types.SimpleNamespace(obs=np.array([0, 1, 2]), acts=np.array([1, 1]), infos=None, terminal=True)
    assert as_demonstrations([walk]) == Demonstrations.from_arrays([[0, 1, 2]], [[1, 1]], terminated=True)


@pytest.mark.parametrize("given", [[0.5, 0.5], np.array([0.5, 0.5]), (0.25, 0.75), np.array([[0.5, 0.5]]), []])
def test_occupancies_stay_what_they_are(given):
    assert as_demonstrations(given) is given


@pytest.mark.parametrize("pair", [([8, 7, 6], [3, 3]), (np.array([0, 1]), [1]), ((0, 1, 2), (0, 0))])
def test_a_pair_that_may_be_states_and_actions_is_refused(pair, refused):
    with refused("may be two episodes, or the states and actions of one", "[([...], [...])]"):
        as_demonstrations(pair)
    assert len(as_demonstrations(list(pair))) == 2
    assert as_demonstrations([pair]).has_actions


def test_episodes_have_actions_or_have_none(refused):
    states, acted = Episode(np.array([0, 1]), None, True), Episode(np.array([0, 1]), np.array([1]), True)
    for given, said in (([states, acted], "episode 1"), ([acted, states], "episode 0")):
        with refused(f"{said} of the demonstrations has actions"):
            from_episodes(given)


def test_drawn_actions_have_their_chances():
    chances = np.array([[0.2, 0.0, 0.8], [0.5, 0.5, 0.0]])
    drawn = np.array([draw_actions(chances, seed) for seed in range(2000)])
    shares = [np.bincount(column, minlength=3) / 2000 for column in drawn.T]
    np.testing.assert_allclose(shares, chances, atol=0.03)
    policy = ActingPolicy(lambda seen, _: 0 * seen, lambda seen, generator: generator.integers(9, size=len(seen)), 3)
    first, state = policy.predict(np.arange(50), "memory", deterministic=False)
    assert state == "memory"
    assert len(set(first.tolist())) > 3
    assert policy.predict(np.arange(3), deterministic=True)[0].tolist() == [0, 0, 0]
