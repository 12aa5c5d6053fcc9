"""A request into a store: run what is missing, keep what is finished, write the tables."""

import contextlib
import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from robustirl._runtime import hold_interrupts, one_interrupt, write_atomically
from robustirl.sweeps.batches import Timing
from robustirl.sweeps.executor import Engine, run
from robustirl.sweeps.kinds import by_kind
from robustirl.sweeps.processes import require_main_guard
from robustirl.sweeps.specs import Spec
from robustirl.sweeps.store.store import Store
from robustirl.sweeps.store.tables import results_csv, results_parquet


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


def check_specs(specs: Sequence[Spec]) -> None:
    """Refuse an impossible request before any work is done or any file is touched."""
    for spec in specs:
        spec.check()


def compute(
    specs: Sequence[Spec],
    out: Path,
    progress: Progress = lambda *_: None,
    *,
    size: int | None = None,
    tables: bool = True,
    engine: Engine | None = None,
    workers: int | None = None,
    extend: bool = False,
    given: Container[Spec] = (),
) -> Outcome:
    """Run the specs that the folder's store does not hold yet, and write the tables.

    Kinds of runs follow each other in the order of the request, so that later ones find what they need of earlier ones.
    An interrupt (Ctrl-C) ends it early, at whatever moment it comes: the finished runs are kept, their tables are
    written, and the same request into the same folder continues from there.

    Args:
        specs: What to run.
        out: The folder.
        progress: Told how far it is.
        size: Runs a batch, where the usual number does not suit the device.
        tables: Whether to write tables, which takes a library that a machine for computing may lack.
        engine: What does the runs; processes of this machine if omitted. This process alone writes.
        workers: How many processes of this machine; if omitted, one per core for long sweeps on a CPU.
        extend: Accept the store of another request, keep its finished runs beside those asked for here, and cut
            batches from the missing runs alone.
        given: Runs that were put into the folder's store from elsewhere. Batches are cut from the others, so that
            none of these is done again.
    """
    require_main_guard()
    check_specs(specs)
    connection = contextlib.nullcontext() if engine is None else engine.connect()
    with connection as pool, Store.open(out, specs, extend=extend) as store, one_interrupt() as interrupts:
        timing, complete, new = Timing(), True, 0
        try:
            for kind, own in by_kind(specs).items():
                known = sum(spec in store for spec in own)
                progress(kind.activity, known, len(own))
                others = store if extend else given
                missing = [spec for spec in own if spec not in others]
                dependencies = kind.load_dependencies(store.result, own) if known < len(own) else None
                for batch in run(
                    missing,
                    timing,
                    done=store.__contains__,
                    workers=workers,
                    size=size,
                    dependencies=dependencies,
                    pool=pool,
                ):
                    with hold_interrupts():  # A batch whose file is there is one that the store knows of.
                        store.append(batch)
                        new += len(batch)
                    progress(kind.activity, sum(spec in store for spec in own), len(own))
                    if interrupts.count:  # Libraries may swallow the exception, which is raised but once.
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            complete = False
        records = store.records()
        files = write_tables(records, store.folder) if tables else []
    return Outcome(records, complete, new, timing, files, tuple(store.damaged))


def write_tables(records: Sequence[Any], out: Path, made_under: Mapping[str, str] | None = None) -> list[Path]:
    """Write a table for every kind of run, as CSV and as Parquet.

    Of finite runs `results.csv` and `results.parquet`.
    """
    written = []
    for kind, own in reversed(by_kind(records).items()):  # What was asked for stands before what it needed.
        for suffix, content in (
            ("csv", results_csv(own, made_under)),
            ("parquet", results_parquet(own, made_under)),
        ):
            written.append(out / f"{kind.table}.{suffix}")
            write_atomically(written[-1], content)
    return written
