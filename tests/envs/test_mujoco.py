# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""MuJoCo's worlds: what factors change, steps beside MuJoCo's own and Gymnasium's."""

import concurrent.futures
import os
import pickle
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import single_precision
from robustirl.control import measure_returns
from robustirl.control.policies import network_policy
from robustirl.envs import mujoco as module
from robustirl.envs import mujoco_models, physics
from robustirl.envs.mujoco import MujocoEquations
from robustirl.envs.mujoco_models import (
    NativeEngine,
    arrays_of_model,
    change_model,
    count_threads,
    load_model,
    require_mujoco,
)
from robustirl.errors import InvalidInputError
from tests.envs.bodies import needs_mujoco, rod


@needs_mujoco
@pytest.mark.filterwarnings("ignore")
def test_constants_follow_the_masses():
    import mujoco

    world = module.mujoco_world("hopper", mass=2.0)
    model = world.equations.model
    heavy = mujoco.MjModel.from_xml_string(_doubled_density(model))
    arrays = world.parameters["model"]
    np.testing.assert_allclose(arrays["body_mass"], 2 * model.body_mass, rtol=1e-6)
    for name in ("body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0"):
        np.testing.assert_allclose(arrays[name], getattr(heavy, name), rtol=1e-5, atol=1e-9, err_msg=name)
    assert not np.allclose(arrays["dof_invweight0"], model.dof_invweight0 / 2)  # Armature does not grow with mass.
    one = module.mujoco_world("hopper", **{"mass:foot": 3.0}).parameters["model"]["body_mass"] / model.body_mass
    np.testing.assert_allclose(one[1:], [1, 1, 1, 3])
    assert repr(world) == "PhysicsWorld(hopper: damping=1.0, friction=1.0, gravity=1.0, length=1.0, mass=2.0)"


def _doubled_density(model) -> str:
    """Return the same model as a file whose geometries are twice as dense: another way to the same numbers."""
    import gymnasium

    file = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "hopper.xml"
    assert model.nbody == 5
    return file.read_text().replace("<geom conaffinity", '<geom density="2000" conaffinity', 1)


@needs_mujoco
def test_a_world_is_that_of_the_file_as_it_is_now(tmp_path, monkeypatch):
    for folder, height in (("a", 2.0), ("b", 3.0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rod.xml").write_text(rod(height=height))
    monkeypatch.chdir(tmp_path / "a")
    first = module.mujoco_world("rod.xml")
    assert module.mujoco_world("rod.xml").equations is first.equations  # And its programs.
    monkeypatch.chdir(tmp_path / "b")
    other = module.mujoco_world("rod.xml")
    Path("rod.xml").write_text(rod(height=4.0))
    changed = module.mujoco_world("rod.xml")
    assert [world.parameters["model"]["body_pos"][1, 2] for world in (first, other, changed)] == [2.0, 3.0, 4.0]


@needs_mujoco
def test_factors_that_leave_no_numbers_are_refused(tmp_path, refused):
    (tmp_path / "rod.xml").write_text(rod())
    with refused("with {'length': 1e+30}, rod has numbers in body_inertia that single precision does not hold"):
        module.mujoco_world(tmp_path / "rod.xml", length=1e30)


@needs_mujoco
@pytest.mark.parametrize("geometry", ["capsule", "cylinder", "box", "ellipsoid"])
def test_a_longer_body_is_that_of_a_file_with_longer_parts(geometry):
    import mujoco

    read = mujoco.MjModel.from_xml_string
    usual, longer = read(rod(1.0, geometry)), read(rod(1.5, geometry))
    found = change_model(usual, {"length": 1.5})
    names = ("body_pos", "body_mass", "geom_pos", "geom_size", "geom_rbound", "geom_aabb", "jnt_pos", "site_pos")
    for name in names:
        np.testing.assert_allclose(getattr(found, name), getattr(longer, name), atol=1e-12, err_msg=name)
    assert not np.allclose(usual.geom_rbound, longer.geom_rbound)
    np.testing.assert_allclose(found.body_inertia[1:], usual.body_inertia[1:] * 2.25)


@needs_mujoco
def test_factors_of_mass_renew_what_mujoco_derives():
    import mujoco

    usual = mujoco.MjModel.from_xml_string(rod())
    heavy = mujoco.MjModel.from_xml_string(rod().replace('mass="1"', 'mass="2"').replace('mass="0.3"', 'mass="0.6"'))
    found = change_model(usual, {"mass": 2.0})
    for name in ("body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0", "dof_M0"):
        np.testing.assert_allclose(getattr(found, name), getattr(heavy, name), rtol=1e-9, err_msg=name)
    one = change_model(usual, {"mass:arm": 2.0, "friction:arm": 3.0, "gravity": 0.5})
    np.testing.assert_allclose(one.body_mass, [0, 1, 0.6])
    np.testing.assert_allclose(
        arrays_of_model(one)["pair_friction"][:, :3], [[0.8, 0.8, 0.005]]
    )  # The rod's, not the arm's.
    np.testing.assert_allclose(change_model(usual, {"friction": 2.0}).pair_friction[:, :3], [[1.6, 1.6, 0.005]])
    np.testing.assert_allclose(arrays_of_model(one)["gravity"], [0, 0, -4.905])
    np.testing.assert_allclose(usual.opt.gravity, [0, 0, -9.81])  # The model itself stays.


@needs_mujoco
def test_a_mesh_has_no_length_to_change():
    import mujoco

    corners = "0 0 0  1 0 0  0 1 0  0 0 1"
    mesh = f"<asset><mesh name='stone' vertex='{corners}'/></asset>"
    body = "<worldbody><body name='rock'><freejoint/><geom name='stone' type='mesh' mesh='stone'/></body></worldbody>"
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{mesh}{body}</mujoco>")
    with pytest.raises(InvalidInputError, match="the length of the geometry stone cannot be changed; only capsules"):
        change_model(model, {"length": 2.0})
    change_model(model, {"length": 1.0, "mass": 2.0})


@needs_mujoco
def test_models_are_read_without_a_word(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.xml").write_text(rod().replace("<mujoco>", '<mujoco><compiler settotalmass="14"/>'))
    model = load_model(tmp_path / "old.xml")  # MuJoCo warns of this attribute.
    assert model.body_mass.sum() == pytest.approx(14)
    assert load_model(model) is not model  # Options are set in the copy.
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["old.xml"]  # MuJoCo writes a file of warnings by itself.
    with pytest.raises(InvalidInputError, match=r"none\.xml is no model that MuJoCo reads"):
        load_model(tmp_path / "none.xml")


@needs_mujoco
def test_numbers_of_kinds_and_flags_are_mujocos():
    mujoco, kinds = require_mujoco(), ("SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "BOX")
    for kind in kinds:
        assert getattr(mujoco_models, kind) == int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind}"))
    assert int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE) == mujoco_models.NO_TREES


@needs_mujoco
@pytest.mark.parametrize(
    ("found", "given", "says"),
    [
        ('timestep="0.005"', 'timestep="0"', "has a timestep of 0 s, but a finite one above 0 is needed"),
        ('timestep="0.005"', 'timestep="nan"', "has a timestep of nan s"),
        ('ctrlrange="-1 1"', 'ctrlrange="-inf inf"', "has numbers in actuator_ctrlrange that are not finite"),
        ('pos="0 0 2.0"', 'pos="0 inf 2.0"', "has numbers in body_pos that are not finite"),
        ("<option ", '<option gravity="0 nan 0" ', "has numbers in gravity that are not finite"),
    ],
)
def test_a_model_without_numbers_is_refused(tmp_path, refused, found, given, says):
    assert found in rod()
    (tmp_path / "rod.xml").write_text(rod().replace(found, given))
    with refused(f"{tmp_path / 'rod.xml'} {says}"):
        load_model(tmp_path / "rod.xml")
    model = require_mujoco().MjModel.from_xml_string(rod().replace(found, given))
    with refused(f"the model {says}"):
        load_model(model)


def _engine(text, frame_skip=2, **options):
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    return model, NativeEngine("rod", model, frame_skip, lambda factors: change_model(model, factors), **options)


def _plain_steps(model, state, action, frame_skip):
    """Return positions, velocities and activations after some steps, by MuJoCo's usual calls."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.act[:] = np.split(state, np.cumsum([model.nq, model.nv]))
    data.ctrl[:] = action
    for _ in range(frame_skip):
        mujoco.mj_step(model, data)
    return np.concatenate([data.qpos, data.qvel, data.act])


def test_steps_are_mujocos_for_every_model_of_a_batch():
    model, engine = _engine(rod(height=0.45), frame_skip=3)  # It touches the floor.
    rng = np.random.default_rng(0)
    states, actions = rng.normal(0, 0.3, (2, 4, 5)), rng.uniform(-1, 1, (2, 4, 2))
    states[..., 0] = rng.uniform(-0.05, 0.05, (2, 4))
    factors = np.stack(np.broadcast_arrays(np.array([[0.5], [2.0]]), np.array([1.0, 2.0, 1.5, 1.0])), -1)
    after = engine.advance(("mass", "friction"), states, actions, factors)
    assert after.shape == (2, 4, 5)
    for place in np.ndindex(2, 4):
        own = change_model(model, dict(zip(("mass", "friction"), factors[place], strict=True)))
        expected = _plain_steps(own, states[place], actions[place], 3)
        np.testing.assert_allclose(after[place], expected, rtol=1e-12, atol=1e-13)
    assert np.abs(after[0, 0] - engine.advance(("mass", "friction"), states, actions, factors[::-1])[0, 0]).max() > 1e-4
    single = engine.advance(("mass", "friction"), *(part.astype(np.float32) for part in (states, actions, factors)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, after, atol=1e-5)


def test_a_longer_rod_is_held_by_the_floor_at_its_own_end():
    """Contacts are looked for within bounds: with those of the usual rod it would sink until its middle came near."""
    for length in (1.0, 2.5):
        model, engine = _engine(rod(height=1.3), frame_skip=400)
        state = np.zeros((1, 5))
        for _ in range(4):
            state = engine.advance(("length",), state, np.zeros((1, 2)), np.full((1, 1), length))
        assert model.body_pos[1, 2] + state[0, 0] == pytest.approx(0.1 + 0.4 * length, abs=5e-3)


def test_unstable_simulations_are_no_numbers_and_say_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    _, engine = _engine(rod())
    states = np.zeros((3, 5))
    states[1, 2], states[2, 3] = np.nan, 1e30
    after = engine.advance(("mass",), states, np.zeros((3, 2)), np.ones((3, 1)))
    assert np.isfinite(after[0]).all()
    assert np.isnan(after[1]).any()
    assert np.isnan(after[2]).any()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_threads_do_not_change_a_bit(monkeypatch):
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("NPROC", count)
        assert count_threads() == int(count)
        _, engine = _engine(rod(height=0.45))
        rng = np.random.default_rng(1)
        results.append(
            engine.advance(("mass",), rng.normal(0, 0.1, (50, 5)), rng.normal(0, 1, (50, 2)), np.ones((50, 1)))
        )
        assert len(engine._threads()[1]) == int(count)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    for useless in ("", "0", "-1", "two"):
        monkeypatch.setenv("NPROC", useless)
        assert count_threads() == (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def own_rod():
    return MujocoEquations("rod", require_mujoco().MjModel.from_xml_string(rod()))


@needs_mujoco
def test_an_engine_that_has_stepped_is_pickled_without_its_threads():
    state, action = np.zeros((1, 5)), np.ones((1, 2))
    world = module.mujoco_world(own_rod())
    engine = world.equations._native
    before = engine.advance(("mass",), state, action, np.full((1, 1), 2.0))
    other = pickle.loads(pickle.dumps(world)).equations._native
    assert other is not engine
    np.testing.assert_array_equal(other.advance(("mass",), state, action, np.full((1, 1), 2.0)), before)


@needs_mujoco
def test_two_threads_may_use_one_engine():
    world, key = module.mujoco_world(own_rod()), jax.random.key(0)
    states = np.stack([world.initial(key=one) for one in jax.random.split(key, 8)])[:, :-1]

    @jax.jit
    def walk(states, masses):
        def one(state, mass):
            changed = {**world.parameters, "mass": mass}
            return world.equations.transition(state, jnp.zeros_like(state[:2]), changed)

        step = lambda states, _: (jax.vmap(one)(states, masses), None)  # noqa: E731
        return jax.lax.scan(step, states, length=50)[0]

    def run(masses):
        with single_precision():  # JAX keeps it by thread.
            return np.asarray(walk(states.astype(np.float32), np.asarray(masses, np.float32)))

    asked = np.array([[0.5, 1.0] * 4, [1.5, 2.0] * 4])
    alone = [run(masses) for masses in asked]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        together = list(threads.map(run, asked))
    np.testing.assert_array_equal(together, alone)
    assert np.abs(alone[0] - alone[1]).max() > 1e-3


def test_a_state_that_arrays_do_not_hold_is_refused():
    delayed = rod().replace('<motor joint="lift"', '<motor joint="lift" nsample="4" delay="0.02"')
    with pytest.raises(
        InvalidInputError,
        match=r"rod has a state beyond positions, velocities and activations \(10 more numbers, of",
    ):
        _engine(delayed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("inverted-pendulum", "InvertedPendulum-v5"),
        ("inverted-double-pendulum", "InvertedDoublePendulum-v5"),
        ("hopper", "Hopper-v5"),
        ("half-cheetah", "HalfCheetah-v5"),
        ("walker-2d", "Walker2d-v5"),
    ],
)
def test_steps_are_gymnasiums(name, identity):
    import gymnasium

    world, env = module.mujoco_world(name), gymnasium.make(identity).unwrapped
    seen, rng = env.reset(seed=1)[0], np.random.default_rng(2)
    width, ended = world.features(world.initial(key=jax.random.key(0))).shape[0], False
    size = env.model.nq + env.model.nv
    state = np.concatenate([env.data.qpos, env.data.qvel, np.zeros(1)])
    np.testing.assert_allclose(world.features(state), seen[:width], atol=1e-12)
    for _ in range(30):
        action = rng.uniform(env.action_space.low, env.action_space.high)
        seen, paid, ended, *_ = env.step(action)
        state = np.asarray(world.step(state, action, np.zeros(1)))
        np.testing.assert_allclose(state[:size], np.concatenate([env.data.qpos, env.data.qvel]), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(world.features(state), seen[:width], rtol=1e-7, atol=1e-9)
        # Gymnasium takes the tip of the double pendulum from one step of the simulation before.
        error = 1e-2 if name == "inverted-double-pendulum" else 1e-7
        assert float(world.reward(state)) == pytest.approx(paid, rel=error, abs=1e-9)
        assert bool(world.terminal(state)) == ended
        if ended:
            break
    assert ended == (name != "half-cheetah")


@pytest.mark.filterwarnings("ignore")
def test_policies_are_measured_in_worlds_of_different_mass_at_once():
    worlds = [module.mujoco_world("inverted-pendulum", fast=True, mass=mass) for mass in (0.5, 1, 2)]
    key = jax.random.key(3)
    policy = network_policy(4, 1, hidden=(4,), deviation=2.0, key=key)
    options = {"episodes": 4, "horizon": 60, "mean_action": False}
    together = np.asarray(measure_returns(worlds, [policy] * 3, keys=[key] * 3, **options))
    one = np.asarray(measure_returns(worlds[2:], [policy], keys=[key], **options))
    np.testing.assert_array_equal(together[2], one[0])
    assert len({tuple(row) for row in together.tolist()}) == 3
    assert together.min() >= 1
    assert together.max() <= 60


@needs_mujoco
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mass:tail": 2.0}, "rod has no parameter 'mass:tail'; choose among mass"),
        ({"gravity:arm": 2.0}, "rod has no parameter 'gravity:arm'"),
        ({"mass:arm": 0.0}, "mass:arm of rod is 0.0, but a factor above 0"),
        ({"mass": 1e300}, "but a factor above 0 that single precision holds"),
        ({"mass": True}, "mass of rod is True"),
        ({"which": "hoper"}, "neither a file nor one of inverted-double-pendulum"),
        ({"which": "broken.xml"}, "is no model that MuJoCo reads"),
        ({"which": "still.xml"}, "the model has no actuators"),
    ],
)
def test_bad_models_and_names_are_refused(tmp_path, monkeypatch, given, words, refused):
    monkeypatch.chdir(tmp_path)
    Path("rod.xml").write_text(rod())
    Path("broken.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    Path("still.xml").write_text("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    with refused(words):
        module.mujoco_world(**{"which": "rod.xml", **given})


@needs_mujoco
def test_worlds_of_two_files_are_told_apart_by_what_they_do(tmp_path, refused):
    """Two levels of friction of a body that touches nothing are one task, whatever the files say."""
    worlds = {}
    for friction in (0.4, 0.9):
        for height in (2.0, 0.45):  # In the air, and on the floor.
            path = tmp_path / f"rod-{friction}-{height}.xml"
            path.write_text(rod(height=height).replace('friction="0.8 0.8"', f'friction="{friction} {friction}"'))
            worlds[friction, height] = module.mujoco_world(path)
    physics.require_difference(worlds[0.4, 0.45], worlds[0.4, 2.0])
    with refused("move alike", "pair_friction"):
        physics.require_difference(worlds[0.4, 2.0], worlds[0.9, 2.0])
    with refused("move alike", "they differ in friction"):
        physics.require_difference(worlds[0.4, 2.0], worlds[0.4, 2.0].changed(friction=2.0))
    physics.require_difference(worlds[0.4, 2.0], worlds[0.4, 2.0].changed(mass=2.0))


def test_without_mujoco_the_command_that_installs_it_is_told(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "mujoco", None)  # As if it could not be found.
    with refused("this needs mujoco", "pip install 'robustirl[mujoco]'"):
        require_mujoco()
