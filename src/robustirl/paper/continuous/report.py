"""`report.html` of the continuous experiment, from a store and finished figures alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from robustirl._runtime import write_atomically
from robustirl.envs.gaussian_grid import TOWARDS_ORIGIN
from robustirl.paper.continuous.pictures import PICTURES, comparable, experts, learners
from robustirl.paper.continuous.statistics import CellStatistics, Estimate, best_robust_alpha, cell_statistics
from robustirl.paper.published import PublishedContinuous, published_expert_returns
from robustirl.reports import embedded, render
from robustirl.sweeps import Store

Published = Mapping[tuple[float, float, float], PublishedContinuous]


def write_continuous_report(store: Store, drawn: Mapping[str, Sequence[Path]]) -> Path:
    """Write the page and say where."""
    records = learners(store)
    cells, published = cell_statistics(records), comparable(records)
    failed = sum(record.verdict == "failed" for record in records)
    spec = records[0].spec
    sections = [
        {
            "name": picture.name,
            "title": picture.title,
            "source": picture.source,
            "question": picture.question,
            "figures": [embedded(drawn[picture.name])],
        }
        for picture in PICTURES
        if picture.name in drawn
    ]
    page = render(
        "robustirl.paper.continuous",
        "report.html.jinja",
        disturbance="the point is pushed towards the pit instead"
        if spec.noise_model == TOWARDS_ORIGIN
        else "an action drawn uniformly takes its place",
        count=len(records),
        seeds=max(cell.seeds for cell in cells),
        algorithm=spec.algorithm,
        demonstrations=spec.demonstrations,
        configuration=", ".join(f"{name} {value}" for name, value in store.configuration.items()),
        failures=f"{failed} of them ended with numbers that were not finite and are marked as failed."
        if failed
        else "",
        findings=findings(cells, published),
        experts=experts(store),
        published_experts=published_expert_returns() if published else {},
        sections=sections,
        cells=[
            (
                learner,
                [
                    (cell, published.get((learner, cell.expert_noise, cell.alpha)))
                    for cell in sorted(cells, key=lambda cell: (-cell.alpha, cell.expert_noise))
                    if cell.learner_noise == learner
                ],
            )
            for learner in sorted({cell.learner_noise for cell in cells})
        ],
    )
    path = store.folder / "report.html"
    write_atomically(path, page)
    return path


def findings(cells: Sequence[CellStatistics], published: Published) -> list[str]:
    """Return what the numbers say, in sentences made from them."""
    lines = [line for learner in sorted({c.learner_noise for c in cells}) if (line := _panel(cells, learner))]
    reached = sum(cell.goal.value >= 1 for cell in cells)
    lines.append(f"Every episode of every seed reaches the goal in {reached} of {len(cells)} cells.")
    known = [(cell, published[key]) for cell in cells if (key := _key(cell)) in published]
    if known:
        better = sum(cell.median.value >= theirs.median for cell, theirs in known)
        arrived = sum(cell.goal.value >= theirs.goal_share for cell, theirs in known)
        lines.append(
            f"Against the published policies, of which five seeds a cell are known: our median is at least theirs in"
            f" {better} of {len(known)} cells, our share of episodes that reach the goal in {arrived}."
        )
    return lines


def _panel(cells: Sequence[CellStatistics], learner: float) -> str:
    """Return one learner noise.

    Standard against the panel's best α at the largest expert noise, and over all of them.
    """
    panel = [cell for cell in cells if cell.learner_noise == learner]
    best, own = best_robust_alpha(panel), {(c.alpha, c.expert_noise): c for c in panel}
    noises = sorted({noise for alpha, noise in own if alpha == 1 and (best, noise) in own})
    if best is None or not noises:
        return ""
    pairs = [(own[1.0, noise], own[best, noise]) for noise in noises]
    wins = sum(robust.interquartile.low > standard.interquartile.high for standard, robust in pairs)
    losses = sum(robust.interquartile.high < standard.interquartile.low for standard, robust in pairs)
    standard, robust = pairs[-1]
    return (
        f"At learner's noise {learner:g} and expert's noise {noises[-1]:g} the standard learner returns"
        f" {_text(standard.interquartile)}, the robust one (α = {best:g}) {_text(robust.interquartile)}."
        f" Over the panel's {len(pairs)} expert noises the robust one's interval lies above the standard one's"
        f" in {wins} and below it in {losses}."
    )


def _key(cell: CellStatistics) -> tuple[float, float, float]:
    return cell.learner_noise, cell.expert_noise, cell.alpha


def _text(item: Estimate) -> str:
    return f"{item.value:.1f} ({item.low:.1f} to {item.high:.1f})"
