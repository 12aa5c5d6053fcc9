"""Worker processes of this machine: started afresh, tied to a core each, and gone with their parent."""

import concurrent.futures
import concurrent.futures.process
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from robustirl._runtime import start_children_without_interrupts
from robustirl.errors import RobustIRLError

Submit = Callable[..., list["concurrent.futures.Future[Any]"]]
"""Called with a function and the arguments of its calls, one each; returns their futures."""


@contextlib.contextmanager
def process_pool(workers: int, prepare: Callable[..., object] | None = None, *given: object) -> Iterator[Submit]:
    """Start processes that do calls, and end them with the context, at once if it ends by an exception.

    Ctrl-C is the parent's to handle: workers do not see it.

    Args:
        workers: How many.
        prepare: Called in every worker before its first call; a function of a module, as all that is sent to workers.
        given: What to call it with.
    """
    context = multiprocessing.get_context("spawn")
    counter = context.Value("i", 0)
    processes = concurrent.futures.ProcessPoolExecutor(
        workers, context, initializer=_start, initargs=(counter, prepare, given)
    )
    before = set(multiprocessing.active_children())

    def submit(function: Callable[[Any], Any], arguments: Sequence[Any]) -> list["concurrent.futures.Future[Any]"]:
        with start_children_without_interrupts():
            return [processes.submit(function, argument) for argument in arguments]

    try:
        yield submit
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
        processes.shutdown(wait=True, cancel_futures=True)


def cores() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def _start(counter: Any, prepare: Callable[..., object] | None, given: tuple[object, ...]) -> None:
    """Make a fresh process a worker, tied to a core of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Where it cannot be masked, as on Windows.
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with counter.get_lock():
        place = counter.value
        counter.value += 1
    own = cores()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {own[place % len(own)]})
    if prepare is not None:
        prepare(*given)


def _die_with_parent() -> None:
    """End this worker when its parent is gone, killed or not: nobody would read its answers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
