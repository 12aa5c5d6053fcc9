"""The policy gradient against exact answers and formulas, and the trainings that follow it."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from jax.flatten_util import ravel_pytree

from robustirl.control import PAPER, PolicyGradientConfig, collect, evaluate, solve_game, train_expert
from robustirl.control.policies import GaussianPolicy, Players, linear_policy
from robustirl.control.policy_gradient import RIDGE, advantages, critic_values, game_gradient, returns_to_go, surrogate
from robustirl.control.rollouts import Episodes
from robustirl.envs import GaussianGrid
from robustirl.errors import ConvergenceError
from tests.control.worlds import Line, fast_key, line_return

WORLD = Line([-3.0, -1.0, 0.5, -2.0, 0.3, -1.0, 5.0], discount=0.9, slip=0.1)
HORIZON = 6
EPISODES = 20_000
LINE = Line([0.0, -1.0, -1.0, -1.0, 5.0], slip=0.0)
QUICK = PolicyGradientConfig(steps=40, episodes=32, horizon=20)


def by_hand() -> Episodes:
    """Return three steps of two episodes: the second ends after its first step."""
    rng = np.random.default_rng(5)
    return Episodes(
        states=jnp.zeros((4, 2, 1)),
        features=jnp.asarray(rng.normal(size=(4, 2, 2))),
        player_actions=jnp.asarray(rng.normal(size=(3, 2, 1))),
        opponent_actions=jnp.asarray(rng.normal(size=(3, 2, 1))),
        by_player=jnp.array([[True, False], [False, True], [True, True]]),
        active=jnp.array([[True, True], [True, False], [True, False]]),
        terminated=jnp.array([False, True]),
    )


def players(seed=0):
    rng = np.random.default_rng(seed)
    policy = lambda: GaussianPolicy(  # noqa: E731
        (jnp.asarray(rng.normal(size=(7, 1)) * 0.4),), (), jnp.asarray(rng.normal(size=1) * 0.2 - 0.3)
    )
    return Players(policy(), policy())


def finite_differences(sides, alpha, width=1e-6):
    """The slopes of J, exactly: Φ(μ/σ) is the chance of going right."""

    def exact(sides):
        right = [jax.scipy.stats.norm.cdf(p.weights[0][:, 0] / p.deviation[0]) for p in (sides.player, sides.opponent)]
        return line_return(WORLD, alpha * right[0] + (1 - alpha) * right[1], HORIZON)

    vector, build = ravel_pytree(sides)
    value = jax.jit(lambda v: exact(build(v)))
    units = np.eye(vector.size) * width
    slopes = build(jnp.stack([(value(vector + unit) - value(vector - unit)) / (2 * width) for unit in units]))
    flat = [np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(s)]) for s in (slopes.player, slopes.opponent)]
    return flat[0], -flat[1]


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
    many = estimates(players(), jnp.asarray(alpha), config, fast_key(1))
    stacks = [
        np.concatenate([np.reshape(leaf, (20, -1)) for leaf in jax.tree.leaves(side)], 1)
        for side in (many.player, many.opponent)
    ]
    for side, expected in zip(stacks, finite_differences(players(), alpha), strict=True):
        error = side.std(0, ddof=1) / np.sqrt(20)
        # The per-step mean contains the episode itself, which shrinks the estimate by 1/N: allowed for by 1e-3.
        np.testing.assert_array_less(np.abs(side.mean(0) - expected), 4.5 * error + 1e-3 * np.abs(expected) + 1e-9)
    if alpha == 1 and config.credit == "executed":
        assert not stacks[1].any()  # The opponent has no say.


def test_the_critic_is_a_ridge_regression_and_zero_where_an_episode_has_ended():
    batch, returns = by_hand(), np.random.default_rng(0).normal(size=(3, 2))
    values = jax.jit(lambda r: critic_values(batch, r))(returns)
    time = np.arange(4) / 3
    features = np.asarray(batch.features)
    rows = np.concatenate([features, features**2, np.stack([np.ones(4), time, time**2], -1)[:, None].repeat(2, 1)], -1)
    taken = [(0, 0), (1, 0), (2, 0), (0, 1)]
    inputs, targets = np.stack([rows[place] for place in taken]), np.array([returns[place] for place in taken])
    gram = inputs.T @ inputs
    weights = np.linalg.solve(gram + RIDGE * np.trace(gram) / 7 * np.eye(7), inputs.T @ targets)
    expected = rows @ weights
    expected[1:, 1] = 0
    np.testing.assert_allclose(values, expected, rtol=1e-7)


def test_advantages_by_hand():
    batch, rewards = by_hand(), jnp.array([[1.0, 2.0], [3.0, 0.0], [4.0, 0.0]])
    plain = PolicyGradientConfig(baseline="none", normalize=False)
    of = lambda **changes: advantages(batch, rewards, jnp.array(0.5), dataclasses.replace(plain, **changes))  # noqa: E731
    returns = np.array([[1 + 1.5 + 1, 2], [3 + 2, 0], [4, 0]])
    np.testing.assert_allclose(of(), returns)
    np.testing.assert_allclose(of(discounted=True), returns * np.array([[1], [0.5], [0.25]]))
    np.testing.assert_allclose(of(baseline="per-step"), [[0.75, -0.75], [0, 0], [0, 0]])
    taken = np.array([3.5, 5, 4, 2])  # Mean zero and deviation one over the steps taken.
    normal = (taken - taken.mean()) / taken.std()
    np.testing.assert_allclose(of(normalize=True), [[normal[0], normal[3]], [normal[1], 0], [normal[2], 0]])
    assert not advantages(batch, 0 * rewards, jnp.array(0.5), PolicyGradientConfig()).any()  # No news, no division.
    # GAE at λ = 1 is the return less the value; the episode that was cut off adds the value of its last state.
    critic = np.asarray(critic_values(batch, returns_to_go(rewards, 0.5)))
    expected = returns - critic[:-1] + np.array([[0.125], [0.25], [0.5]]) * [[critic[3, 0], 0]]
    np.testing.assert_allclose(of(baseline="critic", gae_decay=1.0), expected * np.asarray(batch.active), atol=1e-12)


@pytest.mark.parametrize("credit", ["all", "executed"])
def test_the_gradient_of_both_sides_by_the_formula(credit):
    linear = lambda slope, log: GaussianPolicy((jnp.array(slope),), (), jnp.array([log]))  # noqa: E731
    batch, sides = by_hand(), Players(linear([[0.7], [-0.4]], -0.3), linear([[0.2], [0.1]], 0.1))
    config = PolicyGradientConfig(baseline="none", normalize=False, credit=credit, excess=2.0)
    rewards, bounds = jnp.array([[1.0, 2.0], [3.0, 0.0], [4.0, 0.0]]), (jnp.array([-0.1]), jnp.array([0.05]))
    slopes = jax.jit(lambda: game_gradient(sides, batch, rewards, jnp.array(0.5), bounds, config))()
    features, active = np.asarray(batch.features)[:-1], np.asarray(batch.active)
    returns, by_player = np.array([[3.5, 2], [5, 0], [4, 0]]), np.asarray(batch.by_player)
    for side, found, actions, sign, mask in (
        (sides.player, slopes.player, batch.player_actions, 1, by_player),
        (sides.opponent, slopes.opponent, batch.opponent_actions, -1, ~by_player),
    ):
        weights = sign * returns * (mask if credit == "executed" else 1) * active
        mean, deviation = (features @ np.asarray(side.weights[0]))[..., 0], float(side.deviation[0])
        standard = (np.asarray(actions)[..., 0] - mean) / deviation
        # Within four times half of the way from the middle, -0.025, to the bounds: -0.325 to 0.275.
        pull = -4 * (mean - np.clip(mean, -0.325, 0.275)) * active
        slope = np.einsum("tn,tnd->d", weights * standard / deviation + pull, features) / 2
        np.testing.assert_allclose(found.weights[0][:, 0], slope, rtol=1e-9)
        np.testing.assert_allclose(found.log_deviation, [(weights * (standard**2 - 1)).sum() / 2], rtol=1e-9)
    logs = scipy.stats.norm((features @ np.array([[0.7], [-0.4]]))[..., 0], math.exp(-0.3)).logpdf(
        np.asarray(batch.player_actions)[..., 0]
    )
    found = surrogate(sides.player, batch, batch.player_actions, jnp.asarray(returns))
    np.testing.assert_allclose(found, (returns * logs)[active].sum() / 2)


def test_the_player_wins_a_line_alone_and_loses_it_to_a_stronger_opponent():
    alone = solve_game(LINE, 1.0, config=QUICK, key=fast_key(0))
    game = solve_game(LINE, 0.3, config=QUICK, key=fast_key(0))
    assert alone.history.mean_return[-1] > 3.5  # At best -1 + 5.
    assert game.history.mean_return[-1] < 1.5
    assert game.valid
    # The opponent leads away from the right end where the player might reach it.
    assert game.opponent.mean(jnp.eye(5))[3, 0] < 0 < game.player.mean(jnp.eye(5))[3, 0]
    deviations = np.array([game.player.deviation, game.opponent.deviation])
    assert ((deviations >= 0.01) & (deviations <= 1.0)).all()


def test_at_alpha_one_training_ignores_the_opponent_to_the_bit():
    results = []
    for mean in (-3.0, 3.0):
        opponent = eqx.tree_at(lambda p: p.weights, linear_policy(5, 1), (jnp.full((5, 1), mean, dtype=float),))
        start = Players(linear_policy(5, 1), opponent)
        results.append(solve_game(LINE, 1.0, start=start, config=QUICK, key=fast_key(0)))
    for one, two in zip(*(jax.tree.leaves((r.player, r.history)) for r in results), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
    assert results[0].opponent.weights[0][0, 0] == -3


def test_rewards_that_are_not_numbers_end_training_with_the_last_valid_policy():
    world = Line([-1.0] * 5, slip=0.0, broken=True)
    with pytest.raises(ConvergenceError, match=r"not finite at policy step \d+.*throw=False"):
        solve_game(world, 1.0, config=QUICK, key=fast_key(0))
    kept = solve_game(world, 1.0, config=QUICK, key=fast_key(0), throw=False)
    assert not kept.valid
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((kept.player, kept.opponent)))


def test_numbers_of_a_game_are_as_before():
    config = PolicyGradientConfig(steps=4, episodes=16, horizon=30, baseline="critic")
    result = solve_game(GaussianGrid(0.1), 0.8, config=config, key=jax.random.key(1))
    expected = [-210.78274546500626, -193.96549624636427, -218.9535491684344, -256.9407635732143]
    np.testing.assert_allclose(result.history.mean_return, expected, rtol=1e-9)
    np.testing.assert_allclose(np.abs(result.opponent.weights[0]).sum(), 1.1861209929499719, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "least"), [(0.0, -173), (0.1, -200), (0.2, -270)])
def test_experts_are_as_good_as_they_must_be(noise, least):
    world = GaussianGrid(noise)
    measured = evaluate(world, train_expert(world, key=fast_key(1)).player, key=fast_key(2))
    assert measured.goal_share == 1
    assert measured.mean_return >= least


@pytest.mark.parametrize(
    ("change", "culprits"),
    [
        ({"episodes": 0}, ("episodes is 0",)),
        ({"learning_rate": -1.0}, ("learning_rate is -1.0",)),
        ({"baseline": "mean"}, ("baseline is 'mean'", "none, per-step, critic")),
        ({"deviations": (0.3, 0.2)}, ("deviations is (0.3, 0.2)",)),
        ({"gae_decay": 1.1}, ("gae_decay is 1.1",)),
        ({"excess": math.inf}, ("excess is inf",)),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_a_bad_setting_is_refused(change, culprits, refused):
    with refused(*culprits):
        PolicyGradientConfig(**change)
    with refused("Players", "RewardedWorld"):
        solve_game(Players(linear_policy(1, 1), linear_policy(1, 1)), key=fast_key(0))  # pyright: ignore
