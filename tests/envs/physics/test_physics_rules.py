# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
"""Terms, thresholds, first states and rewards of the worlds with bodies, beside values computed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import physics
from robustirl.errors import InvalidInputError


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


def test_a_parameter_may_be_zero_only_where_a_world_can_have_that():
    assert float(physics.make("cart-pole", friction=0.0, gravity=-1.0).parameters["gravity"]) == -1
    for value in (0.0, -0.1):
        with pytest.raises(InvalidInputError, match=f"mass of cart-pole is {value}, but a number above 0 is needed"):
            physics.make("cart-pole", mass=value)
    with pytest.raises(InvalidInputError, match="gravity of cart-pole is inf, but a finite number is needed"):
        physics.make("cart-pole", gravity=float("inf"))


def test_a_car_that_meets_the_wall_on_the_left_stands_still():
    world = physics.make("mountain-car")
    moved = world.equations.transition(jnp.array([-1.2, -0.05]), jnp.zeros(1), None, world.parameters)
    assert moved.tolist() == pytest.approx([-1.2, 0.0])
