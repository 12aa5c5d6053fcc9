r"""Estimate a world from recorded transitions, for worlds without a table.

With N(s,a,s') recorded transitions, and P̂(s'|s) = Σ_a N(s,a,s') / Σ_a N(s,a) whatever the action was,

    T̂(s'|s,a) = (N(s,a,s') + w P̂(s'|s)) / (N(s,a) + w),

where the prior weight w counts as that many further transitions. A pair (s, a) that was never tried is not available,
or has P̂(·|s) if asked for. A state that was never left, or in which an episode terminated, is absorbing.
"""

import logging
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._runtime import short_repr
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.sparse import from_sparse

DENSE_STATES = 1000  # Up to here an array `[S, A, S]` is small, and direct solvers are at their fastest.
Unseen = Literal["mask", "prior", "refuse"]

_log = logging.getLogger("robustirl")


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
) -> tuple[AbstractKernel | Float[np.ndarray, "S A S"], Float[np.ndarray, " S"]]:
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
    weight = 0.0 if checks.as_number("the prior", prior) == 0 else checks.as_positive("the prior", prior)
    least = int(recording.states.max()) + 1, int(recording.actions.max(initial=0)) + 1
    size = least[0] if num_states is None else checks.as_count("the number of states", num_states, least[0])
    actions = least[1] if num_actions is None else checks.as_count("the number of actions", num_actions, least[1])
    ends = np.cumsum(recording.lengths) - 1
    counts = _counts(recording, ends, size, actions)
    stays = np.asarray(counts.sum(1)).reshape(size, actions).sum(1) == 0
    stays[recording.states[ends[recording.terminated]]] = True
    seen = (np.asarray(counts.sum(1)).reshape(size, actions) > 0) | stays[:, None]
    _report(seen, stays, int(counts.sum()), unseen)
    matrix = _estimated(counts, stays, weight, unseen == "prior", size, actions)
    begun = np.bincount(recording.states[ends + 1 - recording.lengths], minlength=size)
    kernel = (
        from_sparse(matrix, num_actions=actions)
        if size > DENSE_STATES
        else matrix.toarray().reshape(size, actions, size)
    )
    return kernel, begun / begun.sum()


def _counts(recording: Recording, ends: Int[np.ndarray, " E"], size: int, actions: int) -> Any:
    """Return N(s,a,s') as a sparse matrix `[S A, S]`."""
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    moves = np.delete(np.arange(recording.states.size), ends)
    sources, targets = recording.states[moves], recording.states[moves + 1]
    rows = sources * actions + recording.actions
    ones = np.ones(rows.size)
    return scipy.sparse.csr_array(scipy.sparse.coo_array((ones, (rows, targets)), shape=(size * actions, size)))


def _estimated(counts: Any, stays: np.ndarray, weight: float, fill: bool, size: int, actions: int) -> Any:
    """Return T̂ as a sparse matrix `[S A, S]`; rows of pairs that are not available are empty."""
    import scipy.sparse

    states = np.repeat(np.arange(size), actions)
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
    matrix = scipy.sparse.csr_array(own + lent + scipy.sparse.csr_array(still))
    matrix.eliminate_zeros()
    return matrix


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
