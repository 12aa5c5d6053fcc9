# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
"""Terms, thresholds, first states and rewards of the worlds with bodies, beside values computed by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import physics
from robustirl.envs.physics import gymnasium_models
from robustirl.errors import InvalidInputError


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
        found = equations.transition(jnp.array([place, speed, angle, turning]), jnp.array([push]), None, given)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_friction_and_damping_take_energy_from_the_acrobot_and_the_double_pendulum():
    """Without a force, energy falls by c ẋ² for a cart and d θ̇² for a hinge, a second."""
    from robustirl.envs.physics import acrobot, double_pendulum

    given = {"mass": 0.3, "cart_mass": 1.5, "length": 0.7, "gravity": 9.0}
    state = jnp.array([0.1, 0.8, -0.5, 0.6, 0.5, -0.3])
    rates = [
        double_pendulum._derivative(state, jnp.array(0.0), {**given, "friction": c, "damping": d})
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
    rates = [acrobot._derivative(state, jnp.array(0.0), {**given, "damping": damping}) for damping in (0.0, 0.3)]
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
    ends = [bool(world.equations.terminal(jnp.array(state), None, world.parameters)) for state in (last, first)]
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


def test_rules_of_gymnasiums_walkers():
    position = jnp.array([0.0, 1.0, 0.1, 0.3])
    healthy = lambda rule, place, value: bool(rule(position.at[place].set(value), jnp.zeros(4)))  # noqa: E731
    hopper, walker = gymnasium_models._hopper_healthy, gymnasium_models._walker_healthy
    assert [healthy(hopper, 1, height) for height in (0.7, 0.7001)] == [False, True]
    assert [healthy(hopper, 2, angle) for angle in (-0.2, -0.1999, 0.1999, 0.2)] == [False, True, True, False]
    assert [healthy(hopper, 3, joint) for joint in (-100.0, -99.9, 99.9, 100.0)] == [False, True, True, False]
    assert not bool(hopper(position, jnp.array([0.0, 0.0, 0.0, 100.0])))
    assert [healthy(walker, 1, height) for height in (0.8, 0.8001, 1.9999, 2.0)] == [False, True, True, False]
    assert [healthy(walker, 2, angle) for angle in (-1.0, -0.9999, 0.9999, 1.0)] == [False, True, True, False]
    seen = gymnasium_models._seen(position, jnp.array([-11.0, 9.0, 11.0, 0.0]))
    np.testing.assert_allclose(seen, [1.0, 0.1, 0.3, -10, 9, 10, 0])


def test_rewards_of_gymnasiums_worlds():
    before, after, speed = jnp.array([0.2, 1.0, 0.0]), jnp.array([0.5, 0.2, -0.3]), jnp.array([0.1, 2.0, -3.0])
    action = jnp.array([0.5, -1.0])
    pay = lambda rule: float(rule(before, speed, action, after, speed, 0.02))  # noqa: E731
    forward = gymnasium_models._forward
    assert pay(forward(None, 5.0, 0.1)) == pytest.approx(0.3 / 0.02 - 0.1 * 1.25)
    assert pay(forward(lambda *_: jnp.array(True), 1.5, 0.01)) == pytest.approx(15 + 1.5 - 0.0125)
    assert pay(forward(lambda *_: jnp.array(False), 1.5, 0.01)) == pytest.approx(15 - 0.0125)
    across = 0.5 + 0.6 * (np.sin(0.2) + np.sin(-0.1))
    height = 0.6 * (np.cos(0.2) + np.cos(-0.1))
    expected = 10 - 0.01 * across**2 - (height - 2) ** 2 - 1e-3 * 4 - 5e-3 * 9
    assert pay(gymnasium_models._double_reward) == pytest.approx(expected)
    low = jnp.array([0.0, np.arccos(0.7), 0.0])  # Both rods, and so a tip at 0.84.
    assert float(gymnasium_models._double_reward(low, speed, action, low, speed * 0, 0.02)) == pytest.approx(
        -0.01 * (1.2 * np.sqrt(0.51)) ** 2 - 1.16**2
    )
    seen = gymnasium_models._double_seen(after, jnp.array([-20.0, 3.0, 20.0]))
    expected = [0.5, np.sin(0.2), np.sin(-0.3), np.cos(0.2), np.cos(-0.3), -10, 3, 10]
    np.testing.assert_allclose(seen, expected)


@pytest.mark.usefixtures("mistyped")
def test_what_gymnasiums_worlds_are_made_of(monkeypatch):
    """MuJoCo may not be installed: what would be made of a model file is looked at, and nothing is simulated."""
    monkeypatch.setattr(gymnasium_models, "MujocoEquations", lambda *given, **options: (given, options))
    made: dict[str, Any] = {name: make(horizon=7) for name, make in gymnasium_models.MODELS.items()}
    files = {"walker-2d": "walker2d_v5.xml"}
    settings = {}
    for name, ((title, file), options) in made.items():
        assert (title, file.name, options["horizon"]) == (name, files.get(name, name.replace("-", "_") + ".xml"), 7)
        settings[name] = (options["frame_skip"], options.get("noise"))
    assert settings == {
        "inverted-double-pendulum": (5, 0.1),
        "inverted-pendulum": (2, 0.01),
        "hopper": (4, None),
        "half-cheetah": (5, 0.1),
        "walker-2d": (4, None),
    }
    still, action = jnp.array([0.0, 1.0, 0.1, 0.0, 0.0, 0.0]), jnp.ones(3)
    pay = lambda name, at=still: float(made[name][1]["reward"](still, still * 0, action, at, still * 0, 0.01))  # noqa: E731
    assert pay("hopper") == pytest.approx(1 - 3e-3)
    assert pay("walker-2d") == pytest.approx(1 - 3e-3)
    assert pay("half-cheetah") == pytest.approx(-0.3)
    ends = lambda name, at: bool(made[name][1]["terminal"](at, still * 0))  # noqa: E731
    for name in ("hopper", "walker-2d"):
        assert [ends(name, still), ends(name, still * 0.5)] == [False, True]
    assert [ends("inverted-double-pendulum", jnp.array([0, x, 0])) for x in (0.58, 0.59)] == [False, True]
    tilted = [jnp.array([0.0, tilt]) for tilt in (-0.2001, -0.1999, 0.1999, 0.2001, np.nan)]
    assert [ends("inverted-pendulum", at) for at in tilted] == [True, False, False, True, True]
    assert [pay("inverted-pendulum", at) for at in tilted] == [0, 1, 1, 0, 0]
    np.testing.assert_array_equal(
        made["half-cheetah"][1]["observe"](still, jnp.array([20.0])), [1.0, np.float64(0.1), 0, 0, 0, 20]
    )


def test_a_parameter_may_be_zero_only_where_a_world_can_have_that():
    assert float(physics.make("cart-pole", friction=0.0, gravity=-1.0).parameters["gravity"]) == -1
    for value in (0.0, -0.1):
        with pytest.raises(InvalidInputError, match=f"mass of cart-pole is {value}, but a number above 0 is needed"):
            physics.make("cart-pole", mass=value)
    with pytest.raises(InvalidInputError, match="gravity of cart-pole is inf, but a finite number is needed"):
        physics.make("cart-pole", gravity=float("inf"))
