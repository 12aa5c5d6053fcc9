# pyright: reportArgumentType=false
"""Which episodes are asked for, and what goes together: by hand, with whole sentences for refusals."""

from types import SimpleNamespace

import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl.demonstrations._episodes import as_episodes, renumbered, require_actions_match, require_alike
from robustirl.errors import InvalidInputError


def refusal(function, *given):
    with pytest.raises(InvalidInputError) as caught:
        function(*given)
    return str(caught.value)


def test_numbers_and_masks_of_episodes():
    assert as_episodes([-3, 2, -1, 0], 3).tolist() == [0, 2, 2, 0]
    assert as_episodes(np.array([2, 0], np.uint8), 3).tolist() == [2, 0]
    assert as_episodes([False, True, True], 3).tolist() == [1, 2]
    assert refusal(as_episodes, [0, -4, -5], 3) == snapshot("episode -4 was asked for, but there are 3.")
    assert refusal(as_episodes, [0, 3, 4], 3) == snapshot("episode 4 was asked for, but there are 3, numbered from 0.")
    assert refusal(as_episodes, [True, False], 3) == snapshot(
        "the mask has shape (2,), but one answer for each of the 3 episodes is needed."
    )
    assert refusal(as_episodes, [[True, False, True]], 3) == snapshot(
        "the mask has shape (1, 3), but one answer for each of the 3 episodes is needed."
    )
    assert refusal(as_episodes, [[0, -9]], 3) == snapshot(
        "the list of episodes to keep has shape (1, 2), but a list of whole numbers, (n,), is needed."
    )
    assert refusal(as_episodes, [False] * 3, 3) == snapshot("no episode of the 3 is left; choose at least one.")


def test_actions_go_with_states():
    lengths = np.array([3, 1, 2])
    require_actions_match(lengths, [2, 0, 1])
    require_actions_match(np.array([0, 2]), [7, 1])  # An episode without states is refused elsewhere.
    assert refusal(require_actions_match, lengths, [2, 0]) == snapshot(
        "there are states of 3 episodes, but actions of 2; give one array of actions for each episode, or none at all."
    )
    assert refusal(require_actions_match, lengths, [2, 1, 2]) == snapshot(
        "episode 1 has 1 states and 1 actions, but 1 states go with 0 actions; the state reached by the last action"
        " belongs to the episode."
    )


def kept(**other):
    return SimpleNamespace(**{"has_actions": True, "ends_known": True, "names": {}} | other)


def test_sets_that_are_joined_record_the_same():
    require_alike(kept(), kept(), 1)
    require_alike(kept(has_actions=False, ends_known=False), kept(has_actions=False, ends_known=False), 1)
    assert refusal(require_alike, kept(), kept(has_actions=False), 2) == snapshot(
        "set 0 of the demonstrations has actions and set 2 has none; drop them with .without_actions()."
    )
    assert refusal(require_alike, kept(has_actions=False), kept(), 2) == snapshot(
        "set 2 of the demonstrations has actions and set 0 has none; drop them with .without_actions()."
    )
    assert refusal(require_alike, kept(), kept(ends_known=False), 2) == snapshot(
        "set 0 of the demonstrations says how its episodes ended and set 2 does not; call .infer_terminated(world)"
        " first."
    )
    assert refusal(require_alike, kept(ends_known=False), kept(), 2) == snapshot(
        "set 2 of the demonstrations says how its episodes ended and set 0 does not; call .infer_terminated(world)"
        " first."
    )
    assert refusal(require_alike, kept(), kept(names={"state_names": ("a",)}), 2) == snapshot(
        "sets 0 and 2 of the demonstrations name their states or actions differently; read both with the same"
        " state_names and action_names."
    )


def test_numbers_by_other_lists_of_names():
    numbers = np.array([0, 1, 1])
    assert renumbered("state", numbers, None, None) == (numbers, None)
    found, names = renumbered("state", numbers, ["b", "a"], ["a", "c", "b"])
    assert found.tolist() == [2, 0, 0]
    assert names == ["a", "c", "b"]
    assert renumbered("action", None, ["b"], ["b"]) == (None, ["b"])
    assert refusal(renumbered, "state", numbers, None, ["a"]) == snapshot(
        "the demonstrations have no state names to renumber by; read them with names."
    )
    assert refusal(renumbered, "state", numbers, ["b", "a"], ["a", "c"]) == snapshot(
        "the demonstrations name a state 'b', which is not among the 2 names given; correct the names."
    )
