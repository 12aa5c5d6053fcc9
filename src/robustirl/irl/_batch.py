"""Many fits as one batch: equal objects handed over once, trees stacked, and results taken apart."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from robustirl.errors import InvalidInputError
from robustirl.mdp import concrete
from robustirl.types import Tree

Item = TypeVar("Item")
Result = TypeVar("Result")


def stack(trees: Sequence, what: str) -> Any:
    """Stack trees of one shape along a new first axis.

    An object given several times is transferred once.
    """
    own = {id(tree): tree for tree in trees}
    first, *others = own.values()
    shape = tree_shape(first)
    if any(tree_shape(other) != shape for other in others):
        raise InvalidInputError(f"the {what}s of one batch differ in shape or kind; fit them in separate batches.")
    order = {key: place for place, key in enumerate(own)}
    places = np.array([order[id(tree)] for tree in trees])
    return jax.tree.map(lambda *leaves: _stack_leaves(leaves, places), *own.values())


def _stack_leaves(leaves: Sequence, places: np.ndarray) -> Array:
    """Stack arrays and take the one at each place.

    If they are on the host they are stacked there, without a program for every size.
    """
    keys = any(jnp.issubdtype(getattr(leaf, "dtype", float), jax.dtypes.prng_key) for leaf in leaves)
    if not keys and concrete(*leaves) and jax.default_backend() == "cpu":
        return jax.device_put(np.stack([np.asarray(leaf) for leaf in leaves])[places])
    stacked = jnp.stack(leaves)
    return stacked if len(leaves) == len(places) else stacked[places]


def tree_shape(tree: Tree) -> tuple:
    """Return the structure of a tree and the shapes of its leaves.

    Trees that agree in these can be stacked.
    """
    return jax.tree.structure(tree), *map(np.shape, jax.tree.leaves(tree))


def unstack(tree: Item, count: int) -> list[Item]:
    """Take a stack apart on the host.

    This takes one transfer for all. Slices on a device would take one per leaf and item.
    """
    held = jax.tree.map(np.asarray, tree)
    return [jax.tree.map(lambda leaf, i=i: leaf[i], held) for i in range(count)]


def make_once(make: Callable[..., Result], *columns: Sequence) -> list[Result]:
    """Return `make` of every row of arguments, the same object for the same arguments."""
    made: dict[tuple[int, ...], Result] = {}
    rows = list(zip(*columns, strict=True))
    for row in rows:
        key = tuple(id(item) for item in row)
        if key not in made:
            made[key] = make(*row)
    return [made[tuple(id(item) for item in row)] for row in rows]


def map_batch(function: Callable[[Any], Result], items: Any, *, vectorize: bool) -> Result:
    """Apply `function` to every entry of a stack, in lockstep or one after the other.

    For use inside compiled code.
    """
    return jax.vmap(function)(items) if vectorize else jax.lax.map(function, items)


def choose_vectorize(vectorize: bool | None) -> bool:
    """Return the choice, or the faster one for the device if it is None.

    Lockstep is faster on GPUs, one after the other on CPUs.
    """
    return jax.default_backend() != "cpu" if vectorize is None else vectorize


def one_for_each(values: Any, count: int) -> list:
    """Return a list of values as it is, and a single one as often as it is needed."""
    return list(values) if isinstance(values, list | tuple) or np.ndim(values) == 1 else [values] * count
