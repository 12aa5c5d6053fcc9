"""Garbage collection while many objects are made that stay."""

import contextlib
import gc
from collections.abc import Iterator

RARELY = 100_000
"""How many new objects make the collector look, in a command; Python's own number is 700."""


@contextlib.contextmanager
def collect_rarely(threshold: int = RARELY) -> Iterator[None]:
    """Look for garbage less often while a command runs.

    Importing matplotlib and tracing a program make some 10⁵ objects each, most of which stay. By default Python looks
    through them again and again, which takes a tenth of the time of a small command. What waits longer to be found is
    some 10 MB.

    Example:
        >>> with collect_rarely(5000):
        ...     gc.get_threshold()[0]
        5000
    """
    before = gc.get_threshold()
    set_rare_collection(threshold)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def set_rare_collection(threshold: int = RARELY) -> None:
    """Look for garbage less often for the rest of this process; see `collect_rarely`.

    It is for processes of this library alone, such as a worker.
    """
    gc.set_threshold(threshold, *gc.get_threshold()[1:])
