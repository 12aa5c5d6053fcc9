"""How much of a stretch of time JAX spent on compiling."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator

import jax.monitoring

# Without tracing, which counts inner functions again in outer ones.
_STAGES = ("/jax/core/compile/jaxpr_to_mlir_module_duration", "/jax/core/compile/backend_compile_duration")


@dataclasses.dataclass
class Compilation:
    """Seconds spent on compiling."""

    seconds: float = 0.0


@contextlib.contextmanager
def compilation() -> Iterator[Compilation]:
    """Watch for compilation while the context lasts; the answer is there when it ends.

    Example:
        >>> import jax
        >>> with compilation() as spent:
        ...     _ = jax.jit(lambda x: x * 3.25)(1.0)
        >>> spent.seconds > 0
        True
    """
    total, spent = _total(), Compilation()
    before = total.seconds
    try:
        yield spent
    finally:
        spent.seconds = total.seconds - before


@functools.cache
def _total() -> Compilation:
    """Return the time that this process spent on compiling, counted since the first call.

    Listeners cannot be removed in every version of JAX.
    """
    total = Compilation()

    def listen(event: str, duration_secs: float, **kwargs: object) -> None:
        del kwargs
        if event in _STAGES:
            total.seconds += duration_secs

    jax.monitoring.register_event_duration_secs_listener(listen)
    return total
