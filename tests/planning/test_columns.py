"""The game laid out action by action: the numbers of the operators, in another order."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, MarkovGame, as_action_reward, mixture
from robustirl.planning import Temperatures, two_player_backup
from robustirl.planning.columns import column_game
from tests.strategies import TEMPERATURES

GREEDY = Temperatures(0.0, 0.0)


def fork(alpha=0.7):
    """From state 0 an action to each of the others, one of which is not available; they move on at random."""
    rng = np.random.default_rng(0)
    kernel = rng.dirichlet(np.ones(6), size=(6, 5))
    kernel[0] = np.eye(6)[1:]
    mask = np.ones((6, 5), bool)
    mask[0, 4] = mask[3, 0] = mask[4, 1:] = False
    return MarkovGame(MDP(kernel, discount=0.9, mask=mask), alpha)


def shares(game, chain):
    """What state 0 does, read off the chain: each action leads to a state of its own."""
    return np.array([float(chain.expect(jnp.eye(6)[a + 1])[0]) for a in range(5)])


VALUES = jnp.array([0.5, 3.0, 3.0 * (1 + 1e-13), -1.0, -1.0 * (1 + 3e-13), 50.0])  # Ties at either end, and a bait.


@pytest.mark.parametrize("by_action", [False, True])
@pytest.mark.parametrize("temperatures", TEMPERATURES)
def test_a_backup_is_that_of_the_operators(temperatures, by_action):
    game = fork()
    reward = np.random.default_rng(1).normal(size=(6, 5) if by_action else 6)
    if by_action:
        reward[0] = 0.25
    reward = as_action_reward(reward, game.mdp)
    plain = two_player_backup(game, reward, VALUES, temperatures)
    columns = column_game(game, reward, temperatures)
    found, chain = columns.backup(VALUES)
    np.testing.assert_allclose(columns.values(VALUES), plain.value, rtol=1e-13)
    np.testing.assert_allclose(found, plain.value, rtol=1e-13)
    for found, policy in zip(columns.policies(VALUES), (plain.player, plain.opponent), strict=True):
        np.testing.assert_allclose(found, policy, atol=1e-13)
    expected = game.mdp.kernel.policy_matrix(mixture(plain.player, plain.opponent, game.alpha))
    np.testing.assert_allclose(jnp.stack([chain.expect(e) for e in jnp.eye(6)], axis=1), expected, atol=1e-13)


def test_without_entropy_ties_are_shared():
    _, chain = column_game(fork(), jnp.zeros(6), GREEDY).backup(VALUES)
    np.testing.assert_allclose(shares(fork(), chain), [0.35, 0.35, 0.15, 0.15, 0.0], atol=1e-15)


@pytest.mark.parametrize(("apart", "tied"), [(4e-7, True), (1e-5, False)])
def test_ties_of_low_precision_are_those_of_its_rounding(apart, tied):
    low = column_game(fork(1.0), jnp.zeros(6), GREEDY).lowered()
    value = jnp.array([0.5, 3.0, 3.0 * (1 + apart), -1.0, -2.0, 0.0], jnp.float32)
    found, chain = low.backup(value)
    assert low.low
    assert found.dtype == low.reward.dtype == low.discount.dtype == jnp.float32
    assert low.mask.dtype == bool
    np.testing.assert_allclose(shares(fork(), chain), [0.5, 0.5, 0, 0, 0] if tied else [0, 1, 0, 0, 0])
