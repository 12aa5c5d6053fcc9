r"""A pole on a cart: Gymnasium's `CartPole-v1` with forces in place of two buttons, and its swing-up.

The state is (x, ẋ, θ, θ̇), with θ = 0 upright; the action in [-1, 1] is a force of up to 10 N. With the pole's half
length l, M the sum of the masses and m the pole's,

    u = (F - c ẋ + m l θ̇² sin θ) / M,
    θ̈ = (g sin θ - u cos θ - d θ̇ / (m l)) / (l (4/3 - m cos² θ / M)),        ẍ = u - m l θ̈ cos θ / M,

and a step of Euler's method takes 0.02 s, as in Gymnasium. Friction c of the cart and damping d of the hinge are zero
there, and here by default.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.envs.physics.equations import Equations, Parameters, Segments, register

STEP, FORCE = 0.02, 10.0
TRACK, TILT = 2.4, 12 * 2 * math.pi / 360


def move(state: Float[Array, "4"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "4"]:
    """Return the state after one step of Euler's method."""
    _, speed, angle, turning = state
    mass, length = params["mass"], params["length"]
    total, sine, cosine = mass + params["cart_mass"], jnp.sin(angle), jnp.cos(angle)
    force = FORCE * jnp.clip(action, -1, 1)[0] - params["friction"] * speed
    push = (force + mass * length * turning**2 * sine) / total
    torque = params["gravity"] * sine - cosine * push - params["damping"] * turning / (mass * length)
    bending = torque / (length * (4 / 3 - mass * cosine**2 / total))
    acceleration = push - mass * length * bending * cosine / total
    return state + STEP * jnp.stack([speed, acceleration, turning, bending])


class CartPole(Equations):
    """Keep the pole up: an episode ends if it tilts by 12 degrees or the cart leaves its track."""

    name = "cart-pole"
    defaults: Mapping[str, float] = MappingProxyType(
        {"mass": 0.1, "cart_mass": 1.0, "length": 0.5, "gravity": 9.8, "friction": 0.0, "damping": 0.0}
    )
    horizon = 500

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, "4"]:
        del params
        return jax.random.uniform(rng, (4,), minval=-0.05, maxval=0.05, dtype=float)

    def transition(
        self, state: Float[Array, "4"], action: Float[Array, "1"], rng: object, params: Parameters
    ) -> Float[Array, "4"]:
        del rng
        return move(state, action, params)

    def reward(
        self,
        state: Float[Array, "4"],
        action: Float[Array, "1"],
        next_state: Float[Array, "4"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        del state, action, next_state, rng, params
        return jnp.ones((), dtype=float)

    def terminal(self, state: Float[Array, "4"], rng: object, params: Parameters) -> Bool[Array, ""]:
        del rng, params
        return (jnp.abs(state[0]) > TRACK) | (jnp.abs(state[2]) > TILT)

    def skeleton(self, state: np.ndarray, params: Parameters) -> Segments:
        place, angle, length = float(state[0]), float(state[2]), 2 * float(params["length"])
        cart = place + np.array([-0.25, 0.25])
        tip = [place + length * np.sin(angle), length * np.cos(angle)]
        return [np.stack([cart, np.zeros(2)], -1), np.array([[place, 0.0], tip])]


class CartPoleSwingUp(CartPole):
    """Swing the pole up from below and keep it there.

    The track has walls, and no episode ends early. A step pays (1 + cos θ)/2, less a hundredth of the squared distance
    from the middle of the track.
    """

    name = "cart-pole-swing-up"
    horizon = 250

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, "4"]:
        return super().initial(rng, params) + jnp.array([0, 0, jnp.pi, 0], dtype=float)

    def transition(
        self, state: Float[Array, "4"], action: Float[Array, "1"], rng: object, params: Parameters
    ) -> Float[Array, "4"]:
        del rng
        after = move(state, action, params)
        inside = jnp.abs(after[0]) < TRACK
        return after.at[0].set(jnp.clip(after[0], -TRACK, TRACK)).at[1].set(jnp.where(inside, after[1], 0))

    def observation(self, state: Float[Array, "4"], rng: object, params: Parameters) -> Float[Array, "5"]:
        del rng, params
        return jnp.stack([state[0], state[1], jnp.cos(state[2]), jnp.sin(state[2]), state[3]])

    def reward(
        self,
        state: Float[Array, "4"],
        action: Float[Array, "1"],
        next_state: Float[Array, "4"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        del state, action, rng, params
        return (1 + jnp.cos(next_state[2])) / 2 - 0.01 * next_state[0] ** 2

    def terminal(self, state: Float[Array, "4"], rng: object, params: Parameters) -> Bool[Array, ""]:
        del state, rng, params
        return jnp.asarray(False)


register(CartPole())
register(CartPoleSwingUp())
