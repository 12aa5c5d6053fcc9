"""Memory: how much there is, and a clear refusal before the work starts rather than a crash in the middle of it."""

import os
from pathlib import Path

import jax

from robustirl.errors import InvalidInputError

WORKING_BYTES = (
    600  # A state, beside the kernel: what solvers and fits keep in vectors and policies (docs/benchmarks.md).
)
MACHINE, MAPPED, OWN_GROUPS = Path("/proc/meminfo"), Path("/proc/self/statm"), Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
# The files of a control group's limit and of what it uses, and what of that are files in the cache.
FIRST_VERSION = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
SECOND_VERSION = "memory.max", "memory.current", "inactive_file"


def available_bytes() -> int | None:
    """Return the bytes still available on the device in use; None if the system does not tell.

    On a CPU it is the least that the machine, the limit on the process and those of its control groups leave.

    Example:
        >>> (available_bytes() or 2**40) > 2**20
        True
    """
    device = jax.devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    found = [size for size in (_machine_bytes(), _process_bytes(), *_group_bytes()) if size is not None]
    return max(min(found), 0) if found else None


def _machine_bytes() -> int | None:
    """Return what the machine has left."""
    try:
        # Counts what caches would give back, unlike sysconf.
        fields = dict(line.split(":", 1) for line in MACHINE.read_text(encoding="ascii").splitlines())
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _process_bytes() -> int | None:
    """Return what the limit on addresses (`ulimit -v`) leaves; None if there is none."""
    try:
        import resource  # Not on Windows.

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return limit - int(MAPPED.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return None


def _group_bytes() -> list[int]:
    """Return what the limits of the control groups of this process leave, as in a container.

    A group within others is bound by theirs, too. In a container its own group may be the root that is seen.
    """
    try:
        lines = [line.split(":", 2) for line in OWN_GROUPS.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return []
    found = []
    for _, controllers, name in (line for line in lines if len(line) == 3):
        if controllers and "memory" not in controllers.split(","):
            continue
        top = GROUPS / "memory" if controllers else GROUPS
        files = FIRST_VERSION if controllers else SECOND_VERSION
        parts = [part for part in name.split("/") if part not in ("", "..")]
        for depth in range(len(parts) + 1):
            left = _left_in_group(top.joinpath(*parts[:depth]), *files)
            if left is not None:
                found.append(left)
    return found


def _left_in_group(group: Path, limit: str, used: str, reclaimable: str) -> int | None:
    try:
        most, taken = (int((group / name).read_text(encoding="ascii")) for name in (limit, used))
    except (OSError, ValueError):  # No such group; or "max", which is no limit.
        return None
    try:
        stat = dict(line.split(" ", 1) for line in (group / "memory.stat").read_text(encoding="ascii").splitlines())
        taken -= int(stat[reclaimable])  # Files in the cache count as used, though they give way.
    except (OSError, KeyError, ValueError):
        pass
    return most - taken


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
