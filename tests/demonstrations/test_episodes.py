"""Demonstrations as data: what goes in comes out."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.episodes import Episode
from tests.demonstrations.strategies import demonstrations

STATES, ACTIONS, ENDS = [[3, 1, 4, 1], [5], [9, 2, 6]], [[0, 1, 0], [], [2, 2]], [True, False, False]
WALKS = Demonstrations.from_arrays(STATES, ACTIONS, terminated=ENDS)
LOG = Demonstrations.from_arrays(STATES, [[0, 1, 0], [2], [2, 2, 1]])  # Actions in the last states of two episodes.


def test_flat_arrays_and_episodes_agree():
    assert WALKS.states.tolist() == [3, 1, 4, 1, 5, 9, 2, 6]
    assert WALKS.actions is not None
    assert WALKS.actions.tolist() == [0, 1, 0, 2, 2]
    assert WALKS.offsets.tolist() == [0, 4, 5, 8]
    assert WALKS.episodes.tolist() == [0, 0, 0, 0, 1, 2, 2, 2]
    assert WALKS.steps.tolist() == [0, 1, 2, 3, 0, 0, 1, 2]
    assert WALKS.moves.tolist() == [0, 1, 2, 5, 6]
    assert WALKS.last_states.tolist() == [1, 5, 6]
    assert (len(WALKS), WALKS.num_transitions, WALKS.has_actions) == (3, 5, True)
    found = [(e.states.tolist(), np.asarray(e.actions).tolist(), e.terminated) for e in WALKS]
    assert found == [([3, 1, 4, 1], [0, 1, 0], True), ([5], [], False), ([9, 2, 6], [2, 2], False)]


def test_an_action_in_the_last_state_is_a_final_action():
    assert WALKS.final_actions is None
    assert LOG.final_actions is not None
    assert LOG.final_actions.tolist() == [-1, 2, 1]
    assert LOG.actions is not None
    assert LOG.actions.tolist() == [0, 1, 0, 2, 2]
    again = LOG[[2, 1]]
    assert again.final_actions is not None
    assert again.final_actions.tolist() == [1, 2]
    joined = (LOG + LOG).final_actions
    assert joined is not None
    assert joined.tolist() == [-1, 2, 1] * 2
    assert Demonstrations.from_arrays(STATES, ACTIONS) != LOG
    assert LOG.without_actions() == Demonstrations.from_arrays(STATES)
    named = LOG.replace(action_names=("a", "b", "c")).renumber(action_names=["c", "b", "a"])
    assert named.final_actions is not None
    assert named.final_actions.tolist() == [-1, 0, 1]


@given(demonstrations())
def test_the_episodes_rebuild_the_demonstrations(demos):
    actions = [e.actions for e in demos] if demos.has_actions else None
    again = Demonstrations.from_arrays([e.states for e in demos], actions, terminated=[e.terminated for e in demos])
    assert again == demos
    assert Demonstrations.concatenate([demos[i : i + 1] for i in range(len(demos))]) == demos
    assert demos.subset(np.arange(len(demos))) == demos


def test_indexing_slicing_and_subsets():
    last = WALKS[-1]
    assert isinstance(last, Episode)
    assert last.states.tolist() == [9, 2, 6]
    backwards = WALKS[::-1]
    assert [e.states.tolist() for e in backwards] == STATES[::-1]
    assert [np.asarray(e.actions).tolist() for e in backwards] == ACTIONS[::-1]
    assert backwards.terminated.tolist() == ENDS[::-1]
    assert WALKS.subset([2, 0, -1]) == WALKS[2:] + WALKS[:1] + WALKS[2:]
    assert WALKS[WALKS.lengths > 1] == WALKS[[0, 2]] == WALKS[[True, False, True]]
    assert WALKS[jnp.array([0])] == WALKS[:1]  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(IndexError):
        WALKS[3]


def test_equality_sees_every_difference():
    assert WALKS.without_actions() == Demonstrations.from_arrays(STATES, terminated=ENDS)
    for other in (
        WALKS.without_actions(),
        WALKS.replace(terminated=None),
        WALKS.replace(terminated=False),
        WALKS.replace(states=[3, 1, 4, 1, 5, 9, 2, 7]),
        WALKS.replace(actions=[0, 1, 0, 2, 1]),
        WALKS.replace(lengths=[4, 2, 2]),
        WALKS.replace(state_names=[str(i) for i in range(10)]),
        "WALKS",
    ):
        assert other != WALKS


def test_what_was_checked_cannot_change():
    states = np.array([0, 1])
    demos = Demonstrations.from_arrays([states])
    states[0] = -7
    assert demos.states.tolist() == [0, 1]
    for array in (WALKS.states, WALKS.actions, WALKS.lengths, WALKS.terminated, LOG.final_actions):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_names_give_new_numbers():
    demos = Demonstrations([0, 1], [0], [2], state_names=("A", "B"), action_names=("go",))
    other = demos.renumber(state_names=["B", "C", "A"], action_names=["stay", "go"])
    assert (other.states.tolist(), other.state_names, other.ends_known) == ([2, 0], ("B", "C", "A"), False)
    assert other.actions is not None
    assert other.actions.tolist() == [1]
    assert demos.renumber() == demos


def test_what_is_shown():
    assert repr(WALKS) == "Demonstrations(3 episodes, 5 transitions, with actions, 1 terminated)"
    assert "1 terminated, 2 truncated; 7 different states, the largest 9." in WALKS.describe()
    assert "ends not recorded" in LOG.describe()
