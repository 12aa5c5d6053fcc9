"""Memory: how much there is, and a clear refusal before the work starts rather than a crash in the middle of it."""

import os
from pathlib import Path

import jax

from robustirl.errors import InvalidInputError

WORKING_BYTES = (
    600  # A state, beside the kernel: what solvers and fits keep in vectors and policies (docs/benchmarks.md).
)


def available_bytes() -> int | None:
    """Return the bytes still available on the device in use; None if the system does not tell.

    Example:
        >>> (available_bytes() or 2**40) > 2**20
        True
    """
    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    try:
        with Path("/proc/meminfo").open(
            encoding="ascii"
        ) as file:  # Counts what caches would give back, unlike sysconf.
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(needed: float, what: str, remedy: str) -> None:
    """Refuse what will not fit.

    Args:
        needed: Bytes that the work takes, roughly.
        what: Who asks for them.
        remedy: What to do instead.

    Example:
        >>> require_memory(2.0**60, "this grid", "use a smaller one")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: this grid needs about 1,073,741,824 GiB of memory, but ...
    """
    available = available_bytes()
    if available is not None and needed > available:
        raise InvalidInputError(
            f"{what} needs about {needed / 2**30:,.0f} GiB of memory, but {available / 2**30:.1f} GiB are available;"
            f" {remedy}."
        )
