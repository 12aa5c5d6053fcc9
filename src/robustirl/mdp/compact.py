"""Store a kernel as its content suggests: as diagonals, as lists of successors, or as an array."""

import logging
from typing import TYPE_CHECKING

import numpy as np

from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.banded import banded_or_lists
from robustirl.mdp.kernel import AbstractKernel, DenseKernel
from robustirl.mdp.sparse import from_sparse
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

LARGEST_ARRAY = 200  # States. Up to here solvers invert matrices, for which an array is best.
LONGEST_SHARE = 0.1  # Of the states: a row with more successors than this is no shorter as a list.

_log = logging.getLogger("robustirl")


def as_kernel(
    kernel: "AbstractKernel | ArrayLike | scipy.sparse.sparray | scipy.sparse.spmatrix", num_actions: int | None
) -> AbstractKernel:
    """Return a kernel as it is, or the kernel of an array or a sparse matrix."""
    sparse = hasattr(kernel, "tocsr")  # Without importing SciPy.
    if sparse and num_actions is not None:
        return from_sparse(kernel, num_actions=num_actions)  # pyright: ignore[reportArgumentType]
    if sparse:
        raise InvalidInputError(
            f"the kernel is a sparse matrix of shape {kernel.shape}, which does not tell states from actions;"  # pyright: ignore
            " pass num_actions."
        )
    if isinstance(kernel, list | tuple) and any(hasattr(part, "tocsr") for part in kernel):
        raise InvalidInputError(
            f"the kernel is a list of {len(kernel)} sparse matrices; stack them into one whose row s * num_actions + a"
            " is T(·|s,a), and pass num_actions."
        )
    if callable(kernel) and not isinstance(kernel, AbstractKernel):
        raise InvalidInputError(
            "the kernel is a function; build it by mdp.from_function(function, num_states=..., num_actions=...)."
        )
    if num_actions is not None:
        raise InvalidInputError("num_actions is for sparse matrices; other kernels tell it themselves. Omit it.")
    return kernel if isinstance(kernel, AbstractKernel) else compact_kernel(kernel)  # pyright: ignore


def compact_kernel(probabilities: ArrayLike) -> AbstractKernel:
    """Return the kernel of an array `[S, A, S]` as an array, as diagonals or as lists.

    It is stored as an array if it is small or full.

    Example:
        >>> ring = np.roll(np.eye(300), 1, axis=1)[:, None]
        >>> type(compact_kernel(ring)).__name__, type(compact_kernel(np.full((300, 1, 300), 1 / 300))).__name__
        ('BandedKernel', 'DenseKernel')
    """
    dense = DenseKernel(probabilities)
    states, actions, _ = dense.probabilities.shape
    if states <= LARGEST_ARRAY or not checks.concrete(dense.probabilities):
        return dense
    array = np.asarray(dense.probabilities)
    longest = int((array > 0).sum(-1).max())
    if longest > LONGEST_SHARE * states:
        return dense
    rows, columns = np.nonzero(array.reshape(-1, states))
    lengths = np.bincount(rows, minlength=states * actions)
    ranks = np.arange(rows.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(np.arange(states), actions)[:, None] + np.zeros((1, longest), np.int64)
    chances = np.zeros((states * actions, longest))
    places[rows, ranks], chances[rows, ranks] = columns, array.reshape(-1, states)[rows, columns]
    shape = (states, actions, longest)
    kernel = banded_or_lists(places.reshape(shape), chances.reshape(shape))
    _log.debug(
        f"the kernel of {states} states has at most {longest} successors a row; it is stored as"
        f" {type(kernel).__name__} instead of an array."
    )
    return kernel
