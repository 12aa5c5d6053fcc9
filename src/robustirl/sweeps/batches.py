"""Do batches of runs one after the other, and time them.

Whatever the engine, a run takes place here: in this process, in one per core, or on a machine of a cluster. So the same
batches give the same numbers on all of them.
"""

import dataclasses
import time
from collections.abc import Hashable

from robustirl._runtime import compilation, double_precision
from robustirl.sweeps.kinds import Kind, RunExecutor, kind_of
from robustirl.sweeps.specs import RunResult, Spec

Batch = tuple[Spec, ...]
"""Like-shaped specs that are run in one compiled call: the unit of work and of what is saved."""


@dataclasses.dataclass
class Timing:
    """Seconds on the clock that a sweep spent on starting and compiling, and on computing."""

    compilation: float = 0.0
    computation: float = 0.0


class BatchExecutor:
    """Do batches, one after the other, and remember what was made and compiled."""

    def __init__(self, dependencies: object = None, begin: float | None = None):
        self._contexts: dict[Hashable, RunExecutor] = {}
        self._compiled: set[Hashable] = set()
        self._dependencies = dependencies
        self._begin = begin

    def work(self, batch: Batch) -> tuple[list[RunResult], float, float]:
        """Return the results of a batch, and the seconds spent on getting ready and on the batch.

        Where a kind of run warms up, the first batch of a program is done twice, once to compile, so that recorded
        times are those of warm runs; otherwise compilation is watched, and its time taken off.
        """
        # All processes of a machine share this clock, and it is never set.
        overhead = 0.0 if self._begin is None else time.monotonic() - self._begin
        self._begin = None
        kind = kind_of(batch[0])
        if kind.warm_up and (shape := (kind.name, kind.program_key(batch[0]))) not in self._compiled:
            overhead += sum(self._do(kind, batch)[1:])
            self._compiled.add(shape)
        found, compiling, seconds = self._do(kind, batch)
        return found, overhead + compiling, seconds

    def _do(self, kind: Kind, batch: Batch) -> tuple[list[RunResult], float, float]:
        begin = time.perf_counter()
        with double_precision(), compilation() as spent:
            found = self._context(kind, batch[0]).results(batch, kind.cpu_batch)
        whole = time.perf_counter() - begin
        compiling = 0.0 if kind.warm_up else min(spent.seconds, whole)
        seconds = whole - compiling
        share = seconds / len(batch)
        timed = [dataclasses.replace(item, record=dataclasses.replace(item.record, seconds=share)) for item in found]
        return timed, compiling, seconds

    def _context(self, kind: Kind, spec: Spec) -> RunExecutor:
        key = kind.name, kind.context_key(spec)
        if key not in self._contexts:
            self._contexts[key] = kind.make_context(spec, self._dependencies)
        return self._contexts[key]
