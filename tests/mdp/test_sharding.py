"""States spread over eight devices: the same answers, and every device has its share."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json
import jax, jax.numpy as jnp, numpy as np, scipy.sparse
jax.config.update("jax_enable_x64", True)
from robustirl.mdp import MDP, shard_states
from robustirl.mdp.builders import from_successors
from robustirl.mdp.mixtures import MixtureKernel

size, rng = 1600, np.random.default_rng(0)
base = from_successors(rng.integers(size, size=(size, 3, 2)), rng.dirichlet(np.ones(2), (size, 3)))
noisy = MixtureKernel(base, np.full(size, 0.1), distribution=np.full(size, 1 / size))
out = {"devices": len(jax.devices())}

@jax.jit
def answers(world, reward):
    step = lambda _, v: reward + world.discount * world.kernel.expect(v).max(-1)
    value = jax.lax.fori_loop(0, 50, step, reward)
    chain = world.kernel.chain(world.mask / world.mask.sum(-1, keepdims=True))
    return value, chain.push(world.initial), chain.expect(value)

for name, kernel in (("lists", base), ("mixture", noisy)):
    whole = MDP(kernel, discount=0.9)
    spread = shard_states(whole)
    one, many = (answers(world, world.initial * 100) for world in (whole, spread))
    out[name] = {
        "apart": max(float(abs(np.asarray(a) - np.asarray(b)).max()) for a, b in zip(one, many)),
        "pieces": len(many[0].sharding.device_set),
        "share": [int(s.data.shape[0]) for s in spread.initial.addressable_shards],
    }
    largest = max(jax.tree.leaves(spread), key=lambda leaf: leaf.size)
    out[name]["largest share"] = largest.addressable_shards[0].data.size / largest.size
odd = MDP(np.full((7, 1, 7), 1 / 7), discount=0.9)
out["odd"] = answers(shard_states(odd), jnp.arange(7.0))[1].tolist()
print(json.dumps(out))
"""


@pytest.mark.slow
def test_eight_devices_agree_with_one():
    flags = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env={**os.environ, **flags}, check=False
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["devices"] == 8
    for name in ("lists", "mixture"):
        assert found[name]["apart"] < 1e-12
        assert found[name]["pieces"] == 8
        assert found[name]["share"] == [200] * 8
        assert found[name]["largest share"] == 1 / 8
    assert found["odd"] == pytest.approx([1 / 7] * 7)  # Vectors that are not divided are kept by every device.
