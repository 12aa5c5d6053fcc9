"""A step of a cart with a pole, with friction and damping, by hand."""

import jax.numpy as jnp
import numpy as np

from robustirl.envs import physics


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
