# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
"""The worlds of the study of physics: how far their contact solver is from a converged one."""

import importlib.util

import numpy as np
import pytest

from robustirl.envs.mujoco import MODELS
from robustirl.errors import InvalidInputError
from robustirl.paper.studies import physics_worlds
from robustirl.paper.studies.physics_worlds import ONE_STEP, SCALES, engine_of, make_world, scale_of

installed = importlib.util.find_spec("mujoco") is not None and importlib.util.find_spec("mujoco.mjx") is not None
needs_mujoco = pytest.mark.skipif(not installed, reason="mujoco and mujoco-mjx are not installed")


def _error(name, iterations):
    """Return the mean error of the change of speeds in a step, relative to it, over random walks in MuJoCo itself."""
    import mujoco

    exact, rough = (MODELS[name](iterations=steps, integrator="euler") for steps in ((100, 50), iterations))
    rng, data, other = np.random.default_rng(0), mujoco.MjData(exact.model), mujoco.MjData(rough.model)
    errors = []
    for step in range(400):
        if step % 100 == 0:
            mujoco.mj_resetData(exact.model, data)
            data.qvel[:] = rng.uniform(-0.5, 0.5, len(data.qvel))
        before = data.qvel.copy()
        other.qpos[:], other.qvel[:], other.qacc_warmstart[:] = data.qpos, data.qvel, data.qacc_warmstart
        data.ctrl[:] = other.ctrl[:] = rng.uniform(-1, 1, len(data.ctrl))
        for model, one in ((exact.model, data), (rough.model, other)):
            for _ in range(exact.frame_skip):
                mujoco.mj_step(model, one)
        errors.append(np.abs(other.qvel - data.qvel).mean() / (np.abs(data.qvel - before).mean() + 1e-6))
    return np.mean(errors)


@needs_mujoco
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in SCALES if name in MODELS])
def test_the_contact_solver_of_the_study_agrees_with_a_converged_one(name):
    assert _error(name, scale_of(name).iterations) < 2e-3
    if name != "inverted-double-pendulum":
        assert _error(name, ONE_STEP) > 0.01  # A single step is another world.


@pytest.mark.usefixtures("mistyped")
def test_parameters_are_multiples_of_the_usual_ones(monkeypatch):
    world = make_world("double-pendulum", gravity=0.5)
    usual = physics_worlds.physics.make("double-pendulum").parameters
    assert float(world.parameters["gravity"]) == pytest.approx(0.5 * float(usual["gravity"]))
    others = set(usual) - {"gravity"}
    assert {name: float(world.parameters[name]) for name in others} == {name: float(usual[name]) for name in others}
    with pytest.raises(InvalidInputError, match="has no parameter 'weight'"):
        make_world("double-pendulum", weight=1.0)
    with pytest.raises(InvalidInputError, match="there is no world 'pendulum' in this study; choose among cart-pole"):
        make_world("pendulum")
    monkeypatch.setattr(physics_worlds.physics, "mujoco_world", lambda name, **options: (name, options))
    # MuJoCo's own solver stops when it has converged.
    assert make_world("hopper", mass=2.0) == ("hopper", {"fast": True, "engine": "mujoco", "mass": 2.0})
    monkeypatch.setattr("jax.default_backend", lambda: "gpu")
    assert make_world("hopper", mass=2.0) == (
        "hopper",
        {"fast": True, "iterations": SCALES["hopper"].iterations, "engine": "mjx", "mass": 2.0},
    )
    assert [engine_of(name) for name in ("hopper", "double-pendulum")] == ["mjx", "jax"]
