"""`python -m experiments reproduce`: runs, tables, figures and one self-contained page, in one folder."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments import runner, tables
from experiments.paper import catalog
from experiments.paper.catalog import EXPERIMENTS, Grid
from experiments.paper.comparison import Cell, Explanation, agreement_text, compare, explain
from experiments.paper.finite import Record, results_csv, run
from experiments.paper.summary import compare_with_standard
from experiments.runner import Where
from experiments.tables import embedded, render
from robustirl import envs
from robustirl._progress import progress_bar
from robustirl.envs.noise import PUBLISHED
from robustirl.irl.fit import PAPER_STEPS

EXPLANATION_DRAWS = 10
MISS = 0.05  # A cell that differs from the published one by more is looked into.
FEW_FIGURES = 12  # Fewer are drawn here before a second process has even started.

Drawn = dict[tuple[str, str, str], list[Path]]
"""Figure files by experiment (or `maps`), noise model and the figure's own name."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to reproduce: experiments by name, over environments, α and noises, under which kernels."""

    experiments: tuple[str, ...]
    grid: Grid
    noise_models: tuple[str, ...]


def reproduce(plan: Plan, out: Path, where: Where) -> list[Record]:
    """Run what is missing, write `results.csv`, draw all figures and write `report.html`."""
    records = run(catalog.collect_specs(plan.experiments, plan.grid, plan.noise_models), out, where)
    output = tables.Output(out)
    output.write("results.csv", results_csv(records))
    main = catalog.of(plan.grid.main(PUBLISHED), records) if PUBLISHED in plan.noise_models else []
    missed = [cell for cell in compare(main) if cell.relative_error > MISS]
    missed.sort(key=lambda cell: cell.relative_error, reverse=True)
    explanations = explain(missed, EXPLANATION_DRAWS, out, where)
    drawn = draw(plan, records, out / "figures", where)
    output.write("report.html", page(plan, records, drawn, explanations))
    return records


def draw(plan: Plan, records: Sequence[Record], folder: Path, where: Where) -> Drawn:
    """Draw every figure of a plan as PNG and SVG, several at once where there are several cores."""
    figures: dict[tuple[str, str, str], Callable[[], Any]] = {}
    for model in plan.noise_models:
        for name in plan.experiments:
            own = EXPERIMENTS[name].figures(plan.grid, model, records)
            figures |= {(name, model, label): make for label, make in own.items()}
        figures |= {("maps", model, label): make for label, make in catalog.maps(plan.grid, model, records).items()}
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [(make, folder / "_".join(key)) for key, make in figures.items()]
    keys, drawn = list(figures), {}
    workers = where.workers or (runner.cores() if len(jobs) >= FEW_FIGURES else 1)
    with progress_bar("drawing", len(jobs)) as report:
        if workers == 1:
            for make, path in jobs:
                drawn[keys[len(drawn)]] = _save(make, path)
                report(len(drawn), "")
        else:
            with runner.pool(workers) as submit:
                for place, paths in submit(_save, jobs):
                    drawn[keys[place]] = paths
                    report(len(drawn), "")
    return {key: drawn[key] for key in keys}


def _save(make: Callable[[], Any], path: Path) -> list[Path]:
    from robustirl.plotting import save_figure  # Here, so that nothing else loads matplotlib.

    return save_figure(make(), path)


def page(plan: Plan, records: Sequence[Record], drawn: Drawn, explanations: Sequence[Explanation]) -> str:
    """Return the page."""
    main = [r for model in plan.noise_models for r in catalog.of(plan.grid.main(model), records)]
    comparisons = compare_with_standard(main)
    cells = compare([r for r in main if _as_published(r)])
    failed = sum(r.verdict == "failed" for r in records)
    return render(
        "finite.html.jinja",
        models=plan.noise_models,
        count=len(records),
        configuration=", ".join(f"{name} {value}" for name, value in runner.configuration().items()),
        failures=f"{failed} of them could not be planned to the end and are marked as failed." if failed else "",
        comparisons=comparisons,
        shade=lambda robust, standard: (
            "good" if robust < standard - 0.005 else "bad" if robust > standard + 0.005 else ""
        ),
        sections=_sections(plan, drawn),
        agreement=_agreement(cells),
        explanations=explanations,
        draws=EXPLANATION_DRAWS,
        steps=plan.grid.steps,
    )


def _as_published(record: Record) -> bool:
    """Return whether a run has the published settings, so that its number can be compared."""
    spec = record.spec
    return (spec.noise_model, spec.steps, spec.expert) == (PUBLISHED, PAPER_STEPS, envs.make(spec.environment).expert)


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
    return {"text": agreement_text(cells), "tables": tables}


MAPS = (
    "What is learned",
    "The cell of the largest mismatch: rewards, policies and occupancies of standard and of the best robust learner"
    " beside the true ones. Arrows are moves, as long as likely. The robust player keeps away from danger as its"
    " opponent pushes it there.",
    "beyond the paper",
)


def _sections(plan: Plan, drawn: Drawn) -> list[dict[str, Any]]:
    texts = {
        name: (EXPERIMENTS[name].title, EXPERIMENTS[name].question, EXPERIMENTS[name].source)
        for name in plan.experiments
    }
    names = list(plan.experiments)
    names.insert(names.index("best-alpha") + 1 if "best-alpha" in names else len(names), "maps")
    sections = []
    for name in names:
        title, question, source = texts.get(name, MAPS)
        figures = [
            {"name": label, "model": model, "data": embedded(paths), "narrow": name == "alpha-study"}
            for (own, model, label), paths in drawn.items()
            if own == name
        ]
        if figures:
            sections.append({"name": name, "title": title, "question": question, "source": source, "figures": figures})
    return sections
