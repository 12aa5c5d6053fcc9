"""A run as data: a spec says what to run, a result what came of it."""

import dataclasses
import hashlib
import json
from typing import Any

import numpy as np


class Spec:
    """A spec: a frozen dataclass, named by its content."""

    @property
    def identity(self) -> str:
        """A hash of the content: equal for equal specs, on every machine."""
        text = json.dumps(dataclasses.asdict(self), sort_keys=True)  # pyright: ignore[reportArgumentType]
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def check(self) -> None:
        """Refuse what cannot be run, before any work is done."""


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
