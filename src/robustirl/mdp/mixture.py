r"""Kernels with a rank-one part: T(s'|s,a) = (1-w(s)) B(s'|s,a) + w(s) u(s').

Noise that leads anywhere makes every row full, but it is one distribution u for all of them. With B in lists of
successors, expected values cost K products a pair and one for all, and |S|²|A| numbers are never allocated.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.banded import BandedKernel
from robustirl.mdp.chains import DisturbedChain, RankOne
from robustirl.mdp.gathers import MOST_UNROLLED
from robustirl.mdp.kernel import AbstractKernel, DenseKernel, require_same_size
from robustirl.mdp.successors import SuccessorKernel, signed_sums
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

LARGEST_DENSE = 2**29  # Entries of an array [S, A, S], 4 GiB of them; what needs one refuses larger worlds.


class MixtureKernel(AbstractKernel):
    """A kernel of successor lists or diagonals, disturbed by draws from one distribution.

    Args:
        base: B, the kernel without the disturbance.
        weights: `[S]`, w(s), the chance of a disturbance in each state.
        distribution: `[S]`, u, where it leads.

    Example:
        >>> base = SuccessorKernel([[[1]], [[1]]], [[[1.0]], [[1.0]]])
        >>> kernel = MixtureKernel(base, [0.5, 0.0], [0.5, 0.5])
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[2.5], [3.0]]
    """

    base: SuccessorKernel | BandedKernel
    weights: Float[Array, " S"]
    distribution: Float[Array, " S"]
    exists: Bool[Array, "A S"]  # Whether the action is there to be disturbed.
    leaky: bool = eqx.field(static=True)

    def __init__(self, base: SuccessorKernel | BandedKernel, weights: ArrayLike, distribution: ArrayLike):
        if checks.concrete(weights, distribution):
            weights = checks.as_floats("the chances of a disturbance", weights)
            distribution = checks.as_floats("the distribution of a disturbance", distribution)
            for name, array in (("the chances of a disturbance", weights), ("the disturbance", distribution)):
                checks.require_shape(name, array, (base.num_states,), "S")
                checks.require_probabilities(name, array)
            checks.require_distributions("the distribution of a disturbance", distribution)
            if weights.max() > 1:
                raise InvalidInputError(
                    f"the chance of a disturbance in state {int(weights.argmax())} is {weights.max()}, but a"
                    " probability of at most 1 is needed."
                )
            if base.leaky:
                raise InvalidInputError("a leaky kernel cannot be disturbed; give one whose rows sum to 1.")
        self.base = base
        self.weights = as_float(weights)
        self.distribution = as_float(distribution)
        self.exists = base.row_sums().T > 0
        self.leaky = False

    @property
    def num_states(self) -> int:
        return self.base.num_states

    @property
    def num_actions(self) -> int:
        return self.base.num_actions

    def _exists(self) -> Float[Array, "S A"]:
        return self.exists.T.astype(self.weights.dtype)

    def columns(self, value: Float[Array, " S"]) -> list[Float[Array, " S"]]:
        anywhere = self.weights * (self.distribution @ value)
        usual = self.base.columns(value)
        return [
            (1 - self.weights) * column + jnp.where(exists, anywhere, 0)
            for column, exists in zip(usual, self.exists, strict=True)
        ]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        if self.num_actions > MOST_UNROLLED:
            anywhere = self.weights * (self.distribution @ value)
            return ((1 - self.weights) * self.base.expect(value).T + jnp.where(self.exists, anywhere, 0)).T
        return jnp.stack(self.columns(value), -1)

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        thrown = self.weights @ (measure * self._exists()).sum(-1)
        return self.base.push((1 - self.weights)[:, None] * measure) + thrown * self.distribution

    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> DisturbedChain:
        if isinstance(shares, jax.Array):
            thrown = jnp.where(self.exists, shares, 0).sum(0)
            usual = self.base.chain((1 - self.weights) * shares)
            return DisturbedChain(usual, self.weights * thrown, self.distribution)
        usual = self.base.chain([(1 - self.weights) * share for share in shares])
        thrown = sum(jnp.where(exists, share, 0) for exists, share in zip(self.exists, shares, strict=True))
        return DisturbedChain(usual, self.weights * thrown, self.distribution)

    def extended(self, states: int) -> "MixtureKernel":
        further = (0, states - self.num_states)
        noise = (np.pad(np.asarray(array), further) for array in (self.weights, self.distribution))
        return MixtureKernel(self.base.extended(states), *noise)

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        thrown = self.weights * (policy * self._exists()).sum(-1)
        return (1 - self.weights)[:, None] * self.base.policy_matrix(policy) + thrown[:, None] * self.distribution

    def row_sums(self) -> Float[Array, "S A"]:
        return self.base.row_sums()

    def self_transitions(self) -> Float[Array, "S A"]:
        thrown = (self.weights * self.distribution)[:, None] * self._exists()
        return (1 - self.weights)[:, None] * self.base.self_transitions() + thrown

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        """Return ‖T - T'‖₁ for every pair.

        It is computed from lists if both have the same rank-one part, else through arrays.
        """
        require_same_size(self, other)
        if isinstance(other, SuccessorKernel | BandedKernel):
            other = MixtureKernel(other, jnp.zeros_like(self.weights), self.distribution)
        same = isinstance(other, MixtureKernel) and (
            other.distribution is self.distribution
            or (checks.concrete(other.distribution) and bool(jnp.array_equal(other.distribution, self.distribution)))
        )
        if not (same and isinstance(other, MixtureKernel)):
            theirs = other if isinstance(other, DenseKernel) else DenseKernel(_array(other), leaky=other.leaky)
            return DenseKernel(_array(self)).row_distances(theirs)
        own, theirs = (kernel._undisturbed() for kernel in (self, other))
        # On the listed places the lists differ as well as the noise; everywhere else the noise alone.
        noise = self.weights[:, None] * self._exists() - other.weights[:, None] * other._exists()
        places, sums, first = signed_sums(own, theirs)
        here = jnp.where(first, self.distribution[places], 0.0)
        return jnp.abs(sums + noise[..., None] * here).sum(-1) + jnp.abs(noise) * (1 - here.sum(-1))

    def _undisturbed(self) -> SuccessorKernel:
        """Return (1-w) B as lists."""
        lists = self.base.successor_lists()
        return SuccessorKernel(lists.next_states, (1 - self.weights)[:, None, None] * lists.probabilities, leaky=True)

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        which, where, usual = jax.random.split(key, 3)
        thrown = jax.random.uniform(which, states.shape, self.weights.dtype) < self.weights[states]
        anywhere = jax.random.choice(where, self.num_states, states.shape, p=self.distribution)
        return jnp.where(thrown, anywhere, self.base.sample(states, actions, key=usual))

    def to_sparse(self) -> "scipy.sparse.csr_array":
        """Return the kernel as a matrix.

        The matrix is full, so this is for worlds that would fit into an array as well.
        """
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(np.asarray(_array(self)).reshape(-1, self.num_states))

    def to_array(self) -> Float[Array, "S A S"]:
        return _array(self)

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> DenseKernel:
        """Return an array `[S, A, S]`: rows of the worst case have no rank-one part in common."""
        return DenseKernel(_array(self)).worst_case(value, radius)

    def order_key(self) -> Array | None:
        return None if self.base.order_key() is None else self.weights

    def neighbors(self) -> "scipy.sparse.csr_array":
        return self.base.neighbors()

    def reordered(self, order: Int[np.ndarray, " S"], rank: Int[np.ndarray, " S"]) -> "MixtureKernel":
        base = self.base.reordered(order, rank)
        changed = (base, self.weights[order], self.distribution[order], self.exists[:, order])
        return eqx.tree_at(lambda k: (k.base, k.weights, k.distribution, k.exists), self, changed)

    @property
    def diagonals(self) -> tuple[int, ...] | None:
        return self.base.diagonals

    def rank_one(self) -> RankOne:
        return RankOne(self.weights, self.distribution)

    def successor_lists(self) -> SuccessorKernel:
        return self.base.successor_lists()


def _array(kernel: AbstractKernel) -> Float[Array, "S A S"]:
    """Return the kernel as an array, or refuse one that is too large."""
    size = kernel.num_states**2 * kernel.num_actions
    if size > LARGEST_DENSE:
        raise InvalidInputError(
            f"this needs the kernel as an array of {kernel.num_states} x {kernel.num_actions} x {kernel.num_states}"
            f" numbers, {size * 8 / 2**30:.0f} GiB; use a smaller world, or a kernel of successor lists alone."
        )
    if isinstance(kernel, MixtureKernel):
        exists = kernel._exists()
        thrown = (kernel.weights[:, None] * exists)[..., None] * kernel.distribution
        return (1 - kernel.weights)[:, None, None] * _array(kernel.base) + thrown
    return kernel.to_array()
