"""What robust imitation returns: policies, a reward, how training went, and a verdict on it."""

import dataclasses

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl.control import GaussianPolicy
from robustirl.irl._result import AbstractFit, AbstractVerdict
from robustirl.irl.adversarial.discriminator import LearnedReward
from robustirl.irl.judgment import Judgment, Trust
from robustirl.types import AnyArray

TRUSTED_GAP = 0.2
"""The gap, in deviations of the expert's states, up to which a fit is trusted; or twice the gap between halves of the
expert's own episodes, if that is more."""
UNUSABLE_GAP = 0.6
"""The gap beyond which a fit should not be used; or four times the gap between those halves, if that is more."""
LONGER = 2.0
"""How many times longer or shorter than the expert's episodes may be; beyond its square a fit is not to be used."""
DIRECTIONS = 64


class ImitationVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: False: there is no tolerance to reach.
        valid: Whether all numbers are finite.
        stopped: Whether a callback or an interrupt ended the fit early.
        updates: Updates of the policies.
        gap: How far the states of the player alone are from the expert's: the mean distance of their quantiles along
            random directions, in deviations of the expert's.
        mixture_gap: That distance for player and opponent together, in their last segment.
        expert_gap: That distance between two halves of the expert's episodes: what cannot be told apart. NaN for a
            single episode.
        accuracy: The share of steps that the discriminator tells apart at the end; 0.5 is chance.
        length: The mean number of steps of an episode of the player alone.
        expert_length: That of the expert's episodes, as they were recorded.
        expert_ended: The share of the expert's episodes that ended by themselves.
    """

    converged: Bool[Array, "*batch"]
    valid: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    updates: Int[Array, "*batch"]
    gap: Float[Array, "*batch"]
    mixture_gap: Float[Array, "*batch"]
    expert_gap: Float[Array, "*batch"]
    accuracy: Float[Array, "*batch"]
    length: Float[Array, "*batch"]
    expert_length: Float[Array, "*batch"]
    expert_ended: Float[Array, "*batch"]

    def history_length(self) -> int:
        return int(self.updates)

    def __str__(self) -> str:
        return (
            f"{self.status.value} after {int(self.updates)} updates; the player's states are"
            f" {float(self.gap):.2f} deviations from the expert's (its own halves: {float(self.expert_gap):.2f}), and"
            f" {float(self.accuracy):.0%} of the steps can be told apart."
        )


class ImitationHistory(eqx.Module):
    """One entry an update.

    Attributes:
        reward: The mean reward that the discriminator gave.
        episode_length: The mean length of the episodes that ended; NaN if none did.
        accuracy: The share of steps that the discriminator told apart.
    """

    reward: Float[AnyArray, "*batch"]
    episode_length: Float[AnyArray, "*batch"]
    accuracy: Float[AnyArray, "*batch"]


class ImitationFit(AbstractFit):
    """The outcome of robust imitation from observation.

    Attributes:
        player: π_pl, the policy to act with.
        opponent: π_op.
        reward: What the discriminator learned, as a reward of transitions.
        alpha: α.
        history: How training went.
        verdict: How it ended.
    """

    player: GaussianPolicy
    opponent: GaussianPolicy
    reward: LearnedReward
    alpha: Float[Array, "*batch"]
    history: ImitationHistory
    verdict: ImitationVerdict

    @property
    def judgment(self) -> Judgment:
        """Whether to use the policy, by how far the states are from the expert's."""
        return judge_imitation(self.verdict)

    def explain_failure(self, which: str) -> str:
        return (
            f"numbers that are not finite came up in training{which}; lower the learning rates, check the world's"
            " features, or pass throw=False to keep what there is."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        return f"the gap{which} is {float(self.verdict.gap):.3g}, above {tolerance:.3g}; raise steps."

    def __repr__(self) -> str:
        return f"ImitationFit(alpha={float(self.alpha):g}, {self.verdict})"


def judge_imitation(verdict: ImitationVerdict) -> Judgment:
    """Judge a fit by its gap, beside what the expert's own episodes differ by."""
    gap, own = float(verdict.gap), float(verdict.expert_gap)
    if not bool(verdict.valid):
        return Judgment(Trust.DO_NOT_USE, "training met numbers that are not finite.", "Lower the learning rates.")
    if np.isnan(own):
        why = f"there is one episode alone, so it is not known how far {gap:.2f} deviations between the states are."
        return Judgment(Trust.DOUBT, why, "Record more episodes.")
    words = f"the states are {gap:.2f} deviations from the expert's, whose own halves are {own:.2f} apart."
    ratio = length_ratio(verdict)
    if gap <= max(UNUSABLE_GAP, 4 * own) and ratio > LONGER:
        steps = f"{float(verdict.length):.0f} steps and the expert's {float(verdict.expert_length):.0f}"
        trust = Trust.DOUBT if ratio <= LONGER**2 else Trust.DO_NOT_USE
        way = "Train for more steps, or try another form of the reward (ImitationConfig.reward)."
        return Judgment(trust, f"its episodes take {steps}, although {words}", way)
    if gap <= max(TRUSTED_GAP, 2 * own):
        return Judgment(Trust.TRUST, words, "")
    if gap <= max(UNUSABLE_GAP, 4 * own):
        return Judgment(Trust.DOUBT, words, "Train for more steps, or try another alpha.")
    return Judgment(Trust.DO_NOT_USE, words, "Train for more steps, or look for what the learner's body cannot do.")


def length_ratio(verdict: ImitationVerdict) -> float:
    """Return how many times longer or shorter episodes are than the expert's.

    The ratio is 1 if that says nothing. Recordings may stop before an episode does. So longer episodes count only if
    most of the expert's ended by themselves, as they do at a goal; shorter ones always do.
    """
    own, expert = float(verdict.length), float(verdict.expert_length)
    if not (own > 0 and expert > 0) or (own > expert and not float(verdict.expert_ended) >= 0.5):
        return 1.0
    return max(own / expert, expert / own)


def states_gap(first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "m d"], seed: int = 0) -> float:
    """Return the sliced Wasserstein distance of two samples, in deviations of the first.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> a, b = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) + [1.0, 0.0]
        >>> round(states_gap(a, a), 6), 0.5 < states_gap(a, b) < 0.75  # The mean of |cos| is 2/π.
        (0.0, True)
    """
    mean, deviation = first.mean(0), np.maximum(first.std(0), 1e-3)
    directions = np.random.default_rng(seed).normal(size=(first.shape[1], DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    levels = (np.arange(200) + 0.5) / 200
    sides = [np.quantile(((part - mean) / deviation) @ directions, levels, axis=0) for part in (first, second)]
    return float(np.abs(sides[0] - sides[1]).mean())


@dataclasses.dataclass(frozen=True)
class ImitationStep:
    """What callbacks are given from time to time.

    Attributes:
        steps: Steps in the world so far.
        total: Steps to take.
        accuracy: The share of steps that the discriminator tells apart.
        episode_length: The mean length of the episodes that ended.
    """

    steps: int
    total: int
    accuracy: float
    episode_length: float
