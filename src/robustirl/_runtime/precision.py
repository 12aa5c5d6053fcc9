"""Floating-point precision: the scope that public functions compute in, and the tolerances that follow from it.

Everything tabular is computed in float64, whatever JAX's default, which stays as it is. A public function opens a scope
of its own (`working_precision`), and inside it JAX computes in double precision. Outside such a scope JAX cannot handle
arrays of 64 bits: it rounds them to 32 with a warning, and `argmax` of one fails. Results therefore leave the scope as
NumPy arrays. If JAX's default is float64 there is no scope, and results are JAX arrays.
"""

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from robustirl._runtime.forks import require_no_fork
from robustirl._runtime.representation import PlainModule
from robustirl._runtime.settings import unusual_settings, usual_settings
from robustirl._runtime.tracebacks import without_frames
from robustirl.errors import RobustIRLError
from robustirl.types import ArrayLike

_P = ParamSpec("_P")
_R = TypeVar("_R")
_M = TypeVar("_M", bound=eqx.Module)
_single: contextvars.ContextVar[bool] = contextvars.ContextVar("robustirl_single_precision", default=False)
_opened: contextvars.ContextVar[bool] = contextvars.ContextVar("robustirl_opened_x64_scope", default=False)


def _x64_scope(on: bool) -> contextlib.AbstractContextManager:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(on)
    from jax.experimental import enable_x64 as scope  # pyright: ignore[reportAttributeAccessIssue]  # Before JAX 0.8.

    return scope(on)


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
        ...     world = robustirl.mdp.MDP([[[1.0]]], discount=0.5)
        ...     solution = robustirl.planning.solve(world, [1.0])
        >>> str(solution.value.dtype), round(float(solution.value[0]), 3)
        ('float32', 2.0)
    """
    token = _single.set(True)
    try:
        with _x64_scope(False):
            yield
    finally:
        _single.reset(token)


@contextlib.contextmanager
def double_precision() -> Iterator[None]:
    """Compute in float64 inside this context, JAX itself included.

    Public functions then return JAX arrays.
    """
    token = _single.set(False)
    try:
        with _x64_scope(True):
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
        __tracebackhide__ = True  # For pytest.
        require_no_fork()
        if unusual_settings():
            with usual_settings():
                return scoped(*args, **kwargs)
        try:
            double = not _single.get()
            if jax.config.jax_enable_x64 == double:  # pyright: ignore[reportAttributeAccessIssue]
                return function(*args, **kwargs)
            token = _opened.set(double)
            try:
                with _x64_scope(double):
                    args, kwargs = take((args, kwargs))
                    return released(function(*args, **kwargs))
            finally:
                _opened.reset(token)
        except RobustIRLError as error:
            raise without_frames(error) from None

    return scoped


def working_dtype() -> np.dtype:
    """Return the type to compute in: float64, or float32 inside `single_precision()`."""
    return np.dtype(np.float32 if _single.get() else np.float64)


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
        with _x64_scope(True):
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
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer)]
    for array in arrays:
        array.copy_to_host_async()  # All at once; one after the other would wait for the device each time.
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
    leaves, structure = jax.tree.flatten(module)
    floats = [isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves]
    if all(leaf.dtype == dtype for leaf, is_float in zip(leaves, floats, strict=True) if is_float):
        return module
    cast = [leaf.astype(dtype) if is_float else leaf for leaf, is_float in zip(leaves, floats, strict=True)]
    return jax.tree.unflatten(structure, cast)


def as_float(array: ArrayLike) -> Float[Array, "..."]:
    """Return `array` as a JAX array in working precision.

    That is float64, or float32 inside `single_precision()`.
    """
    with _x64_scope(not _single.get()):
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


def sum_tolerance(dtype: np.dtype) -> float:
    """Return how far from one the entries of a distribution given in this type may sum."""
    return 1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-10
