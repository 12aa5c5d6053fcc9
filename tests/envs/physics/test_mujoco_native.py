# pyright: reportMissingImports=false, reportAttributeAccessIssue=false
"""MuJoCo's own engine behind arrays: beside its plain steps, Gymnasium's worlds, and rods that stand on the floor."""

import concurrent.futures
import logging
import os
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import single_precision
from robustirl.control import measure_returns, network_policy
from robustirl.envs import physics
from robustirl.envs.physics import mujoco_native
from robustirl.envs.physics.mujoco_models import change_model
from robustirl.envs.physics.mujoco_native import NativeEngine, count_threads
from robustirl.errors import InvalidInputError
from tests.envs.physics.bodies import needs_mujoco, rod

pytestmark = needs_mujoco


def _engine(text, frame_skip=2, **options):
    import mujoco

    model = mujoco.MjModel.from_xml_string(text)
    return model, NativeEngine("rod", model, frame_skip, lambda factors: change_model(model, factors), **options)


def _equations():
    import mujoco

    return physics.MujocoEquations("rod", mujoco.MjModel.from_xml_string(rod()), engine="mujoco")


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
    states, actions = rng.normal(0, 0.3, (2, 4, 7)), rng.uniform(-1, 1, (2, 4, 2))
    states[..., 0] = rng.uniform(-0.05, 0.05, (2, 4))
    factors = np.stack(np.broadcast_arrays(np.array([[0.5], [2.0]]), np.array([1.0, 2.0, 1.5, 1.0])), -1)
    after = engine.advance(("mass", "friction"), states, actions, factors)
    assert after.shape == (2, 4, 7)
    assert (after[..., 5:] == 0).all()  # The two numbers of MJX's solver.
    for place in np.ndindex(2, 4):
        own = change_model(model, dict(zip(("mass", "friction"), factors[place], strict=True)))
        expected = _plain_steps(own, states[place][:5], actions[place], 3)
        np.testing.assert_allclose(after[place][:5], expected, rtol=1e-12, atol=1e-13)
    assert np.abs(after[0, 0] - engine.advance(("mass", "friction"), states, actions, factors[::-1])[0, 0]).max() > 1e-4
    single = engine.advance(("mass", "friction"), *(part.astype(np.float32) for part in (states, actions, factors)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, after, atol=1e-5)


def test_a_longer_rod_is_held_by_the_floor_at_its_own_end():
    """Contacts are looked for within bounds: with those of the usual rod it would sink until its middle came near."""
    for length in (1.0, 2.5):
        model, engine = _engine(rod(height=1.3), frame_skip=400)
        state = np.zeros((1, 7))
        for _ in range(4):
            state = engine.advance(("length",), state, np.zeros((1, 2)), np.full((1, 1), length))
        assert model.body_pos[1, 2] + state[0, 0] == pytest.approx(0.1 + 0.4 * length, abs=5e-3)


def test_unstable_simulations_are_no_numbers_and_say_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    _, engine = _engine(rod())
    states = np.zeros((3, 7))
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
            engine.advance(("mass",), rng.normal(0, 0.1, (50, 7)), rng.normal(0, 1, (50, 2)), np.ones((50, 1)))
        )
        assert len(engine._threads()[1]) == int(count)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])
    for useless in ("", "0", "-1", "two"):
        monkeypatch.setenv("NPROC", useless)
        assert count_threads() == (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def test_models_are_made_once_and_only_so_many_are_kept(monkeypatch):
    monkeypatch.setattr(mujoco_native, "MODELS_KEPT", 3)
    _, engine = _engine(rod())
    made = []
    change = engine._change
    engine._change = lambda factors: made.append(factors) or change(factors)
    step = lambda *masses: engine.advance(  # noqa: E731
        ("mass",), np.zeros((len(masses), 7)), np.zeros((len(masses), 2)), np.array(masses)[:, None]
    )
    step(1.0, 2.0, 1.0)
    step(1.0, 2.0, 1.0)
    step(2.0, 1.0)
    assert made == [{"mass": 1.0}, {"mass": 2.0}]
    step(3.0, 4.0)  # 2.0 was used longest ago.
    step(1.0)
    assert [one["mass"] for one in made] == [1, 2, 3, 4]
    step(2.0)
    assert [one["mass"] for one in made] == [1, 2, 3, 4, 2]
    assert len(engine._models) == 3


def test_an_engine_that_has_stepped_is_pickled_without_its_threads():
    state, action = np.zeros((1, 7)), np.ones((1, 2))
    world = physics.mujoco_world(_equations())
    engine = world.equations._native
    before = engine.advance(("mass",), state, action, np.full((1, 1), 2.0))
    other = pickle.loads(pickle.dumps(world)).equations._native
    assert other is not engine
    np.testing.assert_array_equal(other.advance(("mass",), state, action, np.full((1, 1), 2.0)), before)


def test_steps_outside_of_compiled_programs_share_one(caplog):
    world = physics.mujoco_world(_equations())
    state = world.initial(key=jax.random.key(0))
    for _ in range(2):
        state = world.step(state, np.zeros(2), np.zeros(1))
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        world.step(state, np.ones(2), np.zeros(1))
    assert [line for line in caplog.messages if "Compiling" in line] == []


def test_two_threads_may_use_one_engine():
    world, key = physics.mujoco_world(_equations()), jax.random.key(0)
    states = np.stack([world.initial(key=one) for one in jax.random.split(key, 8)])[:, :-1]

    @jax.jit
    def walk(states, masses):
        def one(state, mass):
            changed = {**world.parameters, "mass": mass}
            return world.equations.transition(state, jnp.zeros_like(state[:2]), None, changed)

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

    world, env = physics.mujoco_world(name, engine="mujoco"), gymnasium.make(identity).unwrapped
    seen, rng = env.reset(seed=1)[0], np.random.default_rng(2)
    width, ended = world.features(world.initial(key=jax.random.key(0))).shape[0], False
    size = env.model.nq + env.model.nv
    state = np.concatenate([env.data.qpos, env.data.qvel, np.zeros(env.model.nv + 1)])
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
    worlds = [physics.mujoco_world("inverted-pendulum", fast=True, mass=mass, engine="mujoco") for mass in (0.5, 1, 2)]
    key = jax.random.key(3)
    policy = network_policy(4, 1, hidden=(4,), deviation=2.0, key=key)
    options = {"episodes": 4, "horizon": 60, "mean_action": False}
    together = np.asarray(measure_returns(worlds, [policy] * 3, keys=[key] * 3, **options))
    one = np.asarray(measure_returns(worlds[2:], [policy], keys=[key], **options))
    np.testing.assert_array_equal(together[2], one[0])
    assert len({tuple(row) for row in together.tolist()}) == 3
    assert together.min() >= 1
    assert together.max() <= 60
