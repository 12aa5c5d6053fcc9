# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""MuJoCo's worlds through MJX: constants that follow the masses, and steps beside MuJoCo's own engine."""

import copy
import importlib.util
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import physics
from robustirl.envs.physics import mujoco as module
from robustirl.envs.physics.mujoco import (
    FACTORS,
    MujocoEquations,
    _action_bounds,
    _integrator,
    _iterations,
    _line,
    _scale,
)
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


# What needs no engine, on the tables of a model: a torso (1) with an arm (2), and a floor that is the world's (0).


def _tables():
    return SimpleNamespace(
        nbody=3,
        body_parentid=np.array([0, 0, 1]),
        geom_bodyid=np.array([0, 1, 2]),
        dof_bodyid=np.array([1, 2]),
        body_mass=np.array([0.0, 2.0, 3.0]),
        body_inertia=np.full((3, 3), 4.0),
        body_pos=np.ones((3, 3)),
        body_ipos=np.ones((3, 3)),
        geom_friction=np.ones((3, 3)),
        geom_pos=np.ones((3, 3)),
        geom_size=np.ones((3, 3)),
        dof_damping=np.array([1.0, 5.0]),
        opt=SimpleNamespace(gravity=np.array([0.0, 0.0, -9.81])),
    )


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("mass", {"body_mass": [0, 2, 6], "body_inertia": [[4] * 3, [4] * 3, [8] * 3]}),
        ("friction", {"geom_friction": [[1, 1, 1], [1, 1, 1], [2, 1, 1]]}),
        ("damping", {"dof_damping": [1, 10]}),
        (
            "length",
            {
                "body_ipos": [[1] * 3, [1] * 3, [2] * 3],
                "geom_pos": [[1] * 3, [1] * 3, [2] * 3],
                "geom_size": [[1, 1, 1], [1, 1, 1], [1, 2, 1]],
                "body_inertia": [[4] * 3, [4] * 3, [16] * 3],
            },
        ),
    ],
)
def test_a_factor_of_one_body_changes_what_is_its_own(kind, changed):
    model, before = _tables(), _tables()
    _scale(model, kind, np.array([2]), 2.0)
    for name, array in vars(before).items():
        if isinstance(array, np.ndarray):
            np.testing.assert_array_equal(getattr(model, name), changed.get(name, array), err_msg=name)


def test_factors_of_all_bodies_leave_the_world_as_it_is():
    model = _tables()
    for kind in ("length", "gravity"):
        _scale(model, kind, np.arange(3), 3.0)
    moved = [[1] * 3, [3] * 3, [3] * 3]  # The floor stays.
    np.testing.assert_array_equal(model.geom_pos, moved)
    np.testing.assert_array_equal(model.body_ipos, moved)
    np.testing.assert_array_equal(model.geom_size, [[1, 1, 1], [1, 3, 1], [1, 3, 1]])
    np.testing.assert_array_equal(model.body_pos, [[1] * 3, [1] * 3, [3] * 3])  # The torso hangs from the world itself.
    np.testing.assert_array_equal(model.body_inertia, [[4] * 3, [36] * 3, [36] * 3])
    np.testing.assert_allclose(model.opt.gravity, [0, 0, -29.43])


def _equations(**parts):
    """Return equations over tables in place of a model: two positions, one velocity, and its acceleration."""
    equations = object.__new__(MujocoEquations)
    model = SimpleNamespace(nq=2, nv=1, qpos0=np.array([0.5, -1.0]), opt=SimpleNamespace(timestep=0.25))
    given = {"name": "arm", "model": model, "bodies": ("world", "torso", "arm"), "frame_skip": 3, "noise": 0.1}
    given |= {"defaults": dict.fromkeys(FACTORS, 1.0), "_observe": None, "_reward": None, "_terminal": None}
    vars(equations).update(given | parts)
    return equations


def test_a_state_is_positions_velocities_and_accelerations():
    state, after = jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([5.0, 6.0, 7.0, 8.0])

    def paid(position, velocity, action, moved, speed, seconds):
        return jnp.stack([position.sum(), velocity[0], action, moved.sum(), speed[0], seconds])

    plain, own = _equations(), _equations(_reward=paid, _observe=lambda q, v: q + v, _terminal=lambda q, v: q[1] < v[0])
    assert plain.observation(state, None, {}).tolist() == [1, 2, 3]
    assert own.observation(state, None, {}).tolist() == [4, 5]
    assert plain.reward(state, 9.0, after, None, {}).item() == 0
    assert own.reward(state, 9.0, after, None, {}).tolist() == [3, 3, 9, 11, 7, 0.75]  # Three steps of 0.25 s.
    assert [bool(plain.terminal(state.at[place].set(jnp.nan), None, {})) for place in (0, 3)] == [True, True]
    assert not plain.terminal(state, None, {})
    assert own.terminal(state, None, {})
    assert not own.terminal(state.at[1].set(3.0), None, {})
    first = np.asarray(plain.initial(jax.random.key(1), {}))
    assert first.shape == (4,)
    assert first[3] == 0
    moved = first[:3] - [0.5, -1.0, 0.0]
    assert (np.abs(moved) <= 0.1).all()
    assert moved.min() < 0 < moved.max()


@pytest.mark.parametrize("given", [{"mass:tail": 2.0}, {"gravity:arm": 2.0}, {"color": 2.0}])
def test_parameters_that_a_model_does_not_have_are_refused(given):
    with pytest.raises(InvalidInputError) as refusal:
        _equations().check(given)
    assert str(refusal.value) == (
        f"arm has no parameter {next(iter(given))!r}; choose among mass, friction, damping, gravity, length, or one of"
        " a body, such as mass:arm (bodies: torso, arm)."
    )


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, [2.0]])
def test_factors_that_are_none_are_refused(value):
    with pytest.raises(InvalidInputError, match=r"mass:arm of arm is .*, but a factor above 0 is needed"):
        _equations().check({"mass:arm": value})


def test_options_of_the_engine():
    assert _iterations([1, 2]) == (1, 2)
    for given in ((1,), (1, 2, 3), "12"):
        with pytest.raises(InvalidInputError, match="two counts are needed"):
            _iterations(given)
    for given in ((0, 1), (1, 0)):
        with pytest.raises(InvalidInputError, match=rf"iterations\[{given.index(0)}\] is 0"):
            _iterations(given)
    engine = SimpleNamespace(mjtIntegrator=SimpleNamespace(mjINT_EULER=0, mjINT_RK4=1, mjINT_IMPLICITFAST=3))
    assert [_integrator(engine, name) for name in ("euler", "rk4", "implicitfast")] == [0, 1, 3]
    with pytest.raises(InvalidInputError, match="integrator is 'heun', but one of euler, rk4, implicitfast is needed"):
        _integrator(engine, "heun")
    model = SimpleNamespace(nu=2, actuator_ctrllimited=[1, 0], actuator_ctrlrange=[[-0.4, 0.6], [0.0, 0.0]])
    np.testing.assert_array_equal(_action_bounds(model), [[-0.4, -1], [0.6, 1]])
    with pytest.raises(InvalidInputError, match="the model has no actuators"):
        _action_bounds(SimpleNamespace(nu=0))
    turned = np.array([[0.0, 1, 0.6], [0, 0, 0.0], [1, 0, 0.8]]).ravel()
    np.testing.assert_allclose(_line(np.array([1.0, 2.0, 3.0]), turned, 0.5), [[0.7, 2.6], [1.3, 3.4]])


def test_equations_take_the_options_they_are_given(monkeypatch):
    class Model:
        nbody, nu, actuator_ctrllimited, actuator_ctrlrange = 2, 1, (0,), ((0.0, 0.0),)

        def __init__(self):
            self.opt = SimpleNamespace(iterations=100, ls_iterations=50, integrator=3)

        def body(self, index):
            return SimpleNamespace(name=("world", "arm")[index])

    engine = SimpleNamespace(MjModel=Model, mjtIntegrator=SimpleNamespace(mjINT_EULER=0))
    monkeypatch.setattr(module, "_mujoco", lambda: engine)
    plain = module.MujocoEquations("arm", Model(), horizon=1, frame_skip=1)
    assert vars(plain.model.opt) == {"iterations": 100, "ls_iterations": 50, "integrator": 3}
    assert (plain.horizon, plain.frame_skip, plain.bodies) == (1, 1, ("world", "arm"))
    assert set(plain.defaults.values()) == {1.0}
    quick = module.MujocoEquations("arm", Model(), iterations=(4, 8), integrator="euler")
    assert vars(quick.model.opt) == {"iterations": 4, "ls_iterations": 8, "integrator": 0}
    for name, words in (("horizon", "the horizon is 0"), ("frame_skip", "frame_skip is 0")):
        with pytest.raises(InvalidInputError, match=words):
            module.MujocoEquations("arm", Model(), **{name: 0})
