"""Check the options of every study before it begins, so that hours of work do not end at a mistyped word.

Options of one name mean the same in all studies, and so one rule holds for each name. What only one study can know,
such as the names of its worlds, it checks itself.
"""

import dataclasses
import math
from collections.abc import Callable, Collection
from typing import Any

from robustirl import envs
from robustirl._runtime import short_repr
from robustirl.demonstrations import as_tail
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count

MOST_REPEATED = {"draws": 1_000, "seeds": 1_000, "side": 32}
"""The largest values of options that multiply the number of runs, or the square of which is kept."""
MOST_TIMES_DEFAULT = 1_000
"""Other counts may be that many times the default, or 10,000 where that is more."""
MAY_BE_ZERO = ("first_draw", "first_seed", "mismatches", "resamples", "worlds")
PROBABILITIES = ("slips", "winds", "noises", "learner_noise", "expert_noises")
LARGEST_FACTOR = 100.0


def require_options(options: Any) -> None:
    """Refuse options of a study that no study can use.

    Example:
        >>> from robustirl.paper.studies import studies
        >>> require_options(studies()["existence"](steps=20))
        >>> require_options(studies()["existence"](steps=0))
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: --steps is 0, but a whole number of at least 1 is needed.
    """
    for field in dataclasses.fields(options):
        value, option = getattr(options, field.name), f"--{field.name.replace('_', '-')}"
        values = value if isinstance(value, tuple) else (value,)
        if not values and field.default:
            raise InvalidInputError(f"{option} is empty, but at least one value is needed.")
        for one in values:
            _require(option, field, one)


def _require(option: str, field: "dataclasses.Field[Any]", value: object) -> None:
    name = field.name
    if isinstance(value, int) and not isinstance(value, bool):
        as_count(option, value, 0 if name in MAY_BE_ZERO else 1, _most(field))
    elif isinstance(value, float):
        _require_number(option, name, value)
    elif isinstance(value, str) and name == "tail":
        as_tail(value)
    elif isinstance(value, str) and name in CHOICES:
        known = CHOICES[name]()
        if value not in known:
            raise InvalidInputError(f"{option} names {short_repr(value, 80)}; choose from {', '.join(known)}.")


def _most(field: "dataclasses.Field[Any]") -> int:
    """Return the largest value of a count: what lies beyond would fill the memory, or never end."""
    if field.name in MOST_REPEATED:
        return MOST_REPEATED[field.name]
    if field.name == "first_seed":
        return 2**63 - 1
    usual = field.default if isinstance(field.default, tuple) else (field.default,)
    counts = [one for one in usual if isinstance(one, int)]
    return max(10_000, MOST_TIMES_DEFAULT * max(counts)) if counts else 10**10


def _require_number(option: str, name: str, value: float) -> None:
    needed = None
    if name in PROBABILITIES and not 0 <= value <= 1:
        needed = "a probability from 0 to 1"
    elif name == "alphas" and not 0 < value <= 1:
        needed = "a number above 0 and at most 1"
    elif name == "factors" and not 1 / LARGEST_FACTOR <= value <= LARGEST_FACTOR:
        needed = f"a factor from {1 / LARGEST_FACTOR:g} to {LARGEST_FACTOR:g}"
    elif not math.isfinite(value):
        needed = "a finite number"
    if needed is not None:
        raise InvalidInputError(f"{option} is {value!r}, but {needed} is needed.")


CHOICES: dict[str, Callable[[], Collection[str]]] = {
    "environment": envs.names,
    "environments": envs.names,
    "noise_model": envs.noise.noise_model_names,
    "noise_models": envs.noise.noise_model_names,
}
"""Where the words of an option are one of a few."""
