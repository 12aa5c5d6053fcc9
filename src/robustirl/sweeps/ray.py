"""Ray as the engine past one machine: every batch a task, on a CPU or an accelerator of whichever node is free.

The batches are those of the other engines and are done by the same executor, so the numbers are the same. Ray gives a
task that was lost with its node to another one; what comes back is handed on in the order of arrival to the one
process that writes. No other file imports Ray, and it is loaded only if it is asked for.
"""

import contextlib
import dataclasses
import functools
import os
import secrets
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from robustirl._runtime import keep_termination, one_line, short_repr, single_threaded_xla
from robustirl.errors import InvalidInputError, RobustIRLError
from robustirl.sweeps.batches import Batch, BatchExecutor, Timing
from robustirl.sweeps.configuration import configuration, difference
from robustirl.sweeps.specs import RunResult

LOOPBACK = "127.0.0.1"
LOOPBACK_SWITCH = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's switch between its node's address and the loopback address; off by default on Windows and macOS."""
FIRST_WITH_TOKENS = (2, 52)
"""The first version of Ray that can ask those who connect for a token."""
_GOES_ON = "what is finished is kept, and the same command goes on from there"


@dataclasses.dataclass(frozen=True)
class RayEngine:
    """A Ray cluster, as an engine of `robustirl.sweeps.compute`.

    The kind of device is that of the calling process, since it decides the digits: where JAX sees an accelerator, a
    task takes one, otherwise a CPU. Every node needs the same versions of robustirl and of what it computes with; a
    worker that differs is refused rather than mixed in.

    Attributes:
        address: Where the cluster is, `host:port` or `auto`; nothing starts Ray on this machine alone.
        retries: How often a batch is done again whose worker or node was lost.
        timeout: Seconds to wait for the address to answer.
        patience: Seconds to go on without any node that could do a batch.

    Example:
        >>> with RayEngine("localhost:1").connect():
        ...     pass
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: there is no Ray cluster at localhost:1 (Connection refused); start one with
        `ray start --head`, check --address, or leave it out to use this machine alone.
    """

    address: str | None = None
    retries: int = 5
    timeout: float = 10.0
    patience: float = 60.0

    @contextlib.contextmanager
    def connect(self) -> Iterator[Callable[[Sequence[Batch], Timing, object], Iterator[list[RunResult]]]]:
        """Join the cluster, or raise before anything is written.

        A connection that the caller has already is used.
        """
        if self.address is not None:
            _require_answer(self.address, self.timeout)
        loaded = sys.modules.get("ray")
        if self.address is None and not (loaded and loaded.is_initialized()):
            _stay_on_this_machine(loaded=loaded is not None)
        ray = _ray()
        ours = not ray.is_initialized()
        if ours:
            self._join(ray)
        try:
            _require_resources(ray)
            yield functools.partial(self._work, leaving=ours)
        finally:
            if ours:
                ray.shutdown()

    def _join(self, ray: Any) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}  # The bar is ours to draw.
        if self.address is None:
            count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
            options |= {"address": "local", "num_cpus": count, "include_dashboard": False}
            options["_node_ip_address"] = LOOPBACK
        else:
            options["address"] = self.address
        try:
            with warnings.catch_warnings(), keep_termination():
                # Ray forks to start its own programs, which JAX warns of; there is nothing of JAX in them.
                warnings.filterwarnings("ignore", r"os\.fork", RuntimeWarning)
                ray.init(**options)
        except Exception as error:  # Ray raises exceptions of many kinds here.
            if self.address is None:
                raise RobustIRLError(f"Ray could not be started on this machine ({one_line(error)}).") from None
            raise _no_cluster(self.address, one_line(error)) from None
        if self.address is None and (found := ray.util.get_node_ip_address()) not in (LOOPBACK, "::1"):
            ray.shutdown()
            raise _reachable(found)

    def _work(
        self, todo: Sequence[Batch], timing: Timing, dependencies: object, *, leaving: bool
    ) -> Iterator[list[RunResult]]:
        """Return the results of every batch, as they arrive.

        `leaving` says that we disconnect when all is over.
        """
        if not todo:
            return
        ray = _ray()
        order = _Order(time.time_ns(), configuration())
        task = ray.remote(_work_on_ray).options(max_retries=self.retries, **_demand())
        shared = None if dependencies is None else ray.put(dependencies)  # Sent to each node once.
        waiting = [task.remote(batch, order, shared) for batch in todo]
        begin, before, overheads = time.monotonic(), dataclasses.replace(timing), {}
        seen = time.monotonic()
        try:
            while waiting:
                ready, waiting = ray.wait(waiting, num_returns=1, timeout=self.patience / 10)
                if _has_resources(ray):
                    seen = time.monotonic()
                elif time.monotonic() - seen > self.patience:
                    raise RobustIRLError(f"no node of the Ray cluster has a {_resource()} left; {_GOES_ON}.")
                for reference in ready:
                    results, overhead, worker = _outcome(ray, reference)
                    overheads[worker] = overheads.get(worker, 0.0) + overhead
                    starting = sum(overheads.values()) / len(overheads)
                    timing.compilation = before.compilation + starting
                    timing.computation = before.computation + max(0.0, time.monotonic() - begin - starting)
                    yield results
        finally:
            # After an interrupt or an error the remaining results are not read. Disconnecting ends these tasks; if the
            # connection was there before, they are canceled, without force, since that can end the driver as well.
            for reference in () if leaving else waiting:
                with contextlib.suppress(Exception):
                    ray.cancel(reference)


@dataclasses.dataclass(frozen=True)
class _Order:
    """What a worker is given: the sweep's number, and the configuration that its own must equal."""

    number: int
    configuration: dict[str, str]


_executor: tuple[int, BatchExecutor] | None = None


def _work_on_ray(batch: Batch, order: _Order, dependencies: object) -> tuple[list[RunResult], float, str]:
    """Run as a task; return a batch's results, seconds spent on getting ready, and the worker.

    A worker process keeps its executor from task to task of a sweep, and with it what is compiled.
    """
    global _executor
    if _executor is None or _executor[0] != order.number:
        if order.configuration["device"] == "cpu":
            single_threaded_xla()
            jax.config.update("jax_platforms", "cpu")
        if (own := configuration()) != order.configuration:
            raise InvalidInputError(
                f"the worker on {socket.gethostname()} would compute under another configuration"
                f" ({difference(own, order.configuration)}); install the same versions on every node."
            )
        _executor = order.number, BatchExecutor(dependencies)
    results, overhead, _ = _executor[1].work(batch)
    return results, overhead, _ray().get_runtime_context().get_worker_id()


def _outcome(ray: Any, reference: Any) -> tuple[list[RunResult], float, str]:
    """Return what a task returned.

    Its own errors are raised as they are, and those of the cluster as a sentence.
    """
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, RobustIRLError):
            raise error.cause from None
        if "failed to import on the worker" in str(error.cause):
            raise InvalidInputError(
                "a worker of the Ray cluster cannot import robustirl; install it on every node, in the version that"
                " is here."
            ) from None
        raise
    except ray.exceptions.RayError as error:
        raise RobustIRLError(f"a batch was lost on the Ray cluster ({one_line(error)}); {_GOES_ON}.") from None


def _resource() -> str:
    return {"cpu": "CPU", "tpu": "TPU"}.get(jax.default_backend(), "GPU")


def _demand() -> dict[str, Any]:
    """Return what a task takes."""
    return {"CPU": {"num_cpus": 1}, "GPU": {"num_gpus": 1}}.get(_resource(), {"resources": {_resource(): 1}})


def _has_resources(ray: Any) -> bool:
    """Return whether some node could do a batch."""
    return ray.cluster_resources().get(_resource(), 0) >= 1


def _require_resources(ray: Any) -> None:
    if not _has_resources(ray):
        raise InvalidInputError(
            f"no node of the Ray cluster has a {_resource()}, which a batch takes since JAX computes on one here; add"
            " a node with one, or set JAX_PLATFORMS=cpu."
        )


def _require_answer(address: str, timeout: float) -> None:
    """Refuse an address at which nothing listens: Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    numbered = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65535
    if not numbered or not host or any(sign in host for sign in "/\0 "):
        raise InvalidInputError(
            f"--address is {short_repr(address)}, but host:port of a Ray cluster, or auto, is needed."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout).close()
    except OSError as error:
        raise _no_cluster(address, error.strerror or str(error)) from None
    except ValueError:  # A name that no host can have: an empty part, or one of more than 63 letters.
        raise InvalidInputError(
            f"--address is {short_repr(address)}, and no host can have that name; correct it."
        ) from None


def _no_cluster(address: str, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"there is no Ray cluster at {address} ({reason}); start one with `ray start --head`, check --address,"
        " or leave it out to use this machine alone."
    )


def _reachable(address: str) -> InvalidInputError:
    return InvalidInputError(
        f"Ray would listen at {address}, which other machines can reach; set {LOOPBACK_SWITCH}=0 in the environment"
        " before Ray is imported, or give the address of a cluster."
    )


def _stay_on_this_machine(*, loaded: bool) -> None:
    """Have a Ray started here listen on the loopback address alone, and require its token.

    Other users of this machine reach the loopback address, too. The token stays in the environment of this process and
    of those it starts. Ray reads all of this when it is loaded; what the caller has set stays.
    """
    if loaded and LOOPBACK_SWITCH not in os.environ and sys.platform not in ("darwin", "win32"):
        raise _reachable("the address of this machine")
    os.environ.setdefault(LOOPBACK_SWITCH, "0")
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    if os.environ["RAY_AUTH_MODE"] == "token" and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _ray() -> Any:
    # No messages home, and no change to which accelerators a process sees: both are set before Ray is loaded.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.exceptions  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InvalidInputError(
            "the Ray engine needs ray, which is not installed; run `pip install 'robustirl[ray]'`."
        ) from None
    version: str = getattr(ray, "__version__", "0.0")
    if tuple(int(part) for part in version.split(".")[:2]) < FIRST_WITH_TOKENS:
        needed = ".".join(map(str, FIRST_WITH_TOKENS))
        raise InvalidInputError(
            f"ray {version} is installed, but {needed} or newer is needed, which can ask for a token; run"
            " `pip install 'robustirl[ray]'`."
        )
    return ray
