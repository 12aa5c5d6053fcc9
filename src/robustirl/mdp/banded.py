r"""Kernels that move by few fixed distances: T(s+d_j|s,a) = w(j,a,s).

The states of a grid are numbered row by row, so that every move of every cell changes the number by one of five
distances: ±1, ± the length of a row, and 0 for a move that is blocked. Such a kernel is a few diagonals. Expected
values and flows are then sums of shifted vectors, read in the order in which they lie in memory: several times faster
than lists of successors, and far faster the other way round, where lists must scatter.
"""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._runtime import as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.arguments import as_list
from robustirl.mdp.chains import BandedChain
from robustirl.mdp.gathers import MOST_UNROLLED, by_action
from robustirl.mdp.halves import AbstractHalves, coloring_row, shifted_halves
from robustirl.mdp.independent import LEAST_STATES
from robustirl.mdp.kernel import AbstractKernel, require_row_sums
from robustirl.mdp.listed import ListedKernel
from robustirl.mdp.shifts import shifted, shifted_sum
from robustirl.mdp.successors import SuccessorKernel
from robustirl.types import ArrayLike

MOST_OFFSETS = 16  # Distances; with many more, most weights of a kernel would be zeros.


class BandedKernel(ListedKernel):
    """A kernel stored as a few diagonals.

    Args:
        offsets: The distances d_j, whole numbers, none twice.
        weights: `[J, A, S]`, w(j,a,s), the chance that action a leads from s to s + d_j. It is zero where s + d_j is no
            state, and all zero for an action that does not exist in s.
        leaky: Accept rows that sum to less than one, as in `DenseKernel`.
        spread: Whether states are to be spread over devices, as `shard_states` does: devices then send each other as
            little as can be, and no states are eliminated.

    Example:
        >>> kernel = BandedKernel((1, 0), [[[1.0, 0.0]], [[0.0, 1.0]]])  # A step to the right, as far as there is room.
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[3.0], [3.0]]
    """

    weights: Float[Array, "J A S"]
    offsets: tuple[int, ...] = eqx.field(static=True)
    row: int | None = eqx.field(static=True)  # See `halves.py`.
    leaky: bool = eqx.field(static=True)
    spread: bool = eqx.field(static=True)

    def __init__(self, offsets: Sequence[int], weights: ArrayLike, *, leaky: bool = False, spread: bool = False):
        given = as_list("the offsets", offsets, "a sequence of whole numbers")
        self.offsets = tuple(checks.as_count("an offset", offset, -checks.MOST) for offset in given)
        self.row = None
        if checks.concrete(weights):
            array = checks.as_floats("the weights of the diagonals", weights)
            _check_diagonals(self.offsets, array, leaky)
            weights = array
            self.row = None if spread or array.shape[2] <= LEAST_STATES else coloring_row(self.offsets, array)
        self.weights = as_float(weights)
        self.leaky, self.spread = leaky, spread

    @property
    def num_states(self) -> int:
        return self.weights.shape[2]

    @property
    def num_actions(self) -> int:
        return self.weights.shape[1]

    def columns(self, value: Float[Array, " S"]) -> list[Float[Array, " S"]]:
        moved = shifted(value, self.offsets, self.num_states, rotate=self.spread)
        return [sum(w[a] * v for w, v in zip(self.weights, moved, strict=True)) for a in range(self.num_actions)]  # pyright: ignore[reportReturnType]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        if self.num_actions > MOST_UNROLLED:
            return shifted_sum(self.weights, self.offsets, value, rotate=self.spread).T  # pyright: ignore[reportArgumentType]
        return jnp.stack(self.columns(value), -1)

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        return self.chain(by_action(measure)).push(jnp.ones_like(measure[:, 0]))

    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> BandedChain:
        if isinstance(shares, jax.Array):
            return self._chain(tuple((shares * w).sum(0) for w in self.weights))
        weights = tuple(sum(share * w[a] for a, share in enumerate(shares)) for w in self.weights)
        return self._chain(weights)  # pyright: ignore[reportArgumentType]

    def _chain(self, weights: tuple[Float[Array, " S"], ...]) -> BandedChain:
        return BandedChain(weights, self.offsets, self.row, self.spread)

    def halves(self) -> AbstractHalves | None:
        return None if self.row is None else shifted_halves(self.weights, self.offsets, self.row)  # pyright: ignore

    def row_sums(self) -> Float[Array, "S A"]:
        if checks.in_host_memory(self.weights):
            return jax.device_put(np.asarray(self.weights).sum(0).T)
        return self.weights.sum(0).T

    def self_transitions(self) -> Float[Array, "S A"]:
        here = [w for w, d in zip(self.weights, self.offsets, strict=True) if d == 0]
        return here[0].T if here else jnp.zeros_like(self.weights[0].T)

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        if not isinstance(other, BandedKernel) or other.offsets != self.offsets:
            return super().row_distances(other)
        return jnp.abs(self.weights - other.weights).sum(0).T

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        if self.leaky:
            raise InvalidInputError(
                "a leaky kernel cannot be sampled, because its rows sum to less than 1;"
                " sample the evaluation world of the same environment instead."
            )
        chances = jnp.moveaxis(self.weights[:, actions, states], 0, -1)
        return states + jnp.asarray(self.offsets)[jax.random.categorical(key, jnp.log(chances))]

    def to_lists(self) -> SuccessorKernel:
        """Return the same kernel as lists of successors."""
        states = jnp.arange(self.num_states)[:, None]
        # Where s + d is no state the weight is zero, and any state will do.
        places = jnp.clip(states + jnp.asarray(self.offsets), 0, self.num_states - 1)
        shape = (self.num_states, self.num_actions, len(self.offsets))
        return SuccessorKernel(
            jnp.broadcast_to(places[:, None, :], shape), jnp.transpose(self.weights, (2, 1, 0)), leaky=self.leaky
        )

    @property
    def diagonals(self) -> tuple[int, ...]:
        return self.offsets

    def extended(self, states: int) -> "BandedKernel":
        offsets = self.offsets if 0 in self.offsets else (*self.offsets, 0)
        weights = np.zeros((len(offsets), self.num_actions, states), self.weights.dtype)
        weights[: len(self.offsets), :, : self.num_states] = self.weights
        weights[offsets.index(0), 0, self.num_states :] = 1
        return BandedKernel(offsets, weights, leaky=self.leaky)


def banded_or_lists(
    next_states: np.ndarray, probabilities: np.ndarray, *, leaky: bool = False
) -> BandedKernel | SuccessorKernel:
    """Return the kernel of these successors `[S, A, K]` as diagonals or as lists.

    Diagonals are used where few of them suffice.

    Example:
        >>> banded_or_lists(np.array([[[1]], [[1]]]), np.ones((2, 1, 1))).offsets
        (0, 1)
    """
    states, actions, successors = next_states.shape
    jumps = np.where(probabilities > 0, next_states - np.arange(states)[:, None, None], 0)
    offsets = np.unique(jumps)
    if len(offsets) > min(MOST_OFFSETS, 2 * actions * successors):
        return SuccessorKernel(next_states, probabilities, leaky=leaky)
    weights = np.stack([np.where(jumps == d, probabilities, 0.0).sum(-1).T for d in offsets])
    return BandedKernel(offsets.tolist(), weights, leaky=leaky)


def _check_diagonals(offsets: tuple[int, ...], weights: np.ndarray, leaky: bool) -> None:
    if weights.ndim != 3 or 0 in weights.shape:
        raise InvalidInputError(
            f"the weights of the diagonals have shape {weights.shape}, but (J, A, S) is needed with at least one"
            " distance, action and state; entry [j, a, s] is the chance of moving from s by the j-th distance with a."
        )
    if len(offsets) != len(weights) or len(set(offsets)) != len(offsets):
        raise InvalidInputError(
            f"the distances are {offsets}, but {len(weights)} different ones are needed, one for each diagonal."
        )
    checks.require_probabilities(
        "the weight of a diagonal", weights.transpose(2, 1, 0), ("state", "action", "diagonal")
    )
    states = np.arange(weights.shape[2])
    for j, d in enumerate(offsets):
        outside = (states + d < 0) | (states + d >= len(states))
        if (weights[j] * outside).any():
            action, state = (int(i) for i in np.argwhere(weights[j] * outside)[0])
            raise InvalidInputError(
                f"action {action} leads from state {state} by {d} with probability"
                f" {float(weights[j, action, state])!r}, but the states are numbered from 0 to {len(states) - 1};"
                " give it probability 0 there."
            )
    require_row_sums(weights.sum(0).T, leaky)
