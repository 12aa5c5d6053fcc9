"""Recorded choices: counted by hand, and refused in a sentence with the row."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Choices, Demonstrations, recorded, recorded_choices
from robustirl.demonstrations.choices import as_choices, pair_occupancy
from robustirl.mdp import MDP

KERNEL = np.zeros((3, 2, 3))
KERNEL[:, :, 0] = 1.0
KERNEL[2, 1] = 0.0
WORLD = MDP(KERNEL, discount=0.9)


def test_choices_are_counted_and_belong_to_groups():
    choices = Choices([0, 1, 0, 2, 0], [1, 0, 1, 0, 0], [3, 3, 5, 5, 5])
    assert choices.counts(WORLD).tolist() == [[1, 2], [1, 0], [1, 0]]
    assert repr(choices) == "Choices(5 choices in 2 groups)"
    assert Choices([0, 1], [1, 0]).groups.tolist() == [0, 1]
    walks = Demonstrations.from_arrays([[0, 1, 2], [2, 0]], [[1, 0], [0, 1]])
    found = as_choices(walks)
    assert found.states.tolist() == [0, 1, 2, 0]
    assert found.actions.tolist() == [1, 0, 0, 1]
    assert found.groups.tolist() == [0, 0, 1, 1]
    assert as_choices(choices) is choices


def test_pairs_share_the_occupancy_of_their_state():
    walks = Demonstrations.from_arrays([[0, 0, 0, 0, 2, 0]], [[1, 0, 0, 0, 0]])
    # One of four in state 0; nothing was recorded in state 1, where both are offered, and one alone in state 2.
    found = pair_occupancy(walks, WORLD, np.array([0.4, 0.4, 0.2]))
    np.testing.assert_allclose(found, [[0.3, 0.1], [0.2, 0.2], [0.2, 0.0]])


def test_environments_that_come_with_data_have_their_own(refused):
    buses = envs.make("buses", group=1)
    assert len(recorded_choices(buses)) > 0
    assert recorded(buses).has_actions
    with refused("'three-state' comes without recorded episodes"):
        recorded(envs.make("three-state"))


def test_what_does_not_go_together_is_refused_with_its_row(refused):
    walks = Demonstrations.from_arrays([[0, 1, 2]])
    for action, culprits in (
        (lambda: Choices([0, 0], [0], [0]), ["2 states, 1 actions and 1 groups"]),
        (lambda: Choices([], [], []), ["0 states", "at least one"]),
        (lambda: Choices([0, 1, 3], [0, 1, 0]).check_against(WORLD), ["row 2", "state 3", "3 states"]),
        (lambda: Choices([0, 1, 2], [0, 2, 1]).check_against(WORLD), ["row 1", "action 2", "2 actions"]),
        (lambda: Choices([0, 2], [0, 1]).counts(WORLD), ["row 1", "action 1 in state 2", "not offer"]),
        (lambda: Choices.of(walks), ["have no actions", "objective='occupancy'"]),
        (lambda: pair_occupancy(walks, WORLD, np.full(3, 1 / 3)), ["the reward is one of states and actions"]),
        (lambda: as_choices([1, 2]), ["list was given"]),
    ):
        with refused(*culprits):
            action()


@pytest.mark.parametrize("final", [True, False])
def test_a_final_action_is_checked_too(final, refused):
    walks = Demonstrations.from_arrays([[0, 2]], [[0, 1] if final else [0]])
    if final:
        with refused("episode 0 takes action 1 in state 2 at step 1", "not offer"):
            walks.check_against(WORLD)
    else:
        walks.check_against(WORLD)
