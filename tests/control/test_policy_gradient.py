"""The policy gradient against exact answers, for one player and for two."""

import dataclasses
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from robustirl.control import PAPER, Players, PolicyGradientConfig, collect, linear_policy
from robustirl.control.advantages import critic_values, generalized_advantages, normalized, returns_to_go
from robustirl.control.policy_gradient import ascend, begin, game_gradient, regularizer, surrogate
from robustirl.envs.gaussian_grid import GaussianGrid
from tests.control.worlds import Line, fast_key, line_return

WORLD = Line([-3.0, -1.0, 0.5, -2.0, 0.3, -1.0, 5.0], discount=0.9, slip=0.1)
HORIZON = 6
EPISODES = 20_000


def players(seed=0):
    rng = np.random.default_rng(seed)
    sides = [
        eqx.tree_at(
            lambda p: (p.weights, p.log_deviation),
            linear_policy(7, 1),
            ((jnp.asarray(rng.normal(size=(7, 1)) * 0.4),), jnp.asarray(rng.normal(size=1) * 0.2 - 0.3)),
        )
        for _ in range(2)
    ]
    return Players(*sides)


def exact(sides, alpha):
    """J as a function of both players' parameters: Φ(μ/σ) is the chance of going right."""
    right = [jax.scipy.stats.norm.cdf(p.weights[0][:, 0] / p.deviation[0]) for p in (sides.player, sides.opponent)]
    return line_return(WORLD, alpha * right[0] + (1 - alpha) * right[1], HORIZON)


def sample(sides, alpha=1.0, seed=0):
    """One shape for most tests, so that they share one compiled program."""
    return collect(WORLD, sides.player, sides.opponent, alpha, episodes=50, horizon=40, key=fast_key(seed))


def flat(sides):
    """The ascent direction of each side, as it is estimated: the opponent's is that of -J."""
    return [
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(side)]) for side in (sides.player, sides.opponent)
    ]


def finite_differences(sides, alpha, width=1e-6):
    vector, build = ravel_pytree(sides)
    value = jax.jit(lambda v: exact(build(v), alpha))
    slopes = [
        (value(vector.at[i].add(width)) - value(vector.at[i].add(-width))) / (2 * width) for i in range(vector.size)
    ]
    ours, theirs = flat(build(jnp.stack(slopes)))
    return ours, -theirs


@eqx.filter_jit
def estimates(sides, alpha, config, key):
    """Independent estimates, to know their spread."""

    def one(key):
        batch = collect(WORLD, sides.player, sides.opponent, alpha, episodes=EPISODES // 20, horizon=HORIZON, key=key)
        return game_gradient(sides, batch, batch.rewards(WORLD.reward), WORLD.discount, WORLD.bounds, config)

    return jax.vmap(one)(jax.random.split(key, 20))


@pytest.mark.parametrize("alpha", [1.0, 0.7])
@pytest.mark.parametrize(
    "config",
    [
        pytest.param(PAPER, marks=pytest.mark.slow),
        dataclasses.replace(PAPER, baseline="per-step", credit="executed"),
    ],
    ids=["paper", "executed with a baseline"],
)
def test_the_estimate_agrees_with_finite_differences_of_the_exact_return(alpha, config):
    sides = players()
    many = estimates(sides, jnp.asarray(alpha), config, fast_key(1))
    stacks = [
        np.concatenate([np.reshape(leaf, (20, -1)) for leaf in jax.tree.leaves(side)], 1)
        for side in (many.player, many.opponent)
    ]
    for side, expected in zip(stacks, finite_differences(sides, alpha), strict=True):
        error = side.std(0, ddof=1) / np.sqrt(20)
        # The per-step mean contains the episode itself, which shrinks the estimate by 1/N: allowed for by 1e-3.
        np.testing.assert_array_less(np.abs(side.mean(0) - expected), 4.5 * error + 1e-3 * np.abs(expected) + 1e-9)


@pytest.mark.slow
def test_variance_falls_with_a_baseline_and_with_executed_actions_alone():
    sides = players()
    spreads = []
    for config in (PAPER, dataclasses.replace(PAPER, credit="executed", baseline="per-step")):
        many = estimates(sides, jnp.asarray(0.7), config, fast_key(2))
        spreads.append(sum(float(np.var(leaf, axis=0).sum()) for leaf in jax.tree.leaves(many)))
    assert spreads[1] < 0.7 * spreads[0]


@pytest.mark.slow
def test_the_estimate_agrees_with_automatic_differentiation_through_a_smooth_rollout():
    world, horizon, count = GaussianGrid(0.0), 6, 60_000  # Too short to reach the goal, so the return is smooth.
    rng = np.random.default_rng(0)
    weights = jnp.asarray(rng.normal(size=(7, 2)) * 0.02)
    policy = eqx.tree_at(lambda p: p.weights, linear_policy(7, 2, deviation=0.1), (weights,))
    key = fast_key(0)

    def mean_return(policy):
        """The same episodes with the actions as functions of the parameters."""
        batch = collect(world, policy, episodes=count // 10, horizon=horizon, key=key)
        discounts = world.discount ** jnp.arange(horizon)[:, None]
        return (discounts * batch.rewards(world.reward)).sum(0).mean()

    pathwise = eqx.filter_jit(jax.grad(mean_return))(policy)
    batch = collect(world, policy, episodes=count, horizon=horizon, key=fast_key(1))
    config = dataclasses.replace(PAPER, baseline="per-step")
    rewards = batch.rewards(world.reward)
    sampled = eqx.filter_jit(game_gradient)(
        Players(policy, policy), batch, rewards, world.discount, world.bounds, config
    ).player
    scale = float(jnp.abs(pathwise.weights[0]).max())
    assert scale > 0.1
    np.testing.assert_allclose(sampled.weights[0], pathwise.weights[0], atol=0.05 * scale)


@pytest.mark.slow
def test_at_alpha_one_the_opponent_has_no_gradient_and_no_say():
    sides = players()
    other = Players(sides.player, players(5).opponent)
    config = PolicyGradientConfig()
    batches = [sample(s) for s in (sides, other)]
    gradients = [
        eqx.filter_jit(game_gradient)(s, batch, batch.rewards(WORLD.reward), WORLD.discount, WORLD.bounds, config)
        for s, batch in zip((sides, other), batches, strict=True)
    ]
    assert all(not np.any(leaf) for leaf in jax.tree.leaves(gradients[0].opponent))
    for one, two in zip(jax.tree.leaves(gradients[0].player), jax.tree.leaves(gradients[1].player), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()


def test_returns_to_go_by_hand():
    rewards = jnp.array([[1.0, 0.0], [2.0, 4.0], [3.0, 0.0]])
    np.testing.assert_allclose(returns_to_go(rewards, 0.5), [[2.75, 2.0], [3.5, 4.0], [3.0, 0.0]])


@pytest.mark.slow
def test_gae_at_decay_one_is_the_return_less_the_value():
    batch = sample(players())
    assert batch.terminated.mean() > 0.9
    rewards = batch.rewards(WORLD.reward)
    returns = returns_to_go(rewards, WORLD.discount)
    values = eqx.filter_jit(critic_values)(batch, returns)
    found = eqx.filter_jit(generalized_advantages)(batch, rewards, values, WORLD.discount, 1.0)
    ended = np.asarray(batch.terminated)
    expected = np.where(batch.active, returns - values[:-1], 0)
    np.testing.assert_allclose(np.asarray(found)[:, ended], expected[:, ended], atol=1e-10)


@pytest.mark.slow
def test_gae_of_an_episode_that_is_cut_off_adds_the_value_of_its_last_state():
    sides = players()
    batch = collect(WORLD, sides.player, sides.opponent, episodes=50, horizon=4, key=fast_key(0))
    rewards = batch.rewards(WORLD.reward)
    returns = returns_to_go(rewards, WORLD.discount)
    values = eqx.filter_jit(critic_values)(batch, returns)
    found = eqx.filter_jit(generalized_advantages)(batch, rewards, values, WORLD.discount, 1.0)
    cut = ~np.asarray(batch.terminated)
    assert cut.sum() > 5
    beyond = float(WORLD.discount) ** np.array([[4], [3], [2], [1]]) * np.asarray(values)[-1:]
    np.testing.assert_allclose(np.asarray(found)[:, cut], (returns - values[:-1] + beyond)[:, cut], atol=1e-10)


@pytest.mark.slow
def test_the_critic_is_the_value_function_where_features_tell_states_apart():
    sides = players()
    batch = collect(WORLD, sides.player, sides.opponent, episodes=4000, horizon=60, key=fast_key(0))
    returns = returns_to_go(batch.rewards(WORLD.reward), WORLD.discount)
    right = jax.scipy.stats.norm.cdf(sides.player.weights[0][:, 0] / sides.player.deviation[0])
    expected = line_return(WORLD, right, 60)  # Of the start.
    np.testing.assert_allclose(eqx.filter_jit(critic_values)(batch, returns)[0, 0], expected, atol=0.15)


def test_normalized_advantages_have_mean_zero_and_deviation_one_over_the_steps_taken():
    batch = sample(players())
    values = normalized(batch, jnp.asarray(np.random.default_rng(0).normal(3, 7, size=batch.active.shape)))
    taken = np.asarray(values)[np.asarray(batch.active)]
    np.testing.assert_allclose([taken.mean(), taken.std()], [0, 1], atol=1e-12)
    assert not np.any(normalized(batch, jnp.full(batch.active.shape, 3.0)))


@pytest.mark.slow
def test_the_clipped_objective_starts_with_the_plain_gradient_and_stops_at_the_clip():
    sides = players()
    batch = sample(sides)
    weights = batch.masked(jnp.ones(batch.active.shape))
    slope = eqx.filter_jit(jax.grad(surrogate))
    plain = slope(sides.player, batch, batch.player_actions, weights)
    ratio = slope(sides.player, batch, batch.player_actions, weights, sides.player)
    for one, two in zip(jax.tree.leaves(plain), jax.tree.leaves(ratio), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    narrow = eqx.tree_at(lambda p: p.log_deviation, sides.player, sides.player.log_deviation - 5)
    value = eqx.filter_jit(surrogate)(sides.player, batch, batch.player_actions, weights, narrow, 0.2)
    assert np.isfinite(value)
    assert value <= 1.2 * weights.sum() / 50 + 1e-9


def test_mean_actions_far_out_of_bounds_cost_and_those_within_reach_do_not():
    batch = sample(players())
    config = PolicyGradientConfig(excess=1.0, reach=2.0)

    def cost(mean):
        side = eqx.tree_at(lambda p: p.weights, linear_policy(7, 1), (jnp.full((7, 1), mean, dtype=float),))
        still = linear_policy(7, 1)
        return float(eqx.filter_jit(regularizer)(Players(side, still), batch, WORLD.bounds, config))

    assert cost(1.9) == 0
    steps = float(batch.active.sum()) / 50
    np.testing.assert_allclose(cost(-3.0), -steps)


@pytest.mark.parametrize("method", ["likelihood-ratio", pytest.param("ppo", marks=pytest.mark.slow)])
def test_an_update_with_nan_is_not_taken(method):
    config = PolicyGradientConfig(method=method, baseline="critic")
    state = begin(players(), config)
    batch = sample(state.players)
    rewards = batch.rewards(WORLD.reward)
    update = eqx.filter_jit(lambda rewards: ascend(state, batch, rewards, WORLD.discount, WORLD.bounds, config, 10))
    (good, fine), (bad, broken) = update(rewards), update(rewards.at[0, 0].set(jnp.nan))
    assert fine
    assert not broken
    assert any(np.any(a != b) for a, b in zip(jax.tree.leaves(good), jax.tree.leaves(state), strict=True))
    for one, two in zip(jax.tree.leaves(bad), jax.tree.leaves(state), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("change", "culprits"),
    [
        ({"steps": -1}, ("steps", "-1")),
        ({"episodes": 0}, ("episodes", "0")),
        ({"learning_rate": 0.0}, ("learning_rate", "0.0")),
        ({"method": "trpo"}, ("method", "'trpo'", "ppo")),
        ({"baseline": "mean"}, ("baseline", "'mean'", "per-step")),
        ({"credit": "some"}, ("credit", "'some'", "executed")),
        ({"entropy": -0.1}, ("entropy", "-0.1")),
        ({"gae_decay": 1.5}, ("gae_decay", "1.5")),
        ({"deviations": (0.5, 0.1)}, ("deviations", "(0.5, 0.1)")),
        ({"excess": float("nan")}, ("excess", "nan")),
        ({"excess": float("inf")}, ("excess", "inf")),
        ({"excess": "1"}, ("excess", "'1'")),
        ({"horizon": 0}, ("horizon", "0")),
        ({"epochs": 0}, ("epochs", "0")),
        ({"gradient_norm": 0.0}, ("gradient_norm", "0.0")),
        ({"reach": 0.0}, ("reach", "0.0")),
        ({"gae_decay": -0.1}, ("gae_decay", "-0.1")),
        ({"gae_decay": "1"}, ("gae_decay", "'1'")),
        ({"deviations": (0.0, 0.1)}, ("deviations", "(0.0, 0.1)")),
        ({"deviations": (0.1, 0.1)}, ("deviations", "(0.1, 0.1)")),
        ({"deviations": (0.1, float("inf"))}, ("deviations", "(0.1, inf)")),
    ],
)
def test_a_bad_setting_is_refused(change, culprits, refused):
    unchecked = inspect.unwrap(PolicyGradientConfig.__init__)  # The type checks that only tests run under come first.
    with refused(*culprits):
        unchecked(object.__new__(PolicyGradientConfig), **change)


def test_settings_at_their_limits_are_accepted():
    least = {"steps": 0, "episodes": 1, "horizon": 1, "epochs": 1, "entropy": 0, "excess": 0.0, "gae_decay": 0}
    for limits in (least, {"gae_decay": 1, "entropy": 1e9, "gradient_norm": None, "reach": 1e-9, "clip": 1e-9}):
        made = PolicyGradientConfig(**limits)
        assert {name: getattr(made, name) for name in limits} == limits
