"""Bellman operators against their definitions, and the properties that the solvers rely on."""

import inspect
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, MarkovGame, mixture
from robustirl.mdp.policy import as_policy
from robustirl.planning import Temperatures
from robustirl.planning.operators import as_temperatures, hard_backup, soft_backup, two_player_backup
from tests.strategies import TEMPERATURES, moments, vectors

backup = eqx.filter_jit(two_player_backup)
temperatures = st.sampled_from(TEMPERATURES)


@eqx.filter_jit
def backup_jacobian(game, reward, value, temperature):
    return jax.jacobian(lambda v: two_player_backup(game, reward, v, temperature).value)(value)


def joint_backup(game, reward, value):
    """Algorithm 2 as printed (its denominator corrected): Q over pairs of actions, one state at a time."""
    mdp, alpha = game.mdp, float(game.alpha)
    kernel, mask = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask)
    new, player, opponent = np.zeros(mdp.num_states), np.zeros(mask.shape), np.zeros(mask.shape)
    for s in range(mdp.num_states):
        available = np.flatnonzero(mask[s])
        q = np.zeros((len(available), len(available)))
        for (i, a), (j, b) in itertools.product(enumerate(available), repeat=2):
            q[i, j] = reward[s] + float(mdp.discount) * (alpha * kernel[s, a] + (1 - alpha) * kernel[s, b]) @ value
        q_player, q_opponent = q.min(1), np.log(np.exp(q).sum(0))
        new[s] = np.log(np.exp(q_player).sum())
        player[s, available] = np.exp(q_player) / np.exp(q_player).sum()
        ties = q_opponent <= q_opponent.min() + 1e-12 * np.abs(q).max()
        opponent[s, available] = ties / ties.sum()
    return new, player, opponent


@given(moments())
def test_two_player_backup_is_the_joint_formula_of_algorithm_2(moment):
    game, reward, value = moment
    ours = backup(game, jnp.asarray(reward), jnp.asarray(value))
    new, player, opponent = joint_backup(game, reward, value)
    np.testing.assert_allclose(ours.value, new, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(ours.player, player, atol=1e-10)
    if game.alpha < 1:  # Otherwise the paper's opponent is indifferent, and ours still minimizes.
        np.testing.assert_allclose(ours.opponent, opponent, atol=1e-10)


@given(moments())
def test_hard_backup_is_the_best_available_action(moment):
    game, reward, value = moment
    mdp = game.mdp
    new, policy = hard_backup(mdp, jnp.asarray(reward), jnp.asarray(value))
    kernel, mask = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask)
    for s in range(mdp.num_states):
        values = {a: float(mdp.discount) * kernel[s, a] @ value for a in range(mdp.num_actions) if mask[s, a]}
        best = max(values.values())
        np.testing.assert_allclose(new[s], reward[s] + best, rtol=1e-12, atol=1e-12)
        assert all(best - values[a] < 1e-9 * max(1, np.abs(value).max()) for a in np.flatnonzero(policy[s]).tolist())


@given(moments(), temperatures, st.data())
def test_backups_contract_by_the_discount_in_the_maximum_norm(moment, temperature, data):
    game, reward, value = moment
    other = data.draw(vectors(game.mdp.num_states))
    one, two = (backup(game, jnp.asarray(reward), jnp.asarray(v), temperature).value for v in (value, other))
    rounding = 1e-12 * max(1, np.abs([value, other]).max(), np.abs(reward).max())
    assert np.abs(one - two).max() <= float(game.mdp.discount) * np.abs(value - other).max() + rounding


@given(moments(), temperatures, st.data())
def test_backups_are_monotone(moment, temperature, data):
    game, reward, value = moment
    more = value + np.abs(data.draw(vectors(game.mdp.num_states)))
    one, two = (backup(game, jnp.asarray(reward), jnp.asarray(v), temperature).value for v in (value, more))
    assert (np.asarray(two - one) >= -1e-12 * max(1, np.abs(more).max(), np.abs(reward).max())).all()


@given(moments(), temperatures, st.floats(-10, 10))
def test_a_constant_added_to_the_value_is_discounted_once(moment, temperature, constant):
    game, reward, value = moment
    one, two = (backup(game, jnp.asarray(reward), jnp.asarray(v), temperature).value for v in (value, value + constant))
    np.testing.assert_allclose(two - one, float(game.mdp.discount) * constant, atol=1e-11)


@given(moments(), temperatures)
def test_backups_return_policies_of_the_world(moment, temperature):
    game, reward, value = moment
    found = backup(game, jnp.asarray(reward), jnp.asarray(value), temperature)
    as_policy(found.player, game.mdp)
    as_policy(found.opponent, game.mdp)


@given(moments(alphas=(1.0,)), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.5, 20.0]))
def test_alpha_one_is_the_single_player_to_the_bit(moment, player, opponent):
    game, reward, value = moment[0], jnp.asarray(moment[1]), jnp.asarray(moment[2])
    two = two_player_backup(game, reward, value, Temperatures(player, opponent))
    value, policy = soft_backup(game.mdp, reward, value, temperature=player)
    np.testing.assert_array_equal(two.value, value)
    np.testing.assert_array_equal(two.player, policy)


@given(moments(), st.sampled_from([1e-3, 0.1, 3.0]))
def test_entropy_moves_the_value_by_at_most_temperature_times_log_actions(moment, heat):
    game, reward, value = moment[0], jnp.asarray(moment[1]), jnp.asarray(moment[2])
    hard, warm_player, warm_opponent = (
        backup(game, reward, value, Temperatures(*pair)).value for pair in ((0.0, 0.0), (heat, 0.0), (0.0, heat))
    )
    most, rounding = heat * np.log(game.mdp.num_actions), 1e-12 * max(1, np.abs(hard).max())
    assert (np.abs((warm_player - hard) - most / 2) <= most / 2 + rounding).all()
    most *= 1 - float(game.alpha)
    assert (np.abs((hard - warm_opponent) - most / 2) <= most / 2 + rounding).all()


def generic_game(seed, alpha=0.6, discount=0.9):
    """A game and a value without ties, with two actions missing."""
    rng = np.random.default_rng(seed)
    mask = np.ones((5, 4), bool)
    mask[1, 2] = mask[3, 0] = False
    kernel = rng.dirichlet(np.ones(5), size=(5, 4)) * mask[..., None]
    return MarkovGame(MDP(kernel, discount=discount), alpha), jnp.asarray(rng.normal(size=5)), jnp.arange(5.0) ** 2


@pytest.mark.parametrize("seed", range(5))
def test_an_opponent_at_low_temperature_is_greedy(seed):
    game, reward, value = generic_game(seed)
    greedy = backup(game, reward, value, Temperatures(1.0, 0.0))
    cool = backup(game, reward, value, Temperatures(1.0, 1e-4))
    warm = backup(game, reward, value, Temperatures(1.0, 1.0))
    np.testing.assert_allclose(cool.opponent, greedy.opponent, atol=1e-6)
    np.testing.assert_allclose(cool.value, greedy.value, atol=1e-6)
    assert np.abs(warm.opponent - greedy.opponent).max() > 1e-2


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("seed", range(3))
def test_the_derivative_is_the_discounted_chain_of_the_mixture(seed, temperature):
    game, reward, value = generic_game(seed)
    found = backup(game, reward, value, temperature)
    chain = game.mdp.kernel.chain(mixture(found.player, found.opponent, game.alpha)).dense()
    jacobian = backup_jacobian(game, reward, value, temperature)
    np.testing.assert_allclose(jacobian, game.mdp.discount * chain, atol=1e-12)


def test_the_derivative_is_finite_where_a_missing_action_would_be_far_better():
    world = MDP([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9)
    jacobian = jax.jacobian(lambda v: soft_backup(world, jnp.zeros(2), v)[0])(jnp.array([0.0, -1e4]))
    np.testing.assert_allclose(jacobian, [[0, 0.9], [0, 0.9]])


def fork(values, discount=0.5):
    """From state 0, action a leads to state a + 1, which has the a-th of the values."""
    count = len(values)
    kernel = np.zeros((count + 1, count, count + 1))
    kernel[0, np.arange(count), np.arange(count) + 1] = 1
    kernel[1:, 0] = np.eye(count + 1)[1:]
    return MDP(kernel, discount=discount), jnp.zeros(count + 1), jnp.array([0.0, *values])


@pytest.mark.parametrize("scale", [1.0, -1.0, 1e6, 1e-6])
@pytest.mark.parametrize("alpha", [1.0, 0.5, 1e-9])
@pytest.mark.parametrize(("apart", "shares"), [(0.0, [0.5, 0.5]), (1e-14, [0.5, 0.5]), (1e-6, [1.0, 0.0])])
def test_ties_are_shared_evenly_and_within_rounding(apart, shares, alpha, scale):
    better, worse = sorted([scale, scale * (1 - apart)], reverse=True)
    mdp, reward, value = fork([better, worse])
    found = two_player_backup(MarkovGame(mdp, alpha), reward, value, Temperatures(0.0, 0.0))
    assert found.player[0].tolist() == shares
    assert found.opponent[0].tolist() == shares[::-1]
    assert hard_backup(mdp, reward, value)[1][0].tolist() == shares


def test_three_way_ties_and_all_zero_values_are_shared_evenly():
    mdp, reward, value = fork([2.0, 2.0, 2.0, -1.0])
    np.testing.assert_allclose(hard_backup(mdp, reward, value)[1][0], [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(hard_backup(mdp, reward, 0 * value)[1][0], [0.25] * 4)


def test_a_tie_with_an_action_that_is_not_available_is_none():
    mdp, reward, value = fork([1.0, 1.0])
    masked = MDP(mdp.kernel, discount=0.5, mask=mdp.mask.at[0, 1].set(False))
    found = two_player_backup(MarkovGame(masked, 0.5), reward, value, Temperatures(0.0, 0.0))
    assert found.player[0].tolist() == found.opponent[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("magnitude", [1e-300, 1.0, 1e6, 1e300])
def test_soft_backups_neither_overflow_nor_lose_the_policy(magnitude):
    mdp, reward, value = fork([magnitude, -magnitude])
    new, policy = soft_backup(mdp, reward, value)
    assert jnp.isfinite(new).all()
    np.testing.assert_allclose(policy.sum(-1), 1)
    np.testing.assert_allclose(new[0], np.logaddexp(magnitude / 2, -magnitude / 2))


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("whose", ["player", "opponent"])
def test_bad_temperatures_are_refused(whose, bad, refused):
    mdp, reward, value = fork([1.0, 2.0])
    with refused(f"the {whose}'s temperature", repr(bad)):
        two_player_backup(MarkovGame(mdp), reward, value, Temperatures(**{whose: bad}))


@pytest.mark.parametrize("bad", [(1.0,), (1.0, 0.0, 0.0), ("hot", "cold"), None])
def test_temperatures_other_than_two_numbers_are_refused(bad, refused):
    unchecked = inspect.unwrap(as_temperatures)  # The type checks that only tests run under would come first.
    with refused("temperature", "'hot'" if bad == ("hot", "cold") else repr(bad)):
        unchecked(bad)


def test_a_plain_pair_of_temperatures_will_do():
    assert as_temperatures((1.0, 0.5)) == Temperatures(1.0, 0.5)


def test_a_bad_temperature_of_the_single_player_is_refused(refused):
    with refused("temperature", "-0.5"):
        soft_backup(*fork([1.0, 2.0]), temperature=-0.5)
