r"""Estimate α(s,a), pair by pair, with intervals that hold for all pairs together.

For a pair (s,a) of the learner's world let T^E(·|s,a) be the expert's outcomes of its actions that resemble a there
(`pairs.py`), and

    e(s,a) = TV(T^E(·|s,a), T^L(·|s,a)) = Σ_s' max(T^E - T^L, 0),    α(s,a) = 1 - e(s,a),

the paper's rule 1 - α = d_dyn / 2 for one pair. Outcomes that T^L never has count in full, so that they may be put into
one class without changing e: k outcomes of T^L and one class for all others, k + 1 classes in all. With n moves and
the share δ of the risk that one pair gets,

- e <= ê + ½ sqrt(2 ((k+1) log 2 + log(1/δ)) / n), after Bretagnolle, Huber and Carol;
- e >= the exact binomial lower bound of T^E(B) at level δ, less T^L(B). Every other episode proposes the set B of
  outcomes that gained mass; the others test it, so that B is not chosen by the moves that test it.

Each bound of each pair has δ = (1 - confidence) / 2 / (number of pairs that can be seen): all intervals together hold
with the stated confidence, provided that the moves of a pair are independent draws from its row. A pair whose lower
bound on e is above zero is decided; others get α = 1, the learner's own world, unless told otherwise.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._runtime import ShortRepr
from robustirl.demonstrations.arguments import require_demonstrations
from robustirl.demonstrations.estimation.concentration import as_confidence
from robustirl.demonstrations.estimation.pairs import MOST_ENTRIES, count_array, learner_rows, resembled_actions
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, absorbing_states

SMALLEST_ALPHA = 0.05  # An α of zero is no player at all.


@dataclasses.dataclass(frozen=True, eq=False)
class LocalAlphaEstimate(ShortRepr):
    """α(s,a) as far as the data can tell.

    Attributes:
        alpha: `[S, A]`, 1 - ê where the data decide that the expert's world differs, else 1: what `fit` takes.
        low: `[S, A]`, the lower end of the interval; 0 where a pair was never seen.
        high: `[S, A]`, the upper end.
        moves: `[S, A]`, how many moves each rests on.
        decided: `[S, A]`, True where the interval excludes 1.
        confidence: Of all intervals together.
    """

    alpha: Float[np.ndarray, "S A"]
    low: Float[np.ndarray, "S A"]
    high: Float[np.ndarray, "S A"]
    moves: Int[np.ndarray, "S A"]
    decided: Bool[np.ndarray, "S A"]
    confidence: float


def estimate_local_alpha(mdp: MDP, demonstrations: Demonstrations, *, confidence: float = 0.95) -> LocalAlphaEstimate:
    """Estimate α for every state and action from recorded actions, with simultaneous intervals.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did, with actions.
        confidence: Of all intervals together.

    Example:
        >>> import jax
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> rows = [[[0.0, 1.0]], [[1.0, 0.0]]]
        >>> slipping = [[[0.3, 0.7]], [[1.0, 0.0]]]  # The expert's world differs in state 0 alone.
        >>> expert = MDP(slipping, discount=0.9)
        >>> walks = sample_demonstrations(expert, [[1.0], [1.0]], episodes=200, horizon=20, key=jax.random.key(0))
        >>> found = estimate_local_alpha(MDP(rows, discount=0.9), walks)
        >>> found.alpha.round(1).tolist(), found.decided.tolist()
        ([[0.7], [1.0]], [[True], [False]])
    """
    from scipy import stats  # Here, so that `import robustirl` stays light.

    confidence = as_confidence(confidence)
    require_demonstrations(demonstrations)
    demonstrations.check_against(mdp)
    if not demonstrations.has_actions:
        raise InvalidInputError(
            "the demonstrations have no actions, and states alone do not tell which action's outcomes differ; record"
            " the expert's actions, or estimate one alpha for all states with estimate_alpha."
        )
    states, actions = mdp.num_states, mdp.num_actions
    if states * states * actions > MOST_ENTRIES:
        raise InvalidInputError(
            f"the world has {states} states and {actions} actions, too many to look at every pair ({MOST_ENTRIES}"
            " entries of an array [S, A, S] at most); use estimate_alpha."
        )
    rows, leaves = learner_rows(mdp), ~absorbing_states(mdp)
    available = np.asarray(mdp.mask) & leaves[:, None]
    parts = [count_array(part, (states, actions)) * leaves[:, None, None] for part in _halves(demonstrations)]
    relabel = resembled_actions(sum(parts), rows, available)  # pyright: ignore[reportArgumentType]
    proposing, testing = (_moved(part, relabel) for part in parts)
    counts = proposing + testing
    total, seen = counts.sum(-1), testing.sum(-1)
    level = (1 - confidence) / 2 / max(1, int(available.sum()))
    gained = _shares(proposing) > rows
    hits, expected = (testing * gained).sum(-1), (rows * gained).sum(-1)
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, stats.beta.ppf(level, hits, seen - hits + 1), 0.0)
    lower = np.where(available, np.clip(least - expected, 0, 1), 0.0)
    distance = np.maximum(_shares(counts) - rows, 0).sum(-1)
    classes = (rows > 0).sum(-1) + 1
    radius = np.sqrt(2 * (classes * np.log(2) - np.log(level)) / np.maximum(total, 1)) / 2
    upper = np.where(total > 0, np.minimum(distance + radius, 1), 1.0)
    upper = np.maximum(np.where(available, upper, 0.0), lower)
    decided = lower > 0
    return LocalAlphaEstimate(
        alpha=np.where(decided, np.clip(1 - distance, SMALLEST_ALPHA, 1), 1.0),
        low=1 - upper,
        high=1 - lower,
        moves=total.astype(int),
        decided=decided,
        confidence=confidence,
    )


def _halves(demonstrations: Demonstrations) -> tuple[Demonstrations, Demonstrations]:
    """Return every other episode, to propose, and the rest, to test.

    A single episode is refused, since it would serve both purposes badly.
    """
    if len(demonstrations) < 2:
        raise InvalidInputError(
            "one episode was given, but two are needed: one to propose which outcomes gained mass, one to test it."
        )
    return demonstrations[0::2], demonstrations[1::2]


def _moved(counts: Float[np.ndarray, "S A S"], relabel: Int[np.ndarray, "S A"]) -> Float[np.ndarray, "S A S"]:
    """Return the counts under the actions they resemble."""
    out = np.zeros_like(counts)
    np.add.at(out, (np.arange(len(counts))[:, None], relabel), counts)
    return out


def _shares(counts: Float[np.ndarray, "S A S"]) -> Float[np.ndarray, "S A S"]:
    return counts / np.maximum(counts.sum(-1, keepdims=True), 1)
