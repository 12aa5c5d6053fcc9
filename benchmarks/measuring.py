"""What all benchmarks measure with: the clock, the machine, memory, and how fast memory moves."""

import ctypes
import datetime
import importlib.metadata
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PACKAGES = ("robustirl", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy")
STREAM = 10_000_000  # Doubles; far more than any cache holds.
TRIADS = 20  # In one call.


def describe_machine() -> dict[str, Any]:
    """Return what the numbers hang on."""
    import jax

    import robustirl

    device = jax.devices()[0]
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # Run from its source, on a machine where it is not installed.
            versions[name] = robustirl.__version__ if name == "robustirl" else "none"
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "backend": jax.default_backend(),
        "device": device.device_kind,
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.system(),
        "versions": versions,
    }


def cpu_model() -> str:
    """Return the processor's name, as the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def timed_command(line: Sequence[str], cache: Path, **variables: str) -> dict[str, float]:
    """Run Python with these arguments and a cache folder of its own; return seconds on the clock and of the processor.

    Processor time counts all threads and all processes that the command waited for.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {"XDG_CACHE_HOME": str(cache), **variables}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *line], check=True, env=environment, stdout=subprocess.DEVNULL)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "processor_seconds": processor}


def timed(
    run: Callable[[], Any], *, repeats: int = 5, seconds: float = 10.0, compiled: bool = False
) -> tuple[dict[str, Any], Any]:
    """Return seconds of the first call, which compiles, and of warm ones; and what the last call returned.

    What is compiled already has no first call. There is at least one warm call, there are at most `repeats`, and no
    more once the seconds are spent.
    """
    import jax

    def once() -> float:
        nonlocal result
        begin = time.perf_counter()
        result = jax.block_until_ready(run())
        return time.perf_counter() - begin

    result = None
    first = None if compiled else once()
    found = [once()]
    while len(found) < repeats and sum(found) < seconds:
        found.append(once())
    row = {"seconds": min(found), "median": statistics.median(found), "repeats": len(found)}
    if first is not None:
        row["compilation"] = max(first - row["median"], 0.0)
    return row, result


def memory_now() -> int:
    """Return bytes resident now, or in use on the accelerator."""
    return _device_memory("bytes_in_use") if on_accelerator() else _resident("VmRSS")


def memory_peak() -> int:
    """Return the most bytes that were resident since the last `forget_peak`, or were ever in use on the accelerator."""
    return _device_memory("peak_bytes_in_use") if on_accelerator() else _resident("VmHWM")


def resident_peak() -> int:
    """Return the most bytes of the host that were resident, wherever JAX computes."""
    return _resident("VmHWM")


def forget_peak() -> bool:
    """Let the peak of resident memory start again from now; whether that is possible here."""
    if on_accelerator():
        return False
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # What was freed is given back first, or it would hide what comes.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def on_accelerator() -> bool:
    """Return whether JAX computes elsewhere than on the processor."""
    import jax

    return jax.default_backend() != "cpu"


def _device_memory(name: str) -> int:
    import jax

    return int((jax.devices()[0].memory_stats() or {}).get(name, 0))


def _resident(name: str) -> int:
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), 0)


def bandwidth(size: int = STREAM) -> dict[str, Any]:
    """Return bytes a second of a·x + y on long vectors of doubles: two read, one written (the triad of STREAM)."""
    import jax
    import jax.numpy as jnp

    x, y = jnp.ones(size), jnp.full(size, 2.0)
    # Many in one program: a result in fresh memory would time the system's handing out of pages.
    triads = jax.jit(lambda x, y: jax.lax.fori_loop(0, TRIADS, lambda _, y: 0.5 * x + y, y))
    row, _ = timed(lambda: triads(x, y), repeats=10, seconds=5.0)
    return {
        "what": "bandwidth",
        "doubles": size,
        "seconds": row["seconds"] / TRIADS,
        "bytes_a_second": 3 * x.nbytes * TRIADS / row["seconds"],
    }
