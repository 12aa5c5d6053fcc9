"""States spread over eight devices: the same answers, and every device has its share."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from robustirl.mdp import MDP, shard_states

PROGRAM = """
import json, re, sys
import equinox as eqx
import jax, numpy as np
import scipy.sparse
import scipy.sparse.linalg
import robustirl
robustirl.enable_x64()
from robustirl import envs, irl
from robustirl.mdp import MarkovGame, extend_array, shard_states
from robustirl.planning import Temperatures, solve, state_occupancy
from robustirl.planning.columns import column_game

rewards = np.where(np.random.default_rng(0).uniform(size=(40, 40)) < 0.2, -10.0, -1.0)
rewards[0, 0] = 0.0
env = envs.GridWorld("large", rewards=rewards, discount=0.95)
out = {"devices": len(jax.devices())}
for model in ("uniform-action", "uniform-state"):
    whole = env.mdp(0.1, model)
    spread = shard_states(whole)
    one, many = (solve(MarkovGame(world, 0.9), env.reward) for world in (whole, spread))
    visits = [state_occupancy(world, one.mixture) for world in (whole, spread)]
    out[model] = {
        "difference": float(abs(np.asarray(one.value) - np.asarray(many.value)).max()),
        "converged": bool(many.verdict.converged),
        "occupancy": float(abs(np.asarray(visits[0]) - np.asarray(visits[1])).max()),
        "pieces": len(many.value.sharding.device_set),
        "share": [int(s.data.shape[0]) for s in spread.initial.addressable_shards],
    }
# Exact plans: Adam makes much of the last digits of a gradient where it is nearly zero. Not from a reward of zero: far
# from the border all actions would be worth the same to 1e-11, and the last digits would decide what the opponent does.
start = np.random.default_rng(2).normal(size=whole.num_states)
exact = dict(alpha=0.9, steps=3, planner_tolerance=1e-11, initial_parameters=start)
fits = [irl.fit(world, visits[0], **exact) for world in (whole, spread)]

# SciPy evaluates the soft policy of alpha = 1: (I - gamma P)^-1 (R + entropy).
grid = shard_states(env.mdp(0.1, "uniform-action"))
plan = solve(grid, env.reward)
policy = np.asarray(plan.player)
chain = grid.kernel.chain(list(policy.T)).sparse_part()
earned = np.asarray(env.reward) - (policy * np.log(np.maximum(policy, 1e-300))).sum(1)
theirs = scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(scipy.sparse.eye_array(1600) - 0.95 * chain), earned)
out["scipy"] = float(abs(theirs - np.asarray(plan.value)).max())

# What devices send each other for one sweep.
columns = column_game(MarkovGame(grid, 0.9), grid.initial, Temperatures())
program = eqx.filter_jit(lambda c, v: c.values(v)).lower(columns, grid.initial).compile().compiled.as_text()
out["sent"] = re.findall(r"= f64.([0-9]+).\\S* (collective-permute|all-gather|all-to-all)(?:-start)?[(]", program)

odd = envs.GridWorld("odd", rewards=rewards[:37, :31], discount=0.95)
spread = shard_states(odd.mdp(0.1, "uniform-action"))
one = solve(MarkovGame(odd.mdp(0.1, "uniform-action"), 0.9), odd.reward)
many = solve(MarkovGame(spread, 0.9), extend_array(odd.reward, spread))
out["odd"] = {
    "states": spread.num_states,
    "difference": float(abs(np.asarray(one.value) - np.asarray(many.value)[: 37 * 31]).max()),
}
out["fit"] = float(abs(np.asarray(fits[0].reward) - np.asarray(fits[1].reward)).max())
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def found():
    flags = {"XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env={**os.environ, **flags}, check=False
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["uniform-action", "uniform-state"])
def test_eight_devices_agree_with_one(found, model):
    assert found["devices"] == 8
    assert found[model]["converged"]
    assert found[model]["difference"] < 1e-8
    assert found[model]["occupancy"] < 1e-12
    assert found[model]["pieces"] == 8
    assert found[model]["share"] == [200] * 8
    assert found["fit"] < 1e-8


@pytest.mark.slow
def test_values_are_those_of_scipy(found):
    assert found["scipy"] < 1e-8


@pytest.mark.slow
def test_devices_of_a_grid_exchange_no_more_than_its_border(found):
    # A move along a row reaches one state of the next device, a move across rows a row of forty.
    assert sorted(found["sent"]) == [["1", "collective-permute"]] * 2 + [["40", "collective-permute"]] * 2


@pytest.mark.slow
def test_states_that_do_not_divide_are_padded(found):
    assert found["odd"]["states"] == 1152
    assert found["odd"]["difference"] < 1e-8


def test_what_cannot_be_spread_is_refused(refused):
    with refused("array", "diagonals or lists"):
        shard_states(MDP(np.ones((2, 1, 2)) / 2, discount=0.9))
