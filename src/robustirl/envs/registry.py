"""Say what an environment is, and keep environments by name; tests and commands run over this registry.

An environment is a family of worlds that share states, actions and true reward, and differ in their noise: the
learner's world is `mdp(ε_L)` and the expert's `mdp(ε_E)`, the paper's mismatch (Section 5). To add one, derive a class
from `Environment` and end its module with `register(name, factory)`.
"""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._check import as_number, require_callable, require_kind
from robustirl._show import ShortRepr, joined, short_value
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP


@dataclasses.dataclass(frozen=True, eq=False)
class Environment(ShortRepr, abc.ABC):
    """A family of worlds that share states, actions and true reward, and differ in their noise.

    Attributes:
        name: What errors and pictures call it.
    """

    name: str

    def __repr__(self) -> str:
        return joined(type(self).__name__, [repr(self.name), *self._in_words()])

    def _in_words(self) -> list[str]:
        """Return what a repr says after the name: size, discount, noise models, if there are any."""
        shape, discount = self.shape, getattr(self, "discount", None)
        words = [] if shape is None else [f"{shape[0]} × {shape[1]} cells"]
        words += [] if discount is None else [f"γ = {short_value(discount)}"]
        return [*words, f"noise: {' or '.join(self.noise_models)}"]

    @property
    @abc.abstractmethod
    def reward(self) -> np.ndarray:
        """Return the true reward R(s) `[S]`, or R(s,a) `[S, A]` where actions are paid for; the expert's alone."""

    @property
    def features(self) -> np.ndarray | None:
        """Return reward features φ(s) `[S, d]` or φ(s,a) `[S, A, d]`; None means one-hot features."""
        return None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Return a name for each feature, if features have names."""
        return None

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Return a label for each state, where it is known which states are alike; else None."""
        return None

    @property
    def state_names(self) -> tuple[str, ...] | None:
        """Return the name of each state, by its number, if states have names."""
        return None

    @property
    def action_names(self) -> tuple[str, ...] | None:
        """Return the name of each action, by its number, if actions have names."""
        return None

    @property
    def positions(self) -> Float[np.ndarray, "S 2"] | None:
        """Return where to draw each state, x to the right and y upwards; the cells of a grid, if it is one."""
        return None if self.shape is None else grid_positions(self.shape, len(self.reward))

    @property
    def _labels(self) -> dict[str, Any]:
        """Return what a world is told about its states and actions, for people."""
        return {"positions": self.positions, "state_names": self.state_names, "action_names": self.action_names}

    @property
    def shape(self) -> tuple[int, int] | None:
        """Return rows and columns, if the first states are the cells of a grid, row by row."""
        return None

    @property
    def end(self) -> int | None:
        """Return the state that episodes which have ended stay in, if there is one for nothing else."""
        return None

    @property
    def layout(self) -> int:
        """Return the seed that this layout was drawn with, where layouts are random."""
        return 0

    @property
    def expert(self) -> str:
        """Return which expert the published runs have here: `soft` or `optimal`; see `planning.expert_policy`."""
        return "soft"

    @property
    def reward_model(self) -> str:
        """Return what the reward is learned with here: `tabular`, or `linear` or a `network` of the features."""
        return "tabular" if self.features is None else "linear"

    @property
    @abc.abstractmethod
    def noise_models(self) -> tuple[str, ...]:
        """Return the noise models this environment knows, its default first."""

    @abc.abstractmethod
    def mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        """Return the world at noise ε, in which policies are planned and demonstrations are made."""

    def evaluation_mdp(self, noise: float = 0.0, noise_model: str | None = None) -> MDP:
        """Return the world in which returns are measured: `mdp` itself, unless a noise model says otherwise."""
        return self.mdp(noise, noise_model)

    def choose_noise_model(self, noise: float, noise_model: str | None) -> str:
        """Return the noise model to use, after checking the request."""
        if not 0 <= as_number("the noise", noise) <= 1:
            raise InvalidInputError(f"the noise is {noise!r}, but a probability between 0 and 1 is needed.")
        if noise_model is None:
            return self.noise_models[0]
        if noise_model not in self.noise_models:
            raise InvalidInputError(
                f"{self.name} has no noise model {noise_model!r}; choose one of {', '.join(self.noise_models)}."
            )
        return noise_model


@dataclasses.dataclass(frozen=True, eq=False)
class FixedWorld(Environment):
    """Hold one world, without noise and without a known reward, so that commands and pictures can use it.

    Example:
        >>> env = FixedWorld("mine", MDP([[[1.0]]], discount=0.9))
        >>> env.mdp().num_states, env.noise_models
        (1, ('none',))
    """

    world: MDP
    grid: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, int] | None:
        return self.grid

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


def grid_positions(shape: tuple[int, int], states: int) -> Float[np.ndarray, "S 2"]:
    """Return the positions of a grid's cells, row by row from the top, and of further states below them.

    Example:
        >>> grid_positions((2, 2), 5).tolist()
        [[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [1.0, -1.0], [0.0, -2.5]]
    """
    rows, columns = shape
    number = np.arange(states)
    row, column = np.divmod(number, columns)
    return np.stack([column, -row - np.where(row >= rows, 0.5, 0.0)], -1).astype(float)


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a copy that cannot be written to: layouts are shared by all who make the environment."""
    array = array.copy()
    array.setflags(write=False)
    return array


_factories: dict[str, Callable[..., Environment]] = {}
_recorded: dict[str, Callable[..., Environment]] = {}


def register(name: str, factory: Callable[..., Environment], *, recorded: bool = False) -> None:
    """Register an environment under a name.

    Args:
        name: What `make` calls it.
        factory: Makes it, from options by name.
        recorded: Whether it comes with recorded episodes and without a true reward. `names` then leaves it out, because
            what runs over all environments plans for their true rewards.

    Example:
        >>> import numpy as np
        >>> from robustirl.envs import GridWorld
        >>> register("corridor", lambda: GridWorld("corridor", rewards=np.array([[0.0, -1.0]])))
        >>> make("corridor").reward.tolist()
        [0.0, -1.0]
        >>> unregister("corridor")
    """
    require_kind("the name of an environment", name, str, "a text")
    require_callable("the factory of an environment", factory, "a function that makes it")
    if name in _factories or name in _recorded:
        raise InvalidInputError(f"an environment named {name!r} is registered already; choose another name.")
    (_recorded if recorded else _factories)[name] = factory


def unregister(name: str) -> None:
    """Remove an environment from the registry; see the example of `register`."""
    if _factories.pop(name, None) is None:
        raise InvalidInputError(f"there is no environment {name!r} to unregister.")


def make(name: str, **options: object) -> Environment:
    """Return the environment of that name.

    Options go to its factory (for a gridworld: `discount`, `initial`).

    Example:
        >>> make("gridworld-4").reward.shape
        (36,)
    """
    require_kind("the name of an environment", name, str, "a text")
    if name not in _factories and name not in _recorded:
        raise InvalidInputError(f"there is no environment {name!r}; choose one of {', '.join(names())}.")
    try:
        return (_factories | _recorded)[name](**options)
    except TypeError as error:
        raise InvalidInputError(f"{name} cannot be made with the options {', '.join(options)} ({error}).") from None


def names() -> tuple[str, ...]:
    """Return the registered names of environments with a true reward, in order of registration.

    Example:
        >>> names()[:2]
        ('gridworld-1', 'gridworld-2')
    """
    return tuple(_factories)


def recorded_names() -> tuple[str, ...]:
    """Return the names of the environments that come with recorded episodes.

    Example:
        >>> recorded_names()
        ('buses', 'labyrinth')
    """
    return tuple(_recorded)
