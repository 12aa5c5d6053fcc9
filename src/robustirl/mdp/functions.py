r"""Kernels given as a function of state and action, for worlds whose tables are never written down.

The function is called for all pairs of a chunk of states at a time (or for one pair after the other), its answer is
checked at once, and only the lists of successors are kept: memory grows as |S| |A| K.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import require_memory, short_repr, sum_tolerance
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.banded import BandedKernel, banded_or_lists
from robustirl.mdp.ragged import RaggedKernel, wasteful
from robustirl.mdp.successors import SuccessorKernel

CHUNK = 65_536  # Pairs of state and action in one call.
Chunk = tuple[Int[np.ndarray, "N K"], Float[np.ndarray, "N K"]]


def from_function(
    successors: Callable[..., Any],
    *,
    num_states: int,
    num_actions: int,
    vectorized: bool = False,
    chunk_size: int = CHUNK,
) -> BandedKernel | SuccessorKernel | RaggedKernel:
    """Return the kernel of a function `successors(state, action)`, as diagonals or as lists.

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
        >>> np.asarray(kernel.to_array())[0, 1].round(1).tolist()
        [0.0, 0.9, 0.0, 0.0, 0.1]
    """
    if not callable(successors):
        raise InvalidInputError(
            f"the successors are {short_repr(successors)}, but a function of state and action is needed."
        )
    states, actions = (
        checks.as_count(name, n, 1) for name, n in (("num_states", num_states), ("num_actions", num_actions))
    )
    size = checks.as_count("chunk_size", chunk_size, 1)
    pairs, chunks = states * actions, []
    for first in range(0, pairs, size):
        numbers = np.arange(first, min(first + size, pairs))
        state, action = numbers // actions, numbers % actions
        if vectorized:
            found = _arrays(
                _ask(successors, state, action, "arrays of states and actions, vectorized=True"), state.size
            )
        else:
            found = _one_by_one(successors, state, action)
        _check(found, state, action, states)
        chunks.append(found)
        if first == 0:
            width = found[0].shape[1]
            require_memory(48.0 * pairs * width, f"a kernel of {states} states with {width} successors", "use fewer")
    longest = max(places.shape[1] for places, _ in chunks)
    if wasteful(pairs, longest, sum(int(np.count_nonzero(chances)) for _, chances in chunks)):
        return _entries(chunks, states, actions)
    every = [np.concatenate([_widened(chunk[i], longest) for chunk in chunks]) for i in (0, 1)]
    shape = (states, actions, longest)
    return banded_or_lists(every[0].reshape(shape), every[1].reshape(shape))


def _entries(chunks: list[Chunk], states: int, actions: int) -> RaggedKernel:
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    parts = []
    for places, chances in chunks:
        rows = np.repeat(np.arange(len(places)), places.shape[1])
        content = (chances.ravel(), (rows, places.ravel()))
        parts.append(scipy.sparse.coo_array(content, shape=(len(places), states)))
    matrix = scipy.sparse.csr_array(scipy.sparse.vstack(parts))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return RaggedKernel(matrix, num_actions=actions)


def checked_answer(answer: Any, states: np.ndarray, actions: np.ndarray, size: int) -> Chunk:
    """Return what a function of arrays answered, or refuse it by the first state that is wrong."""
    found = _arrays(answer, states.size)
    _check(found, states, actions, size)
    return found


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
        checks.require_unmasked(f"the answer {where}", answer)
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
    checks.require_unmasked("the answer of the kernel function", answer)
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
    if places.dtype.kind not in "iu":
        whole = places.astype(np.float64) if places.dtype.kind == "f" else np.zeros(1)
        if not (places.dtype.kind == "f" and np.isfinite(whole).all() and (whole == np.floor(whole)).all()):
            raise InvalidInputError(
                f"the successors of the kernel function hold {places.dtype}, but whole numbers are needed: states."
            )
    return places.astype(np.int64), chances


def _check(found: Chunk, states: np.ndarray, actions: np.ndarray, size: int) -> None:
    """Refuse an answer by the first state that is wrong."""
    places, chances = found
    _refuse(
        ((places < 0) | (places >= size)) & (chances != 0),
        (states, actions),
        lambda row, k: f"names the successor {int(places[row, k])}, but states are numbered from 0 to {size - 1}",
    )
    _refuse(
        ~(np.isfinite(chances) & (chances >= 0)),
        (states, actions),
        lambda row, k: f"gives the probability {float(chances[row, k])!r}, but a number of at least 0 is needed",
    )
    places[chances == 0] = 0
    sums = chances.sum(1)
    _refuse(
        ((np.abs(sums - 1) > sum_tolerance(chances.dtype)) & (sums != 0))[:, None],
        (states, actions),
        lambda row, _: f"gives probabilities that sum to {float(sums[row])!r} instead of 1; divide them by their sum",
    )


def _refuse(bad: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], what: Callable[[int, int], str]) -> None:
    if bad.any():
        row, k = (int(i) for i in np.argwhere(bad)[0])
        state, action = (int(part[row]) for part in pairs)
        raise InvalidInputError(f"for state {state}, action {action} the kernel function {what(row, k)}.")


def _widened(array: np.ndarray, width: int) -> np.ndarray:
    return np.pad(array, ((0, 0), (0, width - array.shape[1])))
