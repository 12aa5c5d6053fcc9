"""Run a list of specs in batches, each kept in one file, by processes of this machine or by tasks of Ray.

A spec is a frozen dataclass of numbers and strings. Specs of one shape are cut into batches; a batch is computed by one
call of `work` and written to `<out>/batches/<hash>.npz`, whole or not at all. The hash is of the specs and of what else
decides the digits (versions, precision, device). What a command has to do is what it asks for minus what is there, so
that a kill loses the batches under way and the same command goes on. A file that cannot be read is computed again.
"""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

import robustirl
from robustirl._files import read_arrays, write_arrays
from robustirl._jax import double_precision, enable_cache, working_dtype
from robustirl._progress import progress_bar
from robustirl.errors import InvalidInputError, RobustIRLError

RETRIES = 5
"""How often Ray does a batch again whose worker or node was lost."""
FEW_BATCHES = 6
"""Fewer batches are done in this process before a second one has even started."""

Outcome = tuple[dict[str, Any], dict[str, np.ndarray]]
"""The numbers and words of a run by name, and its arrays by name."""
Work = Callable[[Sequence[Any]], list[Outcome]]
"""Computes the specs of one batch; a function of a module, or a `functools.partial` of one, as it goes to workers."""


@dataclasses.dataclass(frozen=True)
class Where:
    """Where to compute."""

    engine: Literal["local", "ray"] = "local"
    """What does the runs: processes of this machine, or tasks on a Ray cluster (pip install ray)."""
    address: str | None = None
    """The Ray cluster, host:port or auto; if omitted, Ray is started on this machine alone."""
    workers: int | None = None
    """Processes of this machine; if omitted, one per core for many batches on a CPU, otherwise one."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInputError(f"--workers is {self.workers}, but at least 1 is needed.")
        if self.engine == "local" and self.address is not None:
            raise InvalidInputError(f"--address is {self.address!r}, but only Ray has one; add --engine ray.")


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """A run and its outcome: numbers and words in `row`, arrays in `arrays`."""

    spec: Any
    row: dict[str, Any]
    arrays: dict[str, np.ndarray]


def identity(*specs: Any) -> str:
    """Return a hash of the content of specs, equal for equal specs on every machine.

    Example:
        >>> identity(Where(workers=2)) == identity(Where(workers=2)) != identity(Where(workers=3))
        True
    """
    texts = [json.dumps(dataclasses.asdict(spec), sort_keys=True) for spec in specs]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def configuration() -> dict[str, str]:
    """Return what decides the digits of a run besides its spec."""
    versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy", "scipy", "optax")}
    with double_precision():
        dtype = str(np.dtype(working_dtype()))
    return {"robustirl": robustirl.__version__, **versions, "dtype": dtype, "device": jax.default_backend()}


def cut(
    specs: Sequence[Any], key: Callable[[Any], Hashable], size: int, accelerator_size: int = 500
) -> list[tuple[Any, ...]]:
    """Return the specs in batches: those of one key in their order, so many a batch.

    Batches are cut from the whole list, whatever of it is done, so that an interrupted command goes on with the very
    batches, and so the very numbers, of an undisturbed one.

    Example:
        >>> cut([1, 2, 3, 4, 5], key=lambda n: n % 2, size=2)
        [(1, 3), (5,), (2, 4)]
    """
    groups: dict[Hashable, list[Any]] = {}
    for spec in specs:
        groups.setdefault(key(spec), []).append(spec)
    found = []
    for group in groups.values():
        step = size if jax.default_backend() == "cpu" else -(-len(group) // -(-len(group) // accelerator_size))
        found += [tuple(group[begin : begin + step]) for begin in range(0, len(group), step)]
    return found


def run(
    specs: Sequence[Any],
    work: Work,
    out: Path,
    *,
    key: Callable[[Any], Hashable],
    size: int,
    where: Where | None = None,
    title: str = "running",
    accelerator_size: int = 500,
) -> list[Result]:
    """Return the results of all specs, in their order, after computing those that `out` lacks.

    Args:
        specs: What to run.
        work: What computes a batch.
        out: The folder, whose `batches` hold what is finished.
        key: What the specs of a batch share.
        size: Specs a batch on a CPU: few, so that work is saved often and shared evenly between the cores.
        where: Where to compute; processes of this machine if omitted.
        title: What the bar calls it.
        accelerator_size: The most specs a batch on an accelerator.
    """
    where = Where() if where is None else where
    folder = _folder(out)
    made_under = json.dumps(configuration(), sort_keys=True) + getattr(getattr(work, "func", work), "__qualname__", "")
    batches = cut(specs, key, size, accelerator_size)
    paths = [folder / f"{hashlib.sha256((made_under + identity(*b)).encode()).hexdigest()[:20]}.npz" for b in batches]
    found = {i: outcomes for i, path in enumerate(paths) if (outcomes := _read(path, len(batches[i]))) is not None}
    missing = [i for i in range(len(batches)) if i not in found]
    if missing:
        done = sum(len(batches[i]) for i in found)
        with progress_bar(title, len(specs)) as report, _engine(where, len(missing)) as compute:
            report(done, "")
            for place, outcomes in compute(work, [batches[i] for i in missing]):
                _write(paths[missing[place]], outcomes)
                found[missing[place]] = outcomes
                done += len(outcomes)
                report(done, "")
    pairs = zip(batches, (found[i] for i in range(len(batches))), strict=True)
    by_spec = {
        spec: Result(spec, *outcome) for own, outcomes in pairs for spec, outcome in zip(own, outcomes, strict=True)
    }
    return [by_spec[spec] for spec in specs]


def _folder(out: Path) -> Path:
    try:
        (out / "batches").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{out} cannot be written to ({error.strerror}); choose another --out.") from None
    return out / "batches"


def _write(path: Path, outcomes: list[Outcome]) -> None:
    """Write a batch: rows as JSON, arrays under the number of their run and their name."""
    rows = np.frombuffer(json.dumps([row for row, _ in outcomes]).encode(), np.uint8)
    arrays = {f"{i}.{name}": array for i, (_, own) in enumerate(outcomes) for name, array in own.items()}
    try:
        write_arrays(path, {"rows": rows} | arrays)
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be written ({error.strerror}); what is finished is kept. Make room and repeat it."
        ) from None


def _read(path: Path, count: int) -> list[Outcome] | None:
    """Return what a batch file holds; None if there is none that can be read."""
    try:
        arrays = read_arrays(path.read_bytes())
        rows = json.loads(arrays.pop("rows").tobytes())
        outcomes: list[Outcome] = [(dict(row), {}) for row in rows]
        for name, array in arrays.items():
            number, _, own = name.partition(".")
            outcomes[int(number)][1][own] = array
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None
    return outcomes if len(outcomes) == count else None


Compute = Callable[[Work, Sequence[Sequence[Any]]], Iterator[tuple[int, list[Outcome]]]]
"""Computes batches, and yields the place of each with its outcomes as it is finished."""


def _done(work: Work, batch: Sequence[Any]) -> list[Outcome]:
    """Compute a batch, and note each run's share of the seconds, compilation included."""
    begin = time.perf_counter()
    with double_precision():
        outcomes = work(batch)
    seconds = (time.perf_counter() - begin) / len(batch)
    return [(row | {"seconds": seconds}, arrays) for row, arrays in outcomes]


@contextlib.contextmanager
def _engine(where: Where, count: int) -> Iterator[Compute]:
    if where.engine == "ray":
        yield lambda work, batches: _by_ray(work, batches, where.address)
        return
    workers = where.workers or (cores() if count >= FEW_BATCHES and jax.default_backend() == "cpu" else 1)
    if workers == 1:
        enable_cache()
        yield lambda work, batches: ((i, _done(work, batch)) for i, batch in enumerate(batches))
        return
    with pool(workers) as submit:
        yield lambda work, batches: submit(_done, [(work, batch) for batch in batches])


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def pool(workers: int) -> Iterator[Callable[[Callable[..., Any], Sequence[tuple]], Iterator[tuple[int, Any]]]]:
    """Start processes, tied to a core each, and end them with the context.

    What is yielded starts calls of a function and yields the place of each with its result as it is finished. Ctrl-C is
    the parent's to handle; workers end when it ends, whatever ended it.
    """
    context = multiprocessing.get_context("spawn")
    processes = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(context.Value("i", 0),))

    def submit(function: Callable[..., Any], arguments: Sequence[tuple]) -> Iterator[tuple[int, Any]]:
        with _ignored_interrupts():
            places: dict[Future, int] = {processes.submit(function, *own): i for i, own in enumerate(arguments)}
        return ((places[future], future.result()) for future in as_completed(places))

    try:
        yield submit
    except BrokenProcessPool:
        raise RobustIRLError(
            "a worker process was ended, as a system does when memory runs out; what is finished is kept, and the same"
            " command goes on from there."
        ) from None
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        processes.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Have processes that are started meanwhile ignore Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start(counter: Any) -> None:
    """Make a fresh process a worker."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with counter.get_lock():
        place = counter.value
        counter.value += 1
    if hasattr(os, "sched_setaffinity"):
        own = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {own[place % len(own)]})
    enable_cache()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _by_ray(work: Work, batches: Sequence[Sequence[Any]], address: str | None) -> Iterator[tuple[int, list[Outcome]]]:
    """Compute every batch as a task of Ray, which does a lost one again on another worker or node."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InvalidInputError("--engine ray needs ray, which is not installed; run `pip install ray`.") from None
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:  # The loopback address: no other machine reaches it.
        options |= {"num_cpus": cores(), "include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    paths = os.pathsep.join([str(Path(robustirl.__file__).parents[1]), str(Path(__file__).parents[1])])
    environment = {"PYTHONPATH": paths, "NPROC": "1", "JAX_PLATFORMS": jax.default_backend()}
    mine = not ray.is_initialized()
    if mine:
        ray.init(address=address or "local", runtime_env={"env_vars": environment}, **options)
    try:
        device = {"num_cpus": 1} if jax.default_backend() == "cpu" else {"num_gpus": 1}
        task = ray.remote(_done).options(max_retries=RETRIES, **device)
        waiting = {task.remote(work, batch): i for i, batch in enumerate(batches)}
        while waiting:
            for reference in ray.wait(list(waiting), num_returns=1)[0]:
                yield waiting.pop(reference), ray.get(reference)
    finally:
        if mine:
            ray.shutdown()
