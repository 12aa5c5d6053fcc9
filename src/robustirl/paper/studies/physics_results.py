"""Normalized returns of the study of physics, and their table.

Statistics follow Agarwal et al. (2021): interquartile means, intervals by a bootstrap that draws seeds anew within each
level (stratified), and the probability that a run of one method is better than a run of another.
"""

import csv
import dataclasses
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robustirl._runtime import one_line, read_regular
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.paper.statistics import interquartile_mean
from robustirl.paper.studies.physics_runs import CARRIED, EXPERT, UNTRAINED, PhysicsRecord, PhysicsSpec

COLUMNS = (
    "world",
    "parameter",
    "episodes",
    "factor",
    "method",
    "seeds",
    "learner's world",
    "95 %",
    "worst",
    "expert's world",
    "95 %",
    "worst",
    "P(better than α = 1)",
)
RUN_COLUMNS = (
    "world",
    "parameter",
    "factor",
    "method",
    "episodes",
    "seed",
    "expert_steps",
    "steps",
    "learner_return",
    "expert_return",
    "gap",
    "learner_sampled",
    "expert_sampled",
    "engine",
)
BASE = "alpha=1"
JUDGED = ("learner_return", "expert_return")
DRAWS = 2000
Groups = Sequence[np.ndarray]
"""The runs of each level."""


class Cell(NamedTuple):
    """A level of a parameter in a world, with the number of demonstrations."""

    world: str
    parameter: str
    episodes: int
    factor: float

    def is_same_level(self, other: "Cell") -> bool:
        """Return whether two cells have one learner's world.

        At factor 1 it is the usual world, whatever the parameter.
        """
        same = self.parameter == other.parameter or self.factor == 1
        return self.world == other.world and self.factor == other.factor and same


Cells = dict[Cell, dict[str, dict[str, np.ndarray]]]
"""By cell, method, and world to judge in: the normalized returns of all seeds."""


def interval(values: np.ndarray | Groups) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the interquartile mean of runs of one level or more.

    Seeds are drawn anew within each level, so that what differs between levels does not widen the interval.

    Example:
        >>> interval([np.array([1.0, 1.0]), np.array([3.0, 3.0])])
        (2.0, 2.0)
    """
    groups = [values] if isinstance(values, np.ndarray) else list(values)
    drawn = np.concatenate(_resampled(groups, np.random.default_rng(0)), axis=1)
    low, high = np.quantile(interquartile_mean(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)


def _resampled(groups: Groups, rng: np.random.Generator) -> list[np.ndarray]:
    """Return `[draws, n]` for each level: its runs drawn with replacement."""
    return [group[rng.integers(0, len(group), (DRAWS, len(group)))] for group in groups]


def probability_of_improvement(first: np.ndarray | Groups, second: np.ndarray | Groups) -> float:
    """Return the share of pairs of runs in which the first is larger; equal ones count half.

    For several levels it is the mean of their shares.

    Example:
        >>> probability_of_improvement(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        0.875
        >>> probability_of_improvement([np.array([1.0, 2.0]), np.array([0.0])], [np.array([1.0, 0.0]), np.array([1.0])])
        0.4375
    """
    pairs = [(first, second)] if isinstance(first, np.ndarray) else list(zip(first, second, strict=True))
    return float(np.mean([_share(one[None], other[None])[0] for one, other in pairs]))  # pyright: ignore


def improvement_interval(first: Groups, second: Groups) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of `probability_of_improvement`.

    Example:
        >>> improvement_interval([np.array([2.0, 2.0])], [np.array([1.0, 1.0])])
        (1.0, 1.0)
    """
    rng = np.random.default_rng(0)
    sides = zip(_resampled(first, rng), _resampled(second, rng), strict=True)
    low, high = np.quantile(np.mean([_share(one, other) for one, other in sides], axis=0), [0.025, 0.975])
    return float(low), float(high)


def _share(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return for every row the share of pairs in which the first is larger."""
    differences = first[:, :, None] - second[:, None, :]
    return (differences > 0).mean((1, 2)) + (differences == 0).mean((1, 2)) / 2


def normalized(records: Iterable[PhysicsRecord]) -> Cells:
    """Return by cell and method the normalized returns of all seeds in both worlds.

    0 is the return of doing nothing, 1 that of the world's expert.
    """
    raw: dict[Cell, dict[str, list[PhysicsRecord]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        spec = record.spec
        raw[Cell(spec.world, spec.parameter, spec.episodes, spec.factor)][spec.method].append(record)
    out: Cells = {}
    for cell, methods in raw.items():
        zero = {name: _mean(methods[UNTRAINED], name) for name in JUDGED}
        # The policy that was imitated is the expert of the expert's world.
        top = {
            "learner_return": _mean(methods[EXPERT], "learner_return"),
            "expert_return": _mean(methods[CARRIED], "expert_return"),
        }
        out[cell] = {
            method: {
                name: (np.array([getattr(one, name) for one in rows]) - zero[name]) / (top[name] - zero[name])
                for name in JUDGED
            }
            for method, rows in methods.items()
        }
    return out


def _mean(records: Iterable[PhysicsRecord], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in records]))


def rows_of(records: Iterable[PhysicsRecord]) -> list[tuple[object, ...]]:
    """Return the rows of the table: every method at every level."""
    rows = []
    for cell, methods in normalized(records).items():
        base = methods.get(BASE)
        for method, found in methods.items():
            row: list[object] = [*cell, method, len(found[JUDGED[0]])]
            for name in JUDGED:
                row += summary_of([found[name]])
            better = "" if base is None else f"{probability_of_improvement(found[JUDGED[0]], base[JUDGED[0]]):.2f}"
            rows.append((*row, better))
    return rows


def run_rows(records: Iterable[PhysicsRecord]) -> list[tuple[object, ...]]:
    """Return a row for every run, its returns as they are.

    What was not measured (gaps of controls) is empty.
    """
    return [
        (
            *(getattr(record.spec, name) for name in RUN_COLUMNS[:8]),
            round(record.learner_return, 2),
            round(record.expert_return, 2),
            _shown(record.gap, 4),
            _shown(record.learner_sampled, 2),
            _shown(record.expert_sampled, 2),
            record.engine,
        )
        for record in records
    ]


def _shown(value: float, digits: int) -> float | str:
    return "" if np.isnan(value) else round(value, digits)


def sampled_runs(records: Iterable[PhysicsRecord]) -> list[PhysicsRecord]:
    """Return the runs measured with drawn actions, with those returns in place of mean actions'."""
    return [
        dataclasses.replace(one, learner_return=one.learner_sampled, expert_return=one.expert_sampled)
        for one in records
        if not np.isnan(one.learner_sampled)
    ]


def read_runs(path: Path) -> list[PhysicsRecord]:
    """Return the runs of a file that `run_rows` went into; returns are as the file rounds them."""
    try:
        rows = list(csv.DictReader(io.StringIO(read_regular(path).decode("utf-8"))))
        return [_run_of(row) for row in rows]
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read ({error.strerror}); see to its permissions.") from None
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{path} is no table of runs ({one_line(error)}); give a physics.csv of this study, or a folder of it."
        ) from None


def _run_of(row: Mapping[str, str]) -> PhysicsRecord:
    kinds = {field.name: field.type for field in dataclasses.fields(PhysicsSpec)}
    spec = PhysicsSpec(**{name: kinds[name](row[name]) for name in RUN_COLUMNS[:8]})  # pyright: ignore
    there, back = float(row["learner_return"]), float(row["expert_return"])
    # Earlier files have no drawn actions.
    gap, learner, expert = (float(row.get(name) or "nan") for name in ("gap", "learner_sampled", "expert_sampled"))
    # Nor do they say what took the steps: it was MJX, or the equations of worlds that need no engine.
    engine = row.get("engine") or ("jax" if spec.world in physics.names() else "mjx")
    return PhysicsRecord(spec, there, back, gap, 0.0, learner, expert, engine)


def summary_of(groups: Groups) -> list[str]:
    """Return the interquartile mean of some runs, its interval, and the worst of them.

    Example:
        >>> summary_of([np.array([1.0, 1.0]), np.array([3.0, 3.0])])
        ['2.00', '2.00 to 2.00', '1.00']
    """
    low, high = interval(groups)
    whole = np.concatenate(list(groups))
    return [f"{interquartile_mean(whole):.2f}", f"{low:.2f} to {high:.2f}", f"{whole.min():.2f}"]
