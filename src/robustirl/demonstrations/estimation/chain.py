"""Count transitions: the empirical closed-loop chain says how often the demonstrator went from one state to another.

P̂(s'|s) = N(s, s') / Σ_s'' N(s, s'') estimates the chain Σ_a π^E(a|s) T^E(s'|s,a) that the expert's policy makes of
the expert's world, and N(s, a, s') / N(s, a) its kernel T^E itself where actions were recorded. Only pairs that
occurred are stored.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import ShortRepr
from robustirl.demonstrations.arguments import require_demonstrations
from robustirl.demonstrations.checks import require_states
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count

if TYPE_CHECKING:
    import scipy.sparse


@dataclasses.dataclass(frozen=True, eq=False)
class TransitionCounts(ShortRepr):
    """Hold how often each recorded move occurred.

    Each move is listed once, ordered by source, action (if any) and target.

    Attributes:
        num_states: |S|.
        sources, targets: `[n]`, s and s' of each different move.
        actions: `[n]`, a of each, or None where moves are counted whatever the action was.
        counts: `[n]`, N(s, s') or N(s, a, s').
        visits: `[S]`, how often each state was visited, last states included.
        terminations: `[S]`, how many episodes terminated in each state: it stays there.
        starts: `[S]`, how many episodes began in each state.
    """

    num_states: int
    sources: Int[np.ndarray, " n"]
    targets: Int[np.ndarray, " n"]
    actions: Int[np.ndarray, " n"] | None
    counts: Int[np.ndarray, " n"]
    visits: Int[np.ndarray, " S"]
    terminations: Int[np.ndarray, " S"]
    starts: Int[np.ndarray, " S"]

    @property
    def departures(self) -> Int[np.ndarray, " S"]:
        """Return how often each state was left by a recorded move: Σ_s' N(s, s').

        A move may lead back to its state.
        """
        return np.bincount(self.sources, self.counts, self.num_states).astype(np.int64)

    @property
    def initial(self) -> Float[np.ndarray, " S"]:
        """Return the empirical initial distribution, P̂₀(s)."""
        return self.starts / self.starts.sum()

    def to_matrix(self) -> "scipy.sparse.csr_array":
        """Return the empirical chain P̂ `[S, S]`.

        A state leads to itself if it was never left, or if an episode terminated in it.
        """
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        stays = (self.departures == 0) | (self.terminations > 0)
        moving = ~stays[self.sources]
        weights = self.counts[moving] / self.departures[self.sources[moving]]
        rows = np.concatenate([self.sources[moving], np.flatnonzero(stays)])
        columns = np.concatenate([self.targets[moving], np.flatnonzero(stays)])
        entries = np.concatenate([weights, np.ones(int(stays.sum()))])
        matrix = scipy.sparse.coo_array((entries, (rows, columns)), shape=(self.num_states, self.num_states))
        return scipy.sparse.csr_array(matrix)  # Moves that differ in their action alone add up here.


def transition_counts(
    demonstrations: Demonstrations, num_states: int, *, with_actions: bool = False
) -> TransitionCounts:
    """Count the moves of the demonstrations.

    Args:
        demonstrations: The episodes.
        num_states: |S|.
        with_actions: Count (s, a, s') rather than (s, s').

    Example:
        >>> demos = Demonstrations.from_arrays([[0, 0, 1], [0, 1]], terminated=True)
        >>> found = transition_counts(demos, 2)
        >>> list(zip(found.sources.tolist(), found.targets.tolist(), found.counts.tolist()))
        [(0, 0, 1), (0, 1, 2)]
        >>> found.visits.tolist(), found.initial.tolist()
        ([3, 2], [1.0, 0.0])
        >>> found.to_matrix().toarray().round(3).tolist()
        [[0.333, 0.667], [0.0, 1.0]]
    """
    require_demonstrations(demonstrations)
    size = as_count("the number of states", num_states, 1)
    require_states(demonstrations, size)
    states, moves = demonstrations.states, demonstrations.moves
    sources, targets = states[moves], states[moves + 1]
    actions = None
    if with_actions:
        if demonstrations.actions is None:
            raise InvalidInputError(
                "moves cannot be counted by action, because these demonstrations hold states only; omit with_actions."
            )
        # Each move as one whole number that orders as (s, a, s') does.
        span = int(demonstrations.actions.max(initial=0)) + 1
        keys, counts = np.unique((sources * span + demonstrations.actions) * size + targets, return_counts=True)
        pairs, targets = np.divmod(keys, size)
        sources, actions = np.divmod(pairs, span)
    else:
        keys, counts = np.unique(sources * size + targets, return_counts=True)
        sources, targets = np.divmod(keys, size)
    return TransitionCounts(
        num_states=size,
        sources=sources,
        targets=targets,
        actions=actions,
        counts=counts,
        visits=np.bincount(states, minlength=size),
        terminations=np.bincount(demonstrations.last_states[demonstrations.terminated], minlength=size),
        starts=np.bincount(states[demonstrations.offsets[:-1]], minlength=size),
    )
