"""A world of one's own as an environment, so that commands and pictures can use it."""

import dataclasses

import numpy as np

from robustirl.envs.environment import Environment
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP


@dataclasses.dataclass(frozen=True, eq=False)
class FixedWorld(Environment):
    """Hold one world, without noise and without a known reward: only learners can use it.

    Example:
        >>> found = FixedWorld("mine", MDP([[[1.0]]], discount=0.9))
        >>> found.mdp().num_states, found.noise_models
        (1, ('none',))
    """

    world: MDP
    shape: tuple[int, int] | None = None

    @property
    def reward(self) -> np.ndarray:
        raise InvalidInputError(f"the reward of {self.name} is not known, so that there is no expert to ask.")

    @property
    def noise_models(self) -> tuple[str, ...]:
        return ("none",)

    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        self.choose_noise_model(noise, noise_model)
        if noise != 0:
            raise InvalidInputError(
                f"the noise is {noise!r}, but {self.name} is one world and has no noise; make it with the noise it"
                " should have, and give 0."
            )
        return self.world

    def _in_words(self) -> list[str]:
        return [repr(self.world)]
