"""Worker processes of this machine: started afresh, tied to a core each, and gone with their parent."""

import concurrent.futures
import concurrent.futures.process
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from robustirl._runtime import set_rare_collection, start_children_without_interrupts
from robustirl.errors import RobustIRLError

Submit = Callable[..., list["concurrent.futures.Future[Any]"]]
"""Called with a function and the arguments of its calls, one each; returns their futures."""


@contextlib.contextmanager
def process_pool(workers: int, prepare: Callable[..., object] | None = None, *given: object) -> Iterator[Submit]:
    """Start processes that do calls, and end them with the context.

    They end at once if the context ends by an exception. Ctrl-C is the parent's to handle: workers do not see it.

    Args:
        workers: How many.
        prepare: Called in every worker before its first call; a function of a module, as all that is sent to workers.
        given: What to call it with.
    """
    require_main_guard()
    context = multiprocessing.get_context("spawn")
    counter = context.Value("i", 0)
    processes = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=(counter, prepare, given)
    )
    before = set(multiprocessing.active_children())
    started: set[Any] = set()

    def submit(function: Callable[[Any], Any], arguments: Sequence[Any]) -> list["concurrent.futures.Future[Any]"]:
        with start_children_without_interrupts():
            futures = [processes.submit(function, argument) for argument in arguments]
        started.update(set(multiprocessing.active_children()) - before)
        return futures

    try:
        yield submit
    except concurrent.futures.process.BrokenProcessPool:
        raise RobustIRLError(_explain(started)) from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        processes.shutdown(wait=True, cancel_futures=True)


_UNGUARDED = 77
"""The exit status of a worker that found itself running the script anew."""


def require_main_guard() -> None:
    """End a worker process whose start runs the script again because it has no main guard.

    Its parent tells it by the exit status, and says so.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(_UNGUARDED)


def _explain(started: Collection[Any]) -> str:
    """Return the sentence on workers that ended before their work was done."""
    for process in started:
        process.join(5)
    codes = [process.exitcode for process in started if process.exitcode]
    if _UNGUARDED in codes:
        return (
            "worker processes import the script that starts them, and this one starts the work when it is imported;"
            ' put the work under `if __name__ == "__main__":`, or pass workers=1.'
        )
    own = [code for code in codes if code != -signal.SIGTERM]  # With which the others are ended.
    how = ""
    if own and own[0] < 0:
        number = -own[0]
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        how = f" by {name}" + (", as the system does when memory runs out" if number == signal.SIGKILL else "")
    elif own:
        how = f" with status {own[0]}"
    return f"a worker process was ended{how}; what is finished is kept, and the same command continues from there."


def cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _start(counter: Any, prepare: Callable[..., object] | None, given: tuple[object, ...]) -> None:
    """Make a fresh process a worker, tied to a core of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Where it cannot be masked, as on Windows.
    threading.Thread(target=_die_with_parent, daemon=True).start()
    set_rare_collection()
    with counter.get_lock():
        place = counter.value
        counter.value += 1
    own = cores()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {own[place % len(own)]})
    if prepare is not None:
        prepare(*given)


def _die_with_parent() -> None:
    """End this worker when its parent ends or is killed, since its results would not be read."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
