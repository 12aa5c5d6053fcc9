"""The parameters of an estimator by name, as scikit-learn's searches read and set them, for all estimators."""

import inspect
from typing import Any, Self

from robustirl.errors import InvalidInputError


class NotFittedError(InvalidInputError, AttributeError):
    """What was learned was asked for before anything was learned."""


class Parameters:
    """Read and set what a constructor was given; a subclass keeps every argument under its own name."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Return the parameters of the constructor with their defaults."""
        parameters = list(inspect.signature(cls.__init__).parameters.items())[1:]  # Without self.
        return {name: parameter.default for name, parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return what the constructor was given."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Choose some parameters anew; what was learned stays until the next fit."""
        known = self._defaults()
        for name in parameters:
            if name not in known:
                raise InvalidInputError(f"there is no parameter {name!r}; choose from {', '.join(known)}.")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self
