"""What the study of toy-text worlds found: mean returns over draws, with intervals."""

from collections.abc import Sequence

from robustirl.paper.finite.layouts import Interval, interval
from robustirl.paper.finite.specs import Record

AUTO = "auto"
Key = tuple[float, float, int, str]
"""(ε_L, ε_E, trajectories, α or auto)."""


def choice(record: Record) -> str:
    """Return how a run's α was chosen."""
    return AUTO if record.spec.auto else f"{record.spec.alpha:g}"


def cells(records: Sequence[Record]) -> dict[Key, Interval]:
    """Return mean return and its interval over draws."""
    groups: dict[Key, list[float]] = {}
    for r in records:
        key = r.spec.learner_noise, r.spec.expert_noise, r.spec.demonstrations, choice(r)
        groups.setdefault(key, []).append(r.total_return)
    return {key: interval(values) for key, values in groups.items()}
