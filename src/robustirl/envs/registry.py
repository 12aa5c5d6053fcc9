"""The environments by name. Tests and figures run over this registry, so whatever is added here is exercised."""

import functools
from collections.abc import Callable

from robustirl.envs.environment import Environment
from robustirl.envs.gridworld import PAPER_LAYOUTS, GridWorld, two_danger_grid
from robustirl.envs.object_world import object_world
from robustirl.envs.three_state import ThreeState
from robustirl.envs.toy_text import cliff_walking, frozen_lake, taxi
from robustirl.errors import InvalidInputError

_factories: dict[str, Callable[..., Environment]] = {}


def register(name: str, factory: Callable[..., Environment]) -> None:
    """Make an environment known under a name.

    Example:
        >>> import numpy as np
        >>> register("corridor", lambda: GridWorld("corridor", rewards=np.array([[0.0, -1.0]])))
        >>> make("corridor").reward.tolist()
        [0.0, -1.0]
        >>> unregister("corridor")
    """
    if name in _factories:
        raise InvalidInputError(f"an environment named {name!r} is registered already; choose another name.")
    _factories[name] = factory


def unregister(name: str) -> None:
    """Forget an environment."""
    if _factories.pop(name, None) is None:
        raise InvalidInputError(f"there is no environment {name!r} to unregister.")


def make(name: str, **options: object) -> Environment:
    """The environment of that name; options go to its factory (for a gridworld: `discount`, `initial`).

    Example:
        >>> make("gridworld-4").reward.shape
        (36,)
    """
    if name not in _factories:
        raise InvalidInputError(f"there is no environment {name!r}; choose one of {', '.join(names())}.")
    try:
        return _factories[name](**options)
    except TypeError as error:
        raise InvalidInputError(f"{name} cannot be made with the options {', '.join(options)} ({error}).") from None


def names() -> tuple[str, ...]:
    """The registered names, in order of registration."""
    return tuple(_factories)


def _paper_grid(name: str) -> Callable[..., Environment]:
    return lambda **options: GridWorld(name, rewards=PAPER_LAYOUTS[name], **options)


def _low_dimensional(**options) -> Environment:
    rewards, features = two_danger_grid(10)
    return GridWorld("gridworld-l", rewards=rewards, cell_features=features, **options)


for _name in PAPER_LAYOUTS:
    register(_name, _paper_grid(_name))
register("gridworld-l", _low_dimensional)
register("objectworld", object_world)
register("three-state", ThreeState)
register("frozen-lake", frozen_lake)
register("frozen-lake-8x8", functools.partial(frozen_lake, name="frozen-lake-8x8", lake="8x8"))
register("cliff-walking", cliff_walking)
register("taxi", taxi)
