"""The pendulum of Gymnasium's `Pendulum-v1`; the equations are in `robustirl.envs.pendulum`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl.envs.pendulum import EQUATIONS, MAX_TORQUE, PendulumParameters
from robustirl.envs.physics.equations import Box, Equations, Parameters, Segments, register


class Pendulum(Equations):
    """A rod on a hinge with a motor: length l, mass m and gravity g."""

    name = "pendulum"
    defaults: Mapping[str, float] = MappingProxyType({"length": 1.0, "mass": 1.0, "gravity": 10.0})
    horizon = 200
    action_space: Box = Box(np.array([-MAX_TORQUE]), np.array([MAX_TORQUE]))

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, "2"]:
        return EQUATIONS.initial(rng, PendulumParameters(**params))

    def transition(
        self, state: Float[Array, "2"], action: Float[Array, "1"], rng: object, params: Parameters
    ) -> Float[Array, "2"]:
        return EQUATIONS.transition(state, action, rng, PendulumParameters(**params))

    def observation(self, state: Float[Array, "2"], rng: object, params: Parameters) -> Float[Array, "3"]:
        return EQUATIONS.observation(state, rng, PendulumParameters(**params))

    def reward(self, state: Any, action: Any, next_state: Any, rng: object, params: Parameters) -> Float[Array, ""]:
        return EQUATIONS.reward(state, action, next_state, rng, PendulumParameters(**params))

    def skeleton(self, state: np.ndarray, params: Parameters) -> Segments:
        length = float(params["length"])
        return [np.array([[0.0, 0.0], [length * np.sin(state[0]), length * np.cos(state[0])]])]


register(Pendulum())
