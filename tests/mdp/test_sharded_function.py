"""A world built shard by shard: on one device, and by two processes of four devices each."""

import json
import os
import socket
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from robustirl.mdp import MDP, from_function, shard_function
from robustirl.mdp.sharded_function import _lists

PROGRAM = """
import json, sys
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{sys.argv[1]}", num_processes=2, process_id=int(sys.argv[2]))
import numpy as np
import robustirl
robustirl.enable_x64()
from robustirl.mdp import MDP, MarkovGame, from_function, shard_function, shard_states
from robustirl.planning import solve, state_occupancy

asked = []
def walk(states, actions):
    asked.append((int(states.min()), int(states.max())))
    ahead = np.stack([(states + actions + 1) % 1600, (7 * states + 3) % 1600], -1)
    return ahead, np.broadcast_to([0.75, 0.25], ahead.shape)

reward = np.sin(np.arange(1600.0))
options = dict(num_states=1600, num_actions=3)
spread = shard_function(walk, **options, num_successors=2, discount=0.95)
mine = [min(a for a, _ in asked), max(b for _, b in asked)]
many = solve(MarkovGame(spread, 0.9), reward)
whole = solve(MarkovGame(MDP(from_function(walk, **options, vectorized=True), discount=0.95), 0.9), reward)
def apart(whole, spread):
    parts = [(shard.index[0].start or 0, np.asarray(shard.data)) for shard in spread.addressable_shards]
    return max(float(abs(np.asarray(whole)[start:start + part.shape[0]] - part).max()) for start, part in parts)

facts = {"devices": len(jax.devices()), "mine": mine, "apart": apart(whole.value, many.value)}
facts["parts"] = len(many.value.addressable_shards)

def stroll(states, actions):
    ahead = np.stack([np.minimum(states + 3 * actions, 1599), np.maximum(states - 40, 0)], -1)
    return ahead, np.broadcast_to([0.75, 0.25], ahead.shape)

from robustirl.mdp import SuccessorKernel
own = MDP(SuccessorKernel(*(x.reshape(1600, 3, 2) for x in stroll(*np.divmod(np.arange(4800), 3)))), discount=0.95)
plan = solve(MarkovGame(own, 0.9), reward)
visits = state_occupancy(own, plan.mixture)
for name, world in (
    ("function", shard_function(stroll, **options, num_successors=2, discount=0.95)),
    ("lists", shard_states(own)),
):
    found = solve(MarkovGame(world, 0.9), reward)
    facts[name] = [
        type(world.kernel).__name__,
        world.kernel.strip,
        apart(plan.value, found.value),
        apart(visits, state_occupancy(world, found.mixture)),
    ]
print(json.dumps({**facts, "converged": bool(many.verdict.converged)}))
"""


def walk(states, actions):
    return np.stack([(states + actions) % 12, states], -1), np.broadcast_to([0.75, 0.25], (len(states), 2))


def test_the_world_is_that_of_the_function():
    options: Any = {"num_states": 12, "num_actions": 2}
    spread = shard_function(walk, **options, num_successors=2, discount=0.9, chunk_size=5)
    whole = MDP(from_function(walk, **options, vectorized=True), discount=0.9)
    np.testing.assert_allclose(spread.kernel.to_array(), whole.kernel.to_array(), atol=1e-15)
    assert np.asarray(spread.mask).all()
    np.testing.assert_allclose(spread.initial, whole.initial, atol=1e-15)


def test_states_that_devices_add_stay_where_they_are():
    places, chances = _lists(walk, (8, 15), (12, 2, 2), 5)  # The states of a device at the end: twelve are known.
    assert places[:, :, 4:].tolist() == [[[12, 13, 14]] * 2] * 2
    assert chances[0, 0, 4:].tolist() == [1, 1, 1]
    assert chances[..., 4:].sum() == 3
    assert places[0, 1, :4].tolist() == [9, 10, 11, 0]


def test_bad_answers_are_refused_by_state(refused):
    options: Any = {"num_states": 12, "num_actions": 2, "discount": 0.9}
    with refused("2 successors", "state 0", "num_successors is 3"):
        shard_function(walk, **options, num_successors=3)
    with refused("state 0, action 0", "successor 99", "0 to 11"):
        shard_function(lambda s, a: (s[:, None] + 99, np.ones((len(s), 1))), **options, num_successors=1)


@pytest.mark.slow
def test_two_processes_of_four_devices_agree_with_one():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    flags = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", PROGRAM, str(port)]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": {**os.environ, **flags}}
    running = [subprocess.Popen([*command, str(number)], **pipes) for number in (0, 1)]
    found = []
    for process in running:
        out, error = process.communicate(timeout=600)
        assert process.returncode == 0, error[-3000:]
        found.append(json.loads(out.splitlines()[-1]))
    assert [facts["devices"] for facts in found] == [8, 8]
    assert [facts["parts"] for facts in found] == [4, 4]
    assert sorted(facts["mine"] for facts in found) == [[0, 799], [800, 1599]]  # Nobody asked for the other's states.
    assert all(facts["converged"] for facts in found)
    assert max(facts["apart"] for facts in found) < 1e-8
    for kind in ("function", "lists"):  # Moves that reach the next device alone: strips of forty states are exchanged.
        for kernel, strip, values, visits in (facts[kind] for facts in found):
            assert (kernel, strip) == ("HaloKernel", 40)
            assert values < 1e-8
            assert visits < 1e-12
