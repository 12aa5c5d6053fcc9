"""What a fit is made from: as the reward has it, and refused in a sentence where it cannot be used."""

import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl._runtime import double_precision
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.irl.mce.dynamics import JointModel, MixtureDynamics
from robustirl.irl.mce.evidence_checks import (
    as_expert,
    as_shares,
    matched_occupancy,
    require_rewards_alone,
    reward_shape,
)
from robustirl.mdp import MDP
from robustirl.rewards import LinearReward, TabularReward


@pytest.fixture(autouse=True)
def scope():
    """Compute in double precision, as inside of a fit."""
    with double_precision():
        yield


STAY, MOVE = np.stack([np.eye(2)] * 2, 1), np.stack([np.eye(2)[::-1]] * 2, 1)
WORLD = MDP(STAY, discount=0.9, mask=np.array([[True, True], [True, False]]))
STATES, PAIRS = TabularReward(2), LinearReward(np.arange(8.0).reshape(2, 2, 2))


def _sentence(action):
    with pytest.raises(InvalidInputError) as caught:
        action()
    return str(caught.value)


def test_an_occupancy_is_one_of_states_or_of_pairs_as_the_reward_is():
    assert (reward_shape(STATES), reward_shape(PAIRS)) == ((2,), (2, 2))
    pairs = np.array([[0.2, 0.5], [0.3, 0.0]])
    np.testing.assert_allclose(as_expert(pairs, WORLD, STATES), [0.7, 0.3])
    np.testing.assert_allclose(as_expert(pairs, WORLD, PAIRS), pairs)
    np.testing.assert_allclose(as_expert([0.7, 0.3], WORLD, STATES), [0.7, 0.3])
    walks = Demonstrations.from_arrays([[0, 0, 0, 0]], [[0, 0, 1]])
    rho = np.array([0.6, 0.4])
    assert matched_occupancy(walks, WORLD, rho, None) is rho
    assert matched_occupancy(walks, WORLD, rho, STATES) is rho
    np.testing.assert_allclose(matched_occupancy(walks, WORLD, rho, PAIRS), [[0.4, 0.2], [0.4, 0.0]])


def test_an_occupancy_that_does_not_fit_is_refused():
    assert _sentence(lambda: as_expert([0.7, 0.3], WORLD, PAIRS)) == snapshot(
        "the reward is one of states and actions, but the occupancy is one of states; give rho(s,a), [S, A], from "
        "demonstrations with actions, or a reward of states."
    )
    assert _sentence(lambda: as_expert([[0.2, 0.5], [0.2, 0.1]], WORLD, PAIRS)) == snapshot(
        "the occupancy is 0.1 for action 1 in state 1, which the world does not offer there; correct the occupancy or "
        "the mask."
    )
    assert "sums to" in _sentence(lambda: as_expert([[0.2, 0.5], [0.2, 0.0]], WORLD, PAIRS))


@pytest.mark.usefixtures("mistyped")
def test_choices_become_shares_and_the_penalty_is_one_of_a_choice():
    shares, objective = as_shares(Choices([0, 0, 1, 0], [1, 0, 0, 1]), WORLD, STATES, 2.0)
    np.testing.assert_allclose(shares, [[0.25, 0.5], [0.25, 0.0]])
    assert [float(leaf) for leaf in (objective.penalty, objective.observations)] == [0.5, 4.0]
    for penalty in (-0.1, float("inf"), float("nan"), "1"):
        told = f"the penalty is {penalty!r}, but a finite number of at least 0 is needed."
        assert _sentence(lambda penalty=penalty: as_shares(Choices([0], [1]), WORLD, STATES, penalty)) == told
    joint = JointModel(STATES, MixtureDynamics([STAY, MOVE], outcomes=[0, 1]))
    as_shares(Choices([0, 0], [1, 0]), WORLD, joint, 0)
    assert _sentence(lambda: as_shares(Choices([0], [1]), WORLD, joint, 0)) == snapshot(
        "the dynamics have (2, 2) states and actions and 2 outcomes, but the world has (2, 2) and 1 choices were "
        "recorded; give one outcome a choice."
    )
    larger = MDP(np.stack([np.eye(3)] * 2, 1), discount=0.9)
    assert "but the world has (3, 2)" in _sentence(lambda: as_shares(Choices([0, 0], [1, 0]), larger, joint, 0))
    require_rewards_alone([STATES], 0.0)
    assert "a penalty is for objective='likelihood'" in _sentence(lambda: require_rewards_alone([STATES], 0.5))
    assert "a JointModel is learned from recorded" in _sentence(lambda: require_rewards_alone([STATES, joint], 0.0))


def test_dynamics_are_mixed_by_their_probabilities():
    drift = MixtureDynamics([STAY, MOVE, STAY], outcomes=[0, 1, 1, 2])
    assert drift.names == ("probability[0]", "probability[1]")
    np.testing.assert_allclose(drift.initial_parameters(), [0.25, 0.5])
    np.testing.assert_allclose(drift.probabilities(np.array([0.1, 0.6])), [0.1, 0.6, 0.3])
    np.testing.assert_allclose(drift.kernel(np.array([0.1, 0.6])).to_array(), 0.4 * STAY + 0.6 * MOVE)


@pytest.mark.parametrize(
    ("kernels", "outcomes", "names", "told"),
    [
        ([STAY], [0], None, "has shape (1, 2, 2, 2), but (J, S, A, S) is needed with at least two kernels"),
        (STAY, [0], None, "has shape (2, 2, 2), but (J, S, A, S)"),
        (np.full((2, 2, 2, 1), 1.0), [0, 1], None, "has shape (2, 2, 2, 1)"),
        ([STAY, MOVE], [0.0, 1.0], None, "the outcomes are no row of whole numbers"),
        ([STAY, MOVE], [[0, 1]], None, "the outcomes are no row of whole numbers"),
        ([STAY, MOVE], np.zeros(0, int), None, "the outcomes are no row of whole numbers"),
        ([STAY, MOVE], [0, -1], None, "row 1 of the outcomes is -1, which none of the 2 kernels explains"),
        ([STAY, MOVE], [2, 1], None, "row 0 of the outcomes is 2, which none of the 2 kernels explains"),
        ([STAY, MOVE], [0, 0], None, "outcome 1 never occurs"),
        ([STAY, MOVE], [0, 1], ["a", "b"], "2 names were given for 1 free probabilities."),
    ],
)
def test_dynamics_that_cannot_be_are_refused(kernels, outcomes, names, told):
    assert told in _sentence(lambda: MixtureDynamics(kernels, outcomes, names))
