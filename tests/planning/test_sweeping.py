"""Sweeps over halves of a world: those of Gauss and Seidel, whose fixed point is that of all states at once."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import GridWorld
from robustirl.mdp import MarkovGame, SuccessorKernel
from robustirl.mdp.mdp import MDP
from robustirl.planning import as_temperatures
from robustirl.planning.columns import column_game
from robustirl.planning.sweeping import plain_sweeper, sweeper

SIDE = 34


def games():
    world = GridWorld("wide", rewards=-np.ones((SIDE, SIDE))).mdp(0.1, "uniform-action")
    kernel: Any = world.kernel
    lists = kernel.to_lists()
    listed = MDP(SuccessorKernel(lists.next_states, lists.probabilities), discount=world.discount, mask=world.mask)
    return {"diagonals": world, "lists": listed}


@pytest.mark.parametrize("kind", ["diagonals", "lists"])
@pytest.mark.parametrize("temperatures", [(1.0, 1.0), (0.0, 0.0)])
def test_a_sweep_updates_one_half_after_the_other(kind, temperatures):
    world = games()[kind]
    local = np.linspace(0.5, 1.0, world.num_states) if temperatures[0] else 0.9
    reward = jnp.asarray(np.random.default_rng(0).normal(size=world.num_states))
    columns = column_game(MarkovGame(world, local), reward, as_temperatures(temperatures))
    halves = columns.kernel.halves()
    assert halves is not None
    value = jnp.asarray(np.random.default_rng(1).normal(size=world.num_states))
    first, second = (np.asarray(part, int) for part in halves.cut(jnp.arange(float(world.num_states))))
    expected = np.asarray(value).copy()
    every = jax.jit(lambda value: columns.values(value))
    expected[first] = np.asarray(every(jnp.asarray(expected)))[first]
    expected[second] = np.asarray(every(jnp.asarray(expected)))[second]
    found = jax.jit(lambda value: sweeper(columns)(1, value))(value)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(plain_sweeper(columns)(2, value), every(every(value)), atol=1e-12)
