"""Methods of the transfer benchmark: each turns a task into a reward.

To add a method, write one function of a `TransferTask` and register it:

    @register_method("mine")
    def mine(task):
        return my_reward(task.world, task.demonstrations)

A package of one's own names the module that does so under the entry points `robustirl.transfer_methods`. Where it is
installed, `robustirl study transfer` has a column for it.
"""

import dataclasses
import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np

from robustirl.demonstrations import Demonstrations, estimate_occupancy
from robustirl.errors import InvalidInputError
from robustirl.irl import fit, fit_jointly, matched_occupancy, select_alpha
from robustirl.mdp import MDP
from robustirl.rewards import AbstractReward


@dataclasses.dataclass(frozen=True, eq=False)
class TransferTask:
    """What a method may learn from.

    Attributes:
        world: The learner's world.
        demonstrations: What an expert did in a world that moves a little differently, with actions.
        others: Several experts with the same reward: their worlds, which are known, and what they did.
        model: The reward model that is known to be right; None for any reward of states.
    """

    world: MDP
    demonstrations: Demonstrations
    others: tuple[tuple[MDP, Demonstrations], ...]
    model: AbstractReward | None = None

    def occupancy(self) -> np.ndarray:
        """Return the expert's occupancy as the reward model needs it, `[S]` or `[S, A]`."""
        rho = np.asarray(estimate_occupancy(self.demonstrations, self.world).occupancy)
        return matched_occupancy(self.demonstrations, self.world, rho, self.model)


Method = Callable[[TransferTask], Any]
"""From a task to a reward, `[S]` or `[S, A]`."""

METHODS: dict[str, Method] = {}


def register_method(name: str) -> Callable[[Method], Method]:
    """Return a decorator that adds a method to the table."""

    def add(method: Method) -> Method:
        if name in METHODS:
            raise InvalidInputError(f"there is a method {name!r} already; choose another name.")
        METHODS[name] = method
        return method

    return add


def load_methods() -> None:
    """Import the modules that packages name under the entry points `robustirl.transfer_methods`."""
    for entry in importlib.metadata.entry_points(group="robustirl.transfer_methods"):
        entry.load()


@register_method("standard")
def standard(task: TransferTask) -> Any:
    """Match the occupancy with α = 1."""
    return fit(task.world, task.occupancy(), alpha=1.0, reward=task.model, throw=False).reward


@register_method("robust, 0.95")
def robust(task: TransferTask) -> Any:
    """Match the occupancy with α = 0.95."""
    return fit(task.world, task.occupancy(), alpha=0.95, reward=task.model, throw=False).reward


@register_method("robust, auto")
def robust_auto(task: TransferTask) -> Any:
    """Match the occupancy with the α that the demonstrations choose."""
    return select_alpha(task.world, task.demonstrations, reward=task.model).fit.reward


@register_method("several experts")
def several_experts(task: TransferTask) -> Any:
    """Match the occupancies of several experts at once, each in its own world."""
    worlds, walks = zip(*task.others, strict=True)
    return fit_jointly(worlds, walks, reward=task.model, throw=False).reward


@register_method("likelihood")
def likelihood(task: TransferTask) -> Any:
    """Make the recorded actions likely, with a weak prior."""
    options: dict[str, Any] = {"reward": task.model, "objective": "likelihood", "penalty": 1.0, "throw": False}
    return fit(task.world, task.demonstrations, alpha=1.0, **options).reward
