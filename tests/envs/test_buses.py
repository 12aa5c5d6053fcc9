"""Rust's buses: what was recorded, prepared as published, and refused where it cannot be right."""

import inspect

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import recorded, recorded_choices
from robustirl.envs.buses import prepare_bus
from robustirl.errors import InvalidInputError

# Group, observations, replacements, shares of the increments 0, 1, 2.
PREPARED = [
    (1, 360, 0, [0.1972, 0.7889, 0.0139]),
    (2, 192, 0, [0.3906, 0.5990, 0.0104]),
    (3, 3312, 27, [0.3071, 0.6827, 0.0103]),
    (4, 4292, 33, [0.3919, 0.5953, 0.0128]),
]


@pytest.mark.parametrize(("group", "observations", "replacements", "shares"), PREPARED)
def test_groups_are_prepared_as_by_rust(group, observations, replacements, shares):
    env = envs.make("buses", group=group)
    assert env.choice_states.size == env.choice_actions.size == env.increments.size == observations
    assert env.choice_actions.sum() == replacements
    assert env.increment_shares.round(4).tolist() == shares


def test_groups_1_to_3_together_have_the_published_increments():
    assert envs.buses((1, 2, 3)).increment_shares.round(3).tolist() == [0.301, 0.688, 0.011]


def test_the_world_moves_as_the_increments_say():
    env = envs.buses(4)
    kernel = np.asarray(env.mdp().kernel.to_array())
    assert kernel[10, 0, 10:13] == pytest.approx(env.increment_shares)
    assert kernel[10, 1, :3] == pytest.approx(env.increment_shares)
    assert kernel[88, 0, 88:] == pytest.approx([env.increment_shares[0], 1 - env.increment_shares[0]])
    assert kernel == pytest.approx(np.tensordot(env.increment_shares, env.increment_kernels, 1))


def test_episodes_are_the_readings_themselves():
    env = envs.buses(4)
    walks = recorded(env)
    assert len(walks) == 37
    assert walks.num_transitions == 4292
    # The sample of the paper leaves the first month out and adds the last one, so that the two differ at both ends.
    assert walks.actions.sum() == recorded_choices(env).actions.sum() == 33


def test_mileage_counts_from_the_last_replacement():
    bus = prepare_bus([4000, 9000, 13000, 18000], [9500, 14000])
    assert bus.states.tolist() == [0, 1, 0, 0]
    assert bus.decisions.tolist() == [0, 1, 1, 0]
    assert bus.increments.tolist() == [1, 1, 1]  # After a replacement the number of the bin, from 1.


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: prepare_bus([5, 4], [], name="bus 7"), "bus 7 shows 4 miles in month 1 after 5 in the month before"),
        (lambda: prepare_bus([5], []), "the bus has 1 readings, but at least two are needed"),
        (
            lambda: prepare_bus(["five", "six"], []),
            "the bus has 2 readings, but at least two are needed, each",
        ),
        (lambda: prepare_bus([5.0, np.nan], [], name="bus 7"), "bus 7 shows nan miles in month 1, but a number of at"),
        (lambda: prepare_bus([-5, 0], []), "the bus shows -5 miles in month 0, but a number of at least 0 is needed"),
        (lambda: prepare_bus([0, 90], [40, 20]), "replaced at 40, 20 miles, but the order of mileage is needed"),
        (lambda: prepare_bus([0, 450_001], []), "has run 450001 miles since its last replacement in month 1"),
        (lambda: prepare_bus([0, 90], [20, 40]), "two replacements within one month"),
        (lambda: envs.buses(9), "the group is 9, but one or several of 1 to 8"),
        (lambda: envs.buses(4).reward, "the true reward of buses-4 is not known"),
        (lambda: inspect.unwrap(recorded)(envs.ThreeState()), "comes without recorded episodes"),
    ],
)
def test_what_cannot_be_right_is_refused(attempt, message):
    with pytest.raises(InvalidInputError, match=message):
        attempt()
