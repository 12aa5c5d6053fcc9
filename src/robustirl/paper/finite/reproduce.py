"""`robustirl reproduce`: runs into a store, then tables, figures and a page, in one folder."""

import contextlib
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robustirl._runtime import read_regular, write_atomically
from robustirl.envs.noise import PUBLISHED
from robustirl.paper.finite import catalog
from robustirl.paper.finite.catalog import Experiment, Grid
from robustirl.paper.finite.comparison import Explanation, compare, explain
from robustirl.paper.finite.drawing import drawing
from robustirl.paper.finite.specs import Record, RunSpec
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
        return catalog.collect_specs(self.experiments, self.grid, self.noise_models)


def reproduce(
    plan: Plan,
    out: Path,
    *,
    redraw: bool = False,
    progress: Progress = lambda *_: None,
    engine: Engine | None = None,
    workers: int | None = None,
) -> Outcome:
    """Run a plan's experiments, draw figures and write the report, as far as they are missing.

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
    wanted = json.dumps({"experiments": names, "noise_models": plan.noise_models}) + "\n"
    if not outcome.new and not redraw and page.exists() and _is_drawn(note, wanted):
        return dataclasses.replace(outcome, files=[*outcome.files, page])  # All is there already.
    with writing_to(Path(out)):
        with drawing(names, plan.grid, plan.noise_models, Store.read(out), outcome.records, progress) as drawn_files:
            explanations = _explanations(plan, outcome.records, Path(out), progress)
            drawn = drawn_files()
        page = write_report(plan, outcome.records, drawn, explanations, Path(out), draws=EXPLANATION_DRAWS)
        write_atomically(note, wanted)
    files = [*outcome.files, *(path for paths in drawn.values() for path in paths), page]
    return dataclasses.replace(outcome, files=files)


def _is_drawn(note: Path, wanted: str) -> bool:
    """Return whether the note of what was drawn is there and says what is wanted."""
    with contextlib.suppress(OSError):
        return read_regular(note) == wanted.encode()
    return False


def _read_explanations(path: Path) -> dict[str, list[float]]:
    """Return lowest, highest and halfway return by the identity of a run.

    What is not there or damaged is left out, to be worked out again.
    """
    found: Any = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_regular(path))
    entries = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in entries if _are_returns(value)}


def _are_returns(value: Any) -> bool:
    numbers = value if isinstance(value, list) else []
    return len(numbers) == 3 and all(type(number) in (int, float) for number in numbers)


def _explanations(plan: Plan, records: Sequence[Record], out: Path, progress: Progress) -> list[Explanation]:
    """Refit the cells that miss the published number; kept in a file, since they take a while."""
    if not plan.explain or PUBLISHED not in plan.noise_models:
        return []
    main = catalog.main_records(plan.grid, PUBLISHED, records)
    missed = sorted(
        (cell for cell in compare(main) if cell.relative_error > MISS), key=lambda c: c.relative_error, reverse=True
    )
    path = out / "explanations.json"
    known = _read_explanations(path)
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
