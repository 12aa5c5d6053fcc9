"""`robustirl reproduce`: runs into a store, then tables, figures and a page, in one folder."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.experiments import catalogue
from robustirl.experiments.catalogue import Experiment, Grid
from robustirl.experiments.comparison import Explanation, compare, explain
from robustirl.experiments.kinds import KINDS, by_kind
from robustirl.experiments.results import results_csv, results_parquet
from robustirl.experiments.runner import Engine, run
from robustirl.experiments.specs import Identified, Record, RunSpec
from robustirl.experiments.store import Store, write_atomically, writing_to
from robustirl.experiments.summary import best_alpha
from robustirl.experiments.workbench import Timing

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


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a reproduction made.

    Attributes:
        records: The finished runs, in the order of the specs.
        complete: Whether all runs are there; an interrupt leaves the finished ones.
        new: How many were run now.
        timing: Where the time went.
        files: What was written.
        notices: What else the caller should know, a sentence each: files that were found damaged.
    """

    records: list[Any]
    complete: bool
    new: int
    timing: Timing
    files: list[Path]
    notices: tuple[str, ...] = ()


Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is finished, and how much there is."""


def check_specs(specs: Sequence[Identified]) -> None:
    """Refuse an impossible request before any work is done or any file is touched."""
    for spec in specs:
        spec.check()


def compute(
    specs: Sequence[Identified],
    out: Path,
    progress: Progress = lambda *_: None,
    *,
    size: int | None = None,
    tables: bool = True,
    engine: Engine | None = None,
) -> Outcome:
    """Run the specs that the folder's store does not hold yet, and write the tables.

    Kinds of runs follow each other in the order of the request, so that later ones find what they need of earlier ones.
    An interrupt (Ctrl-C) ends it early; what is finished is kept, and the same request into the same folder goes on
    from there.

    Args:
        specs: What to run.
        out: The folder.
        progress: Told how far it is.
        size: Runs a batch, where the usual number does not suit the device.
        tables: Whether to write tables, which takes a library that a machine for computing may lack.
        engine: What does the runs; processes of this machine when left out. This process alone writes.
    """
    check_specs(specs)
    connection = contextlib.nullcontext() if engine is None else engine.connect()
    with connection as pool, Store.open(Path(out), specs) as store:
        timing, complete, new = Timing(), True, 0
        try:
            for name, own in by_kind(specs).items():
                kind, known = KINDS[name], sum(spec in store for spec in own)
                progress(kind.activity, known, len(own))
                equipment = kind.equip(store.finding, own) if known < len(own) else None
                for batch in run(own, timing, done=store.__contains__, size=size, equipment=equipment, pool=pool):
                    store.append(batch)
                    new += len(batch)
                    progress(kind.activity, sum(spec in store for spec in own), len(own))
        except KeyboardInterrupt:
            complete = False
        records = store.records()
        files = write_tables(records, store.folder) if tables else []
    return Outcome(records, complete, new, timing, files, tuple(store.damaged))


def write_tables(records: Sequence[Any], out: Path, made_under: Mapping[str, str] | None = None) -> list[Path]:
    """A table for every kind of run, as CSV and as Parquet; of finite runs `results.csv` and `results.parquet`."""
    written = []
    for name, own in reversed(by_kind(records).items()):  # What was asked for stands before what it needed.
        for suffix, content in (
            ("csv", results_csv(own, made_under)),
            ("parquet", results_parquet(own, made_under)),
        ):
            written.append(out / f"{KINDS[name].table}.{suffix}")
            write_atomically(written[-1], content)
    return written


def reproduce(
    plan: Plan,
    out: Path,
    *,
    redraw: bool = False,
    progress: Progress = lambda *_: None,
    engine: Engine | None = None,
) -> Outcome:
    """Run a plan's experiments, draw their figures, and write the report, as far as they are not there already.

    Args:
        plan: What to reproduce.
        out: The folder.
        redraw: Draw all figures and write the page again, even if no run was missing.
        progress: Told how far it is.
        engine: What does the runs; processes of this machine when left out.
    """
    outcome = compute(plan.specs, out, progress, engine=engine)
    if not outcome.complete:
        return outcome
    from robustirl.experiments.report import write_report  # Late, since only the page needs its libraries.

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
    from robustirl.experiments import figures  # Here, so that nothing else loads matplotlib.

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
        from robustirl.experiments import figures

        made = standard.spec.make_environment()
        assert isinstance(made, envs.GridWorld)
        found = store.finding(standard.spec), store.finding(robust.spec)
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
