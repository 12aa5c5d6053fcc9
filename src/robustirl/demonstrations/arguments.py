"""Refuse what stands where demonstrations are needed, in the same sentence everywhere."""

from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError


def require_demonstrations(given: object, what: str = "the demonstrations") -> None:
    """Refuse what are no demonstrations.

    Example:
        >>> require_demonstrations(None)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the demonstrations are of the type NoneType, but Demonstrations are needed;
        make them with Demonstrations.from_arrays(states), or read a file with load(path).
    """
    if not isinstance(given, Demonstrations):
        raise InvalidInputError(
            f"{what} are of the type {type(given).__name__}, but Demonstrations are needed; make them with"
            " Demonstrations.from_arrays(states), or read a file with load(path)."
        )
