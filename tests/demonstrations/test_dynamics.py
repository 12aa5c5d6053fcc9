"""The expert's world and α by state and action from recorded actions: by hand, and where the truth is known."""

import jax
import numpy as np
import pytest
from scipy import stats

from robustirl.demonstrations import Demonstrations, estimate_dynamics, estimate_local_alpha, sample_demonstrations
from robustirl.mdp import MDP, uniform_policy

CLEAR = np.array([[[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.1, 0.0, 0.9]]] * 3)
NOISY = 0.6 * CLEAR + 0.4 / 3
ROWS = np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]] * 2, [[1.0, 0.0, 0.0]] * 2])
WORLD = MDP(ROWS, discount=0.9)
UNIFORM = np.full((3, 2), 0.5)


def rows_of(world):
    return world.kernel.to_sparse().toarray().reshape(world.num_states, world.num_actions, -1)


def walks_in(rows, episodes=100):
    world = MDP(rows, discount=0.9)
    return sample_demonstrations(
        world, uniform_policy(world.mask), episodes=episodes, horizon=30, key=jax.random.key(0)
    )


def test_the_posterior_mean_of_a_row():
    world = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.9)
    walks = Demonstrations.from_arrays([[0, 1], [0, 1], [0, 0]], [[0], [0], [0]])
    found = estimate_dynamics(world, walks, strength=2.0)
    # Three moves out of state 0, two of them to state 1; the prior adds one to either. State 1 keeps its prior.
    np.testing.assert_allclose(rows_of(found.world)[:, 0], [[2 / 5, 3 / 5], [0.5, 0.5]])
    assert found.visits.tolist() == [[3.0], [0.0]]
    assert found.deviation[0, 0, 0] == pytest.approx(np.sqrt(0.4 * 0.6 / 6))


@pytest.mark.parametrize(
    ("learner", "expert", "relabel", "noise"),
    [
        (CLEAR, CLEAR, [0, 1, 2], (0.0, 0.02)),
        (CLEAR, NOISY, [0, 1, 2], (0.35, 0.45)),
        (NOISY, CLEAR, [0, 1, 2], (0.0, 0.01)),
        (CLEAR, CLEAR[:, [1, 2, 0]], [1, 2, 0], (0.0, 0.02)),
        (CLEAR, NOISY[:, [1, 0, 2]], [1, 0, 2], (0.35, 0.45)),
    ],
)
def test_the_world_its_noise_and_its_names_are_found(learner, expert, relabel, noise):
    found = estimate_dynamics(MDP(learner, discount=0.9), walks_in(expert))
    assert np.abs(rows_of(found.world) - expert).max() < 0.1
    assert found.relabel.tolist() == [relabel] * 3
    assert noise[0] <= found.noise <= noise[1]


def test_noise_of_seen_pairs_is_expected_of_unseen_ones():
    # Action 0 leads from 0 to 1 and from 1 to 2; of a hundred moves out of 0, ten go to 2. Nobody left 1 or 2.
    rows = np.eye(3)[[1, 2, 0]][:, None]
    walks = Demonstrations.from_arrays([[0, 1]] * 90 + [[0, 2]] * 10, [[0]] * 100)
    found = estimate_dynamics(MDP(rows, discount=0.9), walks)
    assert found.noise == pytest.approx(
        0.15, abs=1e-4
    )  # One of two outcomes astray was seen: 0.05 for each of the three.
    expected = (1 - found.noise) * rows[1:, 0] + found.noise / 3
    np.testing.assert_allclose(rows_of(found.world)[1:, 0], expected, rtol=1e-6)


def test_states_that_are_never_left_stay_so_and_unseen_pairs_follow_the_names():
    rows = np.array([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]] * 2])
    # In state 0 the expert's actions are swapped; state 1 was never left by action 0.
    walks = Demonstrations.from_arrays([[0, 0, 0, 0, 1, 2]] * 10, [[0, 0, 0, 1, 1]] * 10, terminated=True)
    found = estimate_dynamics(MDP(rows, discount=0.9), walks)
    assert found.relabel[0].tolist() == [1, 0]
    assert found.relabel[1, 0] == 1
    assert rows_of(found.world)[2].tolist() == rows[2].tolist()


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
    swapped = ROWS.copy()
    swapped[0] = ROWS[0, ::-1]
    renamed = sample_demonstrations(MDP(swapped, discount=0.9), UNIFORM, episodes=50, horizon=20, key=jax.random.key(1))
    assert not estimate_local_alpha(WORLD, renamed).decided.any()


def test_all_intervals_hold_together():
    truth = np.ones((3, 2))
    truth[0, 0] = 0.9
    missed = 0
    for key in range(100):
        demos = sample_demonstrations(expert_world(0.1), UNIFORM, episodes=20, horizon=10, key=jax.random.key(key))
        found = estimate_local_alpha(WORLD, demos, confidence=0.8)
        missed += not np.all((found.low <= truth + 1e-12) & (truth <= found.high + 1e-12))
    assert missed <= 20


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
    # All of forty moves went astray: α stays above zero, because zero would be no player.
    assert estimate_local_alpha(fork([0.0, 1.0, 0.0]), walks_to(*[2] * 40)).alpha[0, 0] == 0.05


def test_what_cannot_be_estimated_is_refused(refused):
    walks = walks_to(1, 1)
    for estimate in (estimate_dynamics, estimate_local_alpha):
        with refused("have no actions", "record the expert's actions"):
            estimate(WORLD, walks.without_actions())
    with refused("the strength of the prior is 0"):
        estimate_dynamics(WORLD, walks, strength=0.0)
    with refused("one episode was given, but two are needed"):
        estimate_local_alpha(WORLD, walks[:1])
    wide = MDP(np.eye(3000)[:, None], discount=0.9)
    with refused("3000 states and 1 actions, too many to look at every pair"):
        estimate_dynamics(wide, walks)
