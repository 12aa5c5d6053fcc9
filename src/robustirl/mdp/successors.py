r"""Kernels as lists of successors: T(·|s,a) = Σ_k p(s,a,k) δ(n(s,a,k)).

A move of a large world leads to few places: K successors n(s,a,·) with probabilities p(s,a,·). Then

    Σ_s' T(s'|s,a) V(s') = Σ_k p(s,a,k) V(n(s,a,k))

takes K products a pair, and memory grows as |S| |A| K where an array `[S, A, S]` grows as |S|²|A|. Nothing
here allocates |S|² numbers but `policy_matrix`, whose result has that size, and the distance to a dense kernel.
"""

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import BoundedJit, as_float, one_line, require_memory
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.chains import ListChain
from robustirl.mdp.gathers import MOST_UNROLLED, by_action, gather_sum, take
from robustirl.mdp.halves import AbstractHalves, HalvedLists
from robustirl.mdp.inflow import PredecessorList
from robustirl.mdp.kernel import AbstractKernel, DenseKernel, require_row_sums, require_same_size
from robustirl.mdp.layout import Flows, flows_of, laid_out, neighbors_of, used_entries
from robustirl.types import AnyArray, ArrayLike

if TYPE_CHECKING:
    import scipy.sparse


class SuccessorKernel(AbstractKernel):
    """A kernel stored as K successors of every state-action pair.

    Args:
        next_states: `[S, A, K]`, the successors n(s,a,k), whole numbers from 0 to |S|-1. A successor may be listed
            more than once; its probabilities then add up. Pairs with fewer than K successors repeat any state
            with probability zero.
        probabilities: `[S, A, K]`, p(s,a,k). A row of zeros says that the action does not exist there.
        leaky: Accept rows that sum to less than one, as in `DenseKernel`.

    In worlds of more than 1,024 states successors that the actions of a state have in common are stored once, if that
    saves work; `next_states` and `probabilities` then list every successor of a state for each of its actions.

    Example:
        >>> kernel = SuccessorKernel([[[0, 1]], [[1, 1]]], [[[0.75, 0.25]], [[0.5, 0.5]]])
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[1.5], [3.0]]
        >>> kernel.to_sparse().toarray().tolist()
        [[0.75, 0.25], [0.0, 1.0]]
    """

    places: Int[Array, "K B S"]  # B is |A|, or 1 where all actions of a state share one list.
    weights: Float[Array, "K A S"]
    inflow: PredecessorList | None
    halved: HalvedLists | None
    leaky: bool = eqx.field(static=True)

    def __init__(self, next_states: ArrayLike, probabilities: ArrayLike, *, leaky: bool = False):
        self.inflow = self.halved = None
        if checks.concrete(next_states, probabilities):
            array = checks.as_floats("the probabilities of the successors", probabilities)
            next_states = _as_indices(next_states)
            _check_successors(next_states, array, leaky)
            places, probabilities = laid_out(next_states, array)
            self.inflow, self.halved = flows_of(places, probabilities)
        else:
            places, probabilities = (jnp.transpose(x, (2, 1, 0)) for x in (next_states, probabilities))  # pyright: ignore
        # 32 bits number two thousand million states and halve the memory of the list.
        known = isinstance(places, np.ndarray)  # Then without a program for every size.
        self.places = jax.device_put(places.astype(np.int32)) if known else jnp.asarray(places, dtype=jnp.int32)
        self.weights = as_float(probabilities)
        self.leaky = leaky

    @property
    def next_states(self) -> Int[Array, "S A K"]:
        """N(s,a,k), as given; of each state all successors, where actions share one list."""
        shape = self.weights.shape[2], self.weights.shape[1], self.weights.shape[0]
        return jnp.broadcast_to(jnp.transpose(self.places, (2, 1, 0)), shape)

    @property
    def probabilities(self) -> Float[Array, "S A K"]:
        """P(s,a,k), the probabilities of `next_states`."""
        return jnp.transpose(self.weights, (2, 1, 0))

    @property
    def num_states(self) -> int:
        return self.weights.shape[2]

    @property
    def num_actions(self) -> int:
        return self.weights.shape[1]

    @property
    def _shared(self) -> bool:
        """Whether all actions of a state share one list."""
        return self.places.shape[1] < self.num_actions

    def columns(self, value: Float[AnyArray, " S"]) -> list[Float[Array, " S"]]:
        if self.num_actions > MOST_UNROLLED:
            return list(self.expect(value).T)
        if self._shared and len(self.places) <= MOST_UNROLLED:
            met = [take(value, row[0]) for row in self.places]
            return [_sum(w[a] * v for w, v in zip(self.weights, met, strict=True)) for a in range(self.num_actions)]
        lists = [0 if self._shared else a for a in range(self.num_actions)]
        return [gather_sum(self.places[:, b], self.weights[:, a], value) for a, b in enumerate(lists)]

    def expect(self, value: Float[AnyArray, " S"]) -> Float[Array, "S A"]:
        if self.num_actions > MOST_UNROLLED:  # All actions at once: a program that is no longer for more of them.
            return gather_sum(self.places, self.weights, value).T
        return jnp.stack(self.columns(value), -1)

    def push(self, measure: Float[AnyArray, "S A"]) -> Float[Array, " S"]:
        return self.chain(by_action(measure)).push(jnp.ones_like(measure[:, 0]))

    def chain(self, shares: Sequence[Float[AnyArray, " S"]] | Float[Array, "A S"]) -> ListChain:
        places = self.places.reshape(-1, self.num_states)
        if len(places) > MOST_UNROLLED or self.num_actions > MOST_UNROLLED:
            every = self.weights * (shares if isinstance(shares, jax.Array) else jnp.stack(shares))
            weights = every.sum(1) if self._shared else every.reshape(-1, self.num_states)
        elif self._shared:
            weights = tuple(_sum(share * w[a] for a, share in enumerate(shares)) for w in self.weights)
        else:
            weights = tuple(share * w[a] for w in self.weights for a, share in enumerate(shares))
        return ListChain(places, weights, self.inflow, self.halved)

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        """Return the chain of a policy as a matrix of |S|² numbers, for direct solvers only."""
        require_matrix(self.num_states)
        weights = policy[..., None] * self.probabilities
        rows = jnp.arange(self.num_states)[:, None, None]
        empty = jnp.zeros((self.num_states, self.num_states), weights.dtype)
        return empty.at[rows, self.next_states].add(weights)

    def halves(self) -> AbstractHalves | None:
        # Actions with lists of their own would need as many of them in halves.
        return self.halved.halves(self.weights) if self.halved is not None and self._shared else None

    def row_sums(self) -> Float[Array, "S A"]:
        if checks.in_host_memory(self.weights):
            return jax.device_put(np.asarray(self.weights).sum(0).T)
        return self.weights.sum(0).T

    def padded(self, states: int, actions: int) -> "SuccessorKernel | None":
        if self._shared or self.inflow is not None:
            return None  # Only worlds larger than those that are padded are stored so.
        successors, width, size = self.weights.shape
        array = np.zeros((successors, actions, states), self.weights.dtype)
        array[:, :width, :size] = self.weights
        array[0, 0, size:] = 1
        lists = np.broadcast_to(np.arange(states, dtype=np.int32), array.shape).copy()
        lists[:, :width, :size] = self.places
        return eqx.tree_at(lambda k: (k.places, k.weights), self, (jax.device_put(lists), as_float(array)))

    def extended(self, states: int) -> "SuccessorKernel":
        (length, actions, size), lists = self.weights.shape, self.places.shape[1]
        weights = np.zeros((length, actions, states), self.weights.dtype)
        weights[..., :size] = self.weights
        weights[0, 0, size:] = 1
        places = np.broadcast_to(np.arange(states, dtype=np.int32), (length, lists, states)).copy()
        places[..., :size] = self.places
        return self._with_lists(places, weights)

    def order_key(self) -> Int[Array, "K B S"]:
        return self.places

    def neighbors(self) -> "scipy.sparse.csr_array":
        places, weights = np.asarray(self.places), np.asarray(self.weights)
        return neighbors_of(places, used_entries(places, weights))

    def reordered(self, order: Int[np.ndarray, " S"], rank: Int[np.ndarray, " S"]) -> "SuccessorKernel":
        places, weights = rank[np.asarray(self.places)[..., order]], np.asarray(self.weights)[..., order]
        return self._with_lists(places, weights)

    def _with_lists(self, places: Int[np.ndarray, "K B S"], weights: Float[np.ndarray, "K A S"]) -> "SuccessorKernel":
        """Return this kernel with other lists, which need no checks."""
        flows = Flows() if self.inflow is None else flows_of(places, weights)
        changed = (jnp.asarray(places, dtype=jnp.int32), as_float(weights), *flows)
        parts = lambda k: (k.places, k.weights, k.inflow, k.halved)  # noqa: E731
        return eqx.tree_at(parts, self, changed, is_leaf=lambda leaf: leaf is None)

    def self_transitions(self) -> Float[Array, "S A"]:
        here = self.next_states == jnp.arange(self.num_states)[:, None, None]
        return jnp.where(here, self.probabilities, 0).sum(-1)

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        """Return ‖T(·|s,a) - T'(·|s,a)‖₁ for every pair; a dense `other` takes as much memory again."""
        require_same_size(self, other)
        if isinstance(other, DenseKernel):
            return jnp.abs(self.to_array() - other.probabilities).sum(-1)
        if not isinstance(other, SuccessorKernel):
            return other.row_distances(self)  # Diagonals and mixtures make lists of themselves.
        return _list_distances(self, other)

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        if self.leaky:
            raise InvalidInputError(
                "a leaky kernel cannot be sampled, because its rows sum to less than 1;"
                " sample the evaluation world of the same environment instead."
            )
        chances = jnp.moveaxis(self.weights[:, actions, states], 0, -1)
        choice = jax.random.categorical(key, jnp.log(chances))
        return self.places[choice, 0 if self._shared else actions, states]

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "SuccessorKernel":
        """Return lists of K+1 successors: the state of lowest value need not have been one."""
        falling = jnp.argsort(-value[self.next_states], -1)
        places, mass = (jnp.take_along_axis(array, falling, -1) for array in (self.next_states, self.probabilities))
        higher = jnp.cumsum(mass, axis=-1) - mass
        taken = jnp.clip(radius[..., None] / 2 - higher, 0, mass)
        lowest = jnp.full((*self.row_sums().shape, 1), jnp.argmin(value), places.dtype)
        return SuccessorKernel(
            jnp.concatenate([places, lowest], -1),
            jnp.concatenate([mass - taken, taken.sum(-1, keepdims=True)], -1),
            leaky=self.leaky,
        )

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        pairs, successors = self.num_states * self.num_actions, self.probabilities.shape[-1]
        # Copies, because adding up the entries of a repeated successor happens in place.
        columns, weights = (np.array(array).ravel() for array in (self.next_states, self.probabilities))
        matrix = scipy.sparse.csr_array(
            (weights, columns, np.arange(0, pairs * successors + 1, successors)), shape=(pairs, self.num_states)
        )
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    def to_array(self) -> Float[Array, "S A S"]:
        states, actions = jnp.arange(self.num_states)[:, None, None], jnp.arange(self.num_actions)[:, None]
        empty = jnp.zeros((self.num_states, self.num_actions, self.num_states), self.probabilities.dtype)
        return empty.at[states, actions, self.next_states].add(self.probabilities)

    def successor_lists(self) -> "SuccessorKernel":
        return self


def _sum(terms: Iterable[Float[Array, " S"]]) -> Float[Array, " S"]:
    return functools.reduce(operator.add, terms)


def require_matrix(states: int) -> None:
    """Refuse a matrix of states by states that will not fit."""
    what = f"the chain of a policy as a matrix of {states} x {states} numbers"
    require_memory(8.0 * states**2, what, "this is for smaller worlds")


def signed_sums(
    first: SuccessorKernel, second: SuccessorKernel
) -> tuple[Int[Array, "S A L"], Float[Array, "S A L"], Bool[Array, "S A L"]]:
    """Return T - T' as lists: places, differences, and whether an entry is its place's first.

    Either list may name a successor several times. Sorting brings its entries together; the difference stands at the
    first of them, and the others are zero.
    """
    places = jnp.concatenate([first.next_states, second.next_states], -1)
    weights = jnp.concatenate([first.probabilities, -second.probabilities], -1)
    order = jnp.argsort(places, -1)
    places, weights = (jnp.take_along_axis(array, order, -1) for array in (places, weights))
    length = places.shape[-1]
    fresh = (jnp.diff(places, axis=-1, prepend=places[..., :1]) != 0).at[..., 0].set(True)
    # Entries of one place share the index of its first entry; sums are added up there.
    leaders = jax.lax.cummax(jnp.where(fresh, jnp.arange(length), 0), axis=2)
    rows = jnp.arange(fresh[..., 0].size).reshape(*fresh.shape[:2], 1)
    sums = jax.ops.segment_sum(weights.ravel(), (rows * length + leaders).ravel(), num_segments=weights.size)
    return places, sums.reshape(weights.shape), fresh


@BoundedJit  # Thirty operations, each of which would be a program for every size.
def _list_distances(first: SuccessorKernel, second: SuccessorKernel) -> Float[Array, "S A"]:
    _, sums, _ = signed_sums(first, second)
    return jnp.abs(sums).sum(-1)


def _as_indices(next_states: ArrayLike) -> np.ndarray:
    checks.require_unmasked("the list of successors", next_states)
    try:
        array = np.asarray(next_states)
    except ValueError as error:
        raise InvalidInputError(f"the list of successors is not a rectangular array ({one_line(error)}).") from None
    if array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"the list of successors holds {array.dtype}, but whole numbers are needed: states that a move leads to."
        )
    return array


def _check_successors(next_states: np.ndarray, probabilities: np.ndarray, leaky: bool) -> None:
    shape = next_states.shape
    if len(shape) != 3 or 0 in shape:
        raise InvalidInputError(
            f"the list of successors has shape {shape}, but (S, A, K) is needed with at least one state, action and"
            " successor; entry [s, a, k] is the k-th state that a leads to from s."
        )
    checks.require_shape("the array of successor probabilities", probabilities, shape, "as the list of successors")
    outside = (next_states < 0) | (next_states >= shape[0])
    if outside.any():
        index = tuple(int(i) for i in np.argwhere(outside)[0])
        raise InvalidInputError(
            f"the list of successors names state {int(next_states[index])} at {checks.place(index)}, but the states are"
            f" numbered from 0 to {shape[0] - 1}; give unused places any of them, with probability 0."
        )
    checks.require_probabilities("the transition probability", probabilities)
    require_row_sums(probabilities.sum(-1), leaky)
