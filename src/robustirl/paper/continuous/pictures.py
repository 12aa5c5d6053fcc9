"""The figures of the continuous experiment, and what of a store each of them shows."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from robustirl.envs.gaussian_grid import TOWARDS_ORIGIN
from robustirl.paper.continuous.kind import CONTINUOUS, EXPERT
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord
from robustirl.paper.continuous.statistics import best_robust_alpha, cell_statistics
from robustirl.paper.published import PublishedContinuous, published_continuous
from robustirl.sweeps import Store, by_kind


@dataclasses.dataclass(frozen=True)
class Picture:
    """A figure of the continuous experiment.

    Attributes:
        name: For files.
        title: Its heading.
        source: Where the paper has it.
        question: What one looks for in it.
        make: Makes it from a store, or nothing where the store lacks what it takes.
    """

    name: str
    title: str
    source: str
    question: str
    make: Callable[[Store], object]


def learners(store: Store) -> list[ContinuousRecord]:
    """Return the finished runs of a store."""
    return by_kind(store.records()).get(CONTINUOUS, [])


def experts(store: Store) -> list[ExpertRecord]:
    """Return the experts of a store."""
    return by_kind(store.records()).get(EXPERT, [])


def comparable(records: Sequence[ContinuousRecord]) -> Mapping[tuple[float, float, float], PublishedContinuous]:
    """Return the published policies, or nothing if a run is in another world than theirs."""
    return published_continuous() if all(r.spec.noise_model == TOWARDS_ORIGIN for r in records) else {}


def _returns(store: Store, *, best_only: bool) -> object:
    from robustirl.paper import figures

    records = learners(store)
    cells = cell_statistics(records)
    if best_only and (best_robust_alpha(cells) is None or all(cell.alpha < 1 for cell in cells)):
        return None
    count = max(cell.seeds for cell in cells)
    names = sorted({record.spec.algorithm for record in records} - {ContinuousSpec.algorithm})
    note = f"{count} seed{'s' if count > 1 else ''}; interquartile means, 95 % intervals"
    note = "; ".join([*(f"algorithm: {name}" for name in names), note])
    return figures.figure_continuous(cells, experts(store), comparable(records), note, best_only=best_only)


def _landscape(store: Store) -> object:
    """Return the figure of the cell with the largest mismatch.

    Its seed is the one in which the standard learner's return is typical.
    """
    from robustirl.paper import figures

    records = learners(store)
    far = max((r.spec.expert_noise - r.spec.learner_noise, r.spec.expert_noise, r.spec.learner_noise) for r in records)
    cell = [r for r in records if (r.spec.expert_noise, r.spec.learner_noise) == far[1:]]
    best = best_robust_alpha(cell_statistics(cell))
    standard = sorted((r for r in cell if r.spec.alpha == 1), key=lambda r: r.mean_return)
    if best is None or not standard:
        return None
    usual = standard[(len(standard) - 1) // 2].spec
    robust = dataclasses.replace(usual, alpha=best)
    if robust not in store or usual.expert not in store:
        return None
    found = (store.result(spec) for spec in (usual.expert, usual, robust))
    return figures.figure_landscape(*found, note=f"seed {usual.seed}")


PICTURES = (
    Picture(
        "best-alpha",
        "Standard against the best robust learner",
        "the paper's figure of the continuous experiment",
        "The standard learner (black) should fall behind as the expert's noise moves to the right of the learner's;"
        " the robust one should hold, and every episode reach the goal."
        " Circles are the published policies. What lies below the scale stands in the table.",
        lambda store: _returns(store, best_only=True),
    ),
    Picture(
        "landscape",
        "What is learned",
        "beyond the paper: the cell of the largest mismatch",
        "The true reward with paths of the expert in its own world, and the learned rewards with paths of the learners"
        " in theirs. Colors step by quantiles, since the pit is deep and small.",
        _landscape,
    ),
    Picture(
        "all-alphas",
        "Every α",
        "the paper's ablation over α",
        "A stronger opponent should pay where the expert is noisier than the learner, and cost where it is not.",
        lambda store: _returns(store, best_only=False),
    ),
)
