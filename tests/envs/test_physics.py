# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false, reportMissingImports=false
"""Worlds with bodies: steps beside Gymnasium's, energy, pinned numbers, rules, and what may be changed."""

import json
from pathlib import Path

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control.worlds import RewardedWorld
from robustirl.envs import physics


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


GOLDEN = Path(__file__).with_name("physics.json")
STATES = 24


def test_friction_and_damping_take_energy_from_the_acrobot_and_the_double_pendulum():
    """Without a force, energy falls by c ẋ² for a cart and d θ̇² for a hinge, a second."""
    from robustirl.envs.bodies import Acrobot, DoublePendulum

    given = {"mass": 0.3, "cart_mass": 1.5, "length": 0.7, "gravity": 9.0}
    state = jnp.array([0.1, 0.8, -0.5, 0.6, 0.5, -0.3])
    rates = [
        DoublePendulum().derivative(state, jnp.array(0.0), {**given, "friction": c, "damping": d})
        for c, d in ((0.0, 0.0), (0.4, 0.0), (0.0, 0.2))
    ]
    # Energy is ½ q̇ᵀ M q̇ + V, so that its fall is q̇ᵀ M times the difference in accelerations.
    m, length = 0.3, 0.7
    matrix = np.array(
        [
            [1.5 + 2 * m, 1.5 * m * length * np.cos(0.8), 0.5 * m * length * np.cos(0.5)],
            [1.5 * m * length * np.cos(0.8), 4 / 3 * m * length**2, 0.5 * m * length**2 * np.cos(1.3)],
            [0.5 * m * length * np.cos(0.5), 0.5 * m * length**2 * np.cos(1.3), m * length**2 / 3],
        ]
    )
    speeds = np.asarray(state[3:])
    falls = [float(speeds @ matrix @ np.asarray(rates[0][3:] - rate[3:])) for rate in rates[1:]]
    np.testing.assert_allclose(falls, [0.4 * 0.6**2, 0.2 * (0.5**2 + 0.3**2)], rtol=1e-9)

    given = {"mass_1": 0.8, "mass_2": 1.2, "length": 0.9, "gravity": 9.0}
    state = jnp.array([0.4, -0.7, 1.1, 0.6])
    rates = [Acrobot().derivative(state, jnp.array(0.0), {**given, "damping": damping}) for damping in (0.0, 0.3)]
    half, inertia = 0.45, np.array([0.8, 1.2]) * 0.81
    bent = np.cos(-0.7)
    upper = 1.2 * (half**2 + 0.9 * half * bent) + inertia[1]
    whole = 0.8 * half**2 + 1.2 * (0.81 + half**2 + 2 * 0.9 * half * bent) + inertia.sum()
    matrix = np.array([[whole, upper], [upper, 1.2 * half**2 + inertia[1]]])
    fall = float(np.asarray(state[2:]) @ matrix @ np.asarray(rates[0][2:] - rates[1][2:]))
    np.testing.assert_allclose(fall, 0.3 * (1.1**2 + 0.6**2), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "last", "first"),
    [
        ("cart-pole", [2.4, 0, 0, 0], [2.4001, 0, 0, 0]),
        ("cart-pole", [-2.4, 0, 0, 0], [-2.4001, 0, 0, 0]),
        ("cart-pole", [0, 0, 12 * np.pi / 180 - 1e-6, 0], [0, 0, 12 * np.pi / 180 + 1e-6, 0]),
        ("mountain-car", [0.4499, 0.0], [0.45, 0.0]),
        ("mountain-car", [0.5, -1e-6], [0.5, 0.0]),
        ("acrobot", [2 / 3 * np.pi - 1e-6, 0, 0, 0], [2 / 3 * np.pi + 1e-6, 0, 0, 0]),
        ("double-pendulum", [2.4, 0, 0, 0, 0, 0], [2.4001, 0, 0, 0, 0, 0]),
        ("double-pendulum", [0, np.pi / 3 - 1e-6, 0, 0, 0, 0], [0, np.pi / 3 + 1e-6, 0, 0, 0, 0]),
    ],
)
def test_episodes_end_where_they_should_and_not_before(name, last, first):
    world = physics.make(name)
    ends = [bool(world.equations.terminal(jnp.array(state), world.parameters)) for state in (last, first)]
    assert ends == [False, True]


@pytest.mark.parametrize(
    ("name", "center", "width"),
    [
        ("cart-pole", [0, 0, 0, 0], [0.05] * 4),
        ("cart-pole-swing-up", [0, 0, np.pi, 0], [0.05] * 4),
        ("acrobot", [0] * 4, [0.1] * 4),
        ("double-pendulum", [0] * 6, [0.05] * 6),
        ("mountain-car", [-0.5, 0], [0.1, 0]),
        ("pendulum", [0, 0], [np.pi, 1]),
    ],
)
def test_first_states_are_spread_evenly_over_their_range(name, center, width):
    world = physics.make(name)
    draw = jax.jit(jax.vmap(lambda key: world.equations.initial(key, world.parameters)))
    states = np.asarray(draw(jax.random.split(jax.random.key(0), 400)))
    np.testing.assert_allclose((states.max(0) + states.min(0)) / 2, center, atol=0.03 * max(width))
    np.testing.assert_allclose((states.max(0) - states.min(0)) / 2, width, rtol=0.03, atol=1e-6)


def test_a_car_that_meets_the_wall_on_the_left_stands_still():
    world = physics.make("mountain-car")
    moved = world.equations.transition(jnp.array([-1.2, -0.05]), jnp.zeros(1), world.parameters)
    assert moved.tolist() == pytest.approx([-1.2, 0.0])


def test_friction_and_damping_of_a_cart_pole():
    given = {"mass": 0.3, "cart_mass": 1.5, "length": 0.7, "gravity": 9.0, "friction": 0.4, "damping": 0.2}
    place, speed, angle, turning, push = 0.3, -0.6, 0.5, 1.1, 0.7
    m, total, length = 0.3, 1.8, 0.7
    u = (10 * push - 0.4 * speed + m * length * turning**2 * np.sin(angle)) / total
    bending = 9.0 * np.sin(angle) - u * np.cos(angle) - 0.2 * turning / (m * length)
    bending /= length * (4 / 3 - m * np.cos(angle) ** 2 / total)
    acceleration = u - m * length * bending * np.cos(angle) / total
    expected = [place + 0.02 * speed, speed + 0.02 * acceleration, angle + 0.02 * turning, turning + 0.02 * bending]
    for name in ("cart-pole", "cart-pole-swing-up"):
        equations = physics.make(name).equations
        found = equations.transition(jnp.array([place, speed, angle, turning]), jnp.array([push]), given)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", physics.names())
def test_a_step_is_what_it_was(name):
    """One step from many states, near and far; no parameter has its usual value, at which a term may vanish."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
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
        after = equations.transition(state, action, parameters)
        paid = equations.reward(state, action, after, parameters)
        over = equations.terminal(after, parameters).astype(float)
        return jnp.concatenate([after, equations.observation(after, parameters), jnp.stack([paid, over])])

    np.testing.assert_allclose(step(states, actions), golden["steps"], rtol=1e-6, atol=1e-7)
    assert (world.horizon, [np.asarray(bound).tolist() for bound in world.bounds]) == (
        golden["horizon"],
        golden["bounds"],
    )
    ends = np.array(golden["steps"])[:, -1]
    assert name in ("pendulum", "cart-pole-swing-up", "mountain-car") or 0 < ends.sum() < STATES  # Both are tried.


class Idle(type(physics.make("pendulum").equations)):
    """A pendulum that does not read one of its parameters."""

    name = "idle"
    defaults = {"length": 1.0, "mass": 1.0, "gravity": 10.0, "paint": 1.0}  # noqa: RUF012


def test_a_parameter_without_effect_is_named(refused):
    world = physics.PhysicsWorld(Idle())
    with refused("move alike", "they differ in paint"):
        physics.require_difference(world, world.changed(paint=2.0))
    with refused("they differ in paint alone"):
        physics.require_difference(world, world.changed(paint=2.0, mass=2.0))
    physics.require_difference(world, world.changed(length=2.0, mass=2.0))
    physics.require_difference(world, physics.make("acrobot"))
    with refused("pendulum and pendulum move alike", "no parameter differs"):
        physics.require_difference(physics.make("pendulum"), physics.make("pendulum"))


def test_what_no_world_has_is_refused(refused):
    for attempt, words in (
        (lambda: physics.make("cart-pole", weight=1.0), "cart-pole has no parameter 'weight'; choose among mass"),
        (lambda: physics.make("cart-pole", mass=-1.0), "mass of cart-pole is -1.0, but a number above 0 is needed"),
        (lambda: physics.make("cart-pole", gravity=np.inf), "gravity of cart-pole is inf, but a finite number"),
        (lambda: physics.make("hoper"), "there is no world 'hoper' with named physics; choose one of acrobot"),
    ):
        with refused(words):
            attempt()
    assert float(physics.make("cart-pole", friction=0.0, gravity=-1.0).parameters["gravity"]) == -1
