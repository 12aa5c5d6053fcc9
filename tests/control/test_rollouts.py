"""Rollouts: masks, the two-player step, segments that go on, and environments that step themselves."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._jax import single_precision
from robustirl.control import collect
from robustirl.control.policies import GaussianPolicy, Network, Players, Scale, folded, linear_policy
from robustirl.control.rollouts import Evaluation, Walkers, episodes_of, walk, walk_on_host
from robustirl.control.worlds import Field
from robustirl.envs import GaussianGrid, physics
from tests.control.worlds import STILL, Line, Scripted, fast_key

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
    world, policy = Line([0.0] * 5, endless=True), leaning(5, 1, 0.0)
    batch = collect(world, policy, policy, 0.8, episodes=500, horizon=40, key=fast_key(0))
    share, count = float(batch.by_player.mean()), 500 * 40
    assert abs(share - 0.8) < 4 * np.sqrt(0.8 * 0.2 / count)
    np.testing.assert_array_equal(batch.lengths, [40] * 500)  # A world that never ends is cut off at the horizon.
    assert not batch.terminated.any()


def test_at_alpha_one_the_opponent_is_never_heard():
    world, player = GaussianGrid(0.1), leaning(7, 2, 0.1)
    size = {"episodes": 20, "horizon": 30, "key": fast_key(0)}
    one, two = (collect(world, player, leaning(7, 2, mean), 1.0, **size) for mean in (-5.0, 5.0))
    alone = collect(world, player, **size)
    for name in ("states", "player_actions"):
        assert np.asarray(getattr(one, name)).tobytes() == np.asarray(getattr(two, name)).tobytes()
        # Another program for the lone player, so equal up to rounding.
        np.testing.assert_allclose(getattr(one, name), getattr(alone, name), atol=1e-12)


def test_median_and_mean_of_returns():
    batch = Evaluation(jnp.array([[1.0, 2.0, 9.0], [0.0, 4.0, 2.0]]), jnp.ones((2, 3), bool), jnp.ones((2, 3), int))
    assert (batch.median_return.tolist(), batch.mean_return.tolist()) == ([2, 2], [4, 2])


def test_a_network_is_tanh_of_affine_layers():
    network = Network.create(2, (3,), key=jax.random.key(0))
    first, last = network.layers
    inputs = jnp.array([[0.3, -1.0]])
    hidden = np.tanh(inputs @ np.asarray(first.weight).T + np.asarray(first.bias))
    np.testing.assert_allclose(network(inputs), hidden @ np.asarray(last.weight)[0] + np.asarray(last.bias), rtol=1e-6)
    scale = Scale(jnp.array([1.0]), jnp.array([1e-9]), jnp.array(4.0))
    np.testing.assert_allclose(scale(jnp.array([1.002])), [2.0], rtol=1e-4)  # A deviation is at least a thousandth.


def test_episodes_that_end_begin_anew():
    with single_precision():
        field, policy = Field(physics.make("cart-pole"), each=False), leaning(4, 1, 0.0)
        policy = jax.tree.map(lambda leaf: leaf.astype(np.float32), policy)
        states = field.initial(jax.random.split(jax.random.key(1), 6))
        walkers = eqx.tree_at(lambda w: w.ages, Walkers.at(states), jnp.arange(6))
        game = (field, Players(policy, policy), Scale.empty(4), jnp.array(0.5), walkers)
        onwards, segment = eqx.filter_jit(walk)(*game, steps=60, horizon=1000, key=jax.random.key(2))
    over = np.asarray(segment.over)
    assert over.any()
    assert (over == np.asarray(segment.terminated)).all()  # Nothing was cut off.
    assert np.isnan(np.asarray(segment.returns)[~over]).all()
    for column in np.flatnonzero(over.any(0)):
        first = int(np.argmax(over[:, column]))
        assert segment.lengths[first, column] == first + 1 + column
        assert segment.returns[first, column] == first + 1  # One a step since the segment began.
    assert 0.3 < np.asarray(segment.by_player).mean() < 0.7
    assert np.abs(np.asarray(onwards.states)[:, 2]).max() < 0.3


def test_several_worlds_are_spread_over_the_environments():
    worlds = [physics.make("pendulum", mass=mass) for mass in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(Field.of(worlds, 7).world.parameters["mass"], [1, 2, 3, 1, 2, 3, 1])
    assert Field.of(worlds, 7).take(2).world.parameters["mass"].shape == (2,)


class Echo(eqx.Module):
    """The state is the last action."""

    draw_size = 1

    def initial(self, *, key):
        del key
        return jnp.zeros(2)

    def step(self, state, action, draws):
        del state, draws
        return action

    def terminal(self, state):
        del state
        return jnp.zeros((), bool)

    def features(self, state):
        return state


def test_policies_act_in_units_of_the_largest_action():
    with single_precision():
        policy = GaussianPolicy((jnp.eye(2), jnp.ones((2, 2))), (jnp.ones(2),), jnp.log(jnp.array([0.5, 0.6])))
        units, scale = jnp.array([2.0, 3.0]), Scale.empty(2)
        game = (Field(Echo(), each=False), Players(policy, policy), scale, jnp.ones(()), Walkers.at(jnp.zeros((3, 2))))
        _, taken = walk(*game, steps=1, horizon=9, units=units, key=jax.random.key(0))
        np.testing.assert_allclose(taken.next_features, taken.actions * units, rtol=1e-6)
        np.testing.assert_allclose(taken.log_densities, policy.log_density(taken.features, taken.actions), rtol=1e-5)
        whole, seen = folded(policy, scale, units), jnp.array([0.3, -0.2])
        np.testing.assert_allclose(whole.mean(seen), policy.mean(seen) * units, rtol=1e-6)
        np.testing.assert_allclose(whole.deviation, [1.0, 1.8], rtol=1e-6)


def walked(world, walkers, **options):
    options = {"steps": 4, "mean_action": True, "key": jax.random.key(0)} | options
    return walk_on_host(world, Players(STILL, STILL), Scale.empty(2), np.ones(()), walkers, **options)


def test_a_step_that_was_not_taken_repeats_one_that_was():
    world = Scripted()
    onward, rows = walked(world, Walkers(world.reset(), np.array([0, 5, 7]), np.array([0.0, 10.0, 20.0])))
    # The first environment begins anew in the first step, which repeats the second; the second one in the third.
    np.testing.assert_array_equal(rows.features[..., 1], [[1, 0, 0], [1, 1, 1], [2, 1, 2], [3, 3, 3]])
    np.testing.assert_array_equal(rows.paid, [[2, 1, 1], [2, 2, 2], [3, 2, 3], [4, 4, 4]])
    np.testing.assert_array_equal(rows.terminated, [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(rows.over, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]])
    # Episodes are reported once: 5 + 2 steps and 10 + 1 + 2, then 3 steps and 2 + 3 + 4.
    np.testing.assert_array_equal(rows.lengths, [[0, 0, 0], [0, 7, 0], [0, 0, 0], [3, 0, 0]])
    np.testing.assert_array_equal(np.nan_to_num(rows.returns), [[0, 0, 0], [0, 13, 0], [0, 0, 0], [9, 0, 0]])
    np.testing.assert_array_equal(onward.ages, [0, 1, 11])
    np.testing.assert_array_equal(onward.totals, [0, 4, 30])
    np.testing.assert_allclose(rows.actions[..., 0], np.tile([0, 0.5, 1.0], (4, 1)))
    assert rows.by_player.all()
    _, rows = walked(world, Walkers.at(jnp.asarray(world.reset())), units=np.array([3.0]))
    assert world.moved[4:] == [[0, 1.5, 3.0]] * 4
    np.testing.assert_allclose(rows.actions[..., 0], np.tile([0, 0.5, 1.0], (4, 1)))  # What is learned from.


def test_whole_episodes_end_where_they_end():
    world = Scripted("ge--", "gggc", "ccgg")
    episodes = episodes_of(world, STILL, episodes=4, mean_action=True, key=jax.random.key(0))
    assert [len(one.over) for one in episodes] == [2, 4, 1, 2]  # The fourth is the first of the next round.
    assert [bool(one.terminated[-1, 0]) for one in episodes] == [True, False, False, True]
    assert world.resets == 2
    assert [float(one.paid.sum()) for one in episodes[:3]] == [1 + 2, 1 + 2 + 3 + 4, 1]


@pytest.mark.parametrize(
    ("change", "culprits"),
    [
        ({"episodes": 0}, ("episodes is 0",)),
        ({"horizon": 0}, ("the horizon is 0",)),
        ({"alpha": 1.2}, ("alpha is 1.2",)),
        ({"key": 0}, ("key is 0, but a key of JAX is needed",)),
        ({"episodes": 10**9, "horizon": 10**9}, ("needs about", "GiB of memory")),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_bad_requests_are_refused(change, culprits, refused):
    with refused(*culprits):
        collect(WORLD, leaning(5, 1, 0.0), **{"key": fast_key(0), **change})
