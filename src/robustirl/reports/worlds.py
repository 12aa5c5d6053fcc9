"""Find the world that a command names: an environment, a file, a Gymnasium id, or a function of one's own."""

import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from robustirl import envs
from robustirl._runtime import one_line, short_repr
from robustirl.envs import Environment, from_gymnasium
from robustirl.envs.registry import FixedWorld
from robustirl.envs.tables import SUFFIX
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP

NOISE_IN_WORDS = {
    "uniform-state": "with probability {noise:g} the successor is any of all {states} states, whatever lies between,"
    " instead of where the action leads",
    "uniform-action": "with probability {noise:g} an action drawn from the available ones is executed instead of the"
    " chosen one",
}
"""What the noise models of worlds from files do."""


def find_environment(
    name: str,
    discount: float | None = None,
    *,
    allow_import: bool = False,
    arguments: Mapping[str, Any] | None = None,
) -> Environment:
    """Return the environment of a name or a file, or the one that Gymnasium or a function makes.

    A name of the form `module:function` or `module:Id` imports that module, which runs it, so that it is refused unless
    `allow_import` says that the module can be trusted.

    Args:
        name: The name, file (.npz), Gymnasium id, or `module:function`, which returns an environment, an `MDP`, or a
            Gymnasium environment with a table.
        discount: γ; that of the environment if omitted.
        allow_import: Whether a module may be imported.
        arguments: Go to whatever makes the environment.

    Example:
        >>> find_environment("gridworld-4").name
        'gridworld-4'
    """
    options: dict[str, Any] = dict(arguments or {}) | ({} if discount is None else {"discount": discount})
    if name in (*envs.names(), *envs.registry.recorded_names()):
        return envs.make(name, **options)
    if name.endswith(SUFFIX):
        if arguments:
            raise InvalidInputError(
                f"--env-arg {next(iter(arguments))} is for environments that are made, but {name} is a file; leave it"
                " out."
            )
        return envs.from_file(name, **options)
    if ":" in name:
        module, _, function = name.partition(":")
        if not allow_import:
            raise InvalidInputError(
                f"the environment {name!r} would import and run the module {module!r}; pass --allow-import if you trust"
                " it."
            )
        found = _from_function(name, module, function, dict(arguments or {}), discount)
        if found is not None:
            return found
    try:
        return from_gymnasium(name, **options)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"there is no environment {name!r} here ({', '.join(envs.names())}), and as a Gymnasium id it will not do:"
            f" {error}"
        ) from None


def _from_function(
    name: str, module: str, function: str, arguments: dict[str, Any], discount: float | None
) -> Environment | None:
    """Return what a function of a module makes, or None if the module has no such function."""
    try:
        make = getattr(importlib.import_module(module), function, None)
    except Exception as error:
        raise InvalidInputError(
            f"the module {module!r} of {name!r} cannot be imported ({type(error).__name__}: {one_line(error)})."
        ) from None
    if not callable(make):
        return None
    try:
        made: Any = make(**arguments)
    except Exception as error:
        raise InvalidInputError(f"{name} failed ({type(error).__name__}: {one_line(error)}).") from None
    if isinstance(made, Environment):
        return made
    if isinstance(made, MDP):
        if discount is not None:
            made = MDP(made.kernel, discount=discount, initial=made.initial, mask=made.mask)
        return FixedWorld(name, made)
    if hasattr(made, "unwrapped"):
        options: dict[str, Any] = {} if discount is None else {"discount": discount}
        return from_gymnasium(made, **options)
    raise InvalidInputError(
        f"{name} returned a {type(made).__name__}, but an environment, an MDP or a Gymnasium environment is needed."
    )


def parse_arguments(words: Sequence[str]) -> dict[str, Any]:
    """Return the arguments in words such as `is_slippery=false`; values are JSON or text.

    Example:
        >>> parse_arguments(["is_slippery=false", "map_name=8x8", "size=3"])
        {'is_slippery': False, 'map_name': '8x8', 'size': 3}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier():
            raise InvalidInputError(f"--env-arg is {short_repr(word)}, but name=value is needed, as is_slippery=false.")
        if name in found:
            raise InvalidInputError(f"--env-arg {name} is given twice; give it once.")
        try:
            found[name] = json.loads(text.lower() if text in ("True", "False") else text)
        except (ValueError, RecursionError):
            found[name] = text
    return found


def explain_noise(environment: Environment, noise: float, noise_model: str | None, size: int) -> str | None:
    """Return a sentence that says what noise does in a world of one's own.

    Noise without a model is refused there. In the paper's worlds and in toy text noise has a meaning of its own, and
    None is returned.
    """
    if noise == 0 or getattr(environment, "disturbances", None) != {}:
        return None
    words = {model: NOISE_IN_WORDS[model].format(noise=noise, states=size) for model in environment.noise_models}
    if noise_model is None:
        choices = "; or ".join(f"{model}: {text}" for model, text in words.items())
        raise InvalidInputError(
            f"--noise {noise:g} has no meaning of its own in {environment.name}; say what it does with --noise-model:"
            f" {choices}."
        )
    return None if noise_model not in words else f"noise in {environment.name}: {words[noise_model]}."
