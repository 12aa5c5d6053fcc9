"""Losses and updates of PPO on a few steps, beside NumPy written from the formulas."""

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.stats

from robustirl.control import PPOConfig
from robustirl.control.policies import GaussianPolicy, Players, Scale
from robustirl.control.ppo import WorldReward, _rule, create, falling_rate, learn
from robustirl.control.rollouts import Segment

DISCOUNT = 0.8
CONFIG = PPOConfig(
    environments=2,
    segment=3,
    epochs=1,
    minibatches=1,
    learning_rate=0.1,
    clip=0.3,
    gae_decay=0.7,
    gradient_norm=1.3,
    hidden=(2,),
    deviations=(0.58, 0.61),
)


def _policy(rng: np.random.Generator) -> GaussianPolicy:
    weights = (jnp.asarray(rng.normal(size=(1, 2))), jnp.asarray(rng.normal(size=(2, 1))))
    return GaussianPolicy(weights, (jnp.asarray(rng.normal(size=2)),), jnp.asarray([math.log(0.6)]))


def _case():
    """Agents with random numbers, and three steps of two episodes: one ends by itself, one is cut off."""
    rng = np.random.default_rng(3)
    agents = create(CONFIG, 1, 1, jax.random.key(0))
    critic = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape)), agents.critic)
    agents = eqx.tree_at(
        lambda a: (a.players, a.critic, a.scale, a.reward_scale, a.running),
        agents,
        (
            Players(_policy(rng), _policy(rng)),
            critic,
            Scale(jnp.array([0.5]), jnp.array([4.0]), jnp.array(3.0)),
            Scale(jnp.array([1.0]), jnp.array([2.0]), jnp.array(2.0)),
            jnp.array([0.5, -1.0]),
        ),
    )
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape))  # noqa: E731
    segment = Segment(
        features=draw(3, 2, 1),
        next_features=draw(3, 2, 1),
        actions=draw(3, 2, 1),
        by_player=jnp.array([[True, False], [False, True], [True, True]]),
        log_densities=draw(3, 2) - 1.5,
        paid=draw(3, 2),
        terminated=jnp.array([[False, True], [False, False], [False, False]]),
        over=jnp.array([[False, True], [True, False], [False, False]]),
        returns=jnp.array([[np.nan, 2.0], [5.0, np.nan], [np.nan, np.nan]]),
        lengths=jnp.array([[0, 1], [8, 0], [0, 0]]),
    )
    return agents, segment


def _leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf, float) for leaf in jax.tree.leaves(tree)]


def _mean(leaves, inputs):
    first, last, bias, _ = leaves
    return np.tanh(inputs @ first + bias) @ last


def _value(leaves, inputs):
    first, bias, last, last_bias = leaves
    return (np.tanh(inputs @ first.T + bias) @ last.T + last_bias)[..., 0]


def _loss(parts, inputs, segment, old_advantages, targets):
    """PPO's loss over all steps, from the formulas in the head of `ppo.py`."""
    total, by_player = 0.0, np.asarray(segment.by_player)
    for leaves, mask, sign in ((parts[0], by_player, 1), (parts[1], ~by_player, -1)):
        deviation = np.exp(leaves[3][0])
        log = scipy.stats.norm(_mean(leaves, inputs)[..., 0], deviation).logpdf(np.asarray(segment.actions)[..., 0])
        ratio = np.exp(log - np.asarray(segment.log_densities))
        weights = sign * old_advantages
        terms = np.minimum(ratio * weights, np.clip(ratio, 0.7, 1.3) * weights)
        total -= terms[mask].sum() / mask.size
    return total + ((_value(parts[2], inputs) - targets) ** 2).mean() / 2


def _slopes(function, parts):
    """Central differences."""
    found = []
    for part in parts:
        for leaf in part:
            slope = np.zeros_like(leaf)
            for place in np.ndindex(leaf.shape):
                here = leaf[place]
                leaf[place] = here + 1e-6
                above = function()
                leaf[place] = here - 1e-6
                slope[place] = (above - function()) / 2e-6
                leaf[place] = here
            found.append(slope)
    return [found[index : index + 4] for index in range(0, len(found), 4)]


@jax.jit
def _learned(agents, segment):
    """Return one of three updates."""
    keys = jax.random.split(jax.random.key(1))
    return learn(agents, WorldReward(), (), segment, jnp.array(DISCOUNT), CONFIG, jnp.asarray(3), *keys)


def test_an_update_of_ppo_is_that_of_the_formulas():
    agents, segment = _case()
    learned, _, progress = _learned(agents, segment)
    paid, over, ended = (np.asarray(part) for part in (segment.paid, segment.over, segment.terminated))
    running, returns = np.array([0.5, -1.0]), np.zeros((3, 2))
    for step in range(3):
        returns[step] = paid[step] + DISCOUNT * running
        running = np.where(over[step], 0, returns[step])
    np.testing.assert_allclose(learned.running, running)
    # The mean square around the mean of what was seen before (two of mean 1 and variance 2) and now (six).
    mean = (2 * 1.0 + returns.sum()) / 8
    variance = (2 * (2.0 + (1.0 - mean) ** 2) + ((returns - mean) ** 2).sum()) / 8
    np.testing.assert_allclose(learned.reward_scale.mean, [mean])
    np.testing.assert_allclose(learned.reward_scale.square, [variance])
    assert float(learned.reward_scale.count) == 8

    inputs, after = ((np.asarray(f) - 0.5) / 2 for f in (segment.features, segment.next_features))
    parts = [_leaves(part) for part in (agents.players.player, agents.players.opponent, agents.critic)]
    parts = [[leaf.copy() for leaf in part] for part in parts]
    values = _value(parts[2], inputs)
    errors = paid / math.sqrt(variance) + DISCOUNT * np.where(ended, 0, _value(parts[2], after)) - values
    gains, later = np.zeros((3, 2)), np.zeros(2)
    for step in (2, 1, 0):
        later = gains[step] = errors[step] + DISCOUNT * 0.7 * np.where(over[step], 0, later)
    centered, targets = (gains - gains.mean()) / gains.std(), gains + values
    slopes = _slopes(lambda: _loss(parts, inputs, segment, centered, targets), parts)
    norms = [math.sqrt(sum((leaf**2).sum() for leaf in slope)) for slope in slopes]
    assert norms[0] < norms[2] < 1.3 < norms[1]  # Some are shortened, and some are not.
    changed = (learned.players.player, learned.players.opponent, learned.critic)
    for part, slope, norm, memory, new in zip(parts, slopes, norms, learned.memories, changed, strict=True):
        shortened = [leaf * min(1, 1.3 / norm) for leaf in slope]
        for mine, remembered in zip(shortened, _leaves(optax.tree_utils.tree_get(memory, "mu")), strict=True):
            np.testing.assert_allclose(remembered, 0.1 * mine, rtol=1e-5, atol=1e-8)
        expected = [leaf - 0.1 * g / (np.abs(g) + 1e-5) for leaf, g in zip(part, shortened, strict=True)]
        if new is not learned.critic:
            assert not math.log(0.58) < expected[3][0] < math.log(0.61)
            expected[3] = np.clip(expected[3], math.log(0.58), math.log(0.61))
        for mine, theirs in zip(expected, _leaves(new), strict=True):
            np.testing.assert_allclose(theirs, mine, rtol=1e-5, atol=1e-6)

    features = np.asarray(segment.features).ravel()
    mean = (3 * 0.5 + features.sum()) / 9
    np.testing.assert_allclose(learned.scale.mean, [mean])
    spread = (3 * (4.0 + (0.5 - mean) ** 2) + ((features - mean) ** 2).sum()) / 9
    np.testing.assert_allclose(learned.scale.square, [spread])
    np.testing.assert_allclose(progress.reward, paid.mean())
    assert (float(progress.episode_return), float(progress.episode_length)) == (3.5, 4.5)


def test_an_absurd_segment_changes_nothing():
    agents, segment = _case()
    bad = eqx.tree_at(lambda s: s.paid, segment, segment.paid.at[0, 0].set(jnp.nan))
    new, _, _ = _learned(agents, bad)
    for one, two in zip(jax.tree.leaves(new), jax.tree.leaves(agents), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_rate_of_ppo_falls_linearly_to_its_last_share():
    config = dataclasses.replace(CONFIG, epochs=2, minibatches=2, final_rate=0.2)
    rule = _rule(config, jnp.asarray(3))  # Twelve steps.

    @jax.jit
    def changes():
        memory, found = rule.init(jnp.zeros(1)), []
        for _ in range(14):
            change, memory = rule.update(jnp.ones(1), memory)
            found.append(jnp.asarray(change)[0])
        return jnp.stack(found)

    np.testing.assert_allclose(changes(), [-0.1 * (1 - 0.8 * min(step / 12, 1)) for step in range(14)], rtol=1e-4)


@pytest.mark.parametrize("steps", [1, 16, 736])
def test_the_falling_rate_is_that_of_optax_to_the_last_bit(steps):
    def rates(schedule):
        return jax.lax.scan(lambda count, _: (count + 1, schedule(count)), jnp.zeros((), jnp.int32), length=800)[1]

    ours = jax.jit(lambda steps: rates(falling_rate(1e-3, 1e-4, steps)))(np.int32(steps))
    np.testing.assert_array_equal(ours, jax.jit(lambda: rates(optax.linear_schedule(1e-3, 1e-4, steps)))())


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"environments": 0}, "environments is 0"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"gae_decay": 1.001}, "gae_decay is 1.001"),
        ({"deviations": (0.3, 0.2)}, "deviations is (0.3, 0.2), but a smallest and a largest"),
        ({"hidden": (8, 0)}, "the width of a hidden layer is 0"),
        ({"hidden": ()}, "hidden is empty"),
        ({"environments": 3, "segment": 3, "minibatches": 4}, "minibatches is 4, which does not divide the 9 steps"),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_a_bad_setting_is_refused(change, culprit, refused):
    with refused(culprit):
        PPOConfig(**change)


@pytest.mark.usefixtures("mistyped")
def test_settings_are_numbers_of_python_whatever_they_were_given_as():
    """Counts of 32 bits overflow in products, and lists are no keys of compiled programs."""
    large, two = np.int32(2**20), jnp.asarray(2)
    config = PPOConfig(environments=large, segment=large, minibatches=two, learning_rate=np.float32(0.5), hidden=[two])
    assert config == PPOConfig(environments=2**20, segment=2**20, minibatches=2, learning_rate=0.5, hidden=(2,))
    assert config.batch == 2**40
