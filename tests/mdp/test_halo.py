"""Lists in the numbers of each device: the products of the lists themselves, on one device and on eight."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from robustirl import envs
from robustirl.mdp import MDP, HaloKernel, MixtureKernel, SuccessorKernel, renumber_states
from robustirl.mdp.halo import AXIS, HaloChain, farthest_move, local_places
from robustirl.mdp.sharding import _with_halo

PROGRAM = """
import json, re
import equinox as eqx
import jax, numpy as np
import robustirl
robustirl.enable_x64()
from robustirl import envs, irl
from robustirl.mdp import MarkovGame, extend_array, renumber_states, shard_states
from robustirl.planning import Temperatures, solve, state_occupancy
from robustirl.planning.columns import column_game
from robustirl.rewards import LinearReward

random = np.random.default_rng(0)
names = random.permutation(1599).reshape(39, 41)  # Blocks of a town, numbered at random.
pairs = ((names[:, 1:], names[:, :-1]), (names[1:], names[:-1]))
costs = random.uniform(2, 3, 1599)
features = np.stack([np.ones(1599), costs], 1)
streets = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
town = envs.from_graph(streets, destinations=[3], rewards=-costs, features=features, discount=0.95)
whole = town.mdp(0.1)
unordered = shard_states(whole)
ordered, order = renumber_states(whole)
spread = shard_states(ordered)
one, many = solve(MarkovGame(whole, 0.9), town.reward), solve(
    MarkovGame(spread, 0.9), extend_array(order.into(town.reward), spread))
visits = [state_occupancy(whole, one.mixture), state_occupancy(spread, many.mixture)]
back = lambda array: np.asarray(order.back(np.asarray(array)[:1599]))

def sent(world):
    columns = column_game(MarkovGame(world, 0.9), world.initial, Temperatures())
    sweep = eqx.filter_jit(lambda c, v: c.values(v)).lower(columns, world.initial)
    chain = world.kernel.chain([world.initial] * world.num_actions)
    flow = eqx.filter_jit(lambda c, v: c.push(v)).lower(chain, world.initial)
    pattern = r"= f64.([0-9]+).\\S* (collective-permute|all-gather|all-to-all|all-reduce)(?:-start)?[(]"
    return [re.findall(pattern, program.compile().compiled.as_text()) for program in (sweep, flow)]

fits = [
    irl.fit(whole, visits[0], alpha=0.9, reward=LinearReward(town.features), steps=3, throw=False),
    irl.fit(spread, extend_array(order.into(visits[0]), spread), alpha=0.9, steps=3, throw=False,
            reward=LinearReward(extend_array(order.into(town.features), spread))),
]
print(json.dumps({
    "kernels": [type(world.kernel.base).__name__ for world in (unordered, spread)],
    "states": spread.num_states,
    "strip": spread.kernel.base.strip,
    "values": float(abs(np.asarray(one.value) - back(many.value)).max()),
    "converged": bool(many.verdict.converged),
    "visits": float(abs(np.asarray(visits[0]) - back(visits[1])).max()),
    "sent": sent(spread),
    "parameters": float(abs(np.asarray(fits[0].parameters) - np.asarray(fits[1].parameters)).max()),
}))
"""


def test_products_are_those_of_the_lists():
    # A path with jumps of three, in the numbers of a single device.
    places, weights, array = np.zeros((2, 2, 6), int), np.zeros((2, 2, 6)), np.zeros((6, 2, 6))
    for state in range(6):
        places[:, 0, state], weights[:, 0, state] = (min(state + 1, 5), state), (0.75, 0.25)
        places[:, 1, state], weights[:, 1, state] = (max(state - 3, 0), 0), (1.0, 0.0)
        np.add.at(array, (state, [0, 0, 1], [*places[:, 0, state], places[0, 1, state]]), [0.75, 0.25, 1.0])
    mesh = Mesh(np.array(jax.devices()[:1]), (AXIS,))
    given: Any = {"places": local_places(places, 0, 6, 3), "weights": weights}
    kernel = HaloKernel(**given, strip=3, mesh=mesh, leaky=False)
    value, measure = np.arange(1.0, 7.0) ** 2, np.arange(12.0).reshape(6, 2)
    # In one program, since each product alone would be several; all numbers are exact in single precision.
    products = eqx.filter_jit(lambda k, v, m: (k.expect(v), k.push(m), k.self_transitions()))(kernel, value, measure)
    expected = array @ value, np.einsum("sa,sat->t", measure, array), np.einsum("sas->sa", array)
    for found, wanted in zip(products, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_lists_of_two_devices_are_those_of_the_world():
    """Six states on two devices, three each, and no move leads further than two states away."""
    ahead = np.array([[1, 2, 4, 5, 5, 5], [0, 0, 1, 1, 2, 4]])
    chances = np.array([[0.75] * 6, [0.25] * 6])
    lists = SuccessorKernel(ahead.T[:, None, :], chances.T[:, None, :])
    mesh: Any = SimpleNamespace(size=2)
    kernel: Any = _with_halo(lists, mesh)
    assert kernel.strip == 2
    # Numbers in blocks of two states before, three own and two after: the second device counts from state 1.
    np.testing.assert_array_equal(kernel.places[:, 0], [[3, 4, 6, 4, 4, 4], [2, 2, 3, 0, 1, 3]])
    array = np.zeros((6, 1, 6))
    np.add.at(array, (np.arange(6), 0, ahead), chances)
    expected = (array, np.ones((6, 1)), np.einsum("sas->sa", array), np.zeros((6, 1)))
    products = jax.jit(
        lambda: (kernel.to_array(), kernel.row_sums(), kernel.self_transitions(), kernel.row_distances(lists))
    )
    for found, wanted in zip(products(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-15)
    chain = HaloChain(kernel.places[:, 0], kernel.weights[:, 0], kernel.strip, mesh)
    np.testing.assert_allclose(chain.sparse_part().toarray(), array[:, 0])


def test_the_farthest_move_is_one_that_is_taken():
    assert int(farthest_move(np.array([[[9, 1, 0]]]), np.array([[[0.0, 1.0, 1.0]]]))) == 2
    shared = np.array([[[0, 3, 2, 3]]]), np.array([[[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]])
    assert int(farthest_move(*shared)) == 2  # One list for two actions, the second of which goes there.
    assert int(farthest_move(np.array([[[0, 0, 2]]]), np.array([[[1.0, 0.0, 1.0]]]))) == 0  # Whoever moves stays.


def test_states_are_renumbered_so_that_neighbors_are_close():
    names = np.random.default_rng(0).permutation(40)
    path = envs.from_graph(np.stack([names[:-1], names[1:]], 1))
    world, order = renumber_states(path.mdp(0.1))
    kernel = world.kernel.base  # pyright: ignore[reportAttributeAccessIssue]
    assert int(farthest_move(np.asarray(kernel.places), np.asarray(kernel.weights))) == 1  # A path in its own order.
    assert order.back(order.into(np.arange(40.0))).tolist() == list(range(40))


def test_actions_that_share_a_list_share_the_rows_of_a_chain():
    weights = np.arange(1.0, 9.0).reshape(2, 2, 2)  # Two successors, two actions, two states.
    given: Any = {"places": np.array([[[0, 1]], [[1, 0]]]), "weights": weights}
    kernel = HaloKernel(**given, strip=0, mesh=Mesh(np.array(jax.devices()[:1]), (AXIS,)), leaky=False)
    shares = np.array([[0.5, 1.0], [0.25, 0.0]])
    chain = kernel.chain(list(shares))
    np.testing.assert_array_equal(chain.places, [[0, 1], [1, 0]])
    np.testing.assert_allclose(np.stack(chain.weights), (weights * shares).sum(1))


def test_moves_beyond_the_next_device_keep_lists_of_the_world(caplog):
    lists = SuccessorKernel([[[3]], [[1]], [[2]], [[3]]], np.ones((4, 1, 1)))
    mesh: Any = SimpleNamespace(size=2)
    with caplog.at_level("INFO", "robustirl"):
        whole: Any = _with_halo(lists, mesh)
    assert isinstance(whole, SuccessorKernel)
    assert whole.places is lists.places
    assert "a move leads 3 states away, beyond the 2 states of the next device" in caplog.text
    near = SuccessorKernel([[[2]], [[1]], [[2]], [[3]]], np.ones((4, 1, 1)))
    assert isinstance(_with_halo(near, mesh), HaloKernel)  # As far as the next device has states.
    alone: Any = SimpleNamespace(size=1)
    assert _with_halo(near, alone) is near


def test_what_has_a_fixed_order_is_not_renumbered(refused):
    with refused("DenseKernel", "fixed order"):
        renumber_states(MDP(np.ones((2, 1, 2)) / 2, discount=0.9))


@pytest.mark.slow
def test_eight_devices_exchange_strips_and_agree_with_one():
    flags = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env={**os.environ, **flags}, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["kernels"] == ["SuccessorKernel", "HaloKernel"]  # In random order moves lead too far.
    assert found["states"] == 1600
    strip = found["strip"]
    assert 39 <= strip <= 80
    assert found["sent"] == [[[str(strip), "collective-permute"]] * 2] * 2
    assert found["converged"]
    assert found["values"] < 1e-8
    assert found["visits"] < 1e-12
    assert found["parameters"] < 1e-9


def test_a_mixture_is_compared_as_a_whole():
    # Always to state 1, against 0 or 1 by a coin: |0 - 1/2| + |1 - 1/2| = 1. A mixture's lists are those of its base.
    lists = SuccessorKernel([[[1]], [[1]]], [[[1.0]], [[1.0]]])
    mesh: Any = SimpleNamespace(size=2)
    kernel = _with_halo(lists, mesh)
    assert isinstance(kernel, HaloKernel)
    coin = MixtureKernel(lists, [1.0, 1.0], [0.5, 0.5])
    assert np.asarray(kernel.row_distances(coin)).tolist() == [[1.0], [1.0]]
