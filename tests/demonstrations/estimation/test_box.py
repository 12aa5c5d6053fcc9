"""Intervals of an occupancy: the empirical Bernstein bound, written out."""

import numpy as np

from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.estimation.box import occupancy_box
from robustirl.mdp import MDP

DISCOUNT = 0.5
WALKS = [[0, 1, 0, 1], [0], [1, 1, 0], [0, 0], [1, 0]] * 40
WORLD = MDP(np.full((2, 1, 2), 0.5), discount=DISCOUNT)


def test_the_intervals_of_truncated_episodes_are_bernsteins():
    # An episode shows (1-γ) Σ γ^t of its states; what follows it, γ^n in all, may be in any state.
    shown = np.array(
        [[(1 - DISCOUNT) * sum(DISCOUNT**t for t, at in enumerate(walk) if at == s) for s in (0, 1)] for walk in WALKS]
    )
    above = shown + np.array([DISCOUNT ** len(walk) for walk in WALKS])[:, None]
    log = np.log(2 / (0.05 / 2 / 2))  # Two sides of two states share the risk.

    def bound(samples):
        rest = 7 * log / (3 * (len(samples) - 1))
        return np.sqrt(2 * samples.var(0, ddof=1) * log / len(samples)) + rest

    box = occupancy_box(Demonstrations.from_arrays(WALKS, terminated=False), WORLD)
    np.testing.assert_allclose(box.lower, np.clip(shown.mean(0) - bound(shown), 0, 1), rtol=1e-12)
    np.testing.assert_allclose(box.upper, np.clip(above.mean(0) + bound(above), 0, 1), rtol=1e-12)
    assert 0 < box.lower.min() < box.upper.max() < 1  # Nothing was cut off.


def test_a_single_episode_says_nothing():
    box = occupancy_box(Demonstrations.from_arrays([[0, 1]], terminated=True), WORLD)
    assert box.lower.tolist() == [0, 0]
    assert box.upper.tolist() == [1, 1]


def test_few_episodes_leave_everything_possible():
    for episodes in (1, 2):
        box = occupancy_box(Demonstrations.from_arrays(WALKS[:episodes], terminated=False), WORLD)
        assert box.lower.tolist() == [0, 0]
        assert box.upper.tolist() == [1, 1]
