"""Environments that come with what somebody did in them: a world, and recorded episodes.

They are made by name as others are (`envs.make("buses")`), but have a list of their own (`envs.recorded_names`): the
true reward is not known, so that there is no expert to plan for and no return to measure.
"""

import dataclasses
import importlib.resources

import numpy as np
from jaxtyping import Int

from robustirl._runtime import read_arrays
from robustirl.envs.tabular import TabularEnvironment
from robustirl.errors import InvalidInputError


@dataclasses.dataclass(frozen=True, eq=False)
class RecordedEnvironment(TabularEnvironment):
    """A table with recorded episodes; its reward is unknown.

    Args:
        episodes: The states and actions of each episode, n+1 and n of them; `demonstrations.recorded` reads them.
    """

    # Episodes differ in length: their axes have no name.
    episodes: tuple[tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]], ...] = ()

    @property
    def reward(self) -> np.ndarray:
        raise InvalidInputError(
            f"the true reward of {self.name} is not known, so that there is no expert to plan for; learn one from what"
            " was recorded."
        )


def read_data(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file that the package brings along."""
    source = importlib.resources.files("robustirl.envs") / "data" / name
    return read_arrays(source.read_bytes())
