"""Whether JAX can compute where, and as, the environment says it should."""

import contextlib
import os
import re
import select
import signal
import time
import warnings
from collections.abc import Callable

import jax

from robustirl._runtime import jax_is_at_work, one_line, printable, short_repr
from robustirl.errors import InvalidInputError

FLAGS = "XLA_FLAGS"
DEVICES = "JAX_NUM_CPU_DEVICES"
MOST_DEVICES = 1024  # XLA starts threads for each; a hundred thousand would keep it starting for minutes.
SLOWEST_START = 60.0  # Seconds; JAX starts in less than one, if nothing else keeps the machine busy.
_LOGGED = re.compile(r"^[EF]\d{4} .*?\] (.*)$", re.MULTILINE)  # What XLA writes of errors, after time and place.


def require_device() -> None:
    """Refuse to start if JAX cannot use the platforms or flags that the environment names."""
    require_flags()
    try:
        jax.devices()
    except Exception as error:  # Which one depends on what is missing.
        named, count = os.environ.get("JAX_PLATFORMS"), os.environ.get(DEVICES)
        if not named and not count:
            raise
        reason = one_line(error)
        if not named:
            raise InvalidInputError(
                f"{DEVICES} is {short_repr(count)}, and JAX cannot start ({reason}); unset it or set it to 1 or more."
            ) from None
        reason = "" if reason == type(error).__name__ else f" ({reason})"
        raise InvalidInputError(
            f"JAX_PLATFORMS is {named!r}, but JAX cannot compute there{reason}; unset it or set it to cpu, or install"
            " JAX for that device."
        ) from None


def require_flags() -> None:
    """Refuse flags that XLA does not know.

    XLA ends the process where it meets one, so a child process meets them first. Nothing is done where there are no
    flags, where JAX has started already, and where processes cannot be forked.
    """
    flags = os.environ.get(FLAGS)
    if not flags or not hasattr(os, "fork") or jax_is_at_work():
        return
    asked = re.findall(r"--xla_force_host_platform_device_count=(\d+)", flags)
    if asked and len(asked[-1]) < 20 and int(asked[-1]) > MOST_DEVICES:
        raise InvalidInputError(
            f"{FLAGS} asks for {asked[-1]} devices on the CPU; at most {MOST_DEVICES:,} can be started."
        )
    if os.path.isdir(flags):  # noqa: PTH112 (a path of any text, which XLA would open and find nothing in)
        raise InvalidInputError(
            f"{FLAGS}={short_repr(flags, 200)} in the environment is a folder, but flags or a file of flags are needed;"
            " correct it or unset it."
        )
    status, said = run_in_child(_start_on_cpu, SLOWEST_START)
    if status == 0:
        return
    reason = f"it had not started after {SLOWEST_START:.0f} s" if status is None else _reason(said)
    raise InvalidInputError(
        f"JAX does not start with {FLAGS}={short_repr(flags, 200)} in the environment: {reason}; correct it or unset"
        " it."
    )


def _start_on_cpu() -> None:
    jax.config.update("jax_platforms", "cpu")  # Flags are read by any platform, and this one starts at once.
    jax.devices()


def _reason(said: str) -> str:
    """Return what XLA says of its failure, without the time and the place in its source."""
    logged = _LOGGED.search(said)
    line = logged[1] if logged else next(iter(reversed(said.strip().splitlines())), "it ended without a word")
    return printable(re.split(r"\. \(|: Check failed", line)[0].rstrip(". "), 300)


def run_in_child(work: Callable[[], object], limit: float) -> tuple[int | None, str]:
    """Run a function in a forked process; return its exit status and what it printed.

    The status is None if the function took too long.

    Args:
        work: The function. An exception in it is status 1.
        limit: Seconds after which the process is killed.

    Example:
        >>> run_in_child(lambda: os.write(2, b"done"), 30)
        (0, 'done')
    """
    output, end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # That there are threads: those of OpenBLAS survive a fork.
        child = os.fork()
    if child == 0:
        _end_with(work, end)
    os.close(end)
    status: int | None = None
    try:
        said, finished = _read_until(output, time.monotonic() + limit)
        if finished:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return status, said.decode(errors="replace")
    finally:
        os.close(output)
        if status is None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def _end_with(work: Callable[[], object], output: int) -> None:
    """Run the function and end this process in any case, without cleaning up what it inherited."""
    status = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        work()
        status = 0
    except BaseException as error:
        os.write(2, f"{one_line(error)}\n".encode(errors="replace"))
    finally:
        os._exit(status)


def _read_until(source: int, deadline: float) -> tuple[bytes, bool]:
    """Read until the other end is closed or time is up; return the bytes and whether it closed."""
    found = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([source], [], [], left)[0]:
            part = os.read(source, 2**16)
            if not part:
                return found, True
            found += part
    return found, False
