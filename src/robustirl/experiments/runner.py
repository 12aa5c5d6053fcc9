"""Run specs in batches: every batch of like-shaped runs is one compiled call, and batches share the cores.

On a CPU, small worlds leave XLA's threads little to share, so every core gets a process of its own, tied to it.
"""

import concurrent.futures
import concurrent.futures.process
import contextlib
import dataclasses
import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import jax

from robustirl.errors import RobustIRLError
from robustirl.experiments.compilation import compilation
from robustirl.experiments.kinds import Bench, Kind, kind_of
from robustirl.experiments.specs import Finding, Identified
from robustirl.precision import enable_x64


@dataclasses.dataclass
class Timing:
    """Where the time of a sweep went, in seconds on the clock: starting and compiling, and computing."""

    compilation: float = 0.0
    computation: float = 0.0


def batches(specs: Sequence[Identified], size: int | None = None) -> list[tuple[Identified, ...]]:
    """The specs in batches of like-shaped runs, in order. A batch is the unit of work and of what is saved.

    Batches are cut from the whole list, whatever of it is done already, so that an interrupted sweep goes on with the
    very batches, and so the very numbers, of an undisturbed one.
    """
    groups: dict[Hashable, list[Identified]] = {}
    for spec in specs:
        kind = kind_of(spec)
        groups.setdefault((kind.name, kind.company(spec)), []).append(spec)
    cut = []
    for group in groups.values():
        step = _size(kind_of(group[0]), len(group)) if size is None else size
        cut += [tuple(group[start : start + step]) for start in range(0, len(group), step)]
    return cut


def _size(kind: Kind, count: int) -> int:
    """How many runs a batch: few on a CPU; on an accelerator as many as may be, in batches of one size."""
    if jax.default_backend() == "cpu":
        return kind.cpu_batch
    return -(-count // -(-count // kind.gpu_batch))


def run(
    specs: Sequence[Identified],
    timing: Timing | None = None,
    *,
    done: Callable[[Any], bool] = lambda _: False,
    workers: int | None = None,
    size: int | None = None,
    equipment: object = None,
) -> Iterator[list[Finding]]:
    """Run the specs that are not done, yielding the findings of a batch as soon as it is finished.

    Args:
        specs: What to run.
        timing: Where to add up the time taken.
        done: Whether a run's outcome is known already; a batch is skipped if all of its runs are.
        workers: Processes; by default one per core for long sweeps on a CPU, otherwise none but this one.
        size: Runs a batch, where the usual number does not suit the device.
        equipment: What the laboratories are given to work with; see `Kind.equip`.
    """
    timing = Timing() if timing is None else timing
    todo = [batch for batch in batches(specs, size) if not all(done(spec) for spec in batch)]
    if workers is None:
        cores = len(_cores()) if jax.default_backend() == "cpu" else 1
        workers = cores if todo and len(todo) >= kind_of(todo[0][0]).worth_spawning else 1
    if workers == 1:
        bench = _Bench(equipment)
        for batch in todo:
            findings, overhead, seconds = bench.work(batch)
            timing.compilation += overhead
            timing.computation += seconds
            yield findings
        return
    begin, before_this = time.time(), dataclasses.replace(timing)
    overheads = 0.0
    context = multiprocessing.get_context("spawn")
    counter = context.Value("i", 0)
    pool = concurrent.futures.ProcessPoolExecutor(
        workers,
        context,
        initializer=_start,
        initargs=(counter, bool(jax.config.read("jax_enable_x64")), begin, equipment),
    )
    before = set(multiprocessing.active_children())
    try:
        with _deaf():  # Workers start here, and inherit that: Ctrl-C is the parent's to handle.
            futures = [pool.submit(_work, batch) for batch in todo]
        for finished in concurrent.futures.as_completed(futures):
            findings, overhead, _ = finished.result()
            overheads += overhead
            timing.compilation = before_this.compilation + overheads / workers
            timing.computation = before_this.computation + time.time() - begin - overheads / workers
            yield findings
    except concurrent.futures.process.BrokenProcessPool:
        raise RobustIRLError(
            "a worker process was killed, perhaps for want of memory; what is finished is kept, and the"
            " same command goes on"
            " from there."
        ) from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Ignore Ctrl-C for a moment, and have processes that start in it ignore it for good."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Signals are the main thread's alone.
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


class _Bench:
    """Does batches, one after the other, and remembers what it has made and compiled."""

    def __init__(self, equipment: object = None, begin: float | None = None):
        self._laboratories: dict[Hashable, Bench] = {}
        self._compiled: set[Hashable] = set()
        self._equipment = equipment
        self._begin = begin

    def work(self, batch: tuple[Identified, ...]) -> tuple[list[Finding], float, float]:
        """The findings of a batch, the seconds spent on getting ready, and those on the batch itself.

        Where a kind of run rehearses, the first batch of a shape is done twice, once to compile, so that recorded times
        are those of warm runs; otherwise compilation is watched, and its time taken off.
        """
        overhead = 0.0 if self._begin is None else time.time() - self._begin
        self._begin = None
        kind = kind_of(batch[0])
        if kind.rehearse and (shape := (kind.name, kind.shape(batch[0]))) not in self._compiled:
            overhead += sum(self._do(kind, batch)[1:])
            self._compiled.add(shape)
        found, compiling, seconds = self._do(kind, batch)
        return found, overhead + compiling, seconds

    def _do(self, kind: Kind, batch: tuple[Identified, ...]) -> tuple[list[Finding], float, float]:
        begin = time.perf_counter()
        with compilation() as spent:
            found = self._laboratory(kind, batch[0]).findings(batch, kind.cpu_batch)
        whole = time.perf_counter() - begin
        compiling = 0.0 if kind.rehearse else min(spent.seconds, whole)
        seconds = whole - compiling
        share = seconds / len(batch)
        timed = [dataclasses.replace(item, record=dataclasses.replace(item.record, seconds=share)) for item in found]
        return timed, compiling, seconds

    def _laboratory(self, kind: Kind, spec: Identified) -> Bench:
        key = kind.name, kind.place(spec)
        if key not in self._laboratories:
            self._laboratories[key] = kind.laboratory(spec, self._equipment)
        return self._laboratories[key]


_bench: _Bench | None = None


def _start(counter, double: bool, begin: float, equipment: object) -> None:
    """Make a fresh process a worker, tied to a core of its own."""
    global _bench
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with counter.get_lock():
        place = counter.value
        counter.value += 1
    cores = _cores()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores[place % len(cores)]})
    if double:
        enable_x64()
    _bench = _Bench(equipment, begin)


def _die_with_parent() -> None:
    """End this worker when its parent is gone, killed or not: nobody would read its answers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(batch: tuple[Identified, ...]) -> tuple[list[Finding], float, float]:
    assert _bench is not None
    return _bench.work(batch)


def _cores() -> list[int]:
    """The cores this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def flat(results: Iterator[list[Finding]]) -> list[Finding]:
    """All findings of a sweep."""
    return list(itertools.chain.from_iterable(results))
