r"""Kernels whose moves have lists of very different lengths: one long list of all entries (s, a, s', p).

Lists of equal length are as long as the longest of them. Where one state of a thousand leads anywhere (a hub, a reset,
a draw from all states), that stores thousands of zeros for every entry. Here entries are added up by their pair, which
costs about four times as much an entry as a gather, and nothing for zeros.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._runtime import as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp.chains import AbstractChain
from robustirl.mdp.checks import concrete
from robustirl.mdp.gathers import take
from robustirl.mdp.kernel import AbstractKernel, require_row_sums, require_same_size
from robustirl.mdp.successors import require_matrix

if TYPE_CHECKING:
    import scipy.sparse

LEAST_ENTRIES = 1_000_000  # Of lists of equal length: shorter ones are fast enough, whatever they waste.
MOST_WASTE = 8  # Times the entries that are there.


def wasteful(pairs: int, longest: int, entries: int) -> bool:
    """Return whether lists of equal length would be mostly zeros.

    Example:
        >>> wasteful(30_000, 10_000, 50_000), wasteful(30_000, 5, 100_000)
        (True, False)
    """
    return pairs * longest > max(LEAST_ENTRIES, MOST_WASTE * entries)


class RaggedKernel(AbstractKernel):
    """A kernel stored as its entries, pair by pair.

    Args:
        matrix: A sparse matrix `[S·A, S]` whose row s·|A| + a is T(·|s,a), with each entry once; a row without
            entries says that the action does not exist there.
        num_actions: |A|.
        leaky: Accept rows that sum to less than one, as in `DenseKernel`.

    Example:
        >>> import scipy.sparse
        >>> kernel = RaggedKernel(scipy.sparse.csr_array([[0.25, 0.75], [0.0, 1.0]]), num_actions=1)
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[2.5], [3.0]]
    """

    pairs: Int[Array, " E"]  # s·|A| + a of each entry, in rising order.
    targets: Int[Array, " E"]
    weights: Float[Array, " E"]
    starts: Int[Array, " N"]  # The first entry of each pair, and the number of entries.
    size: tuple[int, int] = eqx.field(static=True)  # |S| and |A|.
    leaky: bool = eqx.field(static=True)

    def __init__(self, matrix: "scipy.sparse.csr_array", *, num_actions: int, leaky: bool = False):
        rows, states = matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
        lengths = np.diff(matrix.indptr)
        sums = np.asarray(matrix.sum(1)).reshape(states, num_actions)
        require_row_sums(sums, leaky)
        self.pairs = _indices(np.repeat(np.arange(rows), lengths))
        self.targets = _indices(matrix.indices)
        self.weights = as_float(matrix.data)
        self.starts = _indices(matrix.indptr)
        self.size, self.leaky = (states, num_actions), leaky

    @property
    def num_states(self) -> int:
        return self.size[0]

    @property
    def num_actions(self) -> int:
        return self.size[1]

    def _by_pair(self, entries: Float[Array, " E"]) -> Float[Array, "S A"]:
        count = self.num_states * self.num_actions
        sums = jax.ops.segment_sum(entries, self.pairs, num_segments=count, indices_are_sorted=True)
        return sums.reshape(self.num_states, self.num_actions)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self._by_pair(self.weights * take(value, self.targets))

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        arriving = self.weights * take(jnp.ravel(measure), self.pairs)
        return jax.ops.segment_sum(arriving, self.targets, num_segments=self.num_states)

    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> "RaggedChain":
        policy = jnp.stack(shares, -1)
        weights = self.weights * take(policy.ravel(), self.pairs)
        return RaggedChain(self.pairs // self.num_actions, self.targets, weights, self.num_states)

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        require_matrix(self.num_states)
        weights = self.weights * jnp.ravel(policy)[self.pairs]
        empty = jnp.zeros((self.num_states, self.num_states), weights.dtype)
        return empty.at[self.pairs // self.num_actions, self.targets].add(weights)

    def row_sums(self) -> Float[Array, "S A"]:
        return self._by_pair(self.weights)

    def self_transitions(self) -> Float[Array, "S A"]:
        return self._by_pair(jnp.where(self.targets == self.pairs // self.num_actions, self.weights, 0))

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        """Return ‖T(·|s,a) - T'(·|s,a)‖₁ for every pair.

        It is computed on the host, or inside `jit` through arrays.
        """
        require_same_size(self, other)
        if not concrete(self, other):
            return jnp.abs(self.to_array() - other.to_array()).sum(-1)
        apart = abs(self.to_sparse() - other.to_sparse()).sum(1)
        return as_float(np.asarray(apart).reshape(self.num_states, self.num_actions))

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        if self.leaky:
            raise InvalidInputError(
                "a leaky kernel cannot be sampled, because its rows sum to less than 1;"
                " sample the evaluation world of the same environment instead."
            )
        pair = states * self.num_actions + actions
        first, after = self.starts[pair], self.starts[pair + 1]
        before = jnp.concatenate([jnp.zeros(1, self.weights.dtype), jnp.cumsum(self.weights)])
        drawn = jax.random.uniform(key, pair.shape, self.weights.dtype)
        goal = before[first] + drawn * (before[after] - before[first])
        entry = jnp.searchsorted(before[1:], goal, side="right")
        return self.targets[jnp.clip(entry, first, after - 1)]

    def extended(self, states: int) -> "RaggedKernel":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        further = np.arange(self.num_states, states)
        stays = scipy.sparse.csr_array(
            (np.ones(further.size), ((further - self.num_states) * self.num_actions, further)),
            shape=(further.size * self.num_actions, states),
        )
        own = self.to_sparse()
        own.resize(self.num_states * self.num_actions, states)
        matrix = scipy.sparse.csr_array(scipy.sparse.vstack([own, stays]))
        return RaggedKernel(matrix, num_actions=self.num_actions, leaky=self.leaky)

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "RaggedKernel":
        """Return the worst case with one entry more for each pair.

        The state of lowest value need not have been a successor.
        """
        falling = jnp.lexsort((-value[self.targets], self.pairs))
        targets, mass = self.targets[falling], self.weights[falling]
        before = jnp.cumsum(mass) - mass
        # A pair without entries has none to ask where its sum begins.
        begins = before[jnp.minimum(self.starts[self.pairs], mass.size - 1)]
        taken = jnp.clip(radius.ravel()[self.pairs] / 2 - (before - begins), 0, mass)
        count = self.num_states * self.num_actions
        every = jnp.concatenate([self.pairs, jnp.arange(count, dtype=self.pairs.dtype)])
        order = jnp.argsort(every, stable=True)
        lowest = jnp.full(count, jnp.argmin(value), targets.dtype)
        moved = jnp.concatenate([mass - taken, self._by_pair(taken).ravel()])
        parts = lambda k: (k.pairs, k.targets, k.weights, k.starts)  # noqa: E731
        starts = self.starts + jnp.arange(count + 1, dtype=self.starts.dtype)
        return eqx.tree_at(parts, self, (every[order], jnp.concatenate([targets, lowest])[order], moved[order], starts))

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        shape = (self.num_states * self.num_actions, self.num_states)
        content = (np.array(self.weights), np.array(self.targets), np.array(self.starts))
        matrix = scipy.sparse.csr_array(content, shape=shape)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix

    def to_array(self) -> Float[Array, "S A S"]:
        empty = jnp.zeros((self.num_states * self.num_actions, self.num_states), self.weights.dtype)
        filled = empty.at[self.pairs, self.targets].add(self.weights)
        return filled.reshape(self.num_states, self.num_actions, self.num_states)


class RaggedChain(AbstractChain):
    """A chain stored as its entries (s, s', w)."""

    sources: Int[Array, " E"]
    targets: Int[Array, " E"]
    weights: Float[Array, " E"]
    num_states: int = eqx.field(static=True)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        arriving = self.weights * take(value, self.targets)
        return jax.ops.segment_sum(arriving, self.sources, num_segments=self.num_states, indices_are_sorted=True)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        leaving = self.weights * take(measure, self.sources)
        return jax.ops.segment_sum(leaving, self.targets, num_segments=self.num_states)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        places = (np.asarray(self.sources), np.asarray(self.targets))
        shape = (self.num_states, self.num_states)
        return scipy.sparse.csr_array(scipy.sparse.coo_array((np.asarray(self.weights), places), shape=shape))


def _indices(array: np.ndarray) -> Int[Array, "..."]:
    return jax.device_put(array.astype(np.int32))
