"""`robustirl continuous`: experts and runs into a store, then tables, figures and a page, in one folder."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from robustirl._runtime import write_atomically
from robustirl.envs import TOWARDS_ORIGIN
from robustirl.paper.continuous.kind import CONTINUOUS, EXPERT
from robustirl.paper.continuous.specs import (
    ContinuousRecord,
    ContinuousSpec,
    ExpertRecord,
    with_experts,
)
from robustirl.paper.continuous.statistics import best_robust_alpha, cell_statistics, statistics_csv
from robustirl.paper.published import PublishedContinuous, published_continuous
from robustirl.sweeps import Engine, Outcome, Progress, Store, Timing, by_kind, compute, write_tables, writing_to


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


def reproduce_continuous(
    specs: Sequence[ContinuousSpec],
    out: Path,
    *,
    redraw: bool = False,
    progress: Progress = lambda *_: None,
    engine: Engine | None = None,
    workers: int | None = None,
) -> Outcome:
    """Run what is missing, and write tables, figures and `report.html`, as far as they are not there already."""
    outcome = compute(with_experts(specs), Path(out), progress, engine=engine, workers=workers)
    if not outcome.complete:
        return outcome
    page = Path(out) / "report.html"
    if not outcome.new and not redraw and page.exists():
        return dataclasses.replace(outcome, files=[*outcome.files, page])
    with writing_to(Path(out)):
        return dataclasses.replace(outcome, files=[*outcome.files, *write_outputs(Store.read(out), progress)])


def rebuild_report(out: Path, progress: Progress = lambda *_: None) -> Outcome:
    """Write tables, figures and page of a store made elsewhere, on whatever device and by whatever versions."""
    store = Store.read(out)
    records = store.records()
    with writing_to(store.folder):
        files = [*write_tables(records, store.folder, store.configuration), *write_outputs(store, progress)]
    return Outcome(records, True, 0, Timing(), files, tuple(store.damaged))


def write_outputs(store: Store, progress: Progress = lambda *_: None) -> list[Path]:
    """Write statistics, figures and page of a store's runs."""
    from robustirl.paper import figures  # Here, so that nothing else loads matplotlib.
    from robustirl.paper.continuous.report import write_continuous_report  # Only the page needs its libraries.

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


def learners(store: Store) -> list[ContinuousRecord]:
    """Return the finished runs of a store."""
    return by_kind(store.records()).get(CONTINUOUS, [])


def experts(store: Store) -> list[ExpertRecord]:
    """Return the experts of a store."""
    return by_kind(store.records()).get(EXPERT, [])


def comparable(records: Sequence[ContinuousRecord]) -> Mapping[tuple[float, float, float], PublishedContinuous]:
    """Return the published policies, where these runs are in the world they were made for; otherwise nothing."""
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
    """Return the cell of the largest mismatch, and its seed in which the standard learner's return is typical."""
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
