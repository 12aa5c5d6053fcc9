r"""The expert's world pair by pair: which of the learner's moves a recorded action resembles, and how far off it is.

For a state s and a recorded action a, let b(s,a) be the learner's action whose row makes the recorded outcomes
likeliest (a itself, unless another one is likelier by more than `RELABEL_GAIN`). An expert whose actions are merely
named or arranged otherwise can be reproduced exactly by a learner who plays b, so no opponent is needed for it. What
remains is

    e(s,a) = TV(T^E(·|s,a), T^L(·|s,b))  if the likeliest outcome of the learner's row lost mass, else 0,

and 1 - α = max e(s,a) is the paper's rule 1 - α = d_dyn / 2 with a direction: a calmer expert asks for no opponent.

The lower bound on the maximum allows for having looked at many pairs. Every other episode proposes the set B of
outcomes that gained mass; the others test it: T^E(B) - T^L(B) <= e(s,a), with an exact binomial bound at the level of
all pairs together. The upper bound is that of Bretagnolle, Huber and Carol for the l1 error of an empirical
distribution; a pair never seen can have any e.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._runtime import ShortRepr
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.mdp import MDP, absorbing_states

MOST_ENTRIES = 2**22  # Of an array `[S, A, S]`; larger worlds are not looked at pair by pair.
RELABEL_GAIN = 3.0  # Nats by which another action must be likelier.
BLUR = 0.1  # Weight of a uniform row, so that noise or a drift to outcomes that an action never has does not hide it.
UNAVAILABLE = -1e300  # The log-likelihood of an action that is not to be had; finite, so that it can be subtracted.
SAME = 1e-9  # Outcomes this close to the likeliest are as likely.


@dataclasses.dataclass(frozen=True, eq=False)
class PairBounds(ShortRepr):
    """What the pairs of states and recorded actions tell of max e(s,a).

    Attributes:
        lower: A lower bound on the maximum, at the confidence asked for.
        estimate: ê of the pair that attains it.
        pair: That pair, (s, a).
        upper: An upper bound on the maximum; 1 if a pair was never seen.
        relabel: `[S, A]`, b(s,a).
        relabeled: Share of the moves whose action resembles another one.
        unseen: How many available pairs were never seen.
    """

    lower: float
    estimate: float
    pair: tuple[int, int]
    upper: float
    relabel: Int[np.ndarray, "S A"]
    relabeled: float
    unseen: int


def count_array(demonstrations: Demonstrations, shape: tuple[int, int]) -> Float[np.ndarray, "S A S"]:
    """Return N(s, a, s') of demonstrations with actions as an array.

    Example:
        >>> count_array(Demonstrations.from_arrays([[0, 1, 1]], [[0, 0]]), (2, 1)).tolist()
        [[[0.0, 1.0]], [[0.0, 1.0]]]
    """
    assert demonstrations.actions is not None
    moves = demonstrations.moves
    counts = np.zeros((*shape, shape[0]))
    places = demonstrations.states[moves], demonstrations.actions, demonstrations.states[moves + 1]
    np.add.at(counts, places, 1.0)
    return counts


def learner_rows(mdp: MDP) -> Float[np.ndarray, "S A S"]:
    """Return T^L(s'|s,a) on the host, with zeros for actions that are not available."""
    return np.asarray(mdp.kernel.row_reader()(0, mdp.num_states)) * np.asarray(mdp.mask)[..., None]


def resembled_actions(
    counts: Float[np.ndarray, "S A S"], rows: Float[np.ndarray, "S A S"], available: Bool[np.ndarray, "S A"]
) -> Int[np.ndarray, "S A"]:
    """Return b(s,a), the available action whose row makes (s,a)'s counted outcomes likeliest.

    Example:
        >>> rows = np.array([[[0.9, 0.1], [0.1, 0.9]]] * 2)
        >>> swapped = np.array([[[2.0, 18.0], [18.0, 2.0]], [[0.0, 0.0], [0.0, 1.0]]])
        >>> resembled_actions(swapped, rows, np.ones((2, 2), bool)).tolist()
        [[1, 0], [0, 1]]
    """
    logs = np.log((1 - BLUR) * rows + BLUR / len(rows))
    likelihood = np.where(available[:, None, :], counts @ logs.transpose(0, 2, 1), UNAVAILABLE)
    own = np.arange(rows.shape[1])
    gain = likelihood.max(-1) - likelihood[:, own, own]
    return np.where(gain > RELABEL_GAIN, likelihood.argmax(-1), own)


def bound_pairs(mdp: MDP, demonstrations: Demonstrations, confidence: float) -> PairBounds | None:
    """Return the bounds, or None for a world too large to look at pair by pair."""
    from scipy import stats  # Here, so that `import robustirl` stays light.

    states, actions = mdp.num_states, mdp.num_actions
    if states * states * actions > MOST_ENTRIES or len(demonstrations) < 2:
        return None
    rows, leaves = learner_rows(mdp), ~absorbing_states(mdp)
    available = np.asarray(mdp.mask) & leaves[:, None]
    proposing, testing = (
        count_array(part, (states, actions)) * leaves[:, None, None]
        for part in (demonstrations[0::2], demonstrations[1::2])
    )
    counts = proposing + testing
    # All moves choose b: that can only bring the learner's row closer, so the lower bound stays one.
    relabel = resembled_actions(counts, rows, available)
    near = np.take_along_axis(rows, relabel[..., None], 1)
    top = near >= near.max(-1, keepdims=True) - SAME
    gained = ~top & (_shares(proposing) > near)
    seen = testing.sum(-1)
    tested = seen > 0
    hits, expected = (testing * gained).sum(-1), (near * gained).sum(-1)
    level = (1 - confidence) / 2 / max(1, int(tested.sum()))
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, stats.beta.ppf(level, hits, seen - hits + 1), 0.0)
    lower = np.where(tested, least - expected, -np.inf)
    place = np.unravel_index(int(np.argmax(lower)), lower.shape)
    pair = int(place[0]), int(place[1])
    shares, total = _shares(counts), counts.sum(-1)
    estimates = ((shares - near) * gained).sum(-1)
    distance = np.maximum(shares - near, 0).sum(-1)
    radius = np.sqrt(2 * (states * np.log(2) - np.log(level)) / np.maximum(total, 1)) / 2
    upper = np.where(total > 0, np.minimum(distance + radius, 1.0), 1.0)[available]
    moved = np.where(relabel != np.arange(actions), total, 0).sum()
    return PairBounds(
        lower=float(lower[pair]),
        estimate=float(estimates[pair]),
        pair=pair,
        upper=float(upper.max(initial=0.0)),
        relabel=relabel,
        relabeled=float(moved / max(total.sum(), 1)),
        unseen=int((available & (total == 0)).sum()),
    )


def _shares(counts: Float[np.ndarray, "S A S"]) -> Float[np.ndarray, "S A S"]:
    return counts / np.maximum(counts.sum(-1, keepdims=True), 1)
