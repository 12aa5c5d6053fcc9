"""Find former names of this room, until no other room uses them any more; then this file goes."""

import importlib
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from robustirl._check import place
from robustirl._jax import as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp.builders import as_kernel, from_successors
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.kernel import AbstractChain, AbstractKernel
from robustirl.mdp.lists import EntryKernel, ListKernel
from robustirl.mdp.mixtures import MixtureKernel

MOVED = {
    "robustirl._check": "as_count as_floats as_list as_number as_number_between as_positive as_seed concrete"
    " in_host_memory require_callable require_finite require_kind require_shape require_unmasked shape_of",
    "robustirl.mdp.game": "as_alpha as_game as_local_alpha",
    "robustirl.mdp.kernel": "AbstractChain AbstractKernel require_same_size",
    "robustirl.mdp.dense": "DenseKernel",
    "robustirl.mdp.mixtures": "MixtureKernel",
    "robustirl.mdp.builders": "Recording",
    "robustirl.mdp.mdp": "LEAST_DIGIT absorbing_states as_discount as_world replace_parts require_discount",
    "robustirl.mdp.policy": "as_action_reward as_occupancy as_policy as_reward opposed",
}


def find(name: str) -> Any:
    """Return what a former name stands for."""
    if name == "checks":
        return importlib.import_module("robustirl._check")
    if name in FORMER:
        return FORMER[name]
    for module, names in MOVED.items():
        if name in names.split():
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'robustirl.mdp' has no attribute {name!r}")


class Lists(NamedTuple):
    """Successors of every pair, and their probabilities."""

    next_states: np.ndarray
    probabilities: np.ndarray


class RankOne(NamedTuple):
    """A rank-one part."""

    weights: Any
    distribution: Any


def wrong_action(kernel: AbstractKernel, noise: Any) -> MixtureKernel:
    """Return the kernel in which a random action is executed now and then."""
    exists = np.asarray(kernel.available())
    weights = np.broadcast_to(np.asarray(noise, float), (kernel.num_states,))
    return MixtureKernel(kernel, weights, shares=exists / np.maximum(exists.sum(1, keepdims=True), 1))


def banded(offsets: Any, weights: Any, *, leaky: bool = False) -> AbstractKernel:
    """Return the kernel of diagonals `[J, A, S]`."""
    chances = np.transpose(np.asarray(weights, float), (2, 1, 0))
    places = np.arange(len(chances))[:, None, None] + np.asarray(offsets)
    return from_successors(np.broadcast_to(np.clip(places, 0, len(chances) - 1), chances.shape), chances, leaky=leaky)


def never_left(next_states: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return which states have no successor but themselves."""
    here = np.arange(len(next_states))[:, None, None]
    return ~((probabilities > 0) & (next_states != here)).any((1, 2))


def require_squares(
    name: str, array: np.ndarray, dtype: np.dtype, axes: tuple[str, ...] = ("state", "action", "successor")
) -> None:
    """Refuse numbers so large that sums of their squares are infinite in a precision."""
    # A power of ten, 1e15 for float32, with room for a hundred million squares.
    largest = 10.0 ** (int(np.log10(float(np.finfo(dtype).max))) // 2 - 4)
    bad = ~(np.abs(array) <= largest)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"{name} is {float(array[index]):g} at {place(index, axes)}, but training in {dtype} needs numbers of at"
            f" most {largest:g} in size; scale it."
        )


def _lists(kernel: Any) -> Lists | None:
    if isinstance(kernel, DenseKernel):
        return None
    base = kernel.base if rank_one(kernel) is not None else kernel
    matrix = base.to_sparse()
    lengths = np.diff(matrix.indptr)
    filled = np.arange(max(int(lengths.max()), 1)) < lengths[:, None]
    places, chances = np.zeros(filled.shape, np.int64), np.zeros(filled.shape)
    places[filled], chances[filled] = matrix.indices, matrix.data
    shape = (kernel.num_states, kernel.num_actions, -1)
    return Lists(places.reshape(shape), chances.reshape(shape))


def rank_one(kernel: Any) -> RankOne | None:
    """Return the rank-one part of a kernel."""
    distribution = getattr(kernel, "distribution", None)
    return None if distribution is None else RankOne(kernel.weights, distribution)


def _reader(kernel: Any) -> Any:
    matrix, states, actions = kernel.to_sparse(), kernel.num_states, kernel.num_actions
    return lambda first, last: matrix[first * actions : last * actions].toarray().reshape(-1, actions, states)


class Transposed(AbstractChain):
    """A chain with `expect` and `push` exchanged."""

    chain: Any

    def expect(self, value: Any) -> Any:
        return self.chain.push(value)

    def push(self, measure: Any) -> Any:
        return self.chain.expect(measure)

    def dense(self) -> Any:
        return self.chain.dense().T

    def to_sparse(self) -> Any:
        return self.chain.to_sparse().T.tocsr()


def _taking_lists(kind: type) -> None:
    chain = kind.chain  # pyright: ignore
    kind.chain = lambda self, shares: chain(  # pyright: ignore
        self, jnp.stack(shares, -1) if isinstance(shares, list | tuple) else shares
    )


def _padded(kernel: Any, states: int, actions: int) -> Any:
    if not isinstance(kernel, DenseKernel):
        return None
    size, width, _ = kernel.probabilities.shape
    array = np.zeros((states, actions, states), kernel.probabilities.dtype)
    array[:size, :width, :size] = kernel.probabilities
    further = np.arange(size, states)
    array[further, 0, further] = 1
    return eqx.tree_at(lambda k: k.probabilities, kernel, as_float(array))


def _none(_: Any) -> None:
    return None


for _kind in (DenseKernel, ListKernel, EntryKernel, MixtureKernel):
    _taking_lists(_kind)
AbstractKernel.to_array = lambda self: self.dense()  # pyright: ignore
AbstractKernel.policy_matrix = lambda self, policy: self.chain(policy).dense()  # pyright: ignore
AbstractKernel.columns = lambda self, value: list(self.expect(value).T)  # pyright: ignore
AbstractKernel.successor_lists = _lists  # pyright: ignore
AbstractKernel.rank_one = rank_one  # pyright: ignore
AbstractKernel.row_reader = _reader  # pyright: ignore
AbstractKernel.padded = _padded  # pyright: ignore
AbstractKernel.diagonals = None  # pyright: ignore
AbstractKernel.halves = AbstractKernel.order_key = _none  # pyright: ignore
AbstractChain.halves = _none  # pyright: ignore
AbstractChain.rank_one = rank_one  # pyright: ignore
AbstractChain.sparse_part = lambda self: self.to_sparse() if rank_one(self) is None else self.base.to_sparse()  # pyright: ignore
AbstractChain.transpose = lambda self: Transposed(self)  # pyright: ignore
FORMER = {
    "AbstractHalves": object,
    "BandedKernel": banded,
    "Order": object,
    "SuccessorKernel": from_successors,
    "WrongActionKernel": wrong_action,
    "banded_or_lists": from_successors,
    "compact_kernel": as_kernel,
    "never_left": never_left,
    "renumbered": _none,
    "require_squares": require_squares,
    "without_halves": lambda kernel: kernel,
}
