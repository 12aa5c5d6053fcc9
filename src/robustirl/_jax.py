"""Compute with JAX: the precision of public functions, compiled programs and their cache, tolerances of a type.

Everything tabular is computed in float64, whatever JAX's default, which stays as it is. A public function opens a scope
of its own (`working_precision`), and inside it JAX computes in double precision. Outside such a scope JAX cannot handle
arrays of 64 bits: it rounds them to 32 with a warning, and `argmax` of one fails. Results therefore leave the scope as
NumPy arrays. If JAX's default is float64 there is no scope, and results are JAX arrays.
"""

import contextlib
import contextvars
import dataclasses
import functools
import hashlib
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.experimental.buffer_callback import buffer_callback
from jaxtyping import Array, Float

from robustirl._check import short_repr
from robustirl._check import sum_tolerance as sum_tolerance
from robustirl._show import field_repr
from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike, PathLike

_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound=eqx.Module)
_V = TypeVar("_V")
_single: contextvars.ContextVar[bool] = contextvars.ContextVar("robustirl_single_precision", default=False)
_opened: contextvars.ContextVar[bool] = contextvars.ContextVar("robustirl_opened_x64_scope", default=False)


def enable_x64() -> None:
    """Switch all of JAX to double precision.

    robustirl does not need it: its functions compute in double precision whatever JAX's default. Call it, before the
    first array is made, if your own JAX code should use float64, too; robustirl then returns JAX arrays.

    Example:
        >>> import robustirl
        >>> robustirl.enable_x64()  # doctest: +SKIP
    """
    jax.config.update("jax_enable_x64", True)


@contextlib.contextmanager
def single_precision() -> Iterator[None]:
    """Compute in float32 inside this context, with half the memory.

    Default tolerances are near 1e-4 instead of 1e-10. Build the world inside the context, and use it there. This is for
    worlds of many states on a GPU, with discounts up to about 0.99. Threads started inside it compute in double
    precision.

    Example:
        >>> import robustirl
        >>> with robustirl.single_precision():
        ...     world = robustirl.MDP([[[1.0]]], discount=0.5)
        ...     solution = robustirl.planning.solve(world, [1.0])
        >>> str(solution.value.dtype), round(float(solution.value[0]), 3)
        ('float32', 2.0)
    """
    with _precision(single=True):
        yield


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """Compute in float64 inside this context, JAX itself included.

    Public functions then return JAX arrays.
    """
    with _precision(single=False):
        yield


@contextlib.contextmanager
def _precision(single: bool) -> Iterator[None]:
    token = _single.set(single)
    try:
        with jax.enable_x64(not single):
            yield
    finally:
        _single.reset(token)


def working_precision(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a public function, so that it computes in the working precision.

    That is double precision, or single inside `single_precision()`. The outermost decorated function opens the scope.
    Arrays in its result become NumPy arrays, and scalars become NumPy scalars, except those of worlds, kernels and
    reward models (`DeviceModule`). Inside a caller's `jax.jit` or `jax.vmap` they are cast to JAX's default types
    instead.
    """
    return _scoped(function, take=lambda given: given)


def _scoped(function: Callable[_P, _R], take: Callable) -> Callable[_P, _R]:
    @functools.wraps(function)
    def scoped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        double = not _single.get()
        if jax.config.jax_enable_x64 == double:  # pyright: ignore[reportAttributeAccessIssue]
            return function(*args, **kwargs)
        token = _opened.set(double)
        try:
            with jax.enable_x64(double):
                args, kwargs = take((args, kwargs))
                return released(function(*args, **kwargs))
        finally:
            _opened.reset(token)

    return scoped


def working_dtype() -> np.dtype:
    """Return the type to compute in: float64, or float32 inside `single_precision()`."""
    return np.dtype(np.float32 if _single.get() else np.float64)


class PlainModule(eqx.Module):
    """A module whose repr shows numbers."""

    def __repr__(self) -> str:
        return field_repr(self)


class ScopedModule(PlainModule):
    """A module whose methods compute in working precision.

    Public methods and properties of subclasses are decorated with `working_precision`. Pickles hold NumPy arrays,
    because JAX would restore arrays of 64 bits as 32.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        members: list[tuple[str, Any]] = list(vars(cls).items())
        for name, member in members:
            if getattr(member, "__isabstractmethod__", False):
                continue
            if isinstance(member, property) and member.fget is not None:
                setattr(cls, name, property(_scoped(member.fget, _as_device), doc=member.__doc__))
            elif name == "__init__":
                setattr(cls, name, working_precision(member))  # pyright: ignore[reportArgumentType]
            elif hasattr(member, "__code__") and (name == "__call__" or not name.startswith("_")):
                setattr(cls, name, _scoped(member, _as_device))  # pyright: ignore[reportArgumentType]

    def __getstate__(self) -> dict[str, Any]:
        return {name: _map_arrays(np.asarray, value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if not (isinstance(self, DeviceModule) or jax.config.read("jax_enable_x64")):
            vars(self).update(state)  # A result has NumPy arrays here, as it had when it was made.
            return
        with jax.enable_x64(True):
            vars(self).update({name: _map_arrays(jnp.asarray, value) for name, value in state.items()})


class DeviceModule(ScopedModule):
    """A module whose arrays stay on the device: a world, a kernel, a reward model.

    The arrays of results do not stay there; see the top of this file.
    """


def _as_device(given: Any) -> Any:
    """Return the arguments of a method, its object included, with JAX arrays for NumPy's.

    A result holds its arrays as NumPy arrays.
    """

    def one(leaf: Any) -> Any:
        return jnp.asarray(leaf) if isinstance(leaf, np.ndarray | np.generic) else leaf

    return jax.tree.map(one, given, is_leaf=lambda node: isinstance(node, DeviceModule))


def _map_arrays(change: Callable, tree: Any) -> Any:
    """Change the arrays of a tree; modules in it look after their own."""

    def one(leaf: Any) -> Any:
        return change(leaf) if isinstance(leaf, jax.Array | np.ndarray) else leaf

    return jax.tree.map(one, tree, is_leaf=lambda node: isinstance(node, ScopedModule))


def released(out: _R) -> _R:
    """Return what leaves the scope of a public function in a form that can be used outside.

    Call it inside the scope.
    """
    return _released(out) if _opened.get() else out


def _released(out: Any) -> Any:
    if out is None or isinstance(out, str | bool | int | float | np.ndarray | DeviceModule):
        return out
    leaves, structure = jax.tree.flatten(out, is_leaf=lambda node: isinstance(node, DeviceModule))
    for leaf in leaves:
        if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer):
            leaf.copy_to_host_async()  # All at once; one after the other would wait for the device each time.
    return jax.tree.unflatten(structure, [_plain(leaf) if isinstance(leaf, jax.Array) else leaf for leaf in leaves])


def _plain(leaf: jax.Array) -> Any:
    if isinstance(leaf, Tracer):
        return leaf.astype(_NARROW[leaf.dtype.name]) if leaf.dtype.name in _NARROW else leaf
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    array = np.asarray(leaf)
    return array if array.ndim else array[()]


_NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


@working_precision
def in_working_precision(module: _M) -> _M:
    """Return a module with its floating-point arrays cast to the working precision.

    If they have it already, the module itself is returned.
    """
    dtype = working_dtype()
    floats = eqx.filter(module, lambda leaf: eqx.is_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating))
    if all(leaf.dtype == dtype for leaf in jax.tree.leaves(floats)):
        return module
    return eqx.combine(jax.tree.map(lambda leaf: leaf.astype(dtype), floats), module)


def as_float(array: ArrayLike) -> Float[Array, "..."]:
    """Return `array` as a JAX array in working precision.

    That is float64, or float32 inside `single_precision()`.
    """
    with jax.enable_x64(not _single.get()):
        return jnp.asarray(array, dtype=float)


def epsilon(array: Float[Array, "..."] | Float[np.ndarray, "..."]) -> float:
    """Return the machine epsilon of the array's type."""
    return float(jnp.finfo(array.dtype).eps)


def solver_tolerance(array: Float[Array, "..."], discount: Float[Array, ""]) -> Float[Array, ""]:
    """Return the accuracy that solvers aim at by default, relative to `max(1, ‖V‖)`.

    1e-10 in float64 and 1e-4 in float32, raised where the discount leaves rounding no room: a residual
    is known to a few units in the last place and the error bound divides it by 1 - γ.
    """
    eps = epsilon(array)
    goal = 1e-10 if eps < 1e-10 else 1e-4
    if isinstance(discount, jax.Array) and not isinstance(discount, Tracer):
        # On the host: three operations on one number would be three programs.
        return jnp.asarray(np.maximum(goal, 16 * eps / (1 - np.asarray(discount)), dtype=discount.dtype))  # pyright: ignore
    return jnp.maximum(goal, smallest_tolerance(array, discount))


def smallest_tolerance(array: Float[Array, "..."], discount: Float[Array, ""] | float) -> Float[Array, ""] | float:
    """Return the tightest accuracy that this type can certify at this discount."""
    return 16 * epsilon(array) / (1 - discount)


def tie_tolerance(array: Float[Array, "..."]) -> float:
    """Return how close two action values must be to count as tied, relative to the largest.

    In float64 this is about 1e-12.
    """
    return 4096 * epsilon(array)


MOST_PROGRAMS = 2_000
"""Compiled programs after which all are released: each takes memory maps, of which Linux gives a process 65,530."""
_made = 0


def _count(event: str, duration_secs: float, **kwargs: Any) -> None:
    del duration_secs, kwargs
    global _made
    _made += event == "/jax/core/compile/backend_compile_duration"


jax.monitoring.register_event_duration_secs_listener(_count)


def jit(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function as `eqx.filter_jit` does; release all programs once very many were made.

    Arrays are traced, and the rest is static.

    Example:
        >>> jit(lambda x: 2 * x)(np.ones(3)).tolist()
        [2.0, 2.0, 2.0]
    """
    compiled = eqx.filter_jit(function)

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        global _made
        if _made > MOST_PROGRAMS:
            jax.clear_caches()
            _made = 0
        return compiled(*args, **kwargs)

    return run


def wait_interruptibly(values: _V) -> _V:
    """Return values once they are computed; a KeyboardInterrupt is raised at once.

    A program that XLA runs cannot be interrupted, and Python sees no signal while it is blocked in one. XLA computes in
    threads of its own, so that this thread can look at the result from time to time. The program then runs to its end
    in the background.

    Example:
        >>> float(wait_interruptibly(jax.numpy.ones(())))
        1.0
    """
    begun, pause = time.monotonic(), 1e-4
    for leaf in jax.tree.leaves(values):
        if not isinstance(leaf, jax.Array) or isinstance(leaf, Tracer):
            continue
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)  # Keys do not say whether they are ready.
        while not leaf.is_ready():  # pyright: ignore[reportAttributeAccessIssue]
            if time.monotonic() - begun < 0.002:  # Most small programs end by then; sleeping would be too coarse.
                time.sleep(0)
            else:
                time.sleep(pause)
                pause = min(1.5 * pause, 0.05)
    return values


def on_host() -> AbstractContextManager[object]:
    """Make arrays in the memory of the CPU while the context lasts.

    A batch of hundreds of problems is put together by thousands of small operations, each of which costs an accelerator
    as much as a large one. Put the finished batch where it is computed with `jnp.asarray` after the context.

    Example:
        >>> with on_host():
        ...     jax.numpy.ones(2).devices().pop().platform
        'cpu'
    """
    if jax.default_backend() == "cpu":
        return contextlib.nullcontext()
    try:
        return jax.default_device(jax.local_devices(backend="cpu")[0])
    except RuntimeError:  # Only the accelerator is visible to JAX.
        return contextlib.nullcontext()


def call_on_host(function: Callable[..., np.ndarray], result: jax.ShapeDtypeStruct, *arrays: Array) -> Array:
    """Return what a function of NumPy arrays returns, in a compiled program.

    Under `jax.vmap` the function is called once, with one more axis in front of every array and of its result. On a CPU
    the function reads the program's own memory: `jax.pure_callback` would make JAX arrays of it first, by a thread that
    may be the one which waits for the function, and a program with one thread would stand still.

    Args:
        function: What to call; it should be the same object each time, so that steps outside of compiled programs share
            one program.
        result: The shape and the type of what it returns.
        arrays: What it is given.

    Example:
        >>> halves = lambda x: call_on_host(lambda x: x / 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        >>> jax.jit(jax.vmap(halves))(jnp.array([[2.0, 4.0]])).tolist()
        [[1.0, 2.0]]
    """
    if jax.default_backend() != "cpu":  # Its memory is not the host's.
        return jax.pure_callback(_OfArrays(function), result, *arrays, vmap_method="broadcast_all")
    return buffer_callback(_IntoBuffer(function), result, vmap_method="broadcast_all")(*arrays)


@dataclasses.dataclass(frozen=True)
class _OfArrays:
    """A function of NumPy arrays as one of whatever JAX gives; JAX keeps programs by this object's value."""

    function: Callable[..., np.ndarray]

    def __call__(self, *given: Any) -> np.ndarray:
        return self.function(*map(np.asarray, given))


@dataclasses.dataclass(frozen=True)
class _IntoBuffer:
    """The same, which writes its result into the program's memory."""

    function: Callable[..., np.ndarray]

    def __call__(self, context: object, out: Any, *given: Any) -> None:
        del context
        np.asarray(out)[...] = self.function(*map(np.asarray, given))


MAX_CACHE_BYTES = 512 * 2**20
"""How much of compiled programs is kept from one process to the next."""


def enable_cache(folder: PathLike | None = None) -> Path:
    """Keep compiled programs from one Python process to the next, and return the folder.

    The command line does the same. Call this function before the first fit. It changes JAX's configuration for the
    whole process, so that programs of your own are kept as well; it is therefore not on by default. At most 512 MB are
    kept, the programs used last. A folder that the environment names (`JAX_COMPILATION_CACHE_DIR`) is used as it is.

    Args:
        folder: Where to keep them; a folder of this processor in the user's cache directory if omitted.

    Example:
        >>> import robustirl
        >>> robustirl.enable_cache()  # doctest: +SKIP
        PosixPath('/home/me/.cache/robustirl/x86_64-...')
    """
    # JAX warns where an entry cannot be read or written, and compiles; there is nothing for the user to do.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry", UserWarning)
    named = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    if named and folder is None:
        return Path(named)
    try:
        place = _cache_folder() if folder is None else Path(folder).absolute()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        _bound_cache(place)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"compiled programs cannot be kept in {short_repr(folder, 200)} ({error}); name a folder that can be"
            " written."
        ) from None
    settings = {
        "jax_compilation_cache_dir": str(place),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)  # For the processes that this one starts.
    return place


def _bound_cache(folder: Path) -> None:
    """Remove the entries that were used longest ago, until the rest fits.

    JAX's own bound needs a lock file, and stops working once a killed process leaves an entry without its time stamp.
    """
    entries: list[tuple[float, int, Path]] = []
    for path in folder.glob("*-cache"):
        with contextlib.suppress(OSError):  # Another process removed it.
            found = path.lstat()
            entries.append((max(found.st_atime, found.st_mtime), found.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= MAX_CACHE_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size


def _cache_folder() -> Path:
    """Return the user's folder for programs of this processor; another's may use instructions that this one lacks."""
    text = platform.machine()
    with contextlib.suppress(OSError):  # Not on every system.
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        text += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    name = f"{platform.machine()}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "robustirl" / name
