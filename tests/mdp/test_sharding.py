"""States spread over eight devices, of one process or of two: the same answers, and every device has its share."""

import json
import os
import socket
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
import jax
if len(sys.argv) > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{sys.argv[1]}", num_processes=2, process_id=int(sys.argv[2]))
import jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.sharding import shard_states
from robustirl.mdp.builders import from_successors
from robustirl.mdp.mixtures import MixtureKernel
from robustirl.planning import solve, state_occupancy

size, rng = 640, np.random.default_rng(0)
base = from_successors(rng.integers(size, size=(size, 3, 2)), rng.dirichlet(np.ones(2), (size, 3)))
noisy = MixtureKernel(base, np.full(size, 0.1), distribution=np.full(size, 1 / size))
reward = rng.normal(size=size)
out = {"devices": len(jax.devices())}

def apart(whole, spread):
    parts = [(shard.index, np.asarray(shard.data)) for shard in spread.addressable_shards]
    return max(float(abs(np.asarray(whole)[index] - part).max()) for index, part in parts)

@jax.jit
def products(world, value):
    chain = world.kernel.chain(world.mask / world.mask.sum(-1, keepdims=True))
    pushed = world.kernel.push(world.mask * value[:, None])
    return world.kernel.expect(value), pushed, chain.push(value), chain.expect(value)

for name, kernel in (("lists", base), ("mixture", noisy)):
    whole = MDP(kernel, discount=0.9)
    spread = shard_states(whole)
    one, many = products(whole, reward), products(spread, spread.initial * 0 + reward)
    largest = max(jax.tree.leaves(spread), key=lambda leaf: leaf.size)
    out[name] = {
        "products": max(map(apart, one, many)),
        "share": [int(s.data.shape[0]) for s in spread.initial.addressable_shards],
        "largest share": largest.addressable_shards[0].data.size / largest.size,
    }
whole, spread = MDP(base, discount=0.9), shard_states(MDP(base, discount=0.9))
plan, theirs = (solve(MarkovGame(world, 0.9), reward) for world in (whole, spread))
visits = [state_occupancy(world, plan.mixture) for world in (whole, spread)]
out |= {"value": apart(plan.value, theirs.value), "occupancy": apart(*visits)}
odd = shard_states(MDP(np.full((7, 1, 7), 1 / 7), discount=0.9))
out["odd"] = np.asarray(products(odd, jnp.arange(7.0))[2]).tolist()
print(json.dumps(out))
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_eight_devices_agree_with_one(processes):
    count = f"--xla_force_host_platform_device_count={8 // processes}"
    flags = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} {count}", "JAX_PLATFORMS": "cpu"}
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    words = [[]] if processes == 1 else [[port, str(number)] for number in range(2)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": {**os.environ, **flags}}
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM, *each], **pipes) for each in words]
    for run, (answer, errors) in [(run, run.communicate(timeout=300)) for run in started]:
        assert run.returncode == 0, errors
        found = json.loads(answer.splitlines()[-1])
        assert found["devices"] == 8
        for name in ("lists", "mixture"):
            assert found[name]["products"] < 1e-12
            assert found[name]["share"] == [80] * (8 // processes)
            assert found[name]["largest share"] == 1 / 8
        assert found["value"] < 1e-8
        assert found["occupancy"] < 1e-10
        assert found["odd"] == pytest.approx([3.0] * 7)  # Vectors that are not divided are kept by every device.
