"""`report.html`: one self-contained page of results, made from records and finished figures alone."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robustirl import envs
from robustirl._runtime import write_atomically
from robustirl.envs.noise import PUBLISHED
from robustirl.irl import PAPER_STEPS
from robustirl.paper.finite import catalog
from robustirl.paper.finite.comparison import Cell, Explanation, compare
from robustirl.paper.finite.specs import Record
from robustirl.paper.finite.summary import REGIMES, Comparison, compare_with_standard
from robustirl.reports import embedded, render
from robustirl.sweeps import configuration

if TYPE_CHECKING:
    from robustirl.paper.finite.drawing import Drawn
    from robustirl.paper.finite.reproduce import Plan


def write_report(
    plan: "Plan",
    records: Sequence[Record],
    drawn: "Drawn",
    explanations: Sequence[Explanation],
    out: Path,
    *,
    draws: int,
) -> Path:
    """Write the page and say where."""
    main = [r for model in plan.noise_models for r in catalog.main_records(plan.grid, model, records)]
    comparisons = compare_with_standard(main)
    cells = compare([r for r in main if _as_published(r)])
    failed = sum(r.verdict == "failed" for r in records)
    page = render(
        "robustirl.paper.finite",
        "report.html.jinja",
        models=plan.noise_models,
        count=len(records),
        configuration=", ".join(f"{name} {value}" for name, value in configuration().items()),
        failures=f"{failed} of them could not be planned to the end and are marked as failed." if failed else "",
        findings=findings(plan, records, comparisons, cells),
        comparisons=comparisons,
        shade=lambda robust, standard: (
            "good" if robust < standard - 0.005 else "bad" if robust > standard + 0.005 else ""
        ),
        sections=_sections(plan, drawn),
        agreement=_agreement(cells),
        continued=continued(plan, records),
        explanations=explanations,
        draws=draws,
        steps=plan.grid.steps,
    )
    path = out / "report.html"
    write_atomically(path, page)
    return path


def _as_published(record: Record) -> bool:
    """Return whether a run has the published settings, so that its number can be compared."""
    spec = record.spec
    return (spec.noise_model, spec.steps, spec.expert) == (PUBLISHED, PAPER_STEPS, envs.make(spec.environment).expert)


def findings(
    plan: "Plan", records: Sequence[Record], comparisons: Sequence[Comparison], cells: Sequence[Cell]
) -> list[str]:
    """Return what the numbers say, in sentences made from them."""
    lines = []
    if cells:
        lines.append(_agreement_text(cells))
    for model in plan.noise_models:
        rows = [row for row in comparisons if row.noise_model == model]
        parts = [_regime_text(regime, [row for row in rows if row.regime == regime]) for regime in REGIMES]
        if any(parts):
            lines.append(f"Under {model}, " + "; ".join(part for part in parts if part) + ".")
    lines += _kernels(plan, comparisons)
    lines += _more_steps(continued(plan, records))
    return lines


def _regime_text(regime: str, rows: Sequence[Comparison]) -> str:
    if not rows:
        return ""
    weights = [row.cells for row in rows]
    standard = np.average([row.standard for row in rows], weights=weights)
    robust = np.average([row.fixed for row in rows], weights=weights)
    wins, losses = sum(row.wins for row in rows), sum(row.losses for row in rows)
    where = {
        REGIMES[0]: "with a noisier expert",
        REGIMES[1]: "with an expert of the learner's own noise",
        REGIMES[2]: "with a calmer expert",
    }[regime]
    # Returns are negative in most worlds, so that a share of the return itself would be hard to read.
    return (
        f"{where} the standard learner falls short of the best return by {_percent(standard)} of its size, and the"
        f" robust one, with its environment's best single α, by {_percent(robust)} (robust is better in {wins} and"
        f" worse in {losses} of {sum(weights)} cells)"
    )


def _kernels(plan: "Plan", comparisons: Sequence[Comparison]) -> list[str]:
    """Return how much of the effect hangs on what "uniform noise" is taken to mean."""
    noisier = [row for row in comparisons if row.regime == REGIMES[0]]
    by_model = {
        model: [row.standard for row in noisier if row.noise_model == model]
        for model in plan.noise_models
        if any(row.noise_model == model for row in noisier)
    }
    if len(by_model) < 2:
        return []
    losses = {model: float(np.mean(values)) for model, values in by_model.items()}
    most, least = max(losses, key=lambda m: losses[m]), min(losses, key=lambda m: losses[m])
    return [
        f"What standard IRL loses to a noisier expert hangs on the kernel: {_percent(losses[most])} of the size"
        f" of the best return under {most}"
        f" (mean over environments), {_percent(losses[least])} under {least}."
    ]


@dataclasses.dataclass(frozen=True)
class Continued:
    """The effect of more steps for one environment, kernel and α.

    It is given as means over expert noises, before and after.
    """

    noise_model: str
    environment: str
    alpha: float
    steps: tuple[int, int]
    total_return: tuple[float, float]
    occupancy_gap: tuple[float, float]
    largest_reward: tuple[float, float]


def continued(plan: "Plan", records: Sequence[Record]) -> list[Continued]:
    """Return the runs made with the usual number of steps and with many more, side by side."""
    index = {r.spec: r for r in records}
    pairs: dict[tuple[str, str, float], list[tuple[Record, Record]]] = {}
    for r in records:
        brief = dataclasses.replace(r.spec, steps=plan.grid.steps)
        if r.spec.steps == catalog.MORE * plan.grid.steps and brief in index:
            key = r.spec.noise_model, r.spec.environment, r.spec.alpha
            pairs.setdefault(key, []).append((index[brief], r))

    def means(own: list[tuple[Record, Record]], field: str) -> tuple[float, float]:
        before, after = (float(np.mean([getattr(pair[i], field) for pair in own])) for i in (0, 1))
        return before, after

    return [
        Continued(
            *key,
            (own[0][0].spec.steps, own[0][1].spec.steps),
            means(own, "total_return"),
            means(own, "occupancy_gap"),
            means(own, "largest_reward"),
        )
        for key, own in pairs.items()
    ]


def _more_steps(rows: Sequence[Continued]) -> list[str]:
    if not rows:
        return []
    changes = {False: [], True: []}
    for row in rows:
        before, after = row.total_return
        changes[row.alpha < 1].append(abs(after - before) / abs(before))
    growing = sum(row.largest_reward[1] > 2 * row.largest_reward[0] for row in rows)
    closing = sum(row.occupancy_gap[1] < row.occupancy_gap[0] / 2 for row in rows)
    parts = [
        f"{_percent(np.median(found))} ({name})"
        for name, found in zip(("standard", "robust"), changes.values(), strict=True)
        if found
    ]
    return [
        f"{rows[0].steps[1]} steps in place of {rows[0].steps[0]} change the mean return by a median of"
        f" {' and '.join(parts)}. In {closing} of {len(rows)} cases the mean occupancy gap falls by half"
        " or more, and in"
        f" {growing} the largest learned reward more than doubles; where no policy has the expert's"
        " occupancy, rewards grow"
        " without end while policies settle."
    ]


def _agreement_text(cells: Sequence[Cell]) -> str:
    errors = np.array([cell.relative_error for cell in cells])
    return (
        f"Against the published numbers, under the kernel they were made with: over {len(cells)} cells the"
        " median relative"
        f" error is {np.median(errors) * 100:.2f} %, {np.mean(errors <= 0.05) * 100:.1f} % of the cells are within 5 %,"
        f" and the worst differs by {errors.max() * 100:.1f} %."
    )


def _agreement(cells: Sequence[Cell]):
    if not cells:
        return None
    tables = []
    for name in dict.fromkeys(cell.record.spec.environment for cell in cells):
        own = {
            (c.record.spec.learner_noise, c.record.spec.alpha, c.record.spec.expert_noise): c
            for c in cells
            if c.record.spec.environment == name
        }
        noises = sorted({key[2] for key in own})
        lines = dict.fromkeys(key[:2] for key in own)
        rows = [(*line, [own[*line, noise] for noise in noises if (*line, noise) in own]) for line in lines]
        tables.append((name, noises, rows))
    return {"text": _agreement_text(cells), "tables": tables}


@dataclasses.dataclass(frozen=True)
class _Figure:
    name: str
    model: str
    mime: str
    data: str
    narrow: bool


def _sections(plan: "Plan", drawn: "Drawn") -> list[dict]:
    sections = []
    for experiment in plan.experiments:
        sections.append(_section(experiment.name, experiment.title, experiment.question, experiment.source, drawn))
        if experiment.name == "best-alpha":
            sections.append(
                _section(
                    "maps",
                    "What is learned",
                    "The cell of the largest mismatch: rewards, policies and occupancies of standard and"
                    " of the best robust learner beside the true ones."
                    " Arrows are moves, as long as they are likely. The robust player keeps away from"
                    " danger because its opponent pushes it there.",
                    "beyond the paper",
                    drawn,
                )
            )
    return [section for section in sections if section["figures"]]


def _section(name: str, title: str, question: str, source: str, drawn: "Drawn") -> dict:
    figures = [
        _Figure(label, model, "svg+xml", embedded(paths), name == "alpha-study")
        for (own, model, label), paths in drawn.items()
        if own == name
    ]
    return {"name": name, "title": title, "question": question, "source": source, "figures": figures}


def _percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")
