# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""MuJoCo's worlds: constants that follow the masses, states and options, and steps of MJX beside MuJoCo's own."""

import copy
from pathlib import Path
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import physics
from robustirl.envs.physics import mujoco as module
from robustirl.envs.physics.mujoco import MujocoEquations, _line, as_engine
from robustirl.envs.physics.mujoco_models import FACTORS
from robustirl.errors import InvalidInputError
from tests.envs.physics.bodies import needs_mjx, needs_mujoco, rod


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
        physics.mujoco_world("hopper", iterations="fast")
    with pytest.raises(InvalidInputError, match="engine is 'bullet', but one of mujoco, mjx is needed"):
        physics.mujoco_world("hopper", engine="bullet")
    with pytest.raises(InvalidInputError, match="neither a file nor one of inverted-double-pendulum"):
        physics.mujoco_world("hoper")
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    with pytest.raises(InvalidInputError, match="is no model that MuJoCo reads"):
        physics.mujoco_world(tmp_path / "broken.xml")
    (tmp_path / "still.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    with pytest.raises(InvalidInputError, match="the model has no actuators"):
        physics.mujoco_world(tmp_path / "still.xml")


@needs_mjx
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_step_of_mjx_is_that_of_mujocos_own_engine():
    import mujoco

    world = physics.mujoco_world("inverted-double-pendulum", mass=1.5, engine="mjx")
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
    # MuJoCo's own solver stops when it has converged; one hundred steps are its limit.
    told = {("mjx", None): (4, 8), ("mujoco", None): (100, 50), ("mjx", (1, 4)): (1, 4), ("mujoco", (1, 4)): (1, 4)}
    for (engine, given), expected in told.items():
        option = physics.mujoco_world("hopper", fast=True, iterations=given, engine=engine).equations.model.opt
        assert (option.iterations, option.ls_iterations, option.integrator) == (*expected, 0)
    assert physics.mujoco_world("hopper", iterations=[1, 4]).equations.model.opt.integrator == 1


def test_the_engine_is_the_faster_one_of_the_device(monkeypatch):
    assert as_engine(None) == "mujoco"
    monkeypatch.setattr(module.jax, "default_backend", lambda: "gpu")
    assert [as_engine(engine) for engine in (None, "mujoco", "mjx")] == ["mjx", "mujoco", "mjx"]


@needs_mjx
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("length", [1.0, 1.5])
def test_both_engines_take_the_same_steps_of_a_body_of_ones_own(tmp_path, length):
    """With activations, a contact that the file names, joints beside the origins of their bodies, and each factor."""
    (tmp_path / "rod.xml").write_text(rod(height=0.5 * length).replace('type="plane"', 'type="plane" friction="0.5"'))
    given = {"mass": 1.5, "damping": 2.0, "friction": 0.5, "gravity": 0.8, "length": length}
    worlds = [
        physics.mujoco_world(
            MujocoEquations("rod", tmp_path / "rod.xml", frame_skip=2, iterations=(50, 50), engine=engine), **given
        )
        for engine in ("mujoco", "mjx")
    ]
    states = [np.asarray(world.initial(key=jax.random.key(0))) for world in worlds]
    steps = [eqx.filter_jit(world.step) for world in worlds]
    for index in range(60):
        action = np.array([0.3, 1.0 if index < 30 else -1.0])
        states = [step(state, action, np.zeros(1)) for step, state in zip(steps, states, strict=True)]
    ours, theirs = (np.asarray(state)[:6] for state in states)
    assert abs(ours[4]) > 0.1  # The slow motor is on.
    np.testing.assert_allclose(ours[:5], theirs[:5], rtol=1e-6, atol=1e-7)


def _equations(**parts):
    """Return equations over tables in place of a model: two positions, one velocity, and its acceleration."""
    equations = object.__new__(MujocoEquations)
    model = SimpleNamespace(nq=2, nv=1, na=0, qpos0=np.array([0.5, -1.0]), opt=SimpleNamespace(timestep=0.25))
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


@pytest.mark.parametrize("given", [{"mass:tail": 2.0}, {"mass:": 2.0}, {"gravity:arm": 2.0}, {"color": 2.0}])
def test_parameters_that_a_model_does_not_have_are_refused(given):
    with pytest.raises(InvalidInputError) as refusal:
        _equations().check(given)
    assert str(refusal.value) == (
        f"arm has no parameter {next(iter(given))!r}; choose among mass, friction, damping, gravity, length, or one of"
        " a body, such as mass:arm (bodies: torso, arm)."
    )


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, [2.0], True, "2"])
def test_factors_that_are_none_are_refused(value):
    with pytest.raises(InvalidInputError, match=r"mass:arm of arm is .*, but a factor above 0 is needed"):
        _equations().check({"mass:arm": value})


@pytest.mark.parametrize("value", [1e300, 1e-300])
def test_factors_that_training_does_not_hold_are_refused(value):
    with pytest.raises(
        InvalidInputError, match=r"mass of arm is 1e.*, but a factor above 0 that single precision holds"
    ):
        _equations().check({"mass": value})


def test_options_that_are_none_are_refused(refused, tmp_path):
    with refused("fast is 'no', but True or False is needed"):
        module.mujoco_world("hopper", fast="no")
    with refused("engine is array(['mjx', 'mujoco']", "but one of mujoco, mjx is needed"):
        as_engine(np.array(["mjx", "mujoco"]))
    for which in (None, ["hopper"], "x" * 300, tmp_path):
        with refused("there is no model", "it is neither a file nor one of"):
            module.mujoco_world(which)


@needs_mujoco
def test_a_world_is_that_of_the_file_as_it_is_now(tmp_path, monkeypatch):
    for folder, height in (("a", 2.0), ("b", 3.0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rod.xml").write_text(rod(height=height))
    monkeypatch.chdir(tmp_path / "a")
    first = module.mujoco_world("rod.xml", engine="mujoco")
    assert module.mujoco_world("rod.xml", engine="mujoco").equations is first.equations  # And its programs.
    monkeypatch.chdir(tmp_path / "b")
    other = module.mujoco_world("rod.xml", engine="mujoco")
    Path("rod.xml").write_text(rod(height=4.0))
    changed = module.mujoco_world("rod.xml", engine="mujoco")
    assert [world.parameters["model"]["body_pos"][1, 2] for world in (first, other, changed)] == [2.0, 3.0, 4.0]


@needs_mujoco
def test_factors_that_leave_no_numbers_are_refused(tmp_path, refused):
    (tmp_path / "rod.xml").write_text(rod())
    with refused("with {'length': 1e+30}, rod has numbers in body_inertia that single precision does not hold"):
        module.mujoco_world(tmp_path / "rod.xml", engine="mujoco", length=1e30)


def test_a_capsule_is_a_line():
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
    monkeypatch.setattr(module, "require_mujoco", lambda: engine)
    monkeypatch.setattr(module, "load_model", lambda model: model)
    monkeypatch.setattr(module, "NativeEngine", lambda *given: given)
    plain = module.MujocoEquations("arm", Model(), horizon=1, frame_skip=1)
    assert vars(plain.model.opt) == {"iterations": 100, "ls_iterations": 50, "integrator": 3}
    assert (plain.horizon, plain.frame_skip, plain.bodies) == (1, 1, ("world", "arm"))
    assert set(plain.defaults.values()) == {1.0}
    quick = module.MujocoEquations("arm", Model(), iterations=(4, 8), integrator="euler")
    assert vars(quick.model.opt) == {"iterations": 4, "ls_iterations": 8, "integrator": 0}
    for name, words in (("horizon", "the horizon is 0"), ("frame_skip", "frame_skip is 0")):
        with pytest.raises(InvalidInputError, match=words):
            module.MujocoEquations("arm", Model(), **{name: 0})
    with pytest.raises(InvalidInputError, match="the noise of first states is nan"):
        module.MujocoEquations("arm", Model(), noise=float("nan"))
