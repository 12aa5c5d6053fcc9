"""Batches of an invented kind of run: how they are cut, in what they are done, and where their time goes."""

import contextlib
import dataclasses
from concurrent.futures import Future

import pytest

from robustirl.sweeps import batches as timed
from robustirl.sweeps import executor, kinds
from robustirl.sweeps.batches import BatchExecutor, Timing
from robustirl.sweeps.executor import batches, run
from robustirl.sweeps.kinds import Kind
from robustirl.sweeps.specs import RunResult, Spec


@dataclasses.dataclass(frozen=True, order=True)
class Throw(Spec):
    color: str
    number: int

    def check(self):
        pass


@dataclasses.dataclass(frozen=True)
class Thrown:
    spec: Throw
    seconds: float


class Clock:
    """A clock that runs by what the context does: a second for every run of a batch, and three to compile."""

    now = 100.0

    def perf_counter(self):
        return self.now

    monotonic = perf_counter


@pytest.fixture
def throws(monkeypatch):
    """The kind, with the clock, what was compiled, and the contexts that were made."""
    clock, compiled, made = Clock(), [], []

    class Context:
        def __init__(self, color, needs):
            made.append((color, needs))

        def results(self, specs, size):
            if specs[0].color not in compiled:
                compiled.append(specs[0].color)
                clock.now += 3.0
            clock.now += len(specs)
            assert size == 4
            return [RunResult(Thrown(spec, 0.0), {}) for spec in specs]

    def register(warm_up):
        kind = Kind(
            "throws",
            Throw,
            Thrown,
            table="throws",
            activity="throws",
            cpu_batch=4,
            gpu_batch=10,
            min_batches_for_pool=1000,
            warm_up=warm_up,
            batch_key=lambda spec: spec.color,
            program_key=lambda spec: spec.color,
            context_key=lambda spec: spec.color,
            make_context=lambda spec, needs: Context(spec.color, needs),
            load_dependencies=lambda find, specs: None,
        )
        monkeypatch.setitem(kinds._KINDS, "throws", kind)
        monkeypatch.setattr(timed, "time", clock)
        return clock, made

    return register


SPECS = [Throw(color, number) for number in range(5) for color in ("red", "blue")]


def test_batches_hold_one_color_and_four_throws(throws):
    throws(warm_up=True)
    cut = batches(SPECS)
    assert [[spec.number for spec in batch] for batch in cut] == [[0, 1, 2, 3], [4], [0, 1, 2, 3], [4]]
    assert [batch[0].color for batch in cut] == ["red", "red", "blue", "blue"]
    assert [len(batch) for batch in batches(SPECS, 3)] == [3, 2, 3, 2]


@pytest.mark.parametrize(("count", "size"), [(10, 10), (11, 6), (20, 10), (21, 7), (1, 1)])
def test_on_an_accelerator_batches_are_as_large_as_may_be_and_alike(count, size, throws, monkeypatch):
    throws(warm_up=True)
    monkeypatch.setattr(executor.jax, "default_backend", lambda: "gpu")
    assert len(batches([Throw("red", number) for number in range(count)])[0]) == size


def test_time_of_runs_that_warm_up(throws):
    clock, made = throws(warm_up=True)
    executor_ = BatchExecutor("needs", begin=98.0)
    # Two seconds to start, then the first batch twice: 3 to compile and 4, and 4 again.
    found, overhead, seconds = executor_.work(batches(SPECS)[0])
    assert (overhead, seconds) == (2.0 + 7.0, 4.0)
    assert [item.record.seconds for item in found] == [1.0] * 4
    assert [item.record.spec.number for item in found] == [0, 1, 2, 3]
    assert executor_.work(batches(SPECS)[1])[1:] == (0.0, 1.0)  # The same program,
    assert executor_.work(batches(SPECS)[2])[1:] == (7.0, 4.0)  # and another.
    assert made == [("red", "needs"), ("blue", "needs")]
    assert clock.now == 100 + 11 + 1 + 11


def test_time_of_runs_whose_compilation_is_watched(throws, monkeypatch):
    throws(warm_up=False)

    class Spent:
        seconds = 2.5

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    monkeypatch.setattr(timed, "compilation", Spent)
    found, overhead, seconds = BatchExecutor().work(batches(SPECS)[0])
    assert (overhead, seconds) == (2.5, 4.5)
    assert found[0].record.seconds == 4.5 / 4
    monkeypatch.setattr(Spent, "seconds", 99.0)  # Threads compile side by side: never more than there was.
    assert BatchExecutor().work(batches(SPECS)[1])[1:] == (1.0, 0.0)


def test_what_is_done_is_not_done_again_and_times_add_up(throws):
    throws(warm_up=True)
    timing = Timing(compilation=1.0, computation=10.0)
    known = {spec for spec in SPECS if spec.color == "red" and spec.number < 4}
    found = list(run(SPECS, timing, done=known.__contains__, workers=1))
    assert [len(part) for part in found] == [1, 4, 1]
    assert (timing.compilation, timing.computation) == (1 + 4 + 7, 10 + 1 + 4 + 1)
    assert list(run(SPECS, done=lambda _: True)) == []
    given = list(run(SPECS, timing, pool=lambda todo, *others: iter([len(todo), *others]), dependencies="needs"))
    assert given == [4, timing, "needs"]


def test_the_time_of_several_processes_is_divided_among_them(throws, monkeypatch):
    clock, _ = throws(warm_up=True)
    asked = []

    @contextlib.contextmanager
    def pool(workers, prepare, begin, needs):
        asked.append((workers, begin, needs))
        yield lambda work, todo: [Future() for _ in todo]

    def ended(futures):
        """Every batch takes two seconds on the clock, and half of its process's time to get ready."""
        for place, future in enumerate(futures):
            clock.now += 2.0
            future.set_result(([place], 1.0, 7.0))
            yield future

    monkeypatch.setattr(executor, "time", clock)
    monkeypatch.setattr(executor, "process_pool", pool)
    monkeypatch.setattr(executor.concurrent.futures, "as_completed", ended)
    timing, seen = Timing(compilation=10.0, computation=20.0), []
    for found in run(SPECS, timing, workers=2, dependencies="needs"):
        seen.append((found, timing.compilation, timing.computation))
    assert asked == [(2, 100.0, "needs")]
    assert seen == [([0], 10.5, 21.5), ([1], 11.0, 23.0), ([2], 11.5, 24.5), ([3], 12.0, 26.0)]


@pytest.mark.parametrize(("backend", "least", "count"), [("cpu", 4, 3), ("cpu", 5, 1), ("gpu", 2, 1)])
def test_how_many_processes_there_are_by_default(backend, least, count, throws, monkeypatch):
    throws(warm_up=False)
    kind = kinds._KINDS["throws"]
    monkeypatch.setitem(kinds._KINDS, "throws", dataclasses.replace(kind, min_batches_for_pool=least))
    monkeypatch.setattr(executor.jax, "default_backend", lambda: backend)
    monkeypatch.setattr(executor, "cores", lambda: [1, 2, 3])
    idle = contextlib.nullcontext(lambda *_: [])
    monkeypatch.setattr(executor, "process_pool", lambda workers, *_: asked.append(workers) or idle)
    asked = []
    list(run(SPECS, size=None if backend == "cpu" else 4))
    assert (asked or [1]) == [count]
