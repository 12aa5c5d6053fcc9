"""Rollouts: masks, the two-player step, reproducibility, and the same collector over Gymnasium."""

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import collect, linear_policy
from robustirl.control.vector import collect_vector
from robustirl.envs.gaussian_grid import GaussianGrid
from tests.control.worlds import Line, fast_key

WORLD = Line([0.0, -1.0, -1.0, -1.0, 0.0], slip=0.0)


def leaning(size, actions, mean, deviation=0.3):
    """A policy with the same mean action everywhere where features are one-hot or hold a constant last."""
    weights = jnp.broadcast_to(jnp.asarray(mean, dtype=float), (size, actions))
    return eqx.tree_at(lambda p: p.weights, linear_policy(size, actions, deviation=deviation), (weights,))


def test_an_episode_ends_where_it_ends_and_stays_there():
    batch = collect(WORLD, leaning(5, 1, 1.0), episodes=3, horizon=60, mean_action=True, key=fast_key(0))
    np.testing.assert_array_equal(batch.lengths, [2, 2, 2])
    np.testing.assert_array_equal(batch.states[:, 0, 0], [2, 3] + [4] * 59)
    assert batch.terminated.all()
    np.testing.assert_array_equal(batch.visited.sum(0), [3, 3, 3])
    np.testing.assert_array_equal(batch.rewards(WORLD.reward).sum(0), [-1, -1, -1])


def test_states_follow_from_the_executed_actions():
    player, opponent = leaning(5, 1, 0.2), leaning(5, 1, -0.2)
    batch = collect(WORLD, player, opponent, 0.5, episodes=500, horizon=40, key=fast_key(0))
    moves = np.where(np.asarray(batch.executed)[..., 0] > 0, 1.0, -1.0)
    expected = np.where(batch.active, np.asarray(batch.states)[:-1, :, 0] + moves, np.asarray(batch.states)[:-1, :, 0])
    np.testing.assert_array_equal(batch.states[1:, :, 0], expected)
    np.testing.assert_array_equal(np.asarray(batch.features).argmax(-1), np.asarray(batch.states)[..., 0])


def test_the_players_action_is_executed_with_probability_alpha():
    batch = collect(
        Line([0.0] * 5, endless=True),
        leaning(5, 1, 0.0),
        leaning(5, 1, 0.0),
        0.8,
        episodes=500,
        horizon=40,
        key=fast_key(0),
    )
    share, count = float(batch.by_player.mean()), 500 * 40
    assert abs(share - 0.8) < 4 * np.sqrt(0.8 * 0.2 / count)


def test_at_alpha_one_the_opponent_is_never_heard_and_at_zero_the_player_is_not():
    world, player = GaussianGrid(0.1), leaning(7, 2, 0.1)
    runs = [
        collect(world, player, leaning(7, 2, mean), 1.0, episodes=20, horizon=30, key=fast_key(0))
        for mean in (-5.0, 5.0)
    ]
    alone = collect(world, player, episodes=20, horizon=30, key=fast_key(0))
    for name in ("states", "player_actions"):
        assert np.asarray(getattr(runs[0], name)).tobytes() == np.asarray(getattr(runs[1], name)).tobytes()
        # Another program for the lone player, so equal up to rounding.
        np.testing.assert_allclose(getattr(runs[0], name), getattr(alone, name), atol=1e-12)
    assert not collect(world, player, player, 0.0, episodes=20, horizon=30, key=fast_key(0)).by_player.any()


def test_a_world_that_never_ends_is_cut_off_at_the_horizon():
    batch = collect(
        Line([0.0] * 5, endless=True), leaning(5, 1, 1.0), leaning(5, 1, 1.0), episodes=500, horizon=40, key=fast_key(0)
    )
    np.testing.assert_array_equal(batch.lengths, [40] * 500)
    assert not batch.terminated.any()
    assert batch.states.shape == (41, 500, 1)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [1, 26])
def test_the_horizon_does_not_change_the_shape_of_stretches(horizon):
    batch = collect(GaussianGrid(), leaning(7, 2, 0.1), episodes=3, horizon=horizon, key=fast_key(0))
    assert batch.active.shape == (horizon, 3)
    assert batch.active.all()


@pytest.mark.slow
def test_rollouts_batch_over_worlds_and_agree_with_single_ones():
    worlds = [GaussianGrid(noise) for noise in (0.0, 0.3)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *worlds)
    policy = leaning(7, 2, 0.1)

    def states(world):
        # Fast keys would be drawn from otherwise in a batch, where loops end together.
        return collect(world, policy, episodes=20, horizon=30, key=jax.random.key(0)).states

    np.testing.assert_allclose(jax.vmap(states)(stacked), jnp.stack([states(w) for w in worlds]), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "culprits"),
    [
        ({"episodes": 0}, ("episodes", "0")),
        ({"horizon": 0}, ("horizon", "0")),
        ({"alpha": 1.2}, ("alpha", "1.2")),
        ({"key": 0}, ("key is 0, but a key of JAX is needed",)),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_bad_requests_are_refused(change, culprits, refused):
    with refused(*culprits):
        collect(WORLD, leaning(5, 1, 0.0), **{"key": fast_key(0), **change})


def test_what_is_no_vector_environment_is_refused(refused):
    with refused("GaussianGrid", "gymnasium.make_vec"):
        collect_vector(GaussianGrid(), linear_policy(7, 2), key=fast_key(0))
    pendulum = gymnasium.make_vec("CartPole-v1", num_envs=1, vectorization_mode="sync")
    with refused("action space", "Discrete", "Box"):
        collect_vector(pendulum, linear_policy(4, 1), key=fast_key(0))


@pytest.mark.usefixtures("mistyped")
def test_the_vector_collector_refuses_what_is_no_key(refused):
    with refused("key is 7, but a key of JAX is needed"):
        collect_vector(None, leaning(5, 1, 0.0), horizon=2, seed=0, key=7)
