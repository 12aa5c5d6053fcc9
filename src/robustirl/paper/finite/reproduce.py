"""`robustirl reproduce`: runs into a store, then tables, figures and a page, in one folder."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from robustirl import envs
from robustirl._runtime import write_atomically
from robustirl.envs import PUBLISHED
from robustirl.paper.finite import catalogue
from robustirl.paper.finite.catalogue import Experiment, Grid
from robustirl.paper.finite.comparison import Explanation, compare, explain
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.paper.finite.summary import best_alpha
from robustirl.sweeps import Engine, Outcome, Progress, Store, compute, writing_to

EXPLANATION_DRAWS = 10
MISS = 0.05  # A cell that differs from the published one by more is looked into.


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to reproduce.

    Attributes:
        experiments: Which experiments.
        grid: Over which environments, α and noises.
        noise_models: Under which kernels.
        explain: Whether to look into the cells that differ from the published ones.
    """

    experiments: tuple[Experiment, ...]
    grid: Grid
    noise_models: tuple[str, ...]
    explain: bool = False

    @property
    def specs(self) -> tuple[RunSpec, ...]:
        """All runs, each once."""
        return catalogue.gather(self.experiments, self.grid, self.noise_models)


def reproduce(
    plan: Plan,
    out: Path,
    *,
    redraw: bool = False,
    progress: Progress = lambda *_: None,
    engine: Engine | None = None,
    workers: int | None = None,
) -> Outcome:
    """Run a plan's experiments, draw their figures, and write the report, as far as they are not there already.

    Args:
        plan: What to reproduce.
        out: The folder.
        redraw: Draw all figures and write the page again, even if no run was missing.
        progress: Told how far it is.
        engine: What does the runs; processes of this machine if omitted.
        workers: How many of them; chosen by the number of batches if omitted.
    """
    outcome = compute(plan.specs, out, progress, engine=engine, workers=workers)
    if not outcome.complete:
        return outcome
    from robustirl.paper.finite.report import write_report  # Late, since only the page needs its libraries.

    page, note = Path(out) / "report.html", Path(out) / "drawn.json"
    names = [item.name for item in plan.experiments]
    drawing = json.dumps({"experiments": names, "noise_models": plan.noise_models}) + "\n"
    if not outcome.new and not redraw and page.exists() and note.exists() and note.read_text() == drawing:
        return dataclasses.replace(outcome, files=[*outcome.files, page])  # All is there already.
    with writing_to(Path(out)):
        drawn = draw(plan, Store.read(out), outcome.records, progress)
        explanations = _explanations(plan, outcome.records, Path(out), progress)
        page = write_report(plan, outcome.records, drawn, explanations, Path(out), draws=EXPLANATION_DRAWS)
        write_atomically(note, drawing)
    files = [*outcome.files, *(path for paths in drawn.values() for path in paths), page]
    return dataclasses.replace(outcome, files=files)


Drawn = dict[tuple[str, str, str], list[Path]]
"""Figure files by experiment (or `maps`), noise model and the figure's own name."""


def draw(plan: Plan, store: Store, records: Sequence[Record], progress: Progress = lambda *_: None) -> Drawn:
    """Every figure of a plan, as PNG and SVG in `figures/`."""
    from robustirl.paper import figures  # Here, so that nothing else loads matplotlib.

    folder = store.folder / "figures"
    folder.mkdir(exist_ok=True)
    jobs: list[tuple[tuple[str, str, str], Callable[[], object]]] = []
    for model in plan.noise_models:
        for experiment in plan.experiments:
            for drawing in experiment.draw(plan.grid, model, records):
                jobs.append(((experiment.name, model, drawing.name), drawing.make))
        for name in plan.grid.environments:
            if (make := _maps(plan, store, records, name, model)) is not None:
                jobs.append((("maps", model, name), make))
    drawn: Drawn = {}
    for count, (key, make) in enumerate(jobs):
        progress("drawing", count, len(jobs))
        figure = make()
        assert isinstance(figure, figures.Figure)
        drawn[key] = figures.save_figure(figure, folder / "_".join(key))
    progress("drawing", len(jobs), len(jobs))
    return drawn


def _maps(plan: Plan, store: Store, records: Sequence[Record], name: str, model: str):
    """Maps of the cell with the largest mismatch, standard and the best robust α there."""
    environment = envs.make(name)
    own = [r for r in catalogue.main_records(plan.grid, model, records) if r.spec.environment == name]
    if not isinstance(environment, envs.GridWorld) or not own:
        return None
    layouts = len({r.spec.seed for r in own})
    own = [r for r in own if r.spec.seed == own[0].spec.seed]
    which = f"; layout {own[0].spec.seed}, one of {layouts}" if layouts > 1 else ""
    far = max((r.spec.expert_noise - r.spec.learner_noise, r.spec.expert_noise, r.spec.learner_noise) for r in own)
    cell = [r for r in own if (r.spec.expert_noise, r.spec.learner_noise) == far[1:]]
    standard = next((r for r in cell if r.spec.alpha == 1), None)
    best = best_alpha(cell)
    robust = next((r for r in cell if r.spec.alpha == best), None)
    if standard is None or robust is None:
        return None

    def make():
        from robustirl.paper import figures

        made = standard.spec.make_environment()
        assert isinstance(made, envs.GridWorld)
        found = store.result(standard.spec), store.result(robust.spec)
        return figures.figure_maps(made, *found, note=f"noise model: {model}{which}")

    return make


def _explanations(plan: Plan, records: Sequence[Record], out: Path, progress: Progress) -> list[Explanation]:
    """Refits of the cells that miss the published number; kept in a file, since they take a while."""
    if not plan.explain or PUBLISHED not in plan.noise_models:
        return []
    main = catalogue.main_records(plan.grid, PUBLISHED, records)
    missed = sorted(
        (cell for cell in compare(main) if cell.relative_error > MISS), key=lambda c: c.relative_error, reverse=True
    )
    path = out / "explanations.json"
    known: dict[str, list[float]] = {}
    with contextlib.suppress(OSError, ValueError):  # Not there, or damaged: they are worked out again.
        known = json.loads(path.read_text(encoding="utf-8"))
    found = []
    for count, cell in enumerate(missed):
        progress("explaining", count, len(missed))
        key = cell.record.spec.identity
        if key not in known:
            fresh = explain(cell, draws=EXPLANATION_DRAWS)
            known[key] = [fresh.lowest, fresh.highest, fresh.halfway]
            write_atomically(path, json.dumps(known) + "\n")
        found.append(Explanation(cell, *known[key]))
    progress("explaining", len(missed), len(missed))
    return found
