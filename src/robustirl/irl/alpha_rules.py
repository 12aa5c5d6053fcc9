r"""The rules that choose α from the curves of the candidates' fits; see `docs/choosing-alpha.md` for their evidence.

Let ρ_E be the expert's occupancy, ρ_α that of the player of the fit at α **alone** in the learner's world, and ρ_mix
that of player and opponent together, all discounted. Two distances describe a fit:

    D(α) = ‖ρ_α - ρ_E‖₁        what the opponent has to account for
    g(α) = ‖ρ_mix - ρ_E‖₁      what is left unaccounted for, the occupancy gap

At α = 1 both are the gap of standard IRL. A smaller α moves the player away from the expert (D grows) towards what the
expert would do undisturbed, as long as the opponent brings the mixture back (g stays). An α is *admissible* if

    g(α) - g(1) <= SHARE · (D(α) - D(1)) + slack        and        D(α) >= D(1) - slack,

that is, if at most this share of what the opponent changes misses the expert; if the player alone puts at most EXCESS
more mass than standard IRL on states that it visits more than three times as often as the expert; if D(α) <= FARTHEST;
if planning succeeded; if all this holds for every larger candidate too; and if the player arrives where the expert's
episodes end no later and no less often than that of standard IRL, with and without discount (`arrivals.py`). For a
calmer expert D hardly grows while g does, and where a push is final the player waits in a few states. These rules
refuse both without knowing the cause.

The slack is what distances cannot tell apart: a part of the sampling error of ρ_E, and a part of what standard IRL
misses although some policy would not (a fit that was not carried to its end). Where the expert's own moves prove that
its world is the noisier one (`demonstrations.estimate_alpha`), the opponent may also miss a part of g(1), because what
no policy of the learner can match is noise. Where the moves prove a calmer expert, there is no slack.

Among the admissible α rewards decide. Standard IRL is fitted to each half of the episodes; its rewards judge the return
of every player, and the difference between the two halves is the standard error. A gain counts less one standard error
(CALMER_MARGIN errors if the moves prove a calmer expert), and only if that is positive. Standard IRL takes noise for
intent, so that its rewards favor a strong opponent. The robust fit that they would choose is therefore a second judge:
gains under either, as shares of the largest, are added, and the largest α with at least ENOUGH of the best sum is
taken.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

FEWEST_EPISODES = 10  # Fewer do not give two halves worth comparing.
SHARE = 0.8  # Of what the opponent changes, the part that may miss the expert.
NEGLIGIBLE = 1e-3  # A gap in l1 that says nothing: fits end this far from their limits.
SAMPLING = {"noisier": 1.0, "unknown": 0.1}  # Part of the sampling error that may be missed.
UNFINISHED = 0.2  # Part of the gap of standard IRL above the least possible one that may be missed.
UNMATCHED = 0.6  # Part of the gap of standard IRL that may be missed if the moves prove a noisier expert.
EXCESS = 0.05  # Mass that may move to states visited more than `OFTEN` times as often as by the expert.
OFTEN = 3.0  # Times the expert's visits; see `EXCESS`.
LATER = 0.01  # Share of the discounted arrivals of standard IRL that may be lost.
LOST = 0.001  # Share of its arrivals within 1000 steps that may be lost.
FARTHEST = 1.0  # Of the 2 that two occupancies can be apart.
SMALL_GAP = NEGLIGIBLE / UNFINISHED  # Of standard IRL: whether it could be smaller makes no difference.
WORST_STANDARD_GAP = 0.15  # A larger gap at α = 1 says that the fits themselves cannot be compared.
MARGIN = 1.0  # Standard errors that a gain is lowered by before it counts.
CALMER_MARGIN = 1.5  # The same if the moves prove a calmer expert.
ENOUGH = 0.9  # Of the best gain.


@dataclasses.dataclass(frozen=True, eq=False)
class AlphaCurves:
    """What the fits of all candidates look like to the learner.

    Every array has one entry a candidate.

    Attributes:
        candidates: `[K]`, the α that were fitted, from 1 downwards.
        gap: `[K]`, g(α), the occupancy gap of player and opponent together.
        distance: `[K]`, D(α), the distance of the player alone to the expert.
        excess: `[K]`, mass of the player alone beyond three times the expert's visits.
        arrival: `[K]`, discounted arrivals of the player alone at the expert's ends, over those of standard IRL.
        reach: `[K]`, the same within 1000 steps and without discount.
        planned: `[K]`, whether planning succeeded.
        gain: `[K]`, return of the player less that of standard IRL, by rewards learned from the two halves of the data.
        gain_error: `[K]`, its standard error.
        own_gains: `[K, K]`, the same by the rewards of the fits themselves, a row each; the fit that `gain` would
            choose is the second judge.
        avoidable_gap: How far standard IRL stays above the least gap that any policy has; 0 if its gap is small.
        sampling_error: Of the expert's occupancy: half of the distance between those of the two halves of the data.
        direction: `noisier`, `calmer` or `unknown`: what the moves prove about the expert's world.
    """

    candidates: Float[np.ndarray, " K"]
    gap: Float[np.ndarray, " K"]
    distance: Float[np.ndarray, " K"]
    excess: Float[np.ndarray, " K"]
    arrival: Float[np.ndarray, " K"]
    reach: Float[np.ndarray, " K"]
    planned: Bool[np.ndarray, " K"]
    gain: Float[np.ndarray, " K"]
    gain_error: Float[np.ndarray, " K"]
    own_gains: Float[np.ndarray, "K K"]
    avoidable_gap: float
    sampling_error: float
    direction: str

    @property
    def explained(self) -> Float[np.ndarray, " K"]:
        """D(α) - D(1), how far the opponent moves the player."""
        return self.distance - self.distance[0]

    @property
    def missed(self) -> Float[np.ndarray, " K"]:
        """g(α) - g(1), how much larger the occupancy gap is than that of standard IRL."""
        return self.gap - self.gap[0]

    @property
    def slack(self) -> float:
        """What the distances cannot tell apart."""
        if self.direction == "calmer":
            return NEGLIGIBLE
        slack = max(NEGLIGIBLE, UNFINISHED * self.avoidable_gap, SAMPLING[self.direction] * self.sampling_error)
        return slack + (UNMATCHED * float(self.gap[0]) if self.direction == "noisier" else 0.0)

    @property
    def most_missed(self) -> Float[np.ndarray, " K"]:
        """What an opponent may miss at most to be admissible."""
        return SHARE * np.maximum(self.explained, 0) + self.slack


def admissible_candidates(curves: AlphaCurves) -> Bool[np.ndarray, " K"]:
    """Return which candidates are no worse than α = 1 by what the learner can see.

    Example:
        >>> zeros, ones = np.zeros(3), np.ones(3)
        >>> gap, distance = np.array([0.0, 0.01, 0.05]), np.array([0.0, 0.04, 0.05])
        >>> curves = AlphaCurves(
        ...     np.array([1.0, 0.9, 0.8]), gap, distance, zeros, ones, ones, ones > 0, zeros, zeros, np.zeros((3, 3)),
        ...     0, 0, "unknown",
        ... )
        >>> admissible_candidates(curves).tolist()
        [True, True, False]
    """
    fine = curves.planned & (curves.missed <= curves.most_missed)
    fine &= (curves.explained >= -curves.slack) & (curves.excess <= curves.excess[0] + EXCESS)
    fine &= (curves.distance <= FARTHEST) & (curves.gap[0] <= WORST_STANDARD_GAP)
    fine[0] = True
    return np.logical_and.accumulate(fine) & (curves.arrival >= 1 - LATER) & (curves.reach >= 1 - LOST)


def choose_candidate(curves: AlphaCurves, episodes: int) -> tuple[int, bool, str]:
    """Return the place of the chosen candidate, whether the data decided, and why in a sentence."""
    if len(curves.candidates) == 1:
        return 0, False, "α stays 1: there is no other candidate."
    if episodes < FEWEST_EPISODES:
        note = f"{episodes} episodes are too few to compare two halves of them ({FEWEST_EPISODES} are needed)"
        return 0, False, f"α stays 1: {note}."
    if curves.gap[0] > WORST_STANDARD_GAP:
        note = (
            f"standard IRL itself misses the expert's visits by {curves.gap[0]:.2g} in l1, so fits cannot be compared"
        )
        return 0, False, f"α stays 1: {note}."
    admissible = admissible_candidates(curves)
    if not admissible[1:].any():
        # Only a calmer expert is a finding. Otherwise 1 is a default, since states may hide noise.
        return 0, curves.direction == "calmer", f"α stays 1: {_refusal(curves, 1)}."
    margin = CALMER_MARGIN if curves.direction == "calmer" else MARGIN
    safe = curves.gain - margin * curves.gain_error
    sure = admissible & (safe > 0)
    if not sure.any():
        note = "no admissible α is better than 1 by more than the two halves of the data differ"
        return 0, False, f"α stays 1: {note}."
    worth = safe / safe[sure].max()
    second = curves.own_gains[_first_enough(worth, sure)]
    if (best := second[sure].max()) > 0:
        worth = worth + second / best
    place = _first_enough(worth, sure)
    note = (
        f"α is {curves.candidates[place]:g}: the opponent explains {curves.explained[place]:.2g} of the expert's visits"
        f" in l1, misses {max(curves.missed[place], 0):.2g}, and the player's return is higher by"
        f" {curves.gain[place]:.2g} ± {curves.gain_error[place]:.1g} under the rewards of both halves of the data."
    )
    return place, True, note


def _first_enough(worth: Float[np.ndarray, " K"], sure: Bool[np.ndarray, " K"]) -> int:
    """Return the largest α whose worth is enough."""
    return int(np.argmax(sure & (worth >= ENOUGH * worth[sure].max())))


def _refusal(curves: AlphaCurves, place: int) -> str:
    """Return why a candidate is not admissible: the first rule that it breaks."""
    told = f"already at α = {curves.candidates[place]:g} "
    if not curves.planned[place]:
        return f"{told}the planner could not reach its accuracy"
    if curves.missed[place] > curves.most_missed[place] or curves.explained[place] < -curves.slack:
        return (
            f"{told}the opponent moves the player by {curves.explained[place]:.2g} in l1 and misses the expert's visits"
            f" by {curves.missed[place]:.2g} more than standard IRL"
        )
    if curves.excess[place] > curves.excess[0] + EXCESS:
        more = curves.excess[place] - curves.excess[0]
        return f"{told}the player spends {more:.2g} more of its time in states that the expert rarely visits"
    if curves.distance[place] > FARTHEST:
        return f"{told}the player is {curves.distance[place]:.2g} from the expert's visits in l1"
    return f"{told}the player arrives at the expert's ends later or less often than that of standard IRL"
