# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""Plain equations of motion, step by step beside Gymnasium's, and what may be changed in them."""

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import RewardedWorld
from robustirl.envs import physics
from robustirl.errors import InvalidInputError


def _button(rng: np.random.Generator, count: int) -> tuple[np.ndarray, int]:
    """Return a force in [-1, 1] and the number of the button that means it."""
    pressed = int(rng.integers(count))
    return np.array([2 * pressed / (count - 1) - 1.0]), pressed


def _push(rng: np.random.Generator, most: float) -> tuple[np.ndarray, np.ndarray]:
    push = rng.uniform(-most, most, 1).astype(np.float32)
    return push.astype(float), push


WORLDS = {
    "cart-pole": ("CartPole-v1", lambda rng: _button(rng, 2)),
    "acrobot": ("Acrobot-v1", lambda rng: _button(rng, 3)),
    "mountain-car": ("MountainCarContinuous-v0", lambda rng: _push(rng, 1.0)),
    "pendulum": ("Pendulum-v1", lambda rng: _push(rng, 2.0)),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_step_is_gymnasiums(name):
    identity, draw = WORLDS[name]
    world, env = physics.make(name), gymnasium.make(identity).unwrapped
    step = eqx.filter_jit(lambda world, state, action: world.step(state, action, jnp.zeros(1)))
    env.reset(seed=0)
    rng, ended = np.random.default_rng(0), 0
    for time in range(80):
        before = np.append(np.asarray(env.state, float), 0.0)
        action, theirs = draw(rng)
        _, reward, terminated, _, _ = env.step(theirs)
        after = np.asarray(step(world, before, action))
        # Gymnasium rounds the states of two of these worlds to float32; JAX's default is float32 here.
        np.testing.assert_allclose(after[:-1], np.asarray(env.state), rtol=2e-5, atol=2e-6)
        assert after[-1] == pytest.approx(reward, rel=1e-5)
        assert bool(world.terminal(after)) == terminated
        if terminated:
            ended += 1
            env.reset(seed=time)
    assert ended > 0 or name != "cart-pole"  # Random pushes do let the pole fall.


def test_the_double_pendulum_keeps_its_energy_without_friction_and_force():
    world = physics.make("double-pendulum", friction=0.0)
    mass, length, gravity, cart = (float(world.parameters[k]) for k in ("mass", "length", "gravity", "cart_mass"))

    def energy(state):
        _, first, second, speed, one, two = np.asarray(state, float)[:6]
        motion = np.array([speed + length / 2 * np.cos(first) * one, -length / 2 * np.sin(first) * one])
        tip = np.array([speed + length * np.cos(first) * one, -length * np.sin(first) * one])
        upper = tip + length / 2 * two * np.array([np.cos(second), -np.sin(second)])
        kinetic = cart * speed**2 / 2 + mass * (motion @ motion + upper @ upper) / 2
        kinetic += mass * length**2 / 12 * (one**2 + two**2) / 2
        return kinetic + mass * gravity * (
            length / 2 * np.cos(first) + length * np.cos(first) + length / 2 * np.cos(second)
        )

    step = eqx.filter_jit(lambda state: world.step(state, jnp.zeros(1), jnp.zeros(1)))
    state = np.array([0.1, 0.8, -0.5, 0.2, 0.5, -0.3, 0.0])
    first = energy(state)
    for _ in range(25):  # One second; the error of the method falls with the fourth power of its step.
        state = np.asarray(step(state))
    assert abs(state[1] - 0.8) > 0.5  # It has moved.
    assert energy(state) == pytest.approx(first, abs=1e-3)


def test_the_swing_up_stays_on_its_track_and_never_ends():
    world = physics.make("cart-pole-swing-up")
    state = np.array([2.39, 5.0, np.pi, 0.0, 0.0])
    after = np.asarray(world.step(state, np.array([1.0]), np.zeros(1)))
    assert after[0] == pytest.approx(2.4)
    assert after[1] == 0
    assert not bool(world.terminal(after))
    assert after[-1] == pytest.approx(-0.01 * 2.4**2, abs=1e-4)  # Hanging pays nothing, and the wall is far out.


def test_parameters_have_names_and_stack_into_batches():
    worlds = [physics.make("cart-pole", mass=mass) for mass in (0.1, 0.4)]
    assert isinstance(worlds[0], RewardedWorld)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *worlds)
    state = jnp.array([0.0, 0.0, 0.1, 0.0, 0.0])
    both = jax.vmap(lambda world: world.step(state, jnp.ones(1), jnp.zeros(1)))(stacked)
    for world, row in zip(worlds, both, strict=True):
        np.testing.assert_allclose(world.step(state, jnp.ones(1), jnp.zeros(1)), row, rtol=1e-5)
    assert not np.allclose(both[0], both[1])


@pytest.mark.parametrize("name", physics.names())
def test_every_parameter_of_every_world_changes_how_it_moves(name):
    world = physics.make(name)
    for parameter, value in world.parameters.items():
        changed = world.changed(**{parameter: float(value) * 1.5 + 0.1 * (float(value) == 0)})
        physics.require_difference(world, changed)


def test_what_no_world_has_is_refused():
    with pytest.raises(InvalidInputError, match="cart-pole has no parameter 'weight'; choose among mass"):
        physics.make("cart-pole", weight=1.0)
    with pytest.raises(InvalidInputError, match=r"mass of cart-pole is -1.0, but a number above 0 is needed"):
        physics.make("cart-pole", mass=-1.0)
    with pytest.raises(InvalidInputError, match="there is no world 'hoper' with named physics; choose one of acrobot"):
        physics.make("hoper")
    with pytest.raises(InvalidInputError, match="the two worlds move alike"):
        physics.require_difference(physics.make("acrobot"), physics.make("acrobot"))


@pytest.mark.parametrize("name", physics.names())
def test_bodies_can_be_drawn(name):
    world = physics.make(name)
    state = np.asarray(world.initial(key=jax.random.key(0)))[:-1]
    lines = world.equations.skeleton(state, world.parameters)
    assert lines
    assert all(line.ndim == 2 and line.shape[1] == 2 and np.isfinite(line).all() for line in lines)
