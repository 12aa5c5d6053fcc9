"""One step of every world from many states, beside numbers that were written once.

The worlds that Gymnasium has are held to it in `test_equations.py`.
`python -m tests.envs.physics.test_physics_golden` writes the numbers anew.
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import physics

GOLDEN = Path(__file__).parents[2] / "golden" / "physics.json"
STATES = 24


def measured(name):
    """What becomes of some states, near and far: the next one, what is seen, the pay, the end, what is drawn.

    No parameter has its usual value, which may be one at which a term vanishes.
    """
    usual = physics.make(name).parameters
    world = physics.make(name, **{key: 1.3 * float(value) or 0.1 for key, value in usual.items()})
    equations, parameters = world.equations, world.parameters
    size = len(equations.initial(jax.random.key(0), parameters))
    rng = np.random.default_rng(0)
    states = rng.normal(size=(STATES, size)) * np.geomspace(0.02, 3, STATES)[:, None]
    low, high = world.bounds
    actions = 1.3 * rng.uniform(np.asarray(low), np.asarray(high), size=(STATES, world.action_size))  # Some too large.

    @jax.jit
    @jax.vmap
    def step(state, action):
        after = equations.transition(state, action, None, parameters)
        paid = equations.reward(state, action, after, None, parameters)
        seen = equations.observation(after, None, parameters)
        return jnp.concatenate(
            [after, seen, jnp.stack([paid, equations.terminal(after, None, parameters).astype(float)])]
        )

    lines = [np.concatenate(equations.skeleton(state, parameters)) for state in states[20:22]]
    weights = [np.cos(np.arange(line.size)) for line in lines]
    return {
        "steps": np.asarray(step(states, actions)).tolist(),
        "drawn": [float(line.ravel() @ weight) for line, weight in zip(lines, weights, strict=True)],
        "horizon": world.horizon,
        "bounds": [np.asarray(bound).tolist() for bound in world.bounds],
    }


@pytest.mark.parametrize("name", physics.names())
def test_a_step_is_what_it_was(name):
    golden, now = json.loads(GOLDEN.read_text(encoding="utf-8"))[name], measured(name)
    assert (now["horizon"], now["bounds"]) == (golden["horizon"], golden["bounds"])
    np.testing.assert_allclose(now["steps"], golden["steps"], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(now["drawn"], golden["drawn"], rtol=1e-7)
    ends = np.array(golden["steps"])[:, -1]
    assert name in ("pendulum", "cart-pole-swing-up", "mountain-car") or 0 < ends.sum() < STATES  # Both are tried.


if __name__ == "__main__":
    with jax.enable_x64(True):
        GOLDEN.write_text(json.dumps({name: measured(name) for name in physics.names()}) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {GOLDEN}\n")
