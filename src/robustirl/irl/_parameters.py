"""What all estimators share: parameters by name, as scikit-learn's searches read and set them, and a fit or none."""

import inspect
from typing import Any, TypeVar

import numpy as np
import optax

from robustirl.errors import InvalidInputError
from robustirl.irl._encoding import NAMED_OPTIMIZERS
from robustirl.irl.optimizers import rate_of_adam
from robustirl.rewards import AbstractReward

# beartype, which checks types while the slow tests run, knows typing.Self only where it is given the whole class.
Estimator = TypeVar("Estimator", bound="Parameters")


class NotFittedError(InvalidInputError, AttributeError):
    """What was learned was asked for before anything was learned."""


class Parameters:
    """Read and set what a constructor was given.

    A subclass keeps every argument under its own name.
    """

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

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.get_params().items() if not _same(value, self._defaults()[name])}
        return f"{type(self).__name__}({', '.join(f'{name}={_shown(value)}' for name, value in changed.items())})"


def _shown(value: Any) -> str:
    """Return a parameter in a word or two."""
    for name, known in NAMED_OPTIMIZERS.items():
        if value is known:
            return name
    if (rate := rate_of_adam(value)) is not None:
        return f"adam({rate:g})"
    if isinstance(value, AbstractReward | optax.GradientTransformation):
        return type(value).__name__
    return "..." if isinstance(value, tuple | list | dict | np.ndarray) or hasattr(value, "dtype") else repr(value)


def _same(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(value, str | float | int | tuple) and type(value) is type(default) and value == default
    )
