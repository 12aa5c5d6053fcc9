"""Refuse arguments that are not of the kind that is needed, in the same sentence everywhere."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks

Kind = TypeVar("Kind")


def require_kind(name: str, value: object, kind: type[Kind], needed: str) -> Kind:
    """Return `value` if it is of a kind, or refuse it.

    Example:
        >>> require_kind("the name", 5, str, "a text")
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the name is 5, but a text is needed.
    """
    if not isinstance(value, kind):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but {needed} is needed.")
    return value


def require_callable(name: str, value: object, needed: str) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but {needed} is needed.")


def as_list(name: str, value: object, needed: str) -> list[Any]:
    """Return the items of a sequence as a list; refuse what has none, such as a number or text.

    Example:
        >>> as_list("the worlds", 5, "a sequence of worlds")
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: the worlds is 5, but a sequence of worlds is needed.
    """
    no_items = isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", None) == 0
    if no_items or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} is {short_repr(value)}, but {needed} is needed.")
    return list(value)


def as_number_between(
    name: str, value: object, low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> float:
    """Return `value` as a number from `low` to `high`, or refuse it.

    Ends that are open are excluded.

    Example:
        >>> as_number_between("a chance", 0.5, 0, 1)
        0.5
        >>> as_number_between("a chance", True, 0, 1, open_high=True)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: a chance is True, but a number from 0 to below 1 is needed.
    """
    number = checks.as_number(name, value)
    above = low < number if open_low else low <= number
    below = number < high if open_high else number <= high
    if not (above and below):
        first = f"above {low:g}" if open_low else f"from {low:g}"
        last = f"below {high:g}" if open_high else f"{high:g}"
        raise InvalidInputError(f"{name} is {short_repr(value)}, but a number {first} to {last} is needed.")
    return number
