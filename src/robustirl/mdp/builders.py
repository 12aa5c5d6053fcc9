r"""Build kernels from arrays, sparse matrices, lists of successors, functions and recorded transitions.

Every way in ends in one place, which chooses how the kernel is stored: as an array where that is small or hardly larger
than its entries, and as lists of successors otherwise.

A kernel estimated from recorded transitions is, with N(s,a,s') of them, and P̂(s'|s) = Σ_a N(s,a,s') / Σ_a N(s,a)
whatever the action was,

    T̂(s'|s,a) = (N(s,a,s') + w P̂(s'|s)) / (N(s,a) + w),

where the prior weight w counts as that many further transitions. A pair (s, a) that was never tried is not available,
or has P̂(·|s) if asked for. A state that was never left, or in which an episode terminated, is absorbing.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._check import (
    as_count,
    as_floats,
    as_number,
    as_positive,
    concrete,
    place,
    require_callable,
    require_memory,
    require_shape,
    require_unmasked,
    short_repr,
)
from robustirl._jax import sum_tolerance, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp.dense import DenseKernel, require_kernel
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.lists import ListKernel
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

SMALL_ARRAY = 2**18
"""Numbers of an array `[S, A, S]` that fit into a processor's cache: lists are no faster there."""
GATHER_COST = 4
"""A product with an entry of a list takes as long as with so many numbers of an array."""
ENTRY_BYTES = 100  # An entry of a sparse matrix, while lists are made of it.
ROW_BYTES = 24  # A row, until it is known how many entries it has.
CHUNK = 65_536  # Pairs of state and action in one call of a function.
Chunk = tuple[Int[np.ndarray, "N K"], Float[np.ndarray, "N K"]]
Unseen = Literal["mask", "prior", "refuse"]

_log = logging.getLogger("robustirl")


def as_kernel(kernel: Any, num_actions: int | None = None, *, leaky: bool = False) -> AbstractKernel:
    """Return a kernel as it is, or the kernel of an array `[S, A, S]` or of a sparse matrix `[S·A, S]`.

    Example:
        >>> ring = np.roll(np.eye(600), 1, axis=1)[:, None]
        >>> as_kernel(ring), as_kernel(np.full((600, 1, 600), 1 / 600))
        (ListKernel(600 states, 1 actions), DenseKernel(600 states, 1 actions))
    """
    if hasattr(kernel, "tocsr"):  # Without importing SciPy.
        if num_actions is None:
            raise InvalidInputError(
                f"the kernel is a sparse matrix of shape {kernel.shape}, which does not tell states from actions;"
                " pass num_actions."
            )
        return from_sparse(kernel, num_actions=num_actions)
    if isinstance(kernel, list | tuple) and any(hasattr(part, "tocsr") for part in kernel):
        raise InvalidInputError(
            f"the kernel is a list of {len(kernel)} sparse matrices; stack them into one whose row s * num_actions + a"
            " is T(·|s,a), and pass num_actions."
        )
    if num_actions is not None:
        raise InvalidInputError("num_actions is for sparse matrices; other kernels tell it themselves. Omit it.")
    if isinstance(kernel, AbstractKernel):
        return kernel
    if callable(kernel):
        raise InvalidInputError(
            "the kernel is a function; build it by mdp.from_function(function, num_states=..., num_actions=...)."
        )
    if not concrete(kernel):
        return DenseKernel(kernel, leaky=leaky)
    array = as_floats("the transition kernel", kernel)
    require_kernel(array, leaky=leaky)
    if array.size <= SMALL_ARRAY or GATHER_COST * np.count_nonzero(array) > array.size:
        return DenseKernel(array, leaky=leaky)
    return _stored(array.reshape(-1, len(array)), array.shape[1], leaky=leaky)


def _stored(matrix: Any, num_actions: int, *, leaky: bool = False) -> AbstractKernel:
    """Return the kernel of a sparse matrix whose entries were checked, stored as its size suggests."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    rows = scipy.sparse.csr_array(matrix)
    pairs, states = rows.shape  # pyright: ignore[reportGeneralTypeIssues]
    if pairs * states <= SMALL_ARRAY or GATHER_COST * rows.nnz > pairs * states:
        return DenseKernel(rows.toarray().reshape(states, num_actions, states), leaky=leaky)
    require_memory(float(ENTRY_BYTES) * rows.nnz, f"a kernel of {rows.nnz} transitions", "use a smaller world")
    return ListKernel(rows, num_actions=num_actions, leaky=leaky)


@working_precision
def from_sparse(matrix: "scipy.sparse.sparray | scipy.sparse.spmatrix", *, num_actions: int) -> AbstractKernel:
    """Return the kernel of a sparse matrix `[S·A, S]` whose row s·|A| + a is T(·|s,a).

    A row without entries says that the action does not exist there.

    Example:
        >>> import scipy.sparse
        >>> swap = from_sparse(scipy.sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), num_actions=1)
        >>> swap.dense().tolist()
        [[[0.0, 1.0]], [[1.0, 0.0]]]
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    if not scipy.sparse.issparse(matrix):
        raise InvalidInputError(f"the matrix is a {type(matrix).__name__}, but one of scipy.sparse is needed.")
    shape: Any = matrix.shape  # pyright: ignore[reportAttributeAccessIssue]
    require_memory(float(ROW_BYTES) * shape[0], f"a sparse kernel of shape {shape}", "use fewer states or actions")
    rows = scipy.sparse.csr_array(matrix)
    if rows.data.dtype.kind not in "biuf":
        raise InvalidInputError(f"the matrix holds {rows.data.dtype}, but real numbers are needed.")
    num_actions = as_count("num_actions", num_actions, 1)
    pairs, states = rows.shape  # pyright: ignore[reportGeneralTypeIssues]
    if states == 0:
        raise InvalidInputError(f"the matrix has shape {(pairs, states)}, but a world has at least one state.")
    if pairs != states * num_actions:
        raise InvalidInputError(
            f"the matrix has shape {(pairs, states)}, but with {num_actions} actions {states * num_actions} rows are"
            " needed, one for each state and action."
        )
    bad = ~(np.isfinite(rows.data) & (rows.data >= 0))
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, entry, "right")) - 1
        index = row // num_actions, row % num_actions, int(rows.indices[entry])
        raise InvalidInputError(
            f"the probability of {place(index)} is {float(rows.data[entry])!r},"
            " but a finite number of at least 0 is needed."
        )
    return _stored(rows, num_actions)


@working_precision
def from_successors(next_states: ArrayLike, probabilities: ArrayLike, *, leaky: bool = False) -> AbstractKernel:
    """Return the kernel of K successors of every pair of state and action.

    Args:
        next_states: `[S, A, K]`, whole numbers from 0 to |S|-1. A successor may be listed more than once; its
            probabilities then add up. Pairs with fewer than K successors repeat any state with probability zero.
        probabilities: `[S, A, K]`. A row of zeros says that the action does not exist there.
        leaky: Accept rows that sum to less than one, as in `DenseKernel`.

    Example:
        >>> kernel = from_successors([[[0, 1]], [[1, 1]]], [[[0.75, 0.25]], [[0.5, 0.5]]])
        >>> kernel.dense().tolist()
        [[[0.75, 0.25]], [[0.0, 1.0]]]
    """
    require_unmasked("the list of successors", next_states)
    places, chances = np.asarray(next_states), as_floats("the probabilities of the successors", probabilities)
    if places.dtype.kind not in "iu":
        raise InvalidInputError(
            f"the list of successors holds {places.dtype}, but whole numbers are needed: states that a move leads to."
        )
    if places.ndim != 3 or 0 in places.shape:
        raise InvalidInputError(
            f"the list of successors has shape {places.shape}, but (S, A, K) is needed with at least one state, action"
            " and successor; entry [s, a, k] is the k-th state that a leads to from s."
        )
    require_shape("the array of successor probabilities", chances, places.shape, "as the list of successors")
    states, actions, _ = places.shape
    state, action = np.divmod(np.arange(states * actions), actions)
    flat = places.reshape(states * actions, -1).astype(np.int64), chances.reshape(states * actions, -1)
    _check_chunk(flat, state, action, states, "the list of successors", leaky=leaky)
    return _stored(_joined([flat], states), actions, leaky=leaky)


@working_precision
def from_function(
    successors: Callable[..., Any],
    *,
    num_states: int,
    num_actions: int,
    vectorized: bool = False,
    chunk_size: int = CHUNK,
) -> AbstractKernel:
    """Return the kernel of a function `successors(state, action)`.

    The function is called for a chunk of pairs at a time (or for one pair after the other), its answers are checked at
    once, and only what it names is kept.

    Args:
        successors: Returns the successors of a pair and their probabilities, two sequences of one length; None or empty
            ones if the state has no such action. With `vectorized` it is given two arrays `[N]`, and returns two arrays
            `[N, K]`; rows of probabilities that are all zero say that there is no such action.
        num_states: |S|.
        num_actions: |A|.
        vectorized: Whether the function takes arrays.
        chunk_size: How many pairs are asked for at a time; the last chunk may be smaller.

    Example:
        >>> def walk(state, action):  # On a ring of five; action 1 steps back one time in ten.
        ...     return [(state + 1) % 5, (state - 1) % 5], [1 - 0.1 * action, 0.1 * action]
        >>> kernel = from_function(walk, num_states=5, num_actions=2)
        >>> np.asarray(kernel.dense())[0, 1].round(1).tolist()
        [0.0, 0.9, 0.0, 0.0, 0.1]
    """
    require_callable("the successors", successors, "a function of state and action")
    states, actions = as_count("num_states", num_states, 1), as_count("num_actions", num_actions, 1)
    size, pairs = as_count("chunk_size", chunk_size, 1), states * actions
    chunks: list[Chunk] = []
    for first in range(0, pairs, size):
        state, action = np.divmod(np.arange(first, min(first + size, pairs)), actions)
        if vectorized:
            found = _arrays(
                _ask(successors, state, action, "arrays of states and actions, vectorized=True"), len(state)
            )
        else:
            found = _one_by_one(successors, state, action)
        _check_chunk(found, state, action, states, "the kernel function")
        chunks.append(found)
        if first == 0:
            width = found[0].shape[1]
            what = f"a kernel of {states} states with {width} successors"
            require_memory(float(ENTRY_BYTES) * pairs * width, what, "use fewer")
    return _stored(_joined(chunks, states), actions)


def _joined(chunks: list[Chunk], states: int) -> Any:
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    parts = []
    for places, chances in chunks:
        rows, width = places.shape
        content = chances.ravel(), places.ravel(), np.arange(0, rows * width + 1, width)
        parts.append(scipy.sparse.csr_array(content, shape=(rows, states)))
    return parts[0] if len(parts) == 1 else scipy.sparse.vstack(parts, format="csr")


def _ask(successors: Callable[..., Any], state: Any, action: Any, given: str) -> Any:
    """Return what the function answers; what it raises passes, with a note of what it was given."""
    try:
        return successors(state, action)
    except Exception as error:
        error.add_note(f"The kernel function raised this for {given}.")
        raise


def _one_by_one(successors: Callable[..., Any], states: np.ndarray, actions: np.ndarray) -> Chunk:
    rows = []
    for state, action in zip(states.tolist(), actions.tolist(), strict=True):
        answer = _ask(successors, state, action, f"state {state}, action {action}, vectorized=False")
        where = f"of state {state}, action {action}"
        require_unmasked(f"the answer {where}", answer)
        try:
            places, chances = ([], []) if answer is None else (list(np.ravel(part)) for part in answer)
        except (OverflowError, TypeError, ValueError):
            raise InvalidInputError(
                f"the successors {where} are {short_repr(answer, 200)}, but a pair is needed: states, and their"
                " probabilities."
            ) from None
        if len(places) != len(chances):
            raise InvalidInputError(
                f"{len(places)} successors and {len(chances)} probabilities {where} were given; give one for each."
            )
        rows.append((places, chances))
    width = max(1, *(len(places) for places, _ in rows))
    what = f"{len(rows)} lists of successors as long as the longest, {width}"
    require_memory(100.0 * width * len(rows), what, "use a smaller chunk_size")
    filled = [(list(p) + [0] * (width - len(p)), list(c) + [0.0] * (width - len(c))) for p, c in rows]
    return _arrays(tuple(zip(*filled, strict=True)), len(rows))


def _arrays(answer: Any, count: int) -> Chunk:
    try:
        places, chances = (np.asarray(part) for part in answer)
        if chances.dtype.kind == "c":
            raise TypeError("probabilities are real")
        chances = chances.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInputError(
            f"the kernel function returned {type(answer).__name__}, but two arrays are needed: successors and their"
            " probabilities."
        ) from None
    if places.ndim != 2 or places.shape != chances.shape or len(places) != count or not places.size:
        raise InvalidInputError(
            f"the kernel function returned shapes {places.shape} and {chances.shape} for {count} pairs of state and"
            f" action, but ({count}, K) is needed twice; pass vectorized=False if it takes one pair at a time."
        )
    whole = places.dtype.kind in "iu" or (
        places.dtype.kind == "f" and np.isfinite(places).all() and (places == np.floor(places)).all()
    )
    if not whole:
        raise InvalidInputError(
            f"the successors of the kernel function hold {places.dtype}, but whole numbers are needed: states."
        )
    return places.astype(np.int64), chances


def _check_chunk(
    found: Chunk, states: np.ndarray, actions: np.ndarray, size: int, name: str, *, leaky: bool = False
) -> None:
    """Refuse successors by the first pair that is wrong; set those of no probability to a state."""
    places, chances = found
    sums = chances.sum(1)
    tolerance = sum_tolerance(chances.dtype)
    off = sums > 1 + tolerance if leaky else (np.abs(sums - 1) > tolerance) & (sums != 0)
    faults = (
        (
            ((places < 0) | (places >= size)) & (chances != 0),
            lambda row, k: f"names the successor {int(places[row, k])}, but states are numbered from 0 to {size - 1}",
        ),
        (
            ~(np.isfinite(chances) & (chances >= 0)),
            lambda row, k: f"gives the probability {float(chances[row, k])!r}, but a number of at least 0 is needed",
        ),
        (
            off[:, None],
            lambda row, _: (
                f"gives probabilities that sum to {float(sums[row])!r} instead of 1; divide them by their sum"
            ),
        ),
    )
    for bad, what in faults:
        if bad.any():
            row, k = (int(i) for i in np.argwhere(bad)[0])
            pair = f"state {int(states[row])}, action {int(actions[row])}"
            raise InvalidInputError(f"for {pair} {name} {what(row, k)}.")
    places[chances == 0] = 0


@runtime_checkable
class Recording(Protocol):
    """Hold what transitions are read from; `robustirl.demonstrations.Demonstrations` is one."""

    @property
    def states(self) -> Int[np.ndarray, " N"]: ...
    @property
    def actions(self) -> Int[np.ndarray, " M"] | None: ...
    @property
    def lengths(self) -> Int[np.ndarray, " E"]: ...
    @property
    def terminated(self) -> Bool[np.ndarray, " E"]: ...


def estimate_kernel(
    recording: Recording,
    *,
    num_states: int | None = None,
    num_actions: int | None = None,
    prior: float | int = 0.0,
    unseen: str = "mask",
) -> tuple[AbstractKernel, Float[np.ndarray, " S"]]:
    """Return T̂ and how often episodes began in each state; see `MDP.from_transitions`."""
    if not isinstance(recording, Recording):
        raise InvalidInputError(
            f"the demonstrations are of the type {type(recording).__name__}, but Demonstrations with actions are"
            " needed; make them with Demonstrations.from_arrays(states, actions)."
        )
    if recording.actions is None:
        raise InvalidInputError("a world cannot be estimated, because no actions were recorded; record them.")
    if not isinstance(unseen, str) or unseen not in get_args(Unseen):
        raise InvalidInputError(f"unseen is {short_repr(unseen)}, but one of {', '.join(get_args(Unseen))} is needed.")
    weight = 0.0 if as_number("the prior", prior) == 0 else as_positive("the prior", prior)
    least = int(recording.states.max()) + 1, int(recording.actions.max(initial=0)) + 1
    size = least[0] if num_states is None else as_count("the number of states", num_states, least[0])
    actions = least[1] if num_actions is None else as_count("the number of actions", num_actions, least[1])
    ends = np.cumsum(recording.lengths) - 1
    counts = _counts(recording, ends, size, actions)
    tried = np.asarray(counts.sum(1)).reshape(size, actions) > 0
    stays: Any = ~tried.any(1)
    stays[recording.states[ends[recording.terminated]]] = True
    _report(tried | stays[:, None], stays, int(counts.sum()), unseen)
    matrix = _estimated(counts, stays, weight, unseen == "prior", actions)
    begun = np.bincount(recording.states[ends + 1 - recording.lengths], minlength=size)
    return _stored(matrix, actions), begun / begun.sum()


def _counts(recording: Recording, ends: Int[np.ndarray, " E"], size: int, actions: int) -> Any:
    """Return N(s,a,s') as a sparse matrix `[S A, S]`."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    moves = np.delete(np.arange(recording.states.size), ends)
    sources, targets = recording.states[moves], recording.states[moves + 1]
    rows = sources * actions + recording.actions
    ones = np.ones(rows.size)
    return scipy.sparse.csr_array(scipy.sparse.coo_array((ones, (rows, targets)), shape=(size * actions, size)))


def _estimated(counts: Any, stays: np.ndarray, weight: float, fill: bool, actions: int) -> Any:
    """Return T̂ as a sparse matrix `[S A, S]`; rows of pairs that are not available are empty."""
    import scipy.sparse

    states = np.repeat(np.arange(len(stays)), actions)
    total = np.asarray(counts.sum(1)).ravel()
    moving = ~stays[states]
    share = np.where(moving & (total > 0), 1 / np.maximum(total + weight, 1e-300), 0)
    own = scipy.sparse.diags_array(share) @ counts
    # P̂(·|s), given to every pair of the state by the weight of the prior, and to unseen pairs in full if asked for.
    gather = scipy.sparse.csr_array((np.ones(states.size), (states, np.arange(states.size))))
    chain = gather @ counts
    left = np.asarray(chain.sum(1)).ravel()
    chain = scipy.sparse.diags_array(1 / np.maximum(left, 1)) @ chain
    given = np.where(moving & (total == 0), float(fill), weight * share)
    lent = scipy.sparse.diags_array(given) @ gather.T @ chain
    at_rest = np.flatnonzero(~moving)
    still = scipy.sparse.coo_array((np.ones(at_rest.size), (at_rest, states[at_rest])), shape=counts.shape)
    return scipy.sparse.csr_array(own + lent + scipy.sparse.csr_array(still))


def _report(seen: Bool[np.ndarray, "S A"], stays: Bool[np.ndarray, " S"], moves: int, unseen: str) -> None:
    missing = int((~seen).sum())
    if missing and unseen == "refuse":
        state, action = (int(i) for i in np.argwhere(~seen)[0])
        raise InvalidInputError(
            f"{missing} of {seen.size} pairs of state and action were never tried, as action {action} in state {state};"
            " record more, or choose unseen='mask' or unseen='prior'."
        )
    fate = "are not available" if unseen == "mask" else "follow the other actions of their state"
    _log.info(
        f"a world from {moves} transitions: {missing} of {seen.size} pairs of state and action were never tried and"
        f" {fate}; {int(stays.sum())} of {len(stays)} states are absorbing."
    )
