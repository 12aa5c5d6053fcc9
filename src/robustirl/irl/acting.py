"""What estimators share: parameters by name as scikit-learn has them, files, and acting as stable-baselines3 does."""

import inspect
import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float, Int

from robustirl._check import as_seed
from robustirl._show import short_value
from robustirl.errors import InvalidInputError

Estimator = TypeVar("Estimator", bound="Parameters")


class NotFittedError(InvalidInputError, AttributeError):
    """What was learned was asked for before anything was learned."""


class Parameters:
    """Read and set what a constructor was given, and write what was learned to files.

    A subclass keeps every argument under its own name, and names in `learned` the attributes that a file holds.
    """

    learned: ClassVar[tuple[str, ...]] = ("fit_",)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Return the parameters of the constructor with their defaults."""
        parameters = list(inspect.signature(cls.__init__).parameters.items())[1:]  # Without self.
        return {name: parameter.default for name, parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return what the constructor was given."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self: Estimator, **parameters: Any) -> Estimator:
        """Choose some parameters anew; what was learned stays until the next fit."""
        known = self._defaults()
        for name in parameters:
            if name not in known:
                raise InvalidInputError(f"there is no parameter {name!r}; choose from {', '.join(known)}.")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def _fitted(self) -> Any:
        """Return the fit; refuse to answer before there is one."""
        if "fit_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet; call fit first.")
        return vars(self)["fit_"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parameters and what was learned to an .npz file; `irl.load_fit` reads the fit alone.

        A parameter that is no data, such as an optimizer, is left out with a warning.
        """
        from robustirl.irl.saving import is_data, write_record

        fit, parameters = self._fitted(), self.get_params()
        for name in [name for name, value in parameters.items() if not is_data(value)]:
            del parameters[name]
            warnings.warn(f"the parameter {name!r} is no data and is not in {path}; give it again.", stacklevel=2)
        learned = {name: getattr(self, name) for name in self.learned}
        write_record(path, {"fit": fit, "kind": type(self).__name__, "parameters": parameters, "learned": learned})

    @classmethod
    def load(cls: type[Estimator], path: str | os.PathLike[str]) -> Estimator:
        """Read what `save` wrote; no code is run by it."""
        from robustirl.irl.saving import read_record

        parts = read_record(path)
        if parts.get("kind") != cls.__name__:
            raise InvalidInputError(f"{path} holds no {cls.__name__} but {parts.get('kind', 'a fit')}; use load_fit.")
        made = cls(**parts["parameters"])
        vars(made).update(parts["learned"])
        return made

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = {name: v for name, v in self.get_params().items() if not _same(v, defaults[name])}
        shown = (f"{name}={v!r}" if isinstance(v, str) else f"{name}={short_value(v)}" for name, v in changed.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_is_fitted__(self) -> bool:
        return "fit_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags  # pyright: ignore[reportMissingImports]

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


def _same(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(value, str | float | int | tuple) and type(value) is type(default) and value == default
    )


def as_generator(seed: object) -> np.random.Generator:
    """Return a generator of NumPy as it is, or a new one from a seed; refuse what is neither.

    Example:
        >>> as_generator(-1)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the seed is -1, but a whole number of at least 0 is needed.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(None if seed is None else as_seed("the seed", seed))


def draw_actions(chances: Float[np.ndarray, "*n A"], seed: int | np.random.Generator | None) -> Any:
    """Return an action for each row of probabilities, or for a single row.

    Example:
        >>> draw_actions(np.array([[0.0, 1.0], [1.0, 0.0]]), seed=0).tolist()
        [1, 0]
    """
    rows = np.atleast_2d(chances)
    ends = np.cumsum(rows, axis=-1)
    drawn = (as_generator(seed).random((len(rows), 1)) * ends[:, -1:] >= ends).sum(-1)
    drawn = np.minimum(drawn, rows.shape[-1] - 1)  # A product that rounds up to the last sum.
    return int(drawn[0]) if np.ndim(chances) == 1 else drawn


class ActingPolicy:
    """Answer as policies of stable-baselines3 do, by `predict(observation, state, ...) -> (action, state)`.

    Args:
        used: The action that the estimator's `predict` returns, for an observation or several, with a generator.
        drawn: An action drawn in each of them.

    Example:
        >>> policy = ActingPolicy(lambda states, seed: np.asarray(states) % 2, lambda states, seed: np.asarray(states))
        >>> action, state = policy.predict(np.array([3]), deterministic=True)
        >>> action.tolist(), state
        ([1], None)
    """

    def __init__(self, used: Callable[[Any, Any], Any], drawn: Callable[[Any, Any], Any], seed: int | None = None):
        self._used, self._drawn = used, drawn
        self._generator = as_generator(seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Int[np.ndarray, " n"] | None = None,
        deterministic: bool = False,
    ) -> tuple[Any, Any]:
        """Return the action for an observation, or for each of several, and the state unchanged.

        Args:
            observation: A state, or an array of them.
            state: Returned as it is; there is no memory.
            episode_start: Not used.
            deterministic: Act as the estimator's `predict`, which takes the most likely action where that works.
        """
        del episode_start
        act = self._used if deterministic else self._drawn
        return np.asarray(act(observation, self._generator)), state
