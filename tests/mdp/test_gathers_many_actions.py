"""Worlds of more actions than are written out: every kernel's products are those of its array."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import (
    MDP,
    BandedKernel,
    DenseKernel,
    MarkovGame,
    MixtureKernel,
    SuccessorKernel,
    WrongActionKernel,
    as_action_reward,
    mixture,
)
from robustirl.mdp.gathers import MOST_UNROLLED
from robustirl.planning import Temperatures, two_player_backup
from robustirl.planning.columns import MOST_COLUMNS, column_game

ACTIONS, STATES = 70, 5
RNG = np.random.default_rng(0)
PLACES, CHANCES = RNG.integers(0, STATES, (STATES, ACTIONS, 2)), np.full((STATES, ACTIONS, 2), 0.5)
CHANCES[3, 60:] = 0  # State 3 lacks the last ten actions.
AHEAD = RNG.uniform(size=(ACTIONS, STATES)) * (np.arange(STATES) < STATES - 1)
NOISE, ANYWHERE = np.array([0.1, 0.0, 0.5, 0.2, 1.0]), np.array([0.2, 0.3, 0.5, 0.0, 0.0])


def kernel_of(kind):
    lists, banded = SuccessorKernel(PLACES, CHANCES), BandedKernel((0, 1), np.stack([1 - AHEAD, AHEAD]))
    return {
        "array": lambda: DenseKernel(lists.to_array()),
        "lists": lambda: lists,
        "diagonals": lambda: banded,
        "noise": lambda: MixtureKernel(lists, NOISE, ANYWHERE),
        "noisy diagonals": lambda: MixtureKernel(banded, NOISE, ANYWHERE),
        "wrong actions": lambda: WrongActionKernel(lists, NOISE),
    }[kind]()


def test_seventy_actions_are_more_than_are_written_out():
    assert ACTIONS > MOST_UNROLLED > MOST_COLUMNS


@pytest.mark.parametrize("kind", ["array", "lists", "diagonals", "noise", "noisy diagonals", "wrong actions"])
def test_products_are_those_of_the_array(kind):
    kernel = kernel_of(kind)
    array = np.asarray(kernel.to_sparse().toarray()).reshape(STATES, ACTIONS, STATES)
    value, measure = jnp.asarray(RNG.normal(size=STATES)), jnp.asarray(RNG.uniform(size=(STATES, ACTIONS)))
    np.testing.assert_allclose(kernel.expect(value), array @ value, atol=1e-13)
    np.testing.assert_allclose(np.stack(kernel.columns(value), -1), array @ value, atol=1e-13)
    np.testing.assert_allclose(kernel.push(measure), np.einsum("sa,sat->t", measure, array), atol=1e-13)
    matrix = np.einsum("sa,sat->st", measure, array)
    for shares in (list(measure.T), measure.T):
        chain = kernel.chain(shares)
        np.testing.assert_allclose(chain.expect(value), matrix @ value, atol=1e-13)
        np.testing.assert_allclose(chain.push(value), value @ matrix, atol=1e-13)
    np.testing.assert_allclose(kernel.policy_matrix(measure), matrix, atol=1e-13)


@pytest.mark.parametrize("alpha", [0.8, RNG.uniform(0.5, 1.0, (STATES, ACTIONS))], ids=["one", "local"])
@pytest.mark.parametrize("temperatures", [Temperatures(), Temperatures(0.0, 0.0)], ids=["soft", "hard"])
@pytest.mark.parametrize("by_action", [False, True])
def test_columns_of_many_actions_are_the_backups_of_an_array(alpha, temperatures, by_action):
    game = MarkovGame(MDP(kernel_of("lists"), discount=0.9), alpha)
    reward = as_action_reward(RNG.normal(size=(STATES, ACTIONS) if by_action else STATES), game.mdp)
    value = jnp.asarray(RNG.normal(size=STATES))
    columns, plain = column_game(game, reward, temperatures), two_player_backup(game, reward, value, temperatures)
    np.testing.assert_allclose(columns.values(value), plain.value, atol=1e-13)
    found, chain = columns.backup(value)
    np.testing.assert_allclose(found, plain.value, atol=1e-13)
    for policy, expected in zip(columns.policies(value), (plain.player, plain.opponent), strict=True):
        np.testing.assert_allclose(policy, expected, atol=1e-13)
    matrix = game.mdp.kernel.policy_matrix(mixture(plain.player, plain.opponent, game.alpha))
    np.testing.assert_allclose(chain.expect(value), matrix @ value, atol=1e-12)
