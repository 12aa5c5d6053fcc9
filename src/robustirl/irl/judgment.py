r"""Say whether the policy of a fit can be trusted, in one word, one sentence of why, and what to try.

Two measures decide.

The first is the gap that matters: that between the expert and the player, who acts without the opponent in the end.
It is the occupancy gap, or the part of it in states that can be left, as a share of the expert's mass there, if that is
larger. In a world with an end and γ close to 1 nearly all mass is in the end, and an
occupancy gap of 1e-4 may be all that happens before it. For a linear reward the feature gap takes its place. Where α
was chosen from the data (`robustirl.irl.select_alpha`), the player is meant to differ from the expert by what the
opponent explains, and the gap of the two together counts.

The second is how much the player leaves to chance. An optimal expert of the learner's world does not. Who matches an
expert of a noisier world does, because noise can be imitated by choosing at random, and loses what the
expert lost by it.
"""

import dataclasses
import enum
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from robustirl.demonstrations import OccupancyEstimate
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.irl._result import Status
from robustirl.irl.least_gap import with_least_gap
from robustirl.irl.mce.problem import LIKELIHOOD
from robustirl.irl.mce.result import Fit, found_maximum, is_robust
from robustirl.mdp import MDP, require_kind

# Up to the first a fit is trusted. Beyond the second, where expert and player are in different places for more than two
# fifths of the time, it should not be used. `robustirl study strangers` has the regrets on either side.
SMALL_GAP, LARGE_GAP = 0.05, 0.8
UNREACHABLE, MOSTLY_UNREACHABLE = 0.01, 0.1  # Of the expert's mass.
UNVISITED = 0.05  # Of the learner's mass, in states that the expert never visits.
EXPLAINED_GAP = 0.1  # The same for the mixture, if α was chosen from the data.
RANDOM = 0.06  # `Diagnosis.randomness` up to which a player counts as decided.
COARSE = 0.6  # The error bound of an estimated occupancy; two occupancies are at most 2 apart.
MISSING_STARTS = 0.05  # Of the mass with which the learner's world starts.
STEPS_MIN_DISCOUNT = 0.999  # Discounts from which a gap is also told in steps.


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


class _Case(NamedTuple):
    """What a judgment is made from; see `judge`."""

    fit: Fit
    estimate: OccupancyEstimate | None
    reference_gap: float | None
    alpha_estimate: AlphaEstimate | None

    @property
    def explained(self) -> bool:
        """Whether the data have decided for an opponent, by a comparison of fits."""
        chosen = self.alpha_estimate
        return chosen is not None and chosen.method == "fits" and chosen.decisive and is_robust(self.fit)


def judge(
    fit: Fit,
    estimate: OccupancyEstimate | None = None,
    reference_gap: float | None = None,
    *,
    alpha_estimate: AlphaEstimate | None = None,
    world: MDP | None = None,
) -> Judgment:
    """Judge a fit by the worst that is known about it.

    Args:
        fit: The fit.
        estimate: The occupancy estimate that it was made from; if omitted, the occupancy counts as exact.
        reference_gap: The occupancy gap of a fit with α = 1 to the same occupancy, if one was made.
        alpha_estimate: Where α came from, if it was chosen from the data; see `AlphaSelection.as_estimate`.
        world: The learner's world, to tell the least gap that any policy reaches in it, if the expert was not matched.
            `RobustIRL` has done so.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit
        >>> judge(fit(ThreeState().mdp(), [0.1, 0.9, 0.0])).trust
        <Trust.TRUST: 'trust'>
        >>> print(judge(fit(ThreeState().mdp(), [0.9, 0.1, 0.0])).trust)
        do not use
    """
    require_kind("the fit", fit, Fit, "what robustirl.irl.fit returns")
    by_states = fit.objective != LIKELIHOOD and fit.reward.ndim == 1
    if world is not None and by_states and not is_matched(fit):
        fit = with_least_gap(fit, world)
    found = list(_judgments(_Case(fit, estimate, reference_gap, alpha_estimate)))
    order = (Trust.DO_NOT_USE, Trust.DOUBT, Trust.TRUST)
    return min(found, key=lambda judgment: order.index(judgment.trust))  # The first of the worst.


def is_matched(fit: Fit) -> bool:
    """Return whether the player alone is as close to the expert as a trusted one has to be."""
    return decisive_gap(fit) <= SMALL_GAP


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


def _judgments(case: _Case) -> Iterator[Judgment]:
    """Return all that is known about a fit, what should be told first coming first."""
    fit = case.fit
    if fit.verdict.status == Status.FAILED:
        wider = "double precision, " if fit.value.dtype == np.float32 else ""
        yield Judgment(
            Trust.DO_NOT_USE,
            "the planner could not reach its accuracy, so nothing was learned.",
            f"Use {wider}a smaller discount or a smaller initial reward.",
        )
    if fit.objective == LIKELIHOOD:
        yield _likelihood(fit)
        return
    if math.isnan(float(fit.diagnosis.matching_gap) + float(fit.diagnosis.player_gap)):
        yield Judgment(
            Trust.DOUBT, "the fit was saved by version 0.1, which kept no facts to judge it by.", "Fit it again."
        )
        return
    yield from _reach(fit)
    yield from _data(fit, case.estimate)
    yield _closeness(case)


def _likelihood(fit: Fit) -> Judgment:
    """Return what is known about a fit by likelihood: whether a maximum was found."""
    if found_maximum(fit):
        return Judgment(
            Trust.TRUST,
            "the likelihood is at a maximum; how well the model predicts is told by choices that it has not seen.",
            "",
        )
    return Judgment(
        Trust.DO_NOT_USE,
        f"the maximum of the likelihood was not found (the gradient is {float(fit.diagnosis.matching_gap):.1e}).",
        "Raise steps, give a penalty, or use fewer parameters.",
    )


def _reach(fit: Fit) -> Iterator[Judgment]:
    """Return what the learner's world cannot do."""
    facts = fit.diagnosis
    unreachable = float(facts.unreachable_mass)
    if unreachable > UNREACHABLE:
        yield Judgment(
            Trust.DO_NOT_USE if unreachable > MOSTLY_UNREACHABLE else Trust.DOUBT,
            f"the expert spends {_percent(unreachable)} of its time in states that the learner's world never reaches.",
            "Check that states have the same numbers in both worlds, and that the learner's world starts where the"
            " expert does.",
        )


def _data(fit: Fit, estimate: OccupancyEstimate | None) -> Iterator[Judgment]:
    """Return what the evidence cannot tell."""
    facts = fit.diagnosis
    if estimate is None:
        missing = float(facts.start_deficit) / (1 - float(facts.discount))
        if missing > MISSING_STARTS:
            yield Judgment(
                Trust.DOUBT,
                f"{_percent(missing)} of the learner's starts are in states where the expert has less mass than"
                " every policy that starts there, (1-γ) P₀(s).",
                "Check that the occupancy was computed at this discount, and from the same start.",
            )
    elif estimate.error > COARSE:
        shown = f"{estimate.episodes} episodes cannot tell occupancies closer than {estimate.error:.2g} apart"
        remedy = "record longer episodes" if estimate.bias > estimate.error else "record more"
        yield Judgment(
            Trust.DOUBT,  # The bound holds for every expert, so a large one shows no fault in the fit.
            f"{shown}; {remedy} before trusting this fit.",
            "",
        )


def _closeness(case: _Case) -> Judgment:
    """Return how close the fit came to the expert, and how much it leaves to chance."""
    fit = case.fit
    gap = float(fit.verdict.occupancy_gap) if case.explained else decisive_gap(fit)
    small = EXPLAINED_GAP if case.explained else SMALL_GAP
    if gap > small:
        return _missed(case, gap)
    like = "the learner explains the expert" if case.explained else "the learner behaves like the expert"
    chance = float(fit.diagnosis.randomness)
    if chance <= RANDOM:  # Not for NaN, of files without this fact.
        return Judgment(Trust.TRUST, f"{like}: {_gap_text(fit)}.", "")
    choose = "" if case.alpha_estimate is not None or is_robust(fit) else f"{_lower(case)}, and "
    return Judgment(
        Trust.DOUBT,
        f"{like}: {_gap_text(fit)}; but it leaves {_percent(chance)} of its steps to chance.",
        "A learner that imitates the noise of another world does so, and one whose expert acts at random or has ties:"
        f" {choose}compare with the most likely action in every state (`RobustIRL.predict`).",
    )


def _missed(case: _Case, gap: float) -> Judgment:
    """Return what to say about a fit that did not come close to the expert."""
    fit, facts = case.fit, case.fit.diagnosis
    trust = Trust.DOUBT if gap <= LARGE_GAP else Trust.DO_NOT_USE
    why = _gap_text(fit)
    unvisited = float(facts.unvisited_mass)
    if unvisited > UNVISITED:
        why += f", and {_percent(unvisited)} of the learner's time is in states that the expert never visits"
    advice = ["Test the policy before relying on it."] if trust is Trust.DOUBT else []
    least = float(facts.least_gap)
    impossible = least > 0.5 * float(fit.verdict.occupancy_gap)
    if impossible:
        why += f"; no policy of the learner's world, at any alpha, has an occupancy gap below {least:.3g}"
    advice += _advice(case, impossible)
    noise = 0.0 if case.estimate is None else case.estimate.error
    if noise > gap:
        why += f", within the error of the demonstrations ({noise:.2g})"
    return Judgment(trust, f"{why}.", " ".join(advice))


def _advice(case: _Case, impossible: bool) -> list[str]:
    """Return what to try with α and the steps; nothing against what the data have decided."""
    robust = is_robust(case.fit)
    if case.alpha_estimate is not None:
        return []
    if robust and case.reference_gap is not None:
        return [f"With alpha=1 the gap is {case.reference_gap:.3g}: raise alpha if that is much smaller."]
    if robust and case.estimate is None:
        return ["Fit with alpha=1 as well: lower alpha only if the gap stays close to that of alpha=1."]
    if robust:
        return ['Compare with alpha="auto", which lowers alpha only as far as the data support it.']
    if impossible:
        return [f"If the expert's world may differ, {_lower(case)}."]
    return ["Allow more steps."] if case.fit.verdict.status == Status.MAX_STEPS else []


def _lower(case: _Case) -> str:
    """Return how to lower α: an exact occupancy cannot choose it."""
    return "try a lower alpha" if case.estimate is None else 'let alpha="auto" choose'


def _gap_text(fit: Fit) -> str:
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
    if float(facts.discount) >= STEPS_MIN_DISCOUNT:
        text += f" ({gap / (1 - float(facts.discount)):.3g} steps of an episode)"
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
