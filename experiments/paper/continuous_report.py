"""`python -m experiments continuous`: what runs of several seeds say together, as tables, figures and a page.

A seed is a sample. One run in many never arrives and loses thousands, so means say little alone; the interquartile mean
is that of the seeds without the lower and the upper quarter (Agarwal et al., 2021).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import runner, tables
from experiments.paper.continuous import ContinuousRecord, ContinuousSpec, ExpertRecord, run
from experiments.paper.published import PublishedContinuous, published_continuous, published_expert_returns
from experiments.runner import Where
from experiments.tables import CONFIDENCE, embedded, grouped, interquartile_mean, render
from robustirl.envs.gaussian_grid import TOWARDS_ORIGIN

RESAMPLES = 2000
Published = Mapping[tuple[float, float, float], PublishedContinuous]


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A statistic over seeds and its 95 % interval, which a single seed leaves infinite."""

    value: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class CellStatistics:
    """The runs of all seeds of one cell.

    Attributes:
        learner_noise: ε_L.
        expert_noise: ε_E.
        alpha: α.
        seeds: How many.
        goal: The mean over seeds of the share of episodes that reach the goal.
        mean: The mean return.
        median: The median over seeds of the mean return.
        interquartile: Its interquartile mean over seeds.
    """

    learner_noise: float
    expert_noise: float
    alpha: float
    seeds: int
    goal: Estimate
    mean: Estimate
    median: Estimate
    interquartile: Estimate


def bootstrap(values: Sequence[float], statistic: Callable[..., np.ndarray] = np.mean) -> Estimate:
    """Return a statistic of a sample with its percentile bootstrap interval.

    The same sample gives the same interval.

    Args:
        values: The sample, one value a seed.
        statistic: A function of an array and its `axis`, such as `np.mean`.

    Example:
        >>> found = bootstrap([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> found.value, found.low < 2.2 < 3.8 < found.high
        (3.0, True)
    """
    sample = np.asarray(values, dtype=float)
    value = float(statistic(sample, axis=-1))
    if len(sample) < 2:
        return Estimate(value, -np.inf, np.inf)
    from scipy import stats  # Here, since it takes a second to import.

    found = stats.bootstrap(
        (sample,),
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return Estimate(value, float(found.confidence_interval.low), float(found.confidence_interval.high))


def cell_statistics(records: Sequence[ContinuousRecord]) -> list[CellStatistics]:
    """Return the statistics of every cell (ε_L, ε_E, α), in the order of the records."""
    found = []
    for (learner, expert, alpha), own in grouped(
        records, lambda r: (r.spec.learner_noise, r.spec.expert_noise, r.spec.alpha)
    ).items():
        returns = [r.mean_return for r in own]
        goal, mean = bootstrap([r.goal_share for r in own]), bootstrap(returns)
        middle = bootstrap(returns, np.median), bootstrap(returns, interquartile_mean)
        found.append(CellStatistics(learner, expert, alpha, len(own), goal, mean, *middle))
    return found


def best_robust_alpha(cells: Sequence[CellStatistics]) -> float | None:
    """Return the α below one with the largest interquartile mean, on average over these cells."""
    alphas = sorted({cell.alpha for cell in cells if cell.alpha < 1}, reverse=True)
    if not alphas:
        return None
    return max(alphas, key=lambda a: np.mean([cell.interquartile.value for cell in cells if cell.alpha == a]))


def reproduce(specs: Sequence[ContinuousSpec], out: Path, where: Where) -> list[CellStatistics]:
    """Run what is missing, and write tables, figures and `report.html`."""
    experts, records = run(specs, out, where)
    cells, output = cell_statistics(records), tables.Output(out)
    for name, own in (("experts", experts), ("results", records)):
        output.csv(name, [dataclasses.asdict(r.spec) | _numbers(r) for r in own])
    output.csv("statistics", [_flat(cell) for cell in cells])
    published = published_continuous() if all(r.spec.noise_model == TOWARDS_ORIGIN for r in records) else {}
    drawn = {
        name: output.figure(f"figures/{name}", figure)
        for name in SECTIONS
        if (figure := _figure(name, cells, experts, records, published)) is not None
    }
    output.write("report.html", page(experts, records, cells, published, drawn))
    return cells


def _numbers(record: ExpertRecord | ContinuousRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in ("spec", "arrays")}


def _flat(cell: CellStatistics) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in vars(cell).items():
        ends = {"": "value", "_low": "low", "_high": "high"}
        row |= (
            {name + end: getattr(value, own) for end, own in ends.items()}
            if isinstance(value, Estimate)
            else {name: value}
        )
    return row


SECTIONS = {
    "best-alpha": (
        "Standard against the best robust learner",
        "the paper's figure of the continuous experiment",
        "The standard learner (black) should fall behind as the expert's noise moves to the right of the learner's; the"
        " robust one should hold, and every episode reach the goal. Circles are the published policies. What lies below"
        " the scale stands in the table.",
    ),
    "landscape": (
        "What is learned",
        "beyond the paper: the cell of the largest mismatch",
        "The true reward with paths of the expert in its own world, and the learned rewards with paths of the learners"
        " in theirs. Colors step by quantiles, since the pit is deep and small.",
    ),
    "all-alphas": (
        "Every α",
        "the paper's ablation over α",
        "A stronger opponent should pay where the expert is noisier than the learner, and cost where it is not.",
    ),
}
"""Title, source and question of each figure."""


def _figure(
    name: str,
    cells: Sequence[CellStatistics],
    experts: Sequence[ExpertRecord],
    records: Sequence[ContinuousRecord],
    published: Published,
) -> Any:
    """Return a figure, or None where the runs lack what it takes."""
    from experiments.figures import continuous as figures  # Here, so that nothing else loads matplotlib.

    robust = best_robust_alpha(cells) is not None and any(cell.alpha == 1 for cell in cells)
    if name == "landscape":
        found = _typical(experts, records) if robust else None
        return None if found is None else figures.figure_landscape(*found, note=f"seed {found[1].spec.seed}")
    if name == "best-alpha" and not robust:
        return None
    count = max(cell.seeds for cell in cells)
    names = sorted({record.spec.algorithm for record in records} - {ContinuousSpec.algorithm})
    note = f"{count} seed{'s' if count > 1 else ''}; interquartile means, 95 % intervals"
    note = "; ".join([*(f"algorithm: {name}" for name in names), note])
    return figures.figure_continuous(cells, experts, published, note, best_only=name == "best-alpha")


def _typical(
    experts: Sequence[ExpertRecord], records: Sequence[ContinuousRecord]
) -> tuple[ExpertRecord, ContinuousRecord, ContinuousRecord] | None:
    """Return expert, standard and best robust learner of the largest mismatch, in its seed of typical return."""
    far = max((r.spec.expert_noise - r.spec.learner_noise, r.spec.expert_noise, r.spec.learner_noise) for r in records)
    cell = [r for r in records if (r.spec.expert_noise, r.spec.learner_noise) == far[1:]]
    best = best_robust_alpha(cell_statistics(cell))
    standard = sorted((r for r in cell if r.spec.alpha == 1), key=lambda r: r.mean_return)
    if best is None or not standard:
        return None
    usual = standard[(len(standard) - 1) // 2]
    robust = next(r for r in cell if r.spec == dataclasses.replace(usual.spec, alpha=best))
    return next(e for e in experts if e.spec == usual.spec.expert), usual, robust


def page(
    experts: Sequence[ExpertRecord],
    records: Sequence[ContinuousRecord],
    cells: Sequence[CellStatistics],
    published: Published,
    drawn: Mapping[str, Sequence[Path]],
) -> str:
    """Return the page."""
    failed = sum(record.verdict == "failed" for record in records)
    spec = records[0].spec
    names = ("title", "source", "question")
    sections = [
        {"name": name, "figures": [embedded(paths)], **dict(zip(names, SECTIONS[name], strict=True))}
        for name, paths in drawn.items()
    ]
    ordered = sorted(cells, key=lambda cell: (-cell.alpha, cell.expert_noise))
    panels = grouped(((cell, published.get(_key(cell))) for cell in ordered), lambda pair: pair[0].learner_noise)
    return render(
        "continuous.html.jinja",
        disturbance="the point is pushed towards the pit instead"
        if spec.noise_model == TOWARDS_ORIGIN
        else "an action drawn uniformly takes its place",
        count=len(records),
        seeds=max(cell.seeds for cell in cells),
        algorithm=spec.algorithm,
        demonstrations=spec.demonstrations,
        configuration=", ".join(f"{name} {value}" for name, value in runner.configuration().items()),
        failures=f"{failed} of them ended with numbers that were not finite and are marked as failed."
        if failed
        else "",
        experts=experts,
        published_experts=published_expert_returns() if published else {},
        sections=sections,
        cells=sorted(panels.items()),
    )


def _key(cell: CellStatistics) -> tuple[float, float, float]:
    return cell.learner_noise, cell.expert_noise, cell.alpha
