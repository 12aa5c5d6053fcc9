"""Demonstrations as data: what goes in comes out, and what is no demonstration is refused."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import Demonstrations, Episode, Recordings
from robustirl.mdp import MDP
from tests.demonstrations.strategies import demonstrations

WALKS = Demonstrations.from_arrays(
    [[3, 1, 4, 1], [5], [9, 2, 6]], [[0, 1, 0], [], [2, 2]], terminated=[True, False, False]
)


def test_flat_arrays_and_episodes_agree():
    assert WALKS.states.tolist() == [3, 1, 4, 1, 5, 9, 2, 6]
    assert WALKS.actions is not None
    assert WALKS.actions.tolist() == [0, 1, 0, 2, 2]
    assert WALKS.lengths.tolist() == [4, 1, 3]
    assert WALKS.offsets.tolist() == [0, 4, 5, 8]
    assert WALKS.episodes.tolist() == [0, 0, 0, 0, 1, 2, 2, 2]
    assert WALKS.steps.tolist() == [0, 1, 2, 3, 0, 0, 1, 2]
    assert WALKS.moves.tolist() == [0, 1, 2, 5, 6]
    assert WALKS.last_states.tolist() == [1, 5, 6]
    assert (len(WALKS), WALKS.num_transitions, WALKS.has_actions) == (3, 5, True)
    found = [(e.states.tolist(), np.asarray(e.actions).tolist(), e.terminated) for e in WALKS]
    assert found == [([3, 1, 4, 1], [0, 1, 0], True), ([5], [], False), ([9, 2, 6], [2, 2], False)]


@given(demonstrations())
def test_the_episodes_rebuild_the_demonstrations(demos):
    episodes = list(demos)
    actions = [e.actions for e in episodes] if demos.has_actions else None
    again = Demonstrations.from_arrays([e.states for e in episodes], actions, terminated=[e.terminated for e in demos])
    assert again == demos
    assert hash(again) == hash(demos)
    assert Demonstrations.concatenate([demos[i : i + 1] for i in range(len(demos))]) == demos
    assert demos.subset(np.arange(len(demos))) == demos


def test_indexing_slicing_and_subsets():
    last = WALKS[-1]
    assert isinstance(last, Episode)
    assert last.states.tolist() == [9, 2, 6]
    assert WALKS[np.int64(1)].states.tolist() == [5]
    backwards = WALKS[::-1]
    assert [e.states.tolist() for e in backwards] == [[9, 2, 6], [5], [3, 1, 4, 1]]
    assert [np.asarray(e.actions).tolist() for e in backwards] == [[2, 2], [], [0, 1, 0]]
    assert backwards.terminated.tolist() == [False, False, True]
    assert WALKS.subset([2, 0, 2]) == WALKS[2:] + WALKS[:1] + WALKS[2:]
    assert WALKS.subset(WALKS.lengths > 1) == WALKS.subset([0, 2])
    with pytest.raises(IndexError):
        WALKS[3]


def test_equality_sees_every_difference():
    states = [[3, 1, 4, 1], [5], [9, 2, 6]]
    actions, ends = [[0, 1, 0], [], [2, 2]], [True, False, False]
    assert Demonstrations.from_arrays(states, actions, terminated=ends) == WALKS
    assert WALKS.without_actions() != WALKS
    assert WALKS.without_actions() == Demonstrations.from_arrays(states, terminated=ends)
    assert Demonstrations.from_arrays(states, actions, terminated=False) != WALKS
    assert Demonstrations.from_arrays([[3, 1, 4, 1], [5], [9, 2, 7]], actions, terminated=ends) != WALKS
    assert Demonstrations.from_arrays(states, [[0, 1, 0], [], [2, 1]], terminated=ends) != WALKS
    assert Demonstrations.from_arrays([[3, 1], [4, 1]]) != Demonstrations.from_arrays([[3, 1, 4], [1]])
    assert WALKS != "WALKS"


def test_rows_of_an_array_and_jax_arrays_are_episodes_too():
    rows = np.arange(6).reshape(2, 3)
    assert Demonstrations.from_arrays(rows) == Demonstrations.from_arrays([jnp.arange(3), jnp.arange(3, 6)])


def test_what_was_checked_cannot_change():
    states = np.array([0, 1])
    demos = Demonstrations.from_arrays([states])
    states[0] = -7
    assert demos.states.tolist() == [0, 1]
    for array in (WALKS.states, WALKS.actions, WALKS.lengths, WALKS.terminated):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_short_description_counts():
    assert repr(WALKS) == "Demonstrations(3 episodes, 5 transitions, with actions, 1 terminated)"
    assert "3 episodes of 1 to 4 states" in WALKS.describe()
    assert "1 terminated, 2 truncated; 7 different states, the largest 9." in WALKS.describe()


@pytest.mark.parametrize(
    ("states", "actions", "culprits"),
    [
        ([], None, ["no episodes"]),
        ([[0], []], None, ["episode 1 is empty"]),
        ([[0, 1], [2, -3]], None, ["episode 1", "-3", "step 1"]),
        ([[0.0, 1.0]], None, ["episode 0", "float64", "astype(int)"]),
        ([[0.0, float("nan")]], None, ["episode 0", "nan", "step 1"]),
        ([[True, False]], None, ["episode 0", "bool"]),
        ([["a"]], None, ["episode 0", "whole numbers"]),
        ([[[0, 1]]], None, ["episode 0", "(1, 2)"]),
        ([[0, [1]]], None, ["episode 0"]),
        ([3, 4], None, ["episode 0", "shape ()"]),
        ([[2**64 - 1]], None, ["episode 0", str(2**64 - 1)]),
        ([[0, 1], [2, 3]], [[0], [1, 1]], ["episode 1 has 2 states and 2 actions", "1 actions"]),
        ([[0, 1], [2, 3]], [[0]], ["states of 2 episodes", "actions of 1"]),
        ([[0, 1]], [[-1]], ["actions of episode 0", "-1"]),
        ([[0, 1]], [[0.5]], ["actions of episode 0", "float64"]),
    ],
)
def test_what_is_no_demonstration_is_refused(states, actions, culprits, refused):
    with refused(*culprits):
        Demonstrations.from_arrays(states, actions)


def test_ends_that_are_no_answers_are_refused(refused):
    with refused("terminated", "(3,)", "2 episodes"):
        Demonstrations.from_arrays([[0], [1]], terminated=[True, False, True])
    with refused("terminated", "int64"):
        Demonstrations.from_arrays([[0], [1]], terminated=[1, 0])


def test_flat_arrays_that_do_not_fit_together_are_refused(refused):
    build = inspect.unwrap(Demonstrations.__init__)  # The type checks that only tests run under would come first.

    def demos(states, actions, lengths, terminated):
        build(Demonstrations.__new__(Demonstrations), *map(np.array, (states,)), actions, lengths, terminated)

    with refused("4 states", "add up to 3"):
        demos([0, 1, 2, 3], None, np.array([1, 2]), np.zeros(2, bool))
    with refused("3 actions", "4 states in 2 episodes need 2"):
        demos([0, 1, 2, 3], np.array([0, 0, 0]), np.array([2, 2]), np.zeros(2, bool))
    with refused("episode 1 is empty"):
        demos([0], None, np.array([1, 0]), np.zeros(2, bool))


def test_parts_with_and_without_actions_do_not_mix(refused):
    with refused("set 0", "set 1", "without_actions"):
        Demonstrations.concatenate([WALKS, WALKS.without_actions()])
    with refused("no demonstrations"):
        Demonstrations.concatenate([])


def test_subsets_that_do_not_exist_are_refused(refused):
    with refused("no episode of the 3"):
        WALKS[3:]
    with refused("episode 7", "there are 3"):
        WALKS.subset([0, 7])
    with refused("episode -4", "there are 3"):
        WALKS.subset([-4])
    with refused("mask", "(2,)", "3 episodes"):
        WALKS[[True, False]]
    for index in ("one", 1.5, None, True):
        with refused("the index is", repr(index)):
            WALKS[index]  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_lists_masks_and_arrays_choose_episodes():
    assert WALKS[[2, 0]] == WALKS.subset([2, 0])
    assert WALKS[[-1, -3]] == WALKS.subset([2, 0])
    assert WALKS[np.array([1])] == WALKS[1:2]
    assert WALKS[WALKS.lengths > 1] == WALKS.subset([0, 2])
    assert WALKS[[False, True, False]] == WALKS[1:2]
    assert WALKS[jnp.array([0])] == WALKS[:1]  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_ends_that_nobody_recorded_are_unknown_until_a_world_tells():
    bare = Demonstrations.from_arrays([[0, 1], [0, 0], [1]])
    assert (bare.ends_known, bare.terminated.tolist()) == (False, [False, False, False])
    assert repr(bare) == "Demonstrations(3 episodes, 2 transitions, states only, ends unknown)"
    assert "ends not recorded" in bare.describe()
    world = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.9)
    told = bare.infer_terminated(world)
    assert told == Demonstrations.from_arrays([[0, 1], [0, 0], [1]], terminated=[True, False, True])
    assert told != bare
    recorded = Demonstrations.from_arrays([[0, 1]], terminated=False)
    assert recorded.infer_terminated(world) is recorded
    for part in (bare[:1], bare[[0, 2]], bare + bare, bare.without_actions()):
        assert not part.ends_known


def test_what_does_not_go_together_is_not_joined(refused):
    bare, told = Demonstrations.from_arrays([[0, 1]]), Demonstrations.from_arrays([[0, 1]], terminated=True)
    with refused("set 1 of the demonstrations says how its episodes ended and set 0 does not", "infer_terminated"):
        _ = bare + told
    with refused("set 0 of the demonstrations says how its episodes ended and set 1 does not"):
        _ = told + bare
    named = Demonstrations(np.array([0, 1]), None, np.array([2]), np.array([True]), state_names=("A", "B"))
    with refused("sets 0 and 1", "names"):
        _ = named + told
    assert (named + named)[:1] == named
    assert named != told


def test_names_that_are_none_are_refused(refused):
    def demos(names):
        return Demonstrations(np.array([0, 2]), None, np.array([2]), state_names=names)

    with refused("state 2 occurs", "2 state names"):
        demos(("A", "B"))
    with refused("'A'", "more than once"):
        demos(("A", "B", "A"))
    with refused("not text in UTF-8"):
        demos(("A", "B", "\udc80"))
    with refused("the state name 'C\\x00' has a zero byte"):  # An .npz file would give it back as C.
        demos(("A", "B", "C\0"))
    assert demos(("A", "größe", "C")).state_names == ("A", "größe", "C")


def test_names_give_new_numbers(refused):
    options = {"state_names": ("A", "B"), "action_names": ("go",)}
    demos = Demonstrations(np.array([0, 1]), np.array([0]), np.array([2]), **options)
    other = demos.renumber(state_names=["B", "C", "A"], action_names=["stay", "go"])
    assert (other.states.tolist(), other.state_names, other.ends_known) == ([2, 0], ("B", "C", "A"), False)
    assert other.actions is not None
    assert other.actions.tolist() == [1]
    assert demos.renumber() == demos
    with refused("a state 'A'", "2 names"):
        demos.renumber(state_names=["B", "C"])
    with refused("no state names"):
        WALKS.renumber(state_names=["B", "C"])


def test_a_notebook_shows_what_there_is():
    walks = Demonstrations.from_arrays([[0, 7], [1, 2, 3], [0, 1, 2, 3, 4, 5]], terminated=[True, False, True])
    shown = walks._repr_html_()
    for text in ("3 of 2 to 6 states (median 3)", "8, states only", "2 terminated", "7, the largest 7"):
        assert text in shown
    acting = Demonstrations.from_arrays([[0, 1]], [[1]])
    assert "1, with actions" in acting._repr_html_()
    assert "not recorded" in acting._repr_html_()
    assert "not recorded" not in shown


@pytest.mark.parametrize("given", [None, 5, "ab", {0: [1]}, object(), 1j, True], ids=lambda value: type(value).__name__)
@pytest.mark.usefixtures("mistyped")
def test_what_is_no_list_of_episodes_is_refused(given, refused):
    with refused("the list of states is", "an array of whole numbers for each episode"):
        Demonstrations.from_arrays(given)
    if given is not None:
        with refused("the list of actions is", "an array of whole numbers for each episode"):
            Demonstrations.from_arrays([[0, 1]], given)
        with refused("the state names are", "but a list of words is needed"):
            Demonstrations([0], None, [1], state_names=given)
    with refused("the list to concatenate is", "a list of Demonstrations is needed"):
        Demonstrations.concatenate(given)
    with refused("set 1 of the demonstrations is a", "but Demonstrations are needed"):
        Demonstrations.concatenate([Demonstrations.from_arrays([[0]]), given])


def test_numbers_that_take_nothing_until_they_are_an_array_are_refused(refused):
    for states in (range(10**12), np.broadcast_to(np.int8(1), 10**12)):
        with refused("the array of states", "of 1000000000000 numbers or rows, needs about 7,451 GiB of memory"):
            Demonstrations(states, None, np.array([10**12]))
    with refused("the observations of episode 0, of 3000000000000 numbers or rows, needs about"):
        Recordings.from_arrays([np.broadcast_to(np.float32(1), (10**12, 3))])
