r"""Lists of predecessors, which turn flows into gathers.

A measure flows by (μ P)(s') = Σ_s μ(s) P(s'|s). Over lists of successors that is a scatter, which is slow on every
device and in no fixed order on a GPU. With the entries (j, s) of the list that lead to s' listed for every s', it is a
gather, as the other product is. States with very many predecessors would make that list long for all; what exceeds its
length is scattered.
"""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import DeviceModule
from robustirl.mdp.chains import AbstractChain
from robustirl.mdp.gathers import MOST_UNROLLED, gather_sum, take
from robustirl.mdp.halves import AbstractHalves, HalvedLists, halved_lists

if TYPE_CHECKING:
    import scipy.sparse

SCATTER_COST = 4  # Of an entry that is scattered, in gathered ones.


class PredecessorList(DeviceModule):
    """The entries (j, s) of a list of successors `[J, S]` that lead to each state.

    Attributes:
        sources: `[D, S]`, the states s.
        entries: `[D, S]`, the entries as flat numbers j·|S| + s; -1 where a state has fewer than D.
        more_sources: `[O]`, the sources of the entries that did not fit,
        more_entries: `[O]`, the entries; -1 for a few that were added, so that worlds of about one size share programs,
        more_targets: `[O]`, and where they lead.
        halved: These lists cut by an independent set of states, if one is known and all entries fit.
    """

    sources: Int[Array, "D S"]
    entries: Int[Array, "D S"]
    more_sources: Int[Array, " O"]
    more_entries: Int[Array, " O"]
    more_targets: Int[Array, " O"]
    halved: HalvedLists | None = None

    def transposed(self, chain: AbstractChain, weights: Float[Array, "J S"]) -> "PredecessorChain":
        """Return the transpose of a chain over successors, whose weights are given as one array."""
        flat = weights.ravel()
        if len(self.entries) <= MOST_UNROLLED:
            rows = tuple(_present(flat, row) for row in self.entries)
        else:
            rows = jax.lax.map(lambda row: _present(flat, row), self.entries)
        more = _present(flat, self.more_entries)
        return PredecessorChain(chain, self.sources, rows, self.more_sources, more, self.more_targets, self.halved)


class PredecessorChain(AbstractChain):
    """The transpose of a list chain: `expect` moves measures forward."""

    chain: AbstractChain
    places: Int[Array, "D S"]
    weights: tuple[Float[Array, " S"], ...] | Float[Array, "D S"]
    more_places: Int[Array, " O"]
    more_weights: Float[Array, " O"]
    more_targets: Int[Array, " O"]
    halved: HalvedLists | None = None

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        most = gather_sum(self.places, self.weights, value)
        if self.more_places.size == 0:
            return most
        return most.at[self.more_targets].add(self.more_weights * take(value, self.more_places))

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.chain.expect(measure)

    def transpose(self) -> AbstractChain:
        return self.chain

    def halves(self) -> AbstractHalves | None:
        return None if self.halved is None else self.halved.halves(self.weights)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(self.chain.sparse_part().T)


def _present(flat: Float[Array, " N"], row: Int[Array, " S"]) -> Float[Array, " S"]:
    return jnp.where(row >= 0, take(flat, jnp.maximum(row, 0)), 0)


def list_predecessors(
    targets: Int[np.ndarray, "J S"], used: Bool[np.ndarray, "J S"], chosen: Bool[np.ndarray, " S"] | None = None
) -> PredecessorList:
    """Return the predecessors of a list of successors, without the entries that are not used.

    They are listed on the host. If an independent set of states is `chosen`, the lists are also cut by it.

    Example:
        >>> found = list_predecessors(np.array([[1, 1, 0]]), np.array([[True, True, True]]))
        >>> found.entries.tolist()
        [[2, 0, -1], [-1, 1, -1]]
    """
    size = targets.shape[1]
    numbers = np.flatnonzero(used.ravel())
    goals = targets.ravel()[numbers].astype(np.int64)
    order = np.argsort(goals, kind="stable")
    numbers, goals = numbers[order], goals[order]
    degrees = np.bincount(goals, minlength=size)
    rank = np.arange(goals.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    width = _width(degrees)
    entries = np.full((width, size), -1, np.int32)
    inside = rank < width
    entries[rank[inside], goals[inside]] = numbers[inside]
    rest = numbers[~inside]
    further = _rounded_up(rest.size) - rest.size
    sources = np.where(entries >= 0, entries % size, 0)
    return PredecessorList(
        sources=_indices(sources),
        entries=_indices(entries),
        more_sources=_indices(np.pad(rest % size, (0, further))),
        more_entries=_indices(np.pad(rest, (0, further), constant_values=-1)),
        more_targets=_indices(np.pad(goals[~inside], (0, further))),
        halved=None if chosen is None or rest.size else halved_lists(sources, entries >= 0, chosen),
    )


def _rounded_up(count: int) -> int:
    """Return a number of two binary digits that is no smaller: at most half as large again."""
    step = 1 << max(count.bit_length() - 2, 0)
    return -(-count // step) * step


def _width(degrees: Int[np.ndarray, " S"]) -> int:
    """Return the length of the lists at which gathering and scattering together cost least."""
    counts = np.bincount(degrees)
    longest = np.arange(1, counts.size + 1)
    over = np.array([(counts * np.maximum(np.arange(counts.size) - d, 0)).sum() for d in longest[:256]])
    return int(longest[np.argmin(longest[:256] * degrees.size + SCATTER_COST * over)])


def _indices(array: np.ndarray) -> Int[Array, "..."]:
    return jnp.asarray(array, dtype=jnp.int32)
