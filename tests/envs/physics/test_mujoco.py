# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""MuJoCo's worlds through MJX: constants that follow the masses, and steps beside MuJoCo's own engine."""

import copy
import importlib.util

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import physics
from robustirl.envs.physics.mujoco import _iterations
from robustirl.errors import InvalidInputError

installed = importlib.util.find_spec("mujoco") is not None and importlib.util.find_spec("mujoco.mjx") is not None
needs_mujoco = pytest.mark.skipif(not installed, reason="mujoco and mujoco-mjx are not installed")


@pytest.mark.skipif(installed, reason="mujoco is installed")
def test_without_mujoco_the_command_that_installs_it_is_told():
    with pytest.raises(
        InvalidInputError, match=r"this needs mujoco and mujoco-mjx .*pip install 'robustirl\[mujoco\]'"
    ):
        physics.mujoco_world("hopper")


@needs_mujoco
@pytest.mark.filterwarnings("ignore")
def test_constants_follow_the_masses():
    import mujoco

    world = physics.mujoco_world("hopper", mass=2.0)
    model = world.equations.model
    heavy = mujoco.MjModel.from_xml_string(_doubled_density(model))
    arrays = world.parameters["model"]
    np.testing.assert_allclose(arrays["body_mass"], 2 * model.body_mass, rtol=1e-6)
    for name in ("body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0"):
        np.testing.assert_allclose(arrays[name], getattr(heavy, name), rtol=1e-5, atol=1e-9, err_msg=name)
    assert not np.allclose(arrays["dof_invweight0"], model.dof_invweight0 / 2)  # Armature does not grow with mass.
    one = physics.mujoco_world("hopper", **{"mass:foot": 3.0}).parameters["model"]["body_mass"] / model.body_mass
    np.testing.assert_allclose(one[1:], [1, 1, 1, 3])
    assert repr(world) == "PhysicsWorld(hopper: damping=1.0, friction=1.0, gravity=1.0, length=1.0, mass=2.0)"


def _doubled_density(model) -> str:
    """Return the same model as a file whose geometries are twice as dense: another way to the same numbers."""
    from pathlib import Path

    import gymnasium

    file = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "hopper.xml"
    assert model.nbody == 5
    return file.read_text().replace("<geom conaffinity", '<geom density="2000" conaffinity', 1)


@needs_mujoco
@pytest.mark.filterwarnings("ignore")
def test_bad_models_and_names_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="hopper has no parameter 'mass:tail'; choose among mass"):
        physics.mujoco_world("hopper", **{"mass:tail": 2.0})
    with pytest.raises(InvalidInputError, match=r"iterations\[0\] is 0"):
        physics.mujoco_world("hopper", iterations=(0, 4))
    with pytest.raises(InvalidInputError, match="iterations is 'fast', but two counts"):
        _iterations("fast")
    with pytest.raises(InvalidInputError, match="neither a file nor one of inverted-double-pendulum"):
        physics.mujoco_world("hoper")
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    with pytest.raises(InvalidInputError, match="is no model that MuJoCo reads"):
        physics.mujoco_world(tmp_path / "broken.xml")
    (tmp_path / "still.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(InvalidInputError, match="the model has no actuators"):
        physics.mujoco_world(tmp_path / "still.xml")


@needs_mujoco
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_step_is_that_of_mujocos_own_engine():
    import mujoco

    world = physics.mujoco_world("inverted-double-pendulum", mass=1.5)
    model = copy.deepcopy(world.equations.model)  # Worlds share it.
    for name in ("body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0"):
        getattr(model, name)[:] = world.parameters["model"][name]
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = [0.1, 0.05, -0.1], [0.2, -0.1, 0.3], 0.3
    state = jnp.concatenate([jnp.asarray(data.qpos), jnp.asarray(data.qvel), jnp.zeros(3), jnp.zeros(1)])
    for _ in range(5):
        mujoco.mj_step(model, data)
    after = np.asarray(world.step(state, jnp.array([0.3]), jnp.zeros(1)))
    np.testing.assert_allclose(after[:6], np.concatenate([data.qpos, data.qvel]), rtol=1e-5, atol=1e-6)
    physics.require_difference(world, world.changed(mass=1.0))


@needs_mujoco
@pytest.mark.filterwarnings("ignore")
def test_steps_of_the_contact_solver_are_those_asked_for():
    told = {None: (4, 8), (1, 4): (1, 4)}
    for given, expected in told.items():
        option = physics.mujoco_world("hopper", fast=True, iterations=given).equations.model.opt
        assert (option.iterations, option.ls_iterations) == expected
