"""α by state and action from demonstrations: the truth, simultaneous coverage, and refusals."""

import jax
import numpy as np
import pytest
from scipy import stats

from robustirl.demonstrations import Demonstrations, estimate_local_alpha, sample_demonstrations
from robustirl.demonstrations.estimation import local_alpha
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


def fork(row):
    """State 0 has one of two actions, with these outcomes; 1 and 2 are never left."""
    rows = np.zeros((3, 2, 3))
    rows[0, 0] = row
    rows[1, :, 1] = rows[2, :, 2] = 1.0
    return MDP(rows, discount=0.9, mask=[[True, False], [True, True], [True, True]])


def walks_to(*places):
    return Demonstrations.from_arrays([[0, place] for place in places], [[0]] * len(places))


def test_one_pair_by_hand():
    # All fifty that propose go to 2, and forty of the fifty that test; one pair and two sides share a risk of 0.2.
    found = estimate_local_alpha(fork([0.0, 0.7, 0.3]), walks_to(*[2, 2] * 40, *[2, 1] * 10), confidence=0.8)
    radius = np.sqrt(2 * (3 * np.log(2) - np.log(0.1)) / 100) / 2
    expected = np.ones((3, 2))  # What is not to be had, or never left, is as it is.
    expected[0, 0] = 1 - 0.6 - radius
    np.testing.assert_allclose(found.low, expected)
    expected[0, 0] = 1 - (stats.beta.ppf(0.1, 40, 11) - 0.3)
    np.testing.assert_allclose(found.high, expected)
    expected[0, 0] = 0.4
    np.testing.assert_allclose(found.alpha, expected)
    assert found.moves.tolist() == [[100, 0], [0, 0], [0, 0]]


def test_few_moves_by_hand():
    # One of the two that test goes where both that propose went, which the world hardly ever does.
    found = estimate_local_alpha(fork([0.0, 0.99, 0.01]), walks_to(2, 2, 2, 1), confidence=0.8)
    assert found.high[0, 0] == pytest.approx(1 - (stats.beta.ppf(0.1, 1, 2) - 0.01))
    assert found.low[0, 0] == 0
    assert found.alpha[0, 0] == pytest.approx(1 - 0.74)
    # A single move, which the world makes for certain, bounds nothing; two episodes are enough to look at.
    alone = Demonstrations.from_arrays([[0, 1], [0]], [[0], []])
    found = estimate_local_alpha(fork([0.0, 1.0, 0.0]), alone, confidence=0.5)
    assert (found.low[0, 0], found.high[0, 0], found.moves[0, 0]) == (0, 1, 1)


def test_worlds_too_large_to_look_at_every_pair_are_refused(monkeypatch):
    monkeypatch.setattr(local_alpha, "MOST_ENTRIES", 18)
    estimate_local_alpha(WORLD, walks_to(1, 1))
    monkeypatch.setattr(local_alpha, "MOST_ENTRIES", 17)
    with pytest.raises(InvalidInputError, match=r"has 3 states and 2 actions, too many to look at every pair \(17 ent"):
        estimate_local_alpha(WORLD, walks_to(1, 1))
