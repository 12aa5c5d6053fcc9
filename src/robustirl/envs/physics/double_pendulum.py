r"""Two rods on a cart, one on top of the other, from their Lagrangian.

The state is (x, θ₁, θ₂, ẋ, θ̇₁, θ̇₂), angles from the upright and not relative to each other. Both rods are uniform, of
mass m and length l; the cart has mass M. With c₁₂ = cos(θ₁ - θ₂) and s₁₂ = sin(θ₁ - θ₂) the equations of motion are

    ⎡ M + 2m       3/2 m l cos θ₁   1/2 m l cos θ₂ ⎤ ⎡ẍ ⎤   ⎡F - c ẋ + 3/2 m l sin θ₁ θ̇₁² + 1/2 m l sin θ₂ θ̇₂²⎤
    ⎢ 3/2 m l cos θ₁    4/3 m l²       1/2 m l² c₁₂ ⎥ ⎢θ̈₁⎥ = ⎢3/2 m g l sin θ₁ - 1/2 m l² s₁₂ θ̇₂² - d θ̇₁          ⎥
    ⎣ 1/2 m l cos θ₂  1/2 m l² c₁₂     1/3 m l²     ⎦ ⎣θ̈₂⎦   ⎣1/2 m g l sin θ₂ + 1/2 m l² s₁₂ θ̇₁² - d θ̇₂          ⎦

and a step is four of the Runge-Kutta method, 0.04 s in all. Without friction, damping and force the energy is kept.
"""

from collections.abc import Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.envs.physics.equations import Equations, Parameters, Segments, register, runge_kutta

STEP, SUBSTEPS, FORCE, TRACK = 0.01, 4, 20.0, 2.4


class DoublePendulum(Equations):
    """Keep both rods up.

    An episode ends if their tip falls below three quarters of its height or the track ends. A step pays 10, less the
    squared distance of the tip from its highest place and a little for speed.
    """

    name = "double-pendulum"
    defaults: Mapping[str, float] = MappingProxyType(
        {"mass": 0.2, "cart_mass": 1.0, "length": 0.6, "gravity": 9.81, "friction": 0.05, "damping": 0.0}
    )
    horizon = 500

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, "6"]:
        del params
        return jax.random.uniform(rng, (6,), minval=-0.05, maxval=0.05, dtype=float)

    def transition(
        self, state: Float[Array, "6"], action: Float[Array, "1"], rng: object, params: Parameters
    ) -> Float[Array, "6"]:
        del rng
        force = FORCE * jnp.clip(action, -1, 1)[0]
        for _ in range(SUBSTEPS):
            state = runge_kutta(lambda at: _derivative(at, force, params), state, STEP)
        return state

    def observation(self, state: Float[Array, "6"], rng: object, params: Parameters) -> Float[Array, "8"]:
        del rng, params
        turns = [jnp.sin(state[1:3]), jnp.cos(state[1:3])]
        return jnp.concatenate([state[:1], *turns, state[3:]])

    def reward(
        self,
        state: Float[Array, "6"],
        action: Float[Array, "1"],
        next_state: Float[Array, "6"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        del state, action
        tip = _tip(next_state, params)
        miss = 0.01 * tip[0] ** 2 + (2 * params["length"] - tip[1]) ** 2
        haste = 1e-3 * next_state[4] ** 2 + 5e-3 * next_state[5] ** 2
        return jnp.where(self.terminal(next_state, rng, params), 0.0, 10.0) - miss - haste

    def terminal(self, state: Float[Array, "6"], rng: object, params: Parameters) -> Bool[Array, ""]:
        del rng
        return (_tip(state, params)[1] < 1.5 * params["length"]) | (jnp.abs(state[0]) > TRACK)

    def skeleton(self, state: np.ndarray, params: Parameters) -> Segments:
        place, length = float(state[0]), float(params["length"])
        rods = length * np.stack([np.sin(state[1:3]), np.cos(state[1:3])], -1)
        joint = np.array([place, 0.0]) + rods[0]
        cart = np.stack([place + np.array([-0.25, 0.25]), np.zeros(2)], -1)
        return [cart, np.stack([np.array([place, 0.0]), joint]), np.stack([joint, joint + rods[1]])]


def _tip(state: Float[Array, "6"], params: Parameters) -> Float[Array, "2"]:
    """Return where the upper end of the upper rod is."""
    length = params["length"]
    return jnp.stack([state[0] + length * jnp.sin(state[1:3]).sum(), length * jnp.cos(state[1:3]).sum()])


def _derivative(state: Float[Array, "6"], force: Float[Array, ""], params: Parameters) -> Float[Array, "6"]:
    """Return velocities and accelerations."""
    _, first, second, speed, turning_1, turning_2 = state
    mass, length, gravity = params["mass"], params["length"], params["gravity"]
    between, ml = first - second, mass * length
    matrix = jnp.stack(
        [
            jnp.stack([params["cart_mass"] + 2 * mass, 1.5 * ml * jnp.cos(first), 0.5 * ml * jnp.cos(second)]),
            jnp.stack([1.5 * ml * jnp.cos(first), 4 / 3 * ml * length, 0.5 * ml * length * jnp.cos(between)]),
            jnp.stack([0.5 * ml * jnp.cos(second), 0.5 * ml * length * jnp.cos(between), ml * length / 3]),
        ]
    )
    whirl = 0.5 * ml * length * jnp.sin(between)
    pull = 1.5 * ml * jnp.sin(first) * turning_1**2 + 0.5 * ml * jnp.sin(second) * turning_2**2
    torques = jnp.stack(
        [
            force - params["friction"] * speed + pull,
            1.5 * ml * gravity * jnp.sin(first) - whirl * turning_2**2 - params["damping"] * turning_1,
            0.5 * ml * gravity * jnp.sin(second) + whirl * turning_1**2 - params["damping"] * turning_2,
        ]
    )
    return jnp.concatenate([state[3:], _solve(matrix, torques)])


def _solve(matrix: Float[Array, "3 3"], right: Float[Array, "3"]) -> Float[Array, "3"]:
    """Return the solution by Cramer's rule.

    In a batch this is far faster than a factorization of every small matrix.
    """
    first, second, third = matrix
    cofactors = jnp.stack([jnp.cross(second, third), jnp.cross(third, first), jnp.cross(first, second)])
    return right @ cofactors / (first @ cofactors[0])


register(DoublePendulum())
