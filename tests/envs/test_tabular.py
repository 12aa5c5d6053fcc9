"""Environments made of tables: blending, noise, and what noise leaves alone."""

import numpy as np
import pytest

from robustirl.envs.tabular import DENSE_STATES, Outcomes, TabularEnvironment, blend
from robustirl.mdp import BandedKernel, DenseKernel

# From 0 action 0 leads to 1 or 2, listed in three pieces, and action 1 to 2; 1 has one action, back to 0; 2 keeps.
OUTCOMES = Outcomes(
    np.array([[[1, 2, 1], [2, 0, 0]], [[0, 0, 0], [0, 0, 0]], [[2, 2, 2], [2, 2, 2]]]),
    np.array([[[0.25, 0.5, 0.25], [1, 0, 0]], [[1, 0, 0], [0, 0, 0]], [[0.5, 0.5, 0], [1, 0, 0]]]),
)


def small(**options):
    return TabularEnvironment("small", outcomes=OUTCOMES, rewards=np.array([1.0, 2.0, 0.0]), **options)


def rows(env, noise=0.0, model=None):
    return env.mdp(noise, model).kernel.to_sparse().toarray().reshape(3, 2, 3)


def test_pieces_of_an_outcome_add_up_and_missing_actions_are_masked():
    np.testing.assert_array_equal(rows(small())[:, 0], [[0, 0.5, 0.5], [1, 0, 0], [0, 0, 1]])
    assert small().mdp().mask.tolist() == [[True, True], [True, False], [True, True]]


def test_uniform_state_spreads_over_all_states_but_leaves_absorbing_ones_and_missing_actions_alone():
    kernel = rows(small(), 0.3, "uniform-state")
    np.testing.assert_allclose(kernel[0, 0], [0.1, 0.45, 0.45])
    np.testing.assert_allclose(kernel[1], [[0.8, 0.1, 0.1], [0, 0, 0]])
    np.testing.assert_array_equal(kernel[2], [[0, 0, 1], [0, 0, 1]])


def test_uniform_action_draws_from_the_actions_that_exist():
    kernel = rows(small(), 0.4, "uniform-action")
    np.testing.assert_allclose(kernel[0, 0], 0.6 * np.array([0, 0.5, 0.5]) + 0.4 * np.array([0, 0.25, 0.75]))
    np.testing.assert_allclose(kernel[1, 0], [1, 0, 0])


def test_a_disturbance_of_ones_own_comes_first_and_spares_calm_states():
    back = Outcomes.certain(np.zeros((3, 2), dtype=int))
    env = small(disturbances={"back": back}, calm=np.array([True, False, False]))
    assert env.noise_models == ("back", "uniform-state", "uniform-action")
    np.testing.assert_array_equal(rows(env, 0.5)[0], rows(env)[0])
    assert rows(small(disturbances={"back": back}), 0.5)[0, 1].tolist() == [0.5, 0, 0.5]


def test_blending_and_reordering():
    other = OUTCOMES.after(np.array([1, 0]))
    np.testing.assert_array_equal(other.dense(), OUTCOMES.dense()[:, ::-1])
    mixed = blend((0.25, OUTCOMES), (0.75, other)).dense()
    np.testing.assert_allclose(mixed, 0.25 * OUTCOMES.dense() + 0.75 * other.dense())
    per_state = OUTCOMES.after(np.array([[0, 0], [0, 1], [1, 0]])).dense()
    np.testing.assert_array_equal(per_state[0, 1], OUTCOMES.dense()[0, 0])


def ring(size):
    here = np.arange(size)
    moves = np.stack([(here + 1) % size, (here - 1) % size], -1)
    return TabularEnvironment("ring", outcomes=Outcomes.certain(moves), rewards=np.zeros((size, 2)))


def test_large_tables_stay_lists():
    assert isinstance(ring(100).mdp(0.1, "uniform-action").kernel, DenseKernel)
    assert isinstance(ring(300).mdp(0.1, "uniform-action").kernel, BandedKernel)
    large = ring(DENSE_STATES + 1).mdp(0.25, "uniform-action").kernel
    assert isinstance(large, BandedKernel)
    np.testing.assert_allclose(large.to_sparse().toarray()[0, [1, DENSE_STATES]], [0.875, 0.125])


def test_the_default_noise_model_of_a_large_table_is_refused_with_a_remedy(refused):
    with refused("uniform-state", "1001", "another noise model"):
        ring(DENSE_STATES + 1).mdp(0.1)


@pytest.mark.parametrize("shape", [(3, 3), (2,), (3, 2, 1)])
def test_a_reward_of_another_shape_is_refused(shape, refused):
    with refused("the reward", str(shape), "(3,)", "(3, 2)"):
        TabularEnvironment("small", outcomes=OUTCOMES, rewards=np.zeros(shape))


def test_rewards_are_checked_and_cannot_be_written_to(refused):
    with refused("the reward", "state 1", "nan"):
        TabularEnvironment("small", outcomes=OUTCOMES, rewards=np.array([0.0, np.nan, 0.0]))
    with pytest.raises(ValueError, match="read-only"):
        small().reward[0] = 3.0


def test_a_table_in_words():
    outcomes = Outcomes(np.zeros((3, 2, 1), int), np.ones((3, 2, 1)))
    words = repr(TabularEnvironment("table", outcomes=outcomes, rewards=np.zeros(3), discount=0.9))
    assert "3 states, 2 actions" in words


def test_the_repr_says_the_discount_and_the_noise():
    assert "γ = 0.9" in repr(small(discount=0.9))
