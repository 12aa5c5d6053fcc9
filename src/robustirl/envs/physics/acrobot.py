r"""Two links with a motor at the elbow: Gymnasium's `Acrobot-v1`, with any torque in [-1, 1].

The state is (θ₁, θ₂, θ̇₁, θ̇₂), θ₁ = 0 hanging down and θ₂ relative to the first link. Masses m₁, m₂ lie in the middle of
links of length l; moments of inertia are m l², which is Gymnasium's 1 for its masses and lengths. A step of the
Runge-Kutta method takes 0.2 s.
"""

from collections.abc import Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.envs.physics.equations import Equations, Parameters, Segments, register, runge_kutta

STEP = 0.2
FASTEST = (4 * np.pi, 9 * np.pi)


class Acrobot(Equations):
    """Swing the free end above the height of one link; every step before that costs 1."""

    name = "acrobot"
    defaults: Mapping[str, float] = MappingProxyType(
        {"mass_1": 1.0, "mass_2": 1.0, "length": 1.0, "gravity": 9.8, "damping": 0.0}
    )
    horizon = 500

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, "4"]:
        del params
        return jax.random.uniform(rng, (4,), minval=-0.1, maxval=0.1, dtype=float)

    def transition(
        self, state: Float[Array, "4"], action: Float[Array, "1"], rng: object, params: Parameters
    ) -> Float[Array, "4"]:
        del rng
        torque = jnp.clip(action, -1, 1)[0]
        after = runge_kutta(lambda at: _derivative(at, torque, params), state, STEP)
        angles = (after[:2] + jnp.pi) % (2 * jnp.pi) - jnp.pi
        bound = jnp.asarray(FASTEST, dtype=float)
        return jnp.concatenate([angles, jnp.clip(after[2:], -bound, bound)])

    def observation(self, state: Float[Array, "4"], rng: object, params: Parameters) -> Float[Array, "6"]:
        del rng, params
        first, second = state[0], state[1]
        turns = [jnp.cos(first), jnp.sin(first), jnp.cos(second), jnp.sin(second)]
        return jnp.stack([*turns, state[2], state[3]])

    def reward(
        self,
        state: Float[Array, "4"],
        action: Float[Array, "1"],
        next_state: Float[Array, "4"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        del state, action
        return jnp.where(self.terminal(next_state, rng, params), 0.0, -1.0)

    def terminal(self, state: Float[Array, "4"], rng: object, params: Parameters) -> Bool[Array, ""]:
        del rng, params
        return -jnp.cos(state[0]) - jnp.cos(state[0] + state[1]) > 1

    def skeleton(self, state: np.ndarray, params: Parameters) -> Segments:
        length, first, both = float(params["length"]), float(state[0]), float(state[0] + state[1])
        elbow = np.array([length * np.sin(first), -length * np.cos(first)])
        return [
            np.stack([np.zeros(2), elbow]),
            np.stack([elbow, elbow + length * np.array([np.sin(both), -np.cos(both)])]),
        ]


def _derivative(state: Float[Array, "4"], torque: Float[Array, ""], params: Parameters) -> Float[Array, "4"]:
    """Return the velocities and accelerations: M(θ₂) θ̈ = torques, solved by hand."""
    first, second, turning, bending = state
    m1, m2, length, gravity = params["mass_1"], params["mass_2"], params["length"], params["gravity"]
    half, inertia_1, inertia_2 = length / 2, m1 * length**2, m2 * length**2
    sine, cosine = jnp.sin(second), jnp.cos(second)
    d1 = m1 * half**2 + m2 * (length**2 + half**2 + 2 * length * half * cosine) + inertia_1 + inertia_2
    d2 = m2 * (half**2 + length * half * cosine) + inertia_2
    fall_2 = m2 * half * gravity * jnp.sin(first + second)
    swing = m2 * length * half * sine
    fall_1 = -swing * bending * (bending + 2 * turning) + (m1 * half + m2 * length) * gravity * jnp.sin(first) + fall_2
    fall_1 = fall_1 + params["damping"] * turning
    elbow = torque - swing * turning**2 - fall_2 - params["damping"] * bending
    acceleration_2 = (elbow + d2 / d1 * fall_1) / (m2 * half**2 + inertia_2 - d2**2 / d1)
    acceleration_1 = -(d2 * acceleration_2 + fall_1) / d1
    return jnp.stack([turning, bending, acceleration_1, acceleration_2])


register(Acrobot())
