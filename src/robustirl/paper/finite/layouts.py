"""ObjectWorld over many layouts: means with 95 % intervals, and whether the paper's shape holds.

The published layout is lost, so layouts are drawn, and each is a sample. The paper's measure, the undiscounted return
over at most 1000 steps, means little in layouts whose γ = 0.7 optimal policy pays at every step (about a third of them:
from some cells it stays in cells of -1 rather than cross cells of -2). So two kinds of measures are given: the
discounted return, which is what expert and learner optimize, over all layouts; and the paper's measure over the
settled layouts, those in which the optimal policy ends in cells that pay nothing, as it does in the published one.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from robustirl.paper.finite.specs import Record
from robustirl.paper.statistics import t_half_width

SETTLED = -20.0  # A layout's optimal return without noise; a policy that stays away from the goal loses hundreds.


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean over layouts and its 95 % interval (Student's t)."""

    mean: float
    low: float
    high: float
    count: int


@dataclasses.dataclass(frozen=True)
class Shape:
    """Whether the paper's claim holds in one panel, from paired differences over layouts.

    Attributes:
        learner_noise: The panel.
        standard_change: Return of standard at the largest expert noise minus that at the learner's own.
        robust_change: The same of the robust α.
        advantage: Robust minus standard at the largest expert noise.
        alpha: The robust α: of those tried, the one with the largest mean return over the panel in the layouts of even
            number; all that is judged comes from the others, so that the choice does not flatter itself.
        disjoint: Whether the intervals of robust and standard at the largest expert noise, unpaired, do not overlap.
    """

    learner_noise: float
    standard_change: Interval
    robust_change: Interval
    advantage: Interval
    alpha: float
    disjoint: bool

    @property
    def verdict(self) -> str:
        """In a few words; an effect counts if its 95 % interval excludes zero."""
        degrades, better = self.standard_change.high < 0, self.advantage.low > 0
        holds = self.robust_change.mean > self.standard_change.mean / 2
        if degrades and better and holds:
            apart = "do not overlap" if self.disjoint else "overlap, since layouts differ more than learners"
            return f"confirmed: standard degrades, robust holds and is better; unpaired intervals {apart}"
        found = [
            "standard degrades" if degrades else "standard does not degrade",
            "robust holds" if holds else "robust does not hold",
            "and is better" if better else "and is not better",
        ]
        return "not confirmed: " + ", ".join(found)


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and its 95 % interval (Student's t).

    Example:
        >>> found = interval([1.0, 2.0, 3.0])
        >>> found.mean, round(found.high, 3)
        (2.0, 4.484)
    """
    array = np.asarray(values, dtype=float)
    mean, count = float(array.mean()), len(array)
    if count < 2:
        return Interval(mean, -np.inf, np.inf, count)
    half = t_half_width(array)
    return Interval(mean, mean - half, mean + half, count)


def settled_layouts(records: Sequence[Record]) -> set[int]:
    """Return layouts whose optimal policy ends in cells that pay nothing, at the least noise."""
    calmest = min(record.spec.learner_noise for record in records)
    return {r.spec.seed for r in records if r.spec.learner_noise == calmest and r.optimal_return > SETTLED}


def cells(records: Sequence[Record], measure: Callable[[Record], float]) -> dict[tuple[float, float, float], Interval]:
    """Return mean and interval by (ε_L, α, ε_E)."""
    groups: dict[tuple[float, float, float], list[float]] = {}
    for r in records:
        groups.setdefault((r.spec.learner_noise, r.spec.alpha, r.spec.expert_noise), []).append(measure(r))
    return {key: interval(values) for key, values in groups.items()}


def shapes(records: Sequence[Record], measure: Callable[[Record], float]) -> list[Shape]:
    """Return the paper's shape, panel by panel.

    It says whether standard falls with the expert's noise, and whether robust holds.
    """
    found = []
    values = {(r.spec.seed, r.spec.learner_noise, r.spec.alpha, r.spec.expert_noise): measure(r) for r in records}
    everyone = sorted({key[0] for key in values})
    choosing, seeds = everyone[::2], everyone[1::2]
    for learner in sorted({key[1] for key in values}):
        experts = sorted({key[3] for key in values if key[1] == learner})
        own, top = min(experts, key=lambda noise: abs(noise - learner)), experts[-1]
        alphas = sorted({key[2] for key in values if key[1] == learner and key[2] < 1})
        best = max(alphas, key=lambda a: np.mean([values[s, learner, a, e] for s in choosing for e in experts]))

        def paired(first: tuple[float, float], second: tuple[float, float], learner: float = learner) -> Interval:
            return interval([values[s, learner, *first] - values[s, learner, *second] for s in seeds])

        ends = [interval([values[s, learner, alpha, top] for s in seeds]) for alpha in (1.0, best)]
        found.append(
            Shape(
                learner,
                standard_change=paired((1.0, top), (1.0, own)),
                robust_change=paired((best, top), (best, own)),
                advantage=paired((best, top), (1.0, top)),
                alpha=best,
                disjoint=ends[0].high < ends[1].low,
            )
        )
    return found
