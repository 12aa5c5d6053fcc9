"""α by state and action from demonstrations: the truth, simultaneous coverage, and refusals."""

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, estimate_local_alpha, sample_demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP

ROWS = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]] * 2, [[1.0, 0.0, 0.0]] * 2])
WORLD = MDP(ROWS, discount=0.9)
UNIFORM = np.full((3, 2), 0.5)


def expert_world(slip):
    """In state 0 the first action stays with probability `slip`; elsewhere the learner's world."""
    rows = ROWS.copy()
    rows[0, 0] = slip, 1 - slip, 0
    return MDP(rows, discount=0.9)


def test_the_pair_that_differs_is_found_and_no_other():
    demos = sample_demonstrations(expert_world(0.25), UNIFORM, episodes=300, horizon=20, key=jax.random.key(1))
    found = estimate_local_alpha(WORLD, demos)
    truth = np.ones((3, 2))
    truth[0, 0] = 0.75
    assert found.decided.tolist() == [[True, False], [False, False], [False, False]]
    np.testing.assert_allclose(found.alpha, truth, atol=0.03)
    assert np.all((found.low <= truth) & (truth <= found.high))
    assert found.moves.sum() == demos.num_transitions


def test_the_upper_bound_by_hand():
    """Four moves that agree with the learner's certain row: two classes, six pairs."""
    demos = Demonstrations.from_arrays([[0, 1]] * 4, [[0]] * 4)
    found = estimate_local_alpha(WORLD, demos, confidence=0.9)
    radius = np.sqrt(2 * (2 * np.log(2) + np.log(2 * 6 / 0.1)) / 4) / 2
    assert found.low[0, 0] == pytest.approx(max(0, 1 - radius))
    assert found.low[0, 1] == 0  # Never seen.
    assert found.high.tolist() == [[1, 1]] * 3


def test_the_lower_bound_by_hand():
    """Of forty moves all went astray; twenty of them test: (δ)^(1/20) is the exact binomial bound."""
    demos = Demonstrations.from_arrays([[0, 0]] * 40, [[0]] * 40)
    found = estimate_local_alpha(WORLD, demos)
    assert found.high[0, 0] == pytest.approx(1 - (0.025 / 6) ** (1 / 20))
    assert found.alpha[0, 0] == 0.05  # All astray; an α of zero would be no player.


def test_all_intervals_hold_together():
    truth = np.ones((3, 2))
    truth[0, 0] = 0.9
    missed = 0
    for key in range(100):
        demos = sample_demonstrations(expert_world(0.1), UNIFORM, episodes=20, horizon=10, key=jax.random.key(key))
        found = estimate_local_alpha(WORLD, demos, confidence=0.8)
        missed += not np.all((found.low <= truth + 1e-12) & (truth <= found.high + 1e-12))
    assert missed <= 20


def test_renamed_actions_are_compared_with_what_they_resemble():
    swapped = ROWS.copy()
    swapped[0] = ROWS[0, ::-1]
    demos = sample_demonstrations(MDP(swapped, discount=0.9), UNIFORM, episodes=50, horizon=20, key=jax.random.key(1))
    assert not estimate_local_alpha(WORLD, demos).decided.any()


def test_refusals():
    with pytest.raises(InvalidInputError, match="have no actions"):
        estimate_local_alpha(WORLD, Demonstrations.from_arrays([[0, 1]] * 4))
    with pytest.raises(InvalidInputError, match="one episode was given, but two are needed"):
        estimate_local_alpha(WORLD, Demonstrations.from_arrays([[0, 1]], [[0]]))
