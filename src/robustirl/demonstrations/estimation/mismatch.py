r"""What kind of mismatch recorded moves (s, a, s') show: other names of actions, a drift, more noise, or less.

Actions are compared first (`pairs.py`): a recorded action whose outcomes are those of another one in the learner's
world is *relabeled*. If the expert's world is the noisier one beyond doubt, the moves that go astray tell noise from
drift. Half of the episodes name, for every state, the outcome that most stray moves have; the other half tests it. Of
noise that picks outcomes at random the named one has no majority, of a drift it does.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

from robustirl.demonstrations.estimation.alpha import FEWEST_MOVES, AlphaEstimate
from robustirl.demonstrations.estimation.lists import HALF

RELABELED_SHARE = 0.05  # Of the moves; more is no accident.
MAJORITY = 0.5  # Of the stray moves; slips to either side have just half.

Mismatch = Literal["relabeled", "drift", "noisier", "calmer", "none"]


def classify(
    relabeled: float, drift: tuple[int, int], alpha: AlphaEstimate, confidence: float = 0.95
) -> tuple[Mismatch, str]:
    """Return the kind of mismatch, and what follows from it in a sentence.

    Args:
        relabeled: Share of the moves whose action resembles another one.
        drift: Stray moves that went where others from their state had gone, and all stray moves; see `stray_moves`.
        alpha: The estimate of α from the same moves.
        confidence: That a drift is one.
    """
    from scipy import stats  # Here, so that `import robustirl` stays light.

    if relabeled > RELABELED_SHARE:
        return "relabeled", (
            f"{relabeled:.0%} of the moves use an action that has the outcomes of another one in the learner's world:"
            " the actions are named or arranged otherwise, which the learner can reproduce and no opponent explains."
        )
    if alpha.decisive and alpha.alpha < 1:
        hits, total = drift
        if total >= FEWEST_MOVES:
            least = float(stats.binomtest(hits, total).proportion_ci(confidence, method="exact").low)
            if least > MAJORITY:
                return "drift", (
                    f"{hits / total:.0%} of {total} moves that went astray went where most others from the same state"
                    " did: the expert's world drifts, which transfer takes into account and an opponent only in part."
                )
        return "noisier", f"the expert's world is the noisier one, which an opponent explains: {alpha.note}"
    if alpha.direction == "calmer":
        return "calmer", "the expert's world is the calmer one, for which an opponent is the wrong tool."
    return "none", "the moves show no mismatch with the learner's world."


def stray_moves(
    proposing: Float[np.ndarray, "S A S"], testing: Float[np.ndarray, "S A S"], rows: Float[np.ndarray, "S A S"]
) -> tuple[int, int]:
    """Return how many tested stray moves went to the outcome proposed for their state.

    Also return how many tested stray moves there are. States with fewer than two outcomes to go astray to tell nothing
    and do not count.

    Args:
        proposing: N(s, a, s') of one half of the episodes.
        testing: That of the other half.
        rows: The learner's rows for the recorded actions.

    Example:
        >>> rows = np.eye(4)[None, :1].repeat(4, 0)  # One action, which leads to state 0.
        >>> proposing, testing = np.zeros((2, 4, 1, 4))
        >>> proposing[1, 0], testing[1, 0] = [9, 0, 3, 1], [5, 0, 4, 2]
        >>> stray_moves(proposing, testing, rows)
        (4, 6)
    """
    stray = rows < HALF * rows.max(-1, keepdims=True)
    proposed, tested = ((counts * stray).sum(1) for counts in (proposing, testing))
    several = ((proposed + tested) > 0).sum(-1) >= 2
    named = proposed.argmax(-1)
    keep = several & (proposed.sum(-1) > 0)
    hits = tested[np.arange(len(tested)), named][keep].sum()
    return int(hits), int(tested[keep].sum())
