r"""The pendulum of Gymnasium's `Pendulum-v1` as pure functions, with a length, a mass and a gravity that can differ.

The angle θ is zero when the rod stands up; an action is a torque u in [-2, 2], and a step of 0.05 s is

    ω' = ω + (3g/(2l) sin θ + 3u/(ml²)) dt,        θ' = θ + ω' dt,        R = -(θ² + 0.1 ω² + 0.001 u²).

Gymnasium ships the same equations for JAX (`gymnasium.envs.phys2d`), behind a package of its own; these need nothing.
`FunctionalWorld` takes either.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.envs.gymnasium.functional import FunctionalWorld
from robustirl.mdp import as_positive

MAX_TORQUE, MAX_SPEED, STEP = 2.0, 8.0, 0.05


class Box(NamedTuple):
    """The lowest and highest action."""

    low: np.ndarray
    high: np.ndarray


class PendulumParameters(eqx.Module):
    """What may differ between worlds: the rod's length l, its mass m, and gravity g.

    The defaults are Pendulum-v1's.
    """

    length: float | Float[Array, ""] = 1.0
    mass: float | Float[Array, ""] = 1.0
    gravity: float | Float[Array, ""] = 10.0


class PendulumEquations:
    """`Pendulum-v1` in the interface of Gymnasium's `FuncEnv`."""

    action_space: Any = Box(np.array([-MAX_TORQUE]), np.array([MAX_TORQUE]))

    def get_default_params(self) -> PendulumParameters:
        """Return the parameters of a rod of length and mass one."""
        return PendulumParameters()

    def initial(self, rng: PRNGKeyArray, params: PendulumParameters) -> Float[Array, "2"]:
        """Return any angle, and a speed within one."""
        del params
        return jnp.array([jnp.pi, 1.0], dtype=float) * jax.random.uniform(rng, (2,), minval=-1, maxval=1, dtype=float)

    def transition(
        self, state: Float[Array, "2"], action: Float[Array, "1"], rng: object, params: PendulumParameters
    ) -> Float[Array, "2"]:
        """Return the state after a step of dt."""
        del rng
        angle, speed = state
        torque = jnp.clip(action, -MAX_TORQUE, MAX_TORQUE)[0]
        gravity = 3 * params.gravity / (2 * params.length) * jnp.sin(angle)
        after = speed + (gravity + 3 / (params.mass * params.length**2) * torque) * STEP
        after = jnp.clip(after, -MAX_SPEED, MAX_SPEED)
        return jnp.stack([angle + after * STEP, after])

    def observation(self, state: Float[Array, "2"], rng: object, params: PendulumParameters) -> Float[Array, "3"]:
        """(cos θ, sin θ, ω)."""
        del rng, params
        return jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1]])

    def reward(
        self,
        state: Float[Array, "2"],
        action: Float[Array, "1"],
        next_state: Float[Array, "2"],
        rng: object,
        params: PendulumParameters,
    ) -> Float[Array, ""]:
        """Return minus the cost of the state left and of the torque."""
        del next_state, rng, params
        angle = (state[0] + jnp.pi) % (2 * jnp.pi) - jnp.pi
        return -(angle**2 + 0.1 * state[1] ** 2 + 0.001 * jnp.clip(action, -MAX_TORQUE, MAX_TORQUE)[0] ** 2)

    def terminal(self, state: Float[Array, "2"], rng: object, params: PendulumParameters) -> Bool[Array, ""]:
        """Return False: the pendulum swings until the horizon."""
        del state, rng, params
        return jnp.asarray(False)


EQUATIONS = PendulumEquations()  # One for all worlds, so that they share compiled programs and stack into batches.


def pendulum_features(observation: Float[Array, "3"]) -> Float[Array, "7"]:
    """φ = (cos θ, sin θ, ω/8, ω cos θ/8, (ω/8)², (ω/8)³, 1).

    The first and the fifth suffice for a reward close to the true one, and a policy linear in these can swing the rod
    up: its torque may go with the speed below and against it above.

    Example:
        >>> pendulum_features(jnp.array([1.0, 0.0, -4.0])).tolist()
        [1.0, 0.0, -0.5, -0.5, 0.25, -0.125, 1.0]
    """
    cosine, sine, speed = observation
    speed = speed / MAX_SPEED
    return jnp.stack([cosine, sine, speed, speed * cosine, speed**2, speed**3, jnp.ones_like(speed)])


def pendulum(
    *, length: float = 1.0, mass: float = 1.0, gravity: float = 10.0, discount: float = 0.99
) -> FunctionalWorld:
    """Return a pendulum as a world for `robustirl.control` and relative-entropy IRL.

    Example:
        >>> heavy = pendulum(mass=1.5)
        >>> heavy.features(heavy.initial(key=jax.random.key(0))).shape
        (7,)
    """
    parameters = PendulumParameters(
        as_positive("the length", length), as_positive("the mass", mass), as_positive("gravity", gravity)
    )
    return FunctionalWorld(EQUATIONS, parameters, features=pendulum_features, discount=discount)
