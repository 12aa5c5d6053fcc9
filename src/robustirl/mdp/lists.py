r"""Kernels as lists of successors, whatever their lengths.

A move of a large world leads to few places: T(·|s,a) = Σ_k p_k δ(n_k). Equal rows are stored once; worlds estimated
from logs and worlds with walls have many. Rows are put into buckets, one for each doubling of their length, each stored
as an array `[K, n]` of K successors of n rows, so that at most half of an array is padding. A product goes through a
bucket in a loop over K, of n gathers at a time:

    Σ_s' T(s'|r) V(s') = Σ_k p(k,r) V(n(k,r))

The number of instructions is that of the buckets, at most the logarithm of |S|, and does not depend on the lists. With
10⁵ rows of 20 successors and two busy cores it takes 0.8 ms, where SciPy's CSR takes 0.9, a segmented sum 1.8, and one
sum over the axis of successors 6.5.

The other way round (`push`, `chain`) goes by the *edges* (s, s') of the world: the successors of all actions of a state
together. An edge's weight under a policy, Σ_a π(a|s) T(s'|s,a), is a sum over a list of pairs. A measure then flows
along the edges that lead into a state, by lists of predecessors. All of these lists are in buckets as well.
"""

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._jax import as_float
from robustirl.mdp.kernel import AbstractChain, AbstractKernel, require_dense, require_row_sums

if TYPE_CHECKING:
    import scipy.sparse

LOOP_ENTRIES = 2**14
"""A bucket more costs as much time as so many entries more."""
COLUMNS = 8
"""Buckets have a multiple of so many columns, so that they can be spread over up to so many devices."""
UNROLL = 4

Numbers = tuple[Int[Array, "K n"], ...]
Weights = tuple[Float[Array, "K n"], ...]


def gather_sum(places: Numbers, weights: Weights | None, values: Float[Array, " N"]) -> Float[Array, " M"]:
    """Return Σ_k w(k,j) v(n(k,j)) for all columns j of the buckets, one bucket after the other."""
    sums = []
    for bucket, numbers in enumerate(places):
        shares = None if weights is None else weights[bucket]
        sums.append(_bucket_sum(numbers, shares, values))
    return sums[0] if len(sums) == 1 else jnp.concatenate(sums)


def _bucket_sum(
    numbers: Int[Array, "K n"], weights: Float[Array, "K n"] | None, values: Float[Array, " N"]
) -> Float[Array, " n"]:
    def row(k: Any) -> Any:
        met = take(values, numbers[k])
        return met if weights is None else weights[k] * met

    length, columns = numbers.shape
    if length == 1:
        return row(0)
    if length > columns:  # Few long lists: a loop would be longer than its rounds.
        return row(slice(None)).sum(0)
    zero = jnp.zeros(columns, values.dtype if weights is None else jnp.result_type(values, weights))
    return jax.lax.fori_loop(0, length, lambda k, total: total + row(k), zero, unroll=UNROLL)


def take(values: Float[Array, " N"], places: Int[Array, "*n"]) -> Float[Array, "*n"]:
    """Return the values at indices that are known to be in bounds."""
    return values.at[places].get(mode="promise_in_bounds")


def in_order(sums: Float[Array, " M"], order: Int[Array, " N"] | None, size: int) -> Float[Array, " N"]:
    """Return the sums of lists in the order of the lists; None says that their columns are in order already."""
    return sums[:size] if order is None else take(sums, order)


class Layout(NamedTuple):
    """Where the entries of lists stand in buckets; entry E, one beyond the last, is padding."""

    entries: list[Int[np.ndarray, "K n"]]
    order: Int[np.ndarray, " N"]  # The column of each list, counted through all buckets.

    def order_on_device(self) -> Int[Array, " N"] | None:
        """Return the order, or None if lists stand in the columns of their numbers."""
        return None if len(self.entries) == 1 else jax.device_put(self.order)

    def fill(self, content: np.ndarray, padding: float = 0) -> tuple[Any, ...]:
        """Return what belongs to the entries, `[E]`, in buckets on the device."""
        padded = np.append(content, content.dtype.type(padding))
        return tuple(jax.device_put(padded[bucket]) for bucket in self.entries)


def lay_out(starts: Int[np.ndarray, " N1"]) -> Layout:
    """Put lists into buckets; list i has the entries from `starts[i]` to before `starts[i + 1]`.

    Example:
        >>> layout = lay_out(np.array([0, 2, 3]))
        >>> layout.entries[0][:, :2].tolist(), layout.order.tolist()
        ([[0, 2], [1, 3]], [0, 1])
    """
    lengths = np.diff(starts)
    doublings = np.ceil(np.log2(np.maximum(lengths, 1))).astype(np.int64)
    counts = np.bincount(doublings)
    present = np.flatnonzero(counts)
    ends, held = [], 0
    for short, long in itertools.pairwise(present):
        held += counts[short]
        if held * (2**long - 2**short) > LOOP_ENTRIES:  # Else they are padded to the next length.
            ends.append(short)
            held = 0
    bucket_of = np.searchsorted(np.array([*ends, present[-1]]), doublings)
    by_bucket = np.argsort(bucket_of, kind="stable")
    order, entries, first, column = np.empty(len(lengths), np.int32), [], 0, 0
    for count in np.bincount(bucket_of):
        lists = by_bucket[first : first + count]
        steps = np.arange(max(int(lengths[lists].max()), 1))[:, None]
        found = np.where(steps < lengths[lists], starts[lists] + steps, starts[-1])
        width = -(-int(count) // COLUMNS) * COLUMNS
        entries.append(np.pad(found, ((0, 0), (0, width - count)), constant_values=starts[-1]))
        order[lists] = column + np.arange(count)
        first, column = first + count, column + width
    return Layout(entries, order)


def distinct_rows(
    matrix: "scipy.sparse.csr_array",
) -> tuple[Int[np.ndarray, " R"], Int[np.ndarray, " N"]]:
    """Return one row of each kind, in their order, and for every row which of these it equals.

    Rows are equal to the last bit. They are compared by a number made of their entries, and then as they are.

    Example:
        >>> import scipy.sparse
        >>> rows = distinct_rows(scipy.sparse.csr_array([[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]]))
        >>> [part.tolist() for part in rows]
        [[0, 1], [0, 1, 0]]
    """
    lengths = np.diff(matrix.indptr)
    mixed = (matrix.indices.astype(np.uint64) + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= matrix.data.astype(np.float64).view(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.append(np.uint64(0), np.cumsum(mixed ^ (mixed >> np.uint64(32)), dtype=np.uint64))
    marks = sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]] + lengths.astype(np.uint64)
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    like = first[which]  # The row that each is believed to equal.
    shift = np.repeat(matrix.indptr[:-1][like] - matrix.indptr[:-1], lengths)
    there = np.minimum(np.arange(matrix.nnz) + shift, max(matrix.nnz - 1, 0))
    differs = (matrix.indices != matrix.indices[there]) | (matrix.data != matrix.data[there])
    if differs.any() or (lengths != lengths[like]).any():  # Once in 2⁶⁴ pairs of rows.
        return np.arange(len(lengths)), np.arange(len(lengths))
    order = np.argsort(first)  # Neighbors stay neighbors.
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[which]


class ListChain(AbstractChain):
    """A chain as lists of the edges out of every state, and into every state."""

    targets: Numbers
    leaving: Weights
    out_order: Int[Array, " S"] | None
    sources: Numbers
    entering: Weights
    in_order: Int[Array, " S"] | None
    size: int = eqx.field(static=True)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return in_order(gather_sum(self.targets, self.leaving, value), self.out_order, self.size)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return in_order(gather_sum(self.sources, self.entering, measure), self.in_order, self.size)

    def dense(self) -> Float[Array, "S S"]:
        require_dense(self.size, self.size)
        rows = _written_out(self.targets, self.leaving, self.size)
        return rows[: self.size] if self.out_order is None else rows[self.out_order]

    def to_sparse(self) -> "scipy.sparse.csr_array":
        rows = _rows_of(self.targets, self.leaving, self.size)
        return rows[: self.size] if self.out_order is None else rows[np.asarray(self.out_order)]


class ListKernel(AbstractKernel):
    """A kernel stored as its distinct rows and as the edges of its states, in buckets of lists.

    Args:
        matrix: A sparse matrix `[S·A, S]` of SciPy whose row s·|A| + a is T(·|s,a). A row without entries says that the
            action does not exist there.
        num_actions: |A|.
        leaky: Accept rows that sum to less than one, as in `DenseKernel`.

    Example:
        >>> import scipy.sparse
        >>> kernel = ListKernel(scipy.sparse.csr_array([[0.25, 0.75], [0.0, 1.0]]), num_actions=1)
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[2.5], [3.0]]
    """

    successors: Numbers  # Of the distinct rows.
    chances: Weights
    which: Int[Array, "S A"]  # The column of each pair's row.
    pairs: Numbers  # For every edge (s, s') the pairs s·|A| + a that lead along it, and how often they do.
    shares: Weights
    targets: Numbers  # Of every state, and the edges that lead there.
    out_edges: Numbers
    out_order: Int[Array, " S"] | None
    sources: Numbers  # Of every state, and the edges that lead from there.
    in_edges: Numbers
    in_order: Int[Array, " S"] | None
    exists: Bool[Array, "S A"]
    leaky: bool = eqx.field(static=True)

    def __init__(self, matrix: "scipy.sparse.csr_array", *, num_actions: int, leaky: bool = False):
        rows = _canonical(matrix)
        _, states = rows.shape
        sums = np.asarray(rows.sum(1)).reshape(states, num_actions)
        require_row_sums(sums, leaky=leaky)
        if not leaky:
            off = np.abs(sums.ravel() - 1) > 8 * np.finfo(np.float64).eps
            rows.data /= np.repeat(np.where(off & (sums.ravel() > 0), sums.ravel(), 1), np.diff(rows.indptr))

        self._store_rows(rows, (states, num_actions))
        self._store_edges(rows, (states, num_actions))
        self.exists = jax.device_put(sums > 0)
        self.leaky = leaky

    def _store_rows(self, matrix: Any, shape: tuple[int, int]) -> None:
        first, which = distinct_rows(matrix)
        rows = matrix[first]
        layout = lay_out(rows.indptr.astype(np.int64))
        self.successors = layout.fill(rows.indices.astype(np.int32))
        self.chances = layout.fill(_as_working(rows.data))
        self.which = jax.device_put(layout.order[which].reshape(shape))

    def _store_edges(self, matrix: Any, shape: tuple[int, int]) -> None:
        import scipy.sparse

        states, actions = shape
        # Entries by edge: rows of pairs become rows of states, whose entries are sorted by successor.
        pair = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
        of_states = (np.arange(matrix.nnz), matrix.indices.copy(), matrix.indptr[::actions])
        by_edge = _sorted(scipy.sparse.csr_array(of_states, shape=(states, states)))
        key = pair[by_edge] // actions * states + matrix.indices[by_edge]
        starts = np.append(np.flatnonzero(np.diff(key, prepend=-1)), len(key))
        source, target = (part.astype(np.int32) for part in np.divmod(key[starts[:-1]], states))
        layout = lay_out(starts) if len(key) else lay_out(np.zeros(2, np.int64))
        self.pairs = layout.fill(pair[by_edge].astype(np.int32))
        self.shares = layout.fill(_as_working(matrix.data[by_edge]))
        edges, none = layout.order[: len(source)], sum(bucket.shape[1] for bucket in layout.entries)

        outward = np.searchsorted(source, np.arange(states + 1))
        layout = lay_out(outward)
        self.targets, self.out_edges = layout.fill(target), layout.fill(edges, none)
        self.out_order = layout.order_on_device()
        into = scipy.sparse.csr_array((np.arange(len(target)), target, outward), shape=(states, states)).tocsc()
        by_target: Any = into.data
        layout = lay_out(into.indptr.astype(np.int64))
        self.sources, self.in_edges = layout.fill(source[by_target]), layout.fill(edges[by_target], none)
        self.in_order = layout.order_on_device()

    @property
    def num_states(self) -> int:
        return self.exists.shape[-2]

    @property
    def num_actions(self) -> int:
        return self.exists.shape[-1]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return take(gather_sum(self.successors, self.chances, value), self.which)

    def _along_edges(self, measure: Float[Array, "S A"]) -> Float[Array, " E"]:
        """Return Σ_a μ(s,a) T(s'|s,a) for every edge, and a zero for padding."""
        return jnp.append(gather_sum(self.pairs, self.shares, measure.reshape(-1)), 0)

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        arriving = gather_sum(self.in_edges, None, self._along_edges(measure))
        return in_order(arriving, self.in_order, self.num_states)

    def chain(self, policy: Float[Array, "S A"]) -> ListChain:
        weights = self._along_edges(policy)
        leaving, entering = (tuple(take(weights, e) for e in edges) for edges in (self.out_edges, self.in_edges))
        out, into = (self.targets, leaving, self.out_order), (self.sources, entering, self.in_order)
        return ListChain(*out, *into, self.num_states)

    def available(self) -> Bool[Array, "S A"]:
        return self.exists

    def dense(self) -> Float[Array, "S A S"]:
        require_dense(self.num_states, self.num_states * self.num_actions)
        rows = _written_out(self.successors, self.chances, self.num_states)
        return rows[self.which]

    def to_sparse(self) -> "scipy.sparse.csr_array":
        return _rows_of(self.successors, self.chances, self.num_states)[np.asarray(self.which).ravel()]

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "EntryKernel":
        """Return the entries of the worst case: its rows differ where those of this kernel are one."""
        edges = sum(bucket.shape[1] for bucket in self.pairs)
        along = jnp.zeros(edges + 1, jnp.int32)
        for numbers, targets in zip(self.out_edges, self.targets, strict=True):
            along = along.at[numbers].set(targets)
        first, places = 0, []
        for bucket in self.pairs:
            places.append(jnp.broadcast_to(along[first : first + bucket.shape[1]], bucket.shape).ravel())
            first += bucket.shape[1]
        pairs, weights = (jnp.concatenate([bucket.ravel() for bucket in part]) for part in (self.pairs, self.shares))
        entries = {"pairs": pairs, "targets": jnp.concatenate(places), "weights": weights}
        return EntryKernel(**entries, exists=self.exists, leaky=self.leaky).worst_case(value, radius)


class EntryChain(AbstractChain):
    """A chain stored as its entries (s, s', w)."""

    sources: Int[Array, " E"]
    targets: Int[Array, " E"]
    weights: Float[Array, " E"]
    size: int = eqx.field(static=True)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return jax.ops.segment_sum(self.weights * take(value, self.targets), self.sources, self.size)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return jax.ops.segment_sum(self.weights * take(measure, self.sources), self.targets, self.size)

    def dense(self) -> Float[Array, "S S"]:
        require_dense(self.size, self.size)
        return jnp.zeros((self.size, self.size), self.weights.dtype).at[self.sources, self.targets].add(self.weights)


class EntryKernel(AbstractKernel):
    """A kernel stored as its entries (s·|A| + a, s', p), for kernels that are made inside compiled programs.

    Products add entries up by their pairs, which takes some three times as long as lists do.
    """

    pairs: Int[Array, " E"]
    targets: Int[Array, " E"]
    weights: Float[Array, " E"]
    exists: Bool[Array, "S A"]
    leaky: bool = eqx.field(static=True, default=False)

    @property
    def num_states(self) -> int:
        return self.exists.shape[-2]

    @property
    def num_actions(self) -> int:
        return self.exists.shape[-1]

    def _by_pair(self, entries: Float[Array, " E"]) -> Float[Array, "S A"]:
        return jax.ops.segment_sum(entries, self.pairs, self.exists.size).reshape(self.exists.shape)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self._by_pair(self.weights * take(value, self.targets))

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        return jax.ops.segment_sum(self.weights * take(measure.reshape(-1), self.pairs), self.targets, self.num_states)

    def chain(self, policy: Float[Array, "S A"]) -> EntryChain:
        weights = self.weights * take(policy.reshape(-1), self.pairs)
        return EntryChain(self.pairs // self.num_actions, self.targets, weights, self.num_states)

    def available(self) -> Bool[Array, "S A"]:
        return self.exists

    def dense(self) -> Float[Array, "S A S"]:
        require_dense(self.num_states, self.exists.size)
        rows = jnp.zeros((self.exists.size, self.num_states), self.weights.dtype)
        return rows.at[self.pairs, self.targets].add(self.weights).reshape(*self.exists.shape, self.num_states)

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        places = np.asarray(self.pairs), np.asarray(self.targets)
        shape = self.exists.size, self.num_states
        return _canonical(scipy.sparse.coo_array((np.asarray(self.weights), places), shape=shape))

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "EntryKernel":
        falling = jnp.lexsort((-value[self.targets], self.pairs))
        pairs, targets, mass = (part[falling] for part in (self.pairs, self.targets, self.weights))
        # Mass of the same pair at higher values, by a sum that starts anew at every pair: differences of one sum
        # through all entries would lose digits.
        fresh = jnp.diff(pairs, prepend=-1) != 0

        def join(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
            return jnp.where(two[1], two[0], one[0] + two[0]), one[1] | two[1]

        higher = jax.lax.associative_scan(join, (mass, fresh))[0] - mass
        taken = jnp.clip(radius.reshape(-1)[pairs] / 2 - higher, 0, mass)
        moved = jax.ops.segment_sum(taken, pairs, self.exists.size)
        every = jnp.arange(self.exists.size, dtype=pairs.dtype)
        lowest = jnp.full(self.exists.size, jnp.argmin(value), targets.dtype)
        return EntryKernel(
            pairs=jnp.concatenate([pairs, every]),
            targets=jnp.concatenate([targets, lowest]),
            weights=jnp.concatenate([mass - taken, moved]),
            exists=self.exists,
            leaky=self.leaky,
        )


def _canonical(matrix: Any) -> Any:
    """Return a copy in double precision with each entry once, in order, and no zeros."""
    import scipy.sparse

    matrix = scipy.sparse.csr_array(matrix, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _sorted(matrix: Any) -> np.ndarray:
    """Return what a matrix holds, sorted by columns in every row."""
    matrix.sort_indices()
    return matrix.data


def _rows_of(places: Numbers, weights: Weights, states: int) -> Any:
    """Return the columns of buckets as rows of a sparse matrix on the host."""
    import scipy.sparse

    rows, first = [], 0
    for bucket in places:
        rows.append(np.broadcast_to(first + np.arange(bucket.shape[1]), bucket.shape).ravel())
        first += bucket.shape[1]
    columns, data = (np.concatenate([np.asarray(bucket).ravel() for bucket in part]) for part in (places, weights))
    return _canonical(scipy.sparse.coo_array((data, (np.concatenate(rows), columns)), shape=(first, states)))


def _written_out(places: Numbers, weights: Weights, states: int) -> Float[Array, "M S"]:
    """Return the columns of buckets as rows of an array."""
    rows, first = jnp.zeros((sum(bucket.shape[1] for bucket in places), states), weights[0].dtype), 0
    for numbers, shares in zip(places, weights, strict=True):
        rows = rows.at[first + jnp.arange(numbers.shape[1]), numbers].add(shares)
        first += numbers.shape[1]
    return rows


def _as_working(data: Float[np.ndarray, " E"]) -> Float[np.ndarray, " E"]:
    return data.astype(as_float(0).dtype)
