r"""A weak car in a valley: Gymnasium's `MountainCarContinuous-v0`.

The state is (x, ẋ), the action a push in [-1, 1]; a step is ẋ' = ẋ + power · u / mass - gravity · cos 3x - friction · ẋ
and x' = x + ẋ', with both held within their bounds. The mass is 1 and the friction 0 in Gymnasium.
"""

from collections.abc import Mapping
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl.envs.physics.equations import Equations, Parameters, Segments, register

LEFT, RIGHT, GOAL, FASTEST = -1.2, 0.6, 0.45, 0.07


class MountainCar(Equations):
    """Reach the top on the right for 100, at a cost of 0.1 for every squared push."""

    name = "mountain-car"
    defaults: Mapping[str, float] = MappingProxyType({"mass": 1.0, "power": 0.0015, "gravity": 0.0025, "friction": 0.0})
    horizon = 999

    def initial(self, rng: PRNGKeyArray, params: Parameters) -> Float[Array, "2"]:
        del params
        return jnp.stack(
            [jax.random.uniform(rng, (), minval=-0.6, maxval=-0.4, dtype=float), jnp.zeros((), dtype=float)]
        )

    def transition(
        self, state: Float[Array, "2"], action: Float[Array, "1"], rng: object, params: Parameters
    ) -> Float[Array, "2"]:
        del rng
        place, speed = state
        push = params["power"] * jnp.clip(action, -1, 1)[0] / params["mass"]
        speed = speed + push - params["gravity"] * jnp.cos(3 * place) - params["friction"] * speed
        speed = jnp.clip(speed, -FASTEST, FASTEST)
        place = jnp.clip(place + speed, LEFT, RIGHT)
        return jnp.stack([place, jnp.where((place <= LEFT) & (speed < 0), 0, speed)])

    def reward(
        self,
        state: Float[Array, "2"],
        action: Float[Array, "1"],
        next_state: Float[Array, "2"],
        rng: object,
        params: Parameters,
    ) -> Float[Array, ""]:
        del state
        arrived = self.terminal(next_state, rng, params)
        return jnp.where(arrived, 100.0, 0.0) - 0.1 * jnp.clip(action, -1, 1)[0] ** 2

    def terminal(self, state: Float[Array, "2"], rng: object, params: Parameters) -> Bool[Array, ""]:
        del rng, params
        return (state[0] >= GOAL) & (state[1] >= 0)

    def skeleton(self, state: np.ndarray, params: Parameters) -> Segments:
        del params
        ground = np.linspace(LEFT, RIGHT, 60)
        place = float(state[0]) + np.array([-0.06, 0.06])
        return [
            np.stack([ground, 0.45 * np.sin(3 * ground)], -1),
            np.stack([place, 0.45 * np.sin(3 * place) + 0.06], -1),
        ]


register(MountainCar())
