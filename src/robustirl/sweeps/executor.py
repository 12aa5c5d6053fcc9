"""Run specs in batches: every batch of like-shaped runs is one compiled call, and batches share the cores.

On a CPU, small worlds leave XLA's threads little to share, so every core gets a process of its own, tied to it.
"""

import concurrent.futures
import dataclasses
import itertools
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

import jax

from robustirl.sweeps.batches import Batch, BatchExecutor, Timing
from robustirl.sweeps.kinds import Kind, kind_of
from robustirl.sweeps.processes import cores, process_pool
from robustirl.sweeps.specs import RunResult, Spec


def batches(specs: Sequence[Spec], size: int | None = None) -> list[Batch]:
    """Return the specs in batches of like-shaped runs, in order.

    A batch is the unit of work and of what is saved. Batches are cut from the whole list, whatever of it is done
    already, so that an interrupted sweep goes on with the very batches, and so the very numbers, of an undisturbed one.
    """
    groups: dict[Hashable, list[Spec]] = {}
    for spec in specs:
        kind = kind_of(spec)
        groups.setdefault((kind.name, kind.batch_key(spec)), []).append(spec)
    cut = []
    for group in groups.values():
        step = _size(kind_of(group[0]), len(group)) if size is None else size
        cut += [tuple(group[start : start + step]) for start in range(0, len(group), step)]
    return cut


def _size(kind: Kind, count: int) -> int:
    """Return how many runs a batch has: few on a CPU, as many as may be on an accelerator.

    On an accelerator batches have one size.
    """
    if jax.default_backend() == "cpu":
        return kind.cpu_batch
    return -(-count // -(-count // kind.gpu_batch))


Pool = Callable[[Sequence[Batch], Timing, object], Iterator[list[RunResult]]]
"""Does batches, given where to add up the time and what runs depend on; yields the results of each when finished."""


@runtime_checkable
class Engine(Protocol):
    """Where batches are done, if not in processes of this machine."""

    def connect(self) -> AbstractContextManager[Pool]:
        """Connect to the machines, or raise before anything is written.

        They are released when the context ends.
        """
        ...


def run(
    specs: Sequence[Spec],
    timing: Timing | None = None,
    *,
    done: Callable[[Any], bool] = lambda _: False,
    workers: int | None = None,
    size: int | None = None,
    dependencies: object = None,
    pool: Pool | None = None,
) -> Iterator[list[RunResult]]:
    """Run the specs that are not done, and yield the results of a batch once it is finished.

    Args:
        specs: What to run.
        timing: Where to add up the time taken.
        done: Whether a run's outcome is known already; a batch is skipped if all of its runs are.
        workers: Processes; by default one per core for long sweeps on a CPU, otherwise none but this one.
        size: Runs a batch, where the usual number does not suit the device.
        dependencies: What the contexts of runs are given to work with; see `Kind.load_dependencies`.
        pool: Who does the batches, where that is not this machine; see `Engine`.
    """
    timing = Timing() if timing is None else timing
    todo = [batch for batch in batches(specs, size) if not all(done(spec) for spec in batch)]
    if pool is not None:
        yield from pool(todo, timing, dependencies)
        return
    if workers is None:
        available = len(cores()) if jax.default_backend() == "cpu" else 1
        workers = available if todo and len(todo) >= kind_of(todo[0][0]).min_batches_for_pool else 1
    if workers == 1:
        executor = BatchExecutor(dependencies)
        for batch in todo:
            results, overhead, seconds = executor.work(batch)
            timing.compilation += overhead
            timing.computation += seconds
            yield results
        return
    begin, before_this = time.monotonic(), dataclasses.replace(timing)
    overheads = 0.0
    with process_pool(workers, _prepare, begin, dependencies) as submit:
        for finished in concurrent.futures.as_completed(submit(_work, todo)):
            results, overhead, _ = finished.result()
            overheads += overhead
            timing.compilation = before_this.compilation + overheads / workers
            timing.computation = before_this.computation + time.monotonic() - begin - overheads / workers
            yield results


_executor: BatchExecutor | None = None


def _prepare(begin: float, dependencies: object) -> None:
    """Give a fresh worker its executor."""
    global _executor
    _executor = BatchExecutor(dependencies, begin)


def _work(batch: Batch) -> tuple[list[RunResult], float, float]:
    assert _executor is not None
    return _executor.work(batch)


def flat(results: Iterator[list[RunResult]]) -> list[RunResult]:
    """Return all results of a sweep."""
    return list(itertools.chain.from_iterable(results))
