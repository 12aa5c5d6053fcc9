"""`robustirl continuous`: experts and runs into a store, then tables, figures and a page, in one folder."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from robustirl._runtime import write_atomically
from robustirl.paper.continuous.pictures import PICTURES, learners
from robustirl.paper.continuous.specs import ContinuousSpec, with_experts
from robustirl.paper.continuous.statistics import cell_statistics, statistics_csv
from robustirl.sweeps import Engine, Outcome, Progress, Store, Timing, compute, write_tables, writing_to


def reproduce_continuous(
    specs: Sequence[ContinuousSpec],
    out: Path,
    *,
    redraw: bool = False,
    progress: Progress = lambda *_: None,
    engine: Engine | None = None,
    workers: int | None = None,
) -> Outcome:
    """Run what is missing, and write tables, figures and `report.html` unless they are there."""
    outcome = compute(with_experts(specs), Path(out), progress, engine=engine, workers=workers)
    if not outcome.complete:
        return outcome
    page = Path(out) / "report.html"
    if not outcome.new and not redraw and page.exists():
        return dataclasses.replace(outcome, files=[*outcome.files, page])
    with writing_to(Path(out)):
        return dataclasses.replace(outcome, files=[*outcome.files, *write_outputs(Store.read(out), progress)])


def rebuild_report(out: Path, progress: Progress = lambda *_: None) -> Outcome:
    """Write tables, figures and page of a store made elsewhere, on any device, by any versions."""
    store = Store.read(out)
    records = store.records()
    with writing_to(store.folder):
        files = [*write_tables(records, store.folder, store.configuration), *write_outputs(store, progress)]
    return Outcome(records, True, 0, Timing(), files, tuple(store.damaged))


def write_outputs(store: Store, progress: Progress = lambda *_: None) -> list[Path]:
    """Write statistics, figures and page of a store's runs."""
    from robustirl.paper import figures  # Here, so that nothing else loads matplotlib.
    from robustirl.paper.continuous.report import write_continuous_report  # Likewise the libraries of pages.

    table, folder = store.folder / "statistics.csv", store.folder / "figures"
    write_atomically(table, statistics_csv(cell_statistics(learners(store))))
    folder.mkdir(exist_ok=True)
    drawn: dict[str, list[Path]] = {}
    for count, picture in enumerate(PICTURES):
        progress("drawing", count, len(PICTURES))
        if (figure := picture.make(store)) is not None:
            assert isinstance(figure, figures.Figure)
            drawn[picture.name] = figures.save_figure(figure, folder / picture.name)
    progress("drawing", len(PICTURES), len(PICTURES))
    page = write_continuous_report(store, drawn)
    return [table, *(path for paths in drawn.values() for path in paths), page]
