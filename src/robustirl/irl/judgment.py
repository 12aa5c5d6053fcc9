r"""Say whether the policy of a fit can be trusted, in one word, one sentence of why, and what to try.

The measure is the gap that matters: that between the expert and the player, who acts without the opponent in the end.
It is the occupancy gap, or the part of it in states that can be left, as a share of the expert's mass there, if that is
larger. In a world with an end and γ close to 1 nearly all mass is in the end, and an
occupancy gap of 1e-4 may be all that happens before it. For a linear reward the feature gap takes its place.
"""

import dataclasses
import enum
import math
from collections.abc import Iterator
from typing import NamedTuple

from robustirl.demonstrations import OccupancyEstimate
from robustirl.irl._result import Status
from robustirl.irl.mce.result import Fit, is_robust

# Up to the first a fit is trusted. Beyond the second, where expert and player are in different places for more than two
# fifths of the time, it should not be used. `robustirl study strangers` has the regrets on either side.
SMALL_GAP, LARGE_GAP = 0.05, 0.8
UNREACHABLE, MOSTLY_UNREACHABLE = 0.01, 0.1  # Of the expert's mass.
UNVISITED = 0.05  # Of the learner's mass, in states that the expert never visits.
COARSE = 0.6  # The error bound of an estimated occupancy; two occupancies are at most 2 apart.
MISSING_STARTS = 0.05  # Of the mass with which the learner's world starts.
FAR_SIGHTED = 0.999  # Discounts from which a gap is also told in steps.


class Trust(enum.StrEnum):
    """How far the policy of a fit can be relied on."""

    TRUST = "trust"
    """It behaves like the expert, as far as the evidence tells."""
    DOUBT = "doubt"
    """Something is not as it should be: try what is advised, or test the policy before relying on it."""
    DO_NOT_USE = "do not use"
    """It does not behave like the expert."""


@dataclasses.dataclass(frozen=True)
class Judgment:
    """Whether to use a fit.

    Attributes:
        trust: One of three words.
        why: One sentence.
        advice: What to try; empty if there is nothing to be done.
    """

    trust: Trust
    why: str
    advice: str

    def __str__(self) -> str:
        return " ".join(filter(None, (f"{self.trust}: {self.why}", self.advice)))


class _Finding(NamedTuple):
    trust: Trust
    why: str
    advice: str


def judge(fit: Fit, estimate: OccupancyEstimate | None = None, reference_gap: float | None = None) -> Judgment:
    """Judge a fit by the worst that is known about it.

    Args:
        fit: The fit.
        estimate: The occupancy estimate that it was made from; if omitted, the occupancy counts as exact.
        reference_gap: The occupancy gap of a fit with α = 1 to the same occupancy, if one was made.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit
        >>> judge(fit(ThreeState().mdp(), [0.1, 0.8, 0.1])).trust
        <Trust.TRUST: 'trust'>
        >>> print(judge(fit(ThreeState().mdp(), [0.9, 0.1, 0.0])).trust)
        do not use
    """
    found = list(_findings(fit, estimate, reference_gap))
    order = (Trust.DO_NOT_USE, Trust.DOUBT, Trust.TRUST)
    worst = min(found, key=lambda finding: order.index(finding.trust))  # The first of the worst.
    return Judgment(*worst)


def decisive_gap(fit: Fit) -> float:
    """Return the gap that a fit is judged by: between 0 and 2."""
    facts = fit.diagnosis
    gap, mass = float(facts.player_gap), float(facts.leavable_mass)
    if _by_features(fit):
        return gap
    return max(gap, min(2.0, float(facts.player_leavable_gap) / mass)) if mass > 0 else gap


def _by_features(fit: Fit) -> bool:
    """Return whether the gap is one of the features of a linear reward."""
    gaps = float(fit.diagnosis.matching_gap), float(fit.verdict.occupancy_gap)
    return not math.isclose(*gaps, rel_tol=1e-6, abs_tol=1e-12)


def _findings(fit: Fit, estimate: OccupancyEstimate | None, reference_gap: float | None) -> Iterator[_Finding]:
    """Return all that is known about a fit, what should be told first coming first."""
    if fit.verdict.status == Status.FAILED:
        yield _Finding(
            Trust.DO_NOT_USE,
            "the planner could not reach its accuracy, so nothing was learnt.",
            "Use double precision, a smaller discount or a smaller initial reward.",
        )
    if math.isnan(float(fit.diagnosis.matching_gap) + float(fit.diagnosis.player_gap)):
        yield _Finding(
            Trust.DOUBT, "the fit was saved by version 0.1, which kept no facts to judge it by.", "Fit it again."
        )
        return
    yield from _reach(fit)
    yield from _data(fit, estimate)
    yield from _closeness(fit, estimate, reference_gap)


def _reach(fit: Fit) -> Iterator[_Finding]:
    """Return what the learner's world cannot do."""
    facts = fit.diagnosis
    unreachable = float(facts.unreachable_mass)
    if unreachable > UNREACHABLE:
        yield _Finding(
            Trust.DO_NOT_USE if unreachable > MOSTLY_UNREACHABLE else Trust.DOUBT,
            f"the expert spends {_percent(unreachable)} of its time in states that the learner's world never reaches.",
            "Check that states have the same numbers in both worlds, and that the learner's world starts where the"
            " expert does.",
        )


def _data(fit: Fit, estimate: OccupancyEstimate | None) -> Iterator[_Finding]:
    """Return what the evidence cannot tell."""
    facts = fit.diagnosis
    if estimate is None:
        missing = float(facts.start_deficit) / (1 - float(facts.discount))
        if missing > MISSING_STARTS:
            yield _Finding(
                Trust.DOUBT,
                f"{_percent(missing)} of the learner's starts are in states where the expert has less mass than"
                " every policy that starts there, (1-γ) P₀(s).",
                "Check that the occupancy was computed at this discount, and from the same start.",
            )
    elif estimate.error > COARSE:
        shown = f"{estimate.episodes} episodes cannot tell occupancies closer than {estimate.error:.2g} apart"
        remedy = "record longer episodes" if estimate.bias > estimate.radius else "record more"
        yield _Finding(
            Trust.DOUBT,  # The bound holds for every expert, so a large one shows no fault in the fit.
            f"{shown}; {remedy} before trusting this fit.",
            "",
        )


def _closeness(fit: Fit, estimate: OccupancyEstimate | None, reference_gap: float | None) -> Iterator[_Finding]:
    """Return how close the fit came to the expert."""
    facts, gap, robust = fit.diagnosis, decisive_gap(fit), is_robust(fit)
    noise = 0.0 if estimate is None else estimate.error
    trust = Trust.TRUST if gap <= SMALL_GAP else Trust.DOUBT if gap <= LARGE_GAP else Trust.DO_NOT_USE
    if trust is Trust.TRUST:
        yield _Finding(trust, f"the learner behaves like the expert: {_told(fit)}.", "")
        return
    advice = ["Test the policy before relying on it."] if trust is Trust.DOUBT else []
    why = _told(fit)
    unvisited = float(facts.unvisited_mass)
    if unvisited > UNVISITED:
        why += f", and {_percent(unvisited)} of the learner's time is in states that the expert never visits"
    least = float(facts.least_gap)
    if least > 0.5 * float(fit.verdict.occupancy_gap):
        why += f"; no policy of the learner's world has an occupancy gap below {least:.3g}"
        advice.append("If the expert's world is known to differ, lower alpha and compare the gaps.")
    elif fit.verdict.status == Status.BUDGET:
        advice.append("Allow more steps.")
    elif robust:
        advice.append(
            "Fit with alpha=1 as well: lower alpha only if the gap stays close to that of alpha=1."
            if reference_gap is None
            else f"With alpha=1 the gap is {reference_gap:.3g}: raise alpha if that is much smaller."
        )
    if noise > gap:
        why += f", within the error of the demonstrations ({noise:.2g})"
    yield _Finding(trust, f"{why}.", " ".join(advice))


def _told(fit: Fit) -> str:
    """Return the gap in words."""
    facts, mixed, judged = fit.diagnosis, float(fit.verdict.occupancy_gap), decisive_gap(fit)
    if _by_features(fit):
        return f"the feature gap is {judged:.3g} (the occupancy gap, which the reward cannot express, is {mixed:.3g})"
    gap = float(facts.player_gap)
    text = f"the occupancy gap is {gap:.3g}"
    if is_robust(fit):
        text += f" without the opponent ({mixed:.3g} with it)"
    if judged > 1.5 * gap:
        text += f", which is {_percent(judged)} of what the expert does before its episodes end"
    if float(facts.discount) >= FAR_SIGHTED:
        text += f" ({gap / (1 - float(facts.discount)):.3g} steps of an episode)"
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
