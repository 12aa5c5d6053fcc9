"""Keep the environments by name. Tests and figures run over this registry, so whatever is added here is exercised.

To add an environment, write one file in `robustirl/envs/` that ends with `register(name, factory)`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from robustirl.envs.environment import Environment
from robustirl.errors import InvalidInputError
from robustirl.mdp import require_callable, require_kind

_factories: dict[str, Callable[..., Environment]] = {}
_recorded: dict[str, Callable[..., Environment]] = {}


def register(name: str, factory: Callable[..., Environment]) -> None:
    """Register an environment under a name.

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
    _factories[name] = factory


def unregister(name: str) -> None:
    """Remove an environment from the registry; see the example of `register`."""
    require_kind("the name of an environment", name, str, "a text")
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
    """Return the registered names, in order of registration.

    Example:
        >>> names()[:2]
        ('gridworld-1', 'gridworld-2')
    """
    return tuple(_factories)


def register_recorded(name: str, factory: Callable[..., Environment]) -> None:
    """Register an environment that comes with recorded episodes and without a true reward.

    `make` makes it, but `names` does not list it: what runs over all environments plans for their true rewards.
    """
    if name in _factories or name in _recorded:
        raise InvalidInputError(f"an environment named {name!r} is registered already; choose another name.")
    _recorded[name] = factory


def recorded_names() -> tuple[str, ...]:
    """Return the names of the environments that come with recorded episodes.

    Example:
        >>> recorded_names()
        ('buses', 'labyrinth')
    """
    return tuple(_recorded)


def import_environments(folders: Iterable[str], package: str) -> None:
    """Import every module of a package, so that its environments register themselves.

    The order is alphabetical.
    """
    for module in pkgutil.iter_modules(folders):
        if not module.ispkg:
            importlib.import_module(f"{package}.{module.name}")
