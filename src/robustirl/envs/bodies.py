r"""Equations of motion of Gymnasium's worlds, and of a double pendulum on a cart, with named parameters.

`pendulum`
    θ is zero when the rod stands up; the action is a torque u in [-2, 2], and a step of 0.05 s is
    ω' = ω + (3g/(2l) sin θ + 3u/(ml²)) dt, θ' = θ + ω' dt, R = -(θ² + 0.1 ω² + 0.001 u²).
`mountain-car`
    `MountainCarContinuous-v0`: ẋ' = ẋ + power · u / mass - gravity · cos 3x - friction · ẋ and x' = x + ẋ'.
`cart-pole`, `cart-pole-swing-up`
    `CartPole-v1` with forces F of up to 10 N in place of two buttons. With the pole's half length l, M the sum of the
    masses, m the pole's, c the cart's friction and d the hinge's damping,
    u = (F - c ẋ + m l θ̇² sin θ) / M,
    θ̈ = (g sin θ - u cos θ - d θ̇ / (m l)) / (l (4/3 - m cos² θ / M)), ẍ = u - m l θ̈ cos θ / M.
`acrobot`
    `Acrobot-v1` with any torque in [-1, 1]: two links, a motor at the elbow, θ₁ = 0 hanging down and θ₂ relative to the
    first link. Moments of inertia are m l², which is Gymnasium's 1 for its masses and lengths.
`double-pendulum`
    Two uniform rods of mass m and length l on a cart of mass M, angles from the upright. With c₁₂ = cos(θ₁ - θ₂) and
    s₁₂ = sin(θ₁ - θ₂) the equations of motion follow from the Lagrangian:

    ⎡ M + 2m       3/2 m l cos θ₁   1/2 m l cos θ₂ ⎤ ⎡ẍ ⎤   ⎡F - c ẋ + 3/2 m l sin θ₁ θ̇₁² + 1/2 m l sin θ₂ θ̇₂²⎤
    ⎢ 3/2 m l cos θ₁    4/3 m l²       1/2 m l² c₁₂ ⎥ ⎢θ̈₁⎥ = ⎢3/2 m g l sin θ₁ - 1/2 m l² s₁₂ θ̇₂² - d θ̇₁          ⎥
    ⎣ 1/2 m l cos θ₂  1/2 m l² c₁₂     1/3 m l²     ⎦ ⎣θ̈₂⎦   ⎣1/2 m g l sin θ₂ + 1/2 m l² s₁₂ θ̇₁² - d θ̇₂          ⎦
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.envs.physics import Equations, Parameters, register, runge_kutta


def _spread(key: PRNGKeyArray, size: int, width: float) -> Float[Array, " n"]:
    return jax.random.uniform(key, (size,), minval=-width, maxval=width, dtype=float)


class Pendulum(Equations):
    """A rod on a hinge with a motor: length l, mass m and gravity g."""

    name = "pendulum"
    defaults: Mapping[str, float] = MappingProxyType({"length": 1.0, "mass": 1.0, "gravity": 10.0})
    horizon = 200
    bounds = (np.array([-2.0]), np.array([2.0]))
    step, fastest = 0.05, 8.0

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, "2"]:
        del params
        return jnp.array([jnp.pi, 1.0], dtype=float) * _spread(key, 2, 1)

    def transition(self, state: Float[Array, "2"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "2"]:
        angle, speed = state
        torque = jnp.clip(action, -2, 2)[0]
        gravity = 3 * params["gravity"] / (2 * params["length"]) * jnp.sin(angle)
        after = speed + (gravity + 3 / (params["mass"] * params["length"] ** 2) * torque) * self.step
        after = jnp.clip(after, -self.fastest, self.fastest)
        return jnp.stack([angle + after * self.step, after])

    def observation(self, state: Float[Array, "2"], params: Parameters) -> Float[Array, "3"]:
        del params
        return jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1]])

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del after, params
        angle = (state[0] + jnp.pi) % (2 * jnp.pi) - jnp.pi
        return -(angle**2 + 0.1 * state[1] ** 2 + 0.001 * jnp.clip(action, -2, 2)[0] ** 2)


def pendulum_features(observation: Float[Array, "3"]) -> Float[Array, "7"]:
    """φ = (cos θ, sin θ, ω/8, ω cos θ/8, (ω/8)², (ω/8)³, 1).

    The first and the fifth suffice for a reward close to the true one, and a policy linear in these can swing the rod
    up: its torque may go with the speed below and against it above.

    Example:
        >>> pendulum_features(jnp.array([1.0, 0.0, -4.0])).tolist()
        [1.0, 0.0, -0.5, -0.5, 0.25, -0.125, 1.0]
    """
    cosine, sine, speed = observation
    speed = speed / Pendulum.fastest
    return jnp.stack([cosine, sine, speed, speed * cosine, speed**2, speed**3, jnp.ones_like(speed)])


class MountainCar(Equations):
    """A weak car in a valley: reach the top on the right for 100, at a cost of 0.1 for every squared push."""

    name = "mountain-car"
    defaults: Mapping[str, float] = MappingProxyType({"mass": 1.0, "power": 0.0015, "gravity": 0.0025, "friction": 0.0})
    horizon = 999
    left, right, goal, fastest = -1.2, 0.6, 0.45, 0.07

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, "2"]:
        del params
        place = jax.random.uniform(key, (), minval=-0.6, maxval=-0.4, dtype=float)
        return jnp.stack([place, jnp.zeros((), dtype=float)])

    def transition(self, state: Float[Array, "2"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "2"]:
        place, speed = state
        push = params["power"] * jnp.clip(action, -1, 1)[0] / params["mass"]
        speed = speed + push - params["gravity"] * jnp.cos(3 * place) - params["friction"] * speed
        speed = jnp.clip(speed, -self.fastest, self.fastest)
        place = jnp.clip(place + speed, self.left, self.right)
        return jnp.stack([place, jnp.where((place <= self.left) & (speed < 0), 0, speed)])

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del state
        arrived = self.terminal(after, params)
        return jnp.where(arrived, 100.0, 0.0) - 0.1 * jnp.clip(action, -1, 1)[0] ** 2

    def terminal(self, state: Float[Array, "2"], params: Parameters) -> Bool[Array, ""]:
        del params
        return (state[0] >= self.goal) & (state[1] >= 0)


class CartPole(Equations):
    """Keep the pole up: an episode ends if it tilts by 12 degrees or the cart leaves its track."""

    name = "cart-pole"
    defaults: Mapping[str, float] = MappingProxyType(
        {"mass": 0.1, "cart_mass": 1.0, "length": 0.5, "gravity": 9.8, "friction": 0.0, "damping": 0.0}
    )
    horizon = 500
    step, force, track, tilt = 0.02, 10.0, 2.4, 12 * 2 * math.pi / 360

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, "4"]:
        del params
        return _spread(key, 4, 0.05)

    def transition(self, state: Float[Array, "4"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "4"]:
        _, speed, angle, turning = state
        mass, length = params["mass"], params["length"]
        total, sine, cosine = mass + params["cart_mass"], jnp.sin(angle), jnp.cos(angle)
        force = self.force * jnp.clip(action, -1, 1)[0] - params["friction"] * speed
        push = (force + mass * length * turning**2 * sine) / total
        torque = params["gravity"] * sine - cosine * push - params["damping"] * turning / (mass * length)
        bending = torque / (length * (4 / 3 - mass * cosine**2 / total))
        acceleration = push - mass * length * bending * cosine / total
        return state + self.step * jnp.stack([speed, acceleration, turning, bending])

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del state, action, after, params
        return jnp.ones((), dtype=float)

    def terminal(self, state: Float[Array, "4"], params: Parameters) -> Bool[Array, ""]:
        del params
        return (jnp.abs(state[0]) > self.track) | (jnp.abs(state[2]) > self.tilt)


class CartPoleSwingUp(CartPole):
    """Swing the pole up from below and keep it there.

    The track has walls, and no episode ends early. A step pays (1 + cos θ)/2, less a hundredth of the squared distance
    from the middle of the track.
    """

    name = "cart-pole-swing-up"
    horizon = 250

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, "4"]:
        return super().initial(key, params) + jnp.array([0, 0, jnp.pi, 0], dtype=float)

    def transition(self, state: Float[Array, "4"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "4"]:
        after = super().transition(state, action, params)
        inside = jnp.abs(after[0]) < self.track
        place = jnp.clip(after[0], -self.track, self.track)
        return after.at[0].set(place).at[1].set(jnp.where(inside, after[1], 0))

    def observation(self, state: Float[Array, "4"], params: Parameters) -> Float[Array, "5"]:
        del params
        return jnp.stack([state[0], state[1], jnp.cos(state[2]), jnp.sin(state[2]), state[3]])

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del state, action, params
        return (1 + jnp.cos(after[2])) / 2 - 0.01 * after[0] ** 2

    def terminal(self, state: Float[Array, "4"], params: Parameters) -> Bool[Array, ""]:
        del state, params
        return jnp.asarray(False)


class Acrobot(Equations):
    """Swing the free end above the height of one link; every step before that costs 1."""

    name = "acrobot"
    defaults: Mapping[str, float] = MappingProxyType(
        {"mass_1": 1.0, "mass_2": 1.0, "length": 1.0, "gravity": 9.8, "damping": 0.0}
    )
    horizon = 500
    step, fastest = 0.2, (4 * np.pi, 9 * np.pi)

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, "4"]:
        del params
        return _spread(key, 4, 0.1)

    def transition(self, state: Float[Array, "4"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "4"]:
        torque = jnp.clip(action, -1, 1)[0]
        after = runge_kutta(lambda at: self.derivative(at, torque, params), state, self.step)
        angles = (after[:2] + jnp.pi) % (2 * jnp.pi) - jnp.pi
        bound = jnp.asarray(self.fastest, dtype=float)
        return jnp.concatenate([angles, jnp.clip(after[2:], -bound, bound)])

    def observation(self, state: Float[Array, "4"], params: Parameters) -> Float[Array, "6"]:
        del params
        first, second = state[0], state[1]
        turns = [jnp.cos(first), jnp.sin(first), jnp.cos(second), jnp.sin(second)]
        return jnp.stack([*turns, state[2], state[3]])

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del state, action
        return jnp.where(self.terminal(after, params), 0.0, -1.0)

    def terminal(self, state: Float[Array, "4"], params: Parameters) -> Bool[Array, ""]:
        del params
        return -jnp.cos(state[0]) - jnp.cos(state[0] + state[1]) > 1

    def derivative(self, state: Float[Array, "4"], torque: Float[Array, ""], params: Parameters) -> Float[Array, "4"]:
        """Return the velocities and accelerations: M(θ₂) θ̈ = torques, solved by hand."""
        first, second, turning, bending = state
        m1, m2, length, gravity = params["mass_1"], params["mass_2"], params["length"], params["gravity"]
        half, inertia_1, inertia_2 = length / 2, m1 * length**2, m2 * length**2
        sine, cosine = jnp.sin(second), jnp.cos(second)
        d1 = m1 * half**2 + m2 * (length**2 + half**2 + 2 * length * half * cosine) + inertia_1 + inertia_2
        d2 = m2 * (half**2 + length * half * cosine) + inertia_2
        fall_2 = m2 * half * gravity * jnp.sin(first + second)
        swing = m2 * length * half * sine
        weight = (m1 * half + m2 * length) * gravity * jnp.sin(first)
        fall_1 = -swing * bending * (bending + 2 * turning) + weight + fall_2 + params["damping"] * turning
        elbow = torque - swing * turning**2 - fall_2 - params["damping"] * bending
        acceleration_2 = (elbow + d2 / d1 * fall_1) / (m2 * half**2 + inertia_2 - d2**2 / d1)
        acceleration_1 = -(d2 * acceleration_2 + fall_1) / d1
        return jnp.stack([turning, bending, acceleration_1, acceleration_2])


class DoublePendulum(Equations):
    """Keep both rods up.

    An episode ends if their tip falls below three quarters of its height or the track ends. A step, of four steps of
    the Runge-Kutta method, pays 10, less the squared distance of the tip from its highest place and a little for speed.
    """

    name = "double-pendulum"
    defaults: Mapping[str, float] = MappingProxyType(
        {"mass": 0.2, "cart_mass": 1.0, "length": 0.6, "gravity": 9.81, "friction": 0.05, "damping": 0.0}
    )
    horizon = 500
    step, substeps, force, track = 0.01, 4, 20.0, 2.4

    def initial(self, key: PRNGKeyArray, params: Parameters) -> Float[Array, "6"]:
        del params
        return _spread(key, 6, 0.05)

    def transition(self, state: Float[Array, "6"], action: Float[Array, "1"], params: Parameters) -> Float[Array, "6"]:
        force = self.force * jnp.clip(action, -1, 1)[0]
        for _ in range(self.substeps):
            state = runge_kutta(lambda at: self.derivative(at, force, params), state, self.step)
        return state

    def observation(self, state: Float[Array, "6"], params: Parameters) -> Float[Array, "8"]:
        del params
        return jnp.concatenate([state[:1], jnp.sin(state[1:3]), jnp.cos(state[1:3]), state[3:]])

    def reward(self, state: Array, action: Array, after: Array, params: Parameters) -> Float[Array, ""]:
        del state, action
        across, height = self._tip(after, params)
        miss = 0.01 * across**2 + (2 * params["length"] - height) ** 2
        haste = 1e-3 * after[4] ** 2 + 5e-3 * after[5] ** 2
        return jnp.where(self.terminal(after, params), 0.0, 10.0) - miss - haste

    def terminal(self, state: Float[Array, "6"], params: Parameters) -> Bool[Array, ""]:
        return (self._tip(state, params)[1] < 1.5 * params["length"]) | (jnp.abs(state[0]) > self.track)

    def _tip(self, state: Float[Array, "6"], params: Parameters) -> Float[Array, "2"]:
        """Return where the upper end of the upper rod is."""
        length = params["length"]
        return jnp.stack([state[0] + length * jnp.sin(state[1:3]).sum(), length * jnp.cos(state[1:3]).sum()])

    def derivative(self, state: Float[Array, "6"], force: Float[Array, ""], params: Parameters) -> Float[Array, "6"]:
        """Return velocities and accelerations."""
        _, first, second, speed, turning_1, turning_2 = state
        mass, length, gravity = params["mass"], params["length"], params["gravity"]
        between, ml = first - second, mass * length
        cross_1, cross_2 = 1.5 * ml * jnp.cos(first), 0.5 * ml * jnp.cos(second)
        cross_3 = 0.5 * ml * length * jnp.cos(between)
        matrix = jnp.stack(
            [
                jnp.stack([params["cart_mass"] + 2 * mass, cross_1, cross_2]),
                jnp.stack([cross_1, 4 / 3 * ml * length, cross_3]),
                jnp.stack([cross_2, cross_3, ml * length / 3]),
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
    """Return the solution by Cramer's rule: in a batch far faster than factorizing every small matrix."""
    first, second, third = matrix
    cofactors = jnp.stack([jnp.cross(second, third), jnp.cross(third, first), jnp.cross(first, second)])
    return right @ cofactors / (first @ cofactors[0])


for _equations in (Pendulum(), MountainCar(), CartPole(), CartPoleSwingUp(), Acrobot(), DoublePendulum()):
    register(_equations)
