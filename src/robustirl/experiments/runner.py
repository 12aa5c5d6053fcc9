"""Run specs in batches: every batch of like-shaped runs is one compiled call, and batches share the cores.

On a CPU, small worlds leave XLA's threads little to share, so every core gets a process of its own, tied to it.
"""

import concurrent.futures
import concurrent.futures.process
import contextlib
import dataclasses
import functools
import itertools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence

import jax

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.errors import RobustIRLError
from robustirl.experiments.laboratory import Laboratory
from robustirl.experiments.specs import Finding, RunSpec
from robustirl.precision import enable_x64

CPU_BATCH = 5  # Small, so that work is saved often and shared evenly between the cores.
GPU_BATCH = 500
WORTH_SPAWNING = 12  # Batches; fewer are done here before a second process has even started.


@dataclasses.dataclass
class Timing:
    """Where the time of a sweep went, in seconds on the clock: starting and compiling, and computing."""

    compilation: float = 0.0
    computation: float = 0.0


def batches(specs: Sequence[RunSpec], size: int | None = None) -> list[tuple[RunSpec, ...]]:
    """The specs in batches of like-shaped runs, in order. A batch is the unit of work and of what is saved.

    Batches are cut from the whole list, whatever of it is done already, so that an interrupted sweep goes on with the
    very batches, and so the very numbers, of an undisturbed one.
    """
    if size is None:
        size = CPU_BATCH if jax.default_backend() == "cpu" else GPU_BATCH
    groups: dict[Hashable, list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault(_company(spec), []).append(spec)
    return [tuple(group[start : start + size]) for group in groups.values() for start in range(0, len(group), size)]


def run(
    specs: Sequence[RunSpec],
    timing: Timing | None = None,
    *,
    done: Callable[[RunSpec], bool] = lambda _: False,
    workers: int | None = None,
) -> Iterator[list[Finding]]:
    """Run the specs that are not done, yielding the findings of a batch as soon as it is finished.

    Args:
        specs: What to run.
        timing: Where to add up the time taken.
        done: Whether a run's outcome is known already; a batch is skipped if all of its runs are.
        workers: Processes; by default one per core for long sweeps on a CPU, otherwise none but this one.
    """
    timing = Timing() if timing is None else timing
    todo = [batch for batch in batches(specs) if not all(done(spec) for spec in batch)]
    if workers is None:
        cores = len(_cores()) if jax.default_backend() == "cpu" else 1
        workers = cores if len(todo) >= WORTH_SPAWNING else 1
    if workers == 1:
        bench = _Bench()
        for batch in todo:
            findings, overhead, seconds = bench.work(batch)
            timing.compilation += overhead
            timing.computation += seconds
            yield findings
        return
    begin = time.time()
    overheads = 0.0
    context = multiprocessing.get_context("spawn")
    counter = context.Value("i", 0)
    pool = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=(counter, bool(jax.config.read("jax_enable_x64")), begin)
    )
    before = set(multiprocessing.active_children())
    try:
        with _deaf():  # Workers start here, and inherit that: Ctrl-C is the parent's to handle.
            futures = [pool.submit(_work, batch) for batch in todo]
        for finished in concurrent.futures.as_completed(futures):
            findings, overhead, _ = finished.result()
            overheads += overhead
            timing.compilation = overheads / workers
            timing.computation = time.time() - begin - timing.compilation
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

    def __init__(self, begin: float | None = None):
        self._laboratories: dict[Hashable, Laboratory] = {}
        self._compiled: set[Hashable] = set()
        self._begin = begin

    def work(self, batch: tuple[RunSpec, ...]) -> tuple[list[Finding], float, float]:
        """The findings of a batch, the seconds spent on getting ready, and those on the batch itself.

        The first batch of a shape is done twice, once to compile, so that recorded times are those of warm runs.
        """
        overhead = 0.0 if self._begin is None else time.time() - self._begin
        self._begin = None
        if (shape := _shape(batch[0])) not in self._compiled:
            overhead += self._do(batch)[1]
            self._compiled.add(shape)
        found, seconds = self._do(batch)
        return found, overhead, seconds

    def _do(self, batch: tuple[RunSpec, ...]) -> tuple[list[Finding], float]:
        begin = time.perf_counter()
        lab = self._laboratory(batch[0])
        fits = lab.fit(_padded(batch), steps=batch[0].steps, throw=False)
        found = [lab.finding(spec, result, 0.0) for spec, result in zip(batch, fits, strict=False)]
        seconds = time.perf_counter() - begin
        share = seconds / len(batch)
        timed = [dataclasses.replace(item, record=dataclasses.replace(item.record, seconds=share)) for item in found]
        return timed, seconds

    def _laboratory(self, spec: RunSpec) -> Laboratory:
        key = dataclasses.replace(
            spec,
            learner_noise=0.0,
            expert_noise=0.0,
            alpha=1.0,
            steps=0,
            train_noise=None,
            sampled=0,
            demonstrations=0,
            draw=0,
            auto="",
        )
        if key not in self._laboratories:
            self._laboratories[key] = Laboratory.of(spec)
        return self._laboratories[key]


_bench: _Bench | None = None


def _start(counter, double: bool, begin: float) -> None:
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
    _bench = _Bench(begin)


def _die_with_parent() -> None:
    """End this worker when its parent is gone, killed or not: nobody would read its answers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(batch: tuple[RunSpec, ...]) -> tuple[list[Finding], float, float]:
    assert _bench is not None
    return _bench.work(batch)


def _cores() -> list[int]:
    """The cores this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _company(spec: RunSpec) -> Hashable:
    """What the runs of a batch share: all but the noises, α, and how the outcome is measured."""
    same = dataclasses.replace(
        spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, sampled=0, demonstrations=0, draw=0, auto=""
    )
    return dataclasses.replace(same, train_noise=None if spec.train_noise is None else 0.0)


def _shape(spec: RunSpec) -> Hashable:
    """What a compiled program hangs on."""
    return _kind(spec.environment), spec.noise_model == PUBLISHED, spec.steps, bool(spec.sampled)


@functools.cache
def _kind(name: str) -> Hashable:
    """Grids of one size and one kind of reward share their programs; any other environment has its own."""
    environment = envs.make(name)
    if not isinstance(environment, envs.GridWorld):
        return name
    return environment.shape, environment.reward_model


def _padded(batch: tuple[RunSpec, ...]) -> tuple[RunSpec, ...]:
    """A batch of the usual size on a CPU: a smaller one would be compiled anew."""
    missing = CPU_BATCH - len(batch) if jax.default_backend() == "cpu" else 0
    return batch + (batch[-1],) * missing if missing > 0 else batch


def flat(results: Iterator[list[Finding]]) -> list[Finding]:
    """All findings of a sweep."""
    return list(itertools.chain.from_iterable(results))
