"""Draw the figures of a plan, several at once where there are several cores."""

import concurrent.futures
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from robustirl import envs
from robustirl.paper.finite import catalog
from robustirl.paper.finite.catalog import Grid
from robustirl.paper.finite.specs import Record
from robustirl.paper.finite.summary import best_alpha
from robustirl.sweeps import Progress, Store, cores, process_pool

MIN_FIGURES_FOR_POOL = 12
"""Fewer figures are drawn here before a second process has even started."""

Key = tuple[str, str, str]
"""Experiment (or `maps`), noise model and the figure's own name."""
Drawn = dict[Key, list[Path]]
"""Figure files by what they show."""
Jobs = list[tuple[Key, Callable[[], object]]]


def figure_jobs(
    names: Sequence[str], grid: Grid, models: Sequence[str], store: Store, records: Sequence[Record]
) -> Jobs:
    """Return what makes every figure of some experiments under some noise models, in order."""
    jobs: Jobs = []
    for model in models:
        for experiment in catalog.choose(names):
            for drawing in experiment.draw(grid, model, records):
                jobs.append(((experiment.name, model, drawing.name), drawing.make))
        for name in grid.environments:
            if (make := _maps(grid, store, records, name, model)) is not None:
                jobs.append((("maps", model, name), make))
    return jobs


@contextmanager
def drawing(
    names: Sequence[str],
    grid: Grid,
    models: Sequence[str],
    store: Store,
    records: Sequence[Record],
    progress: Progress = lambda *_: None,
) -> Iterator[Callable[[], Drawn]]:
    """Begin to draw every figure as PNG and SVG in `figures/`; what is yielded waits for them.

    Where there are several cores and enough figures, worker processes draw while the context goes on.
    """
    (store.folder / "figures").mkdir(exist_ok=True)
    jobs = figure_jobs(names, grid, models, store, records)
    if len(jobs) < MIN_FIGURES_FOR_POOL or len(cores()) < 2:
        yield lambda: _draw_here(jobs, store.folder, progress)
        return
    with process_pool(len(cores())) as submit:
        asked = (tuple(names), grid, tuple(models), store.folder)
        futures = submit(_draw_in_worker, [(*asked, index) for index in range(len(jobs))])
        yield lambda: _wait(futures, progress)


def _draw_here(jobs: Jobs, out: Path, progress: Progress) -> Drawn:
    drawn: Drawn = {}
    for count, (key, make) in enumerate(jobs):
        progress("drawing", count, len(jobs))
        drawn[key] = _save(key, make, out)
    progress("drawing", len(jobs), len(jobs))
    return drawn


def _wait(futures: "list[concurrent.futures.Future[Any]]", progress: Progress) -> Drawn:
    for count, _ in enumerate(concurrent.futures.as_completed(futures)):
        progress("drawing", count + 1, len(futures))
    return dict(future.result() for future in futures)


def _draw_in_worker(asked: tuple[tuple[str, ...], Grid, tuple[str, ...], Path, int]) -> tuple[Key, list[Path]]:
    *what, out, index = asked
    key, make = _jobs_of(*what, out)[index]
    return key, _save(key, make, out)


@functools.cache
def _jobs_of(names: tuple[str, ...], grid: Grid, models: tuple[str, ...], out: Path) -> Jobs:
    store = Store.read(out)
    return figure_jobs(names, grid, models, store, store.records())


def _save(key: Key, make: Callable[[], object], out: Path) -> list[Path]:
    from robustirl.paper import figures  # Here, so that nothing else loads matplotlib.

    figure = make()
    assert isinstance(figure, figures.Figure)
    return figures.save_figure(figure, out / "figures" / "_".join(key))


def _maps(grid: Grid, store: Store, records: Sequence[Record], name: str, model: str):
    """Return what draws maps of the cell of largest mismatch: standard and the best robust α."""
    environment = envs.make(name)
    own = [r for r in catalog.main_records(grid, model, records) if r.spec.environment == name]
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
