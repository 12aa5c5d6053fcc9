"""Recorded choices: counted by hand, and refused in a sentence with the row."""

import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl.demonstrations import Choices, Demonstrations
from robustirl.demonstrations.choices import as_choices, pair_occupancy
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP

KERNEL = np.zeros((3, 2, 3))
KERNEL[:, :, 0] = 1.0
KERNEL[2, 1] = 0.0
WORLD = MDP(KERNEL, discount=0.9, mask=np.array([[True, True], [True, True], [True, False]]))


def _sentence(action):
    with pytest.raises(InvalidInputError) as caught:
        action()
    return str(caught.value)


def test_choices_are_counted_and_belong_to_groups():
    choices = Choices([0, 1, 0, 2, 0], [1, 0, 1, 0, 0], [3, 3, 5, 5, 5])
    assert choices.counts(WORLD).tolist() == [[1, 2], [1, 0], [1, 0]]
    assert repr(choices) == "Choices(5 choices in 2 groups)"
    assert Choices([0, 1], [1, 0]).groups.tolist() == [0, 1]
    walks = Demonstrations.from_arrays([[0, 1, 2], [2, 0]], [[1, 0], [0]])
    found = as_choices(walks)
    assert (found.states.tolist(), found.actions.tolist(), found.groups.tolist()) == ([0, 1, 2], [1, 0, 0], [0, 0, 1])
    assert as_choices(choices) is choices


def test_pairs_share_the_occupancy_of_their_state():
    walks = Demonstrations.from_arrays([[0, 0, 0, 0, 2, 0]], [[1, 0, 0, 0, 0]])
    # One of four in state 0; nothing was recorded in state 1, where both are offered, and one alone in state 2.
    assert pair_occupancy(walks, WORLD, np.array([0.4, 0.4, 0.2])).tolist() == pytest.approx(
        np.array([[0.3, 0.1], [0.2, 0.2], [0.2, 0.0]])
    )


@pytest.mark.parametrize("sizes", [(2, 2, 3), (3, 2, 2), (2, 3, 2), (0, 0, 0)])
def test_every_choice_needs_one_of_each(sizes):
    states, actions, groups = (np.zeros(size, int) for size in sizes)
    told = "there are {} states, {} actions and {} groups, but one of each is needed".format(*sizes)
    assert told in _sentence(lambda: Choices(states, actions, groups))


def test_what_a_world_does_not_have_is_refused_with_its_row():
    assert _sentence(lambda: Choices([0, 1, 3], [0, 1, 0]).check_against(WORLD)) == snapshot(
        "row 2 of the choices has state 3, but the world has 3 states, numbered from 0; correct the row, or give the "
        "world it belongs to."
    )
    assert _sentence(lambda: Choices([0, 1, 2], [0, 2, 1], [4, 7, 7]).check_against(WORLD)) == snapshot(
        "row 1 of the choices (choice 0 of group 7, counted from 0) has action 2, but the world has 2 actions, "
        "numbered from 0; correct the row, or give the world it belongs to."
    )
    assert _sentence(lambda: Choices([0, 2, 2], [0, 0, 1], [4, 7, 7]).counts(WORLD)) == snapshot(
        "row 2 of the choices (choice 1 of group 7, counted from 0) takes action 1 in state 2, which the world does "
        "not offer there: its probability is zero under every policy. Correct the row or the mask."
    )
    Choices([0, 1, 2], [1, 1, 0]).check_against(WORLD)


def test_without_actions_there_are_no_choices():
    walks = Demonstrations.from_arrays([[0, 1, 2]])
    assert "the demonstrations have no actions, so that there are no choices" in _sentence(lambda: Choices.of(walks))
    occupancy = np.full(3, 1 / 3)
    assert "the reward is one of states and actions" in _sentence(lambda: pair_occupancy(walks, WORLD, occupancy))
    assert "but list was given" in _sentence(lambda: as_choices([1, 2]))
