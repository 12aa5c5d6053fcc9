"""A run as data: a spec says what to run, a result what came of it."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from robustirl.errors import InvalidInputError

MOST_RUNS = 10**6  # Of one sweep: their specs are made before any is run.


class Spec:
    """A spec: a frozen dataclass, named by its content."""

    @property
    def identity(self) -> str:
        """A hash of the content: equal for equal specs, on every machine."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)  # pyright: ignore[reportArgumentType]
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def check(self) -> None:
        """Refuse what cannot be run, before any work is done."""


def require_runs(counts: Mapping[str, int]) -> None:
    """Refuse more runs than a sweep takes, before any spec is made.

    Args:
        counts: How many values of each setting there are; there is a run for every combination.

    Example:
        >>> require_runs({"seeds": 20, "alphas": 5})
    """
    runs = math.prod(counts.values())
    if runs > MOST_RUNS:
        named = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise InvalidInputError(
            f"there are {runs} runs ({named}), but a sweep takes at most {MOST_RUNS}; ask for fewer of the most"
            " numerous."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class RunResult:
    """A record with the arrays behind it.

    Attributes:
        record: The numbers: a `Record`, or that of another kind of run.
        arrays: By name; of a finite run `reward` and `occupancy`, `expert_occupancy`, `player_occupancy` `[S]`,
            `player`, `opponent` `[S, A]`.
    """

    record: Any
    arrays: dict[str, np.ndarray]
