"""A fit in plain words: what was learned from what, how close it came, and what is doubtful about it."""

import numpy as np

from robustirl.irl._result import Status
from robustirl.irl.evidence import Evidence
from robustirl.irl.judgment import judge
from robustirl.irl.mce.problem import LIKELIHOOD
from robustirl.irl.mce.result import Fit, is_robust

LARGE_REWARD = 1e3  # In units of the player's temperature.
WIDE = 1.0  # Of the 2 that two occupancies can be apart at most: an error bound beyond this says little.


def summarize(fit: Fit, evidence: Evidence, tolerance: float | None) -> str:
    """Return the whole text."""
    lines = summary_rows(fit, evidence, tolerance)
    title = "Robust maximum causal entropy IRL" if is_robust(fit) else "Maximum causal entropy IRL"
    if fit.objective == LIKELIHOOD:
        title += " by likelihood"
    return "\n".join([title, *(f"  {name:<14} {text}" for name, text in lines)])


def summary_rows(fit: Fit, evidence: Evidence, tolerance: float | None) -> list[tuple[str, str]]:
    """Return the lines of the text, each with its name."""
    return [
        ("learned from", _data(evidence)),
        *(("note", text) for text in evidence.notes),
        ("in a world of", f"{fit.player.shape[0]} states and {fit.player.shape[1]} actions, γ = {evidence.discount:g}"),
        ("with", _alpha(fit, evidence)),
        ("ended", _ending(fit)),
        _closeness(fit, evidence),
        ("reward", f"from {np.min(np.asarray(fit.reward)):.4g} to {np.max(np.asarray(fit.reward)):.4g}"),
        *(("warning", text) for text in warnings_of(fit, evidence, tolerance)),
        ("verdict", str(judge(fit, evidence.occupancy_estimate, alpha_estimate=evidence.alpha_estimate))),
    ]


def warnings_of(fit: Fit, evidence: Evidence, tolerance: float | None) -> list[str]:
    """Return what is doubtful about the data, α or the fit, a sentence each."""
    found, estimate = list(evidence.cautions), evidence.occupancy_estimate
    if estimate is not None and estimate.error >= WIDE:
        remedy = f"about {4 * estimate.episodes} episodes would halve that"
        if estimate.bias > estimate.error:
            remedy = "longer episodes would help more than further ones"
        found.append(
            f"the demonstrations are few or short for a world of this size: the expert's occupancy may be up to"
            f" {estimate.error:.2g} from the estimate in l1, where 2 is the most possible ({remedy})."
        )
    chosen = evidence.alpha_estimate
    if chosen is not None and not chosen.decisive:
        found.append(f"the data do not settle α: {chosen.note}")
    status = fit.verdict.status
    if status == Status.FAILED:
        found.append(
            f"the planner did not reach its accuracy after {int(fit.verdict.steps)} steps, where the largest reward was"
            f" {float(np.abs(fit.reward).max()):.1e}."
        )
    elif status != Status.CONVERGED and tolerance is not None:
        found.append(f"the tolerance {tolerance:g} was not reached.")
    size = float(np.abs(fit.reward).max())
    if estimate is not None and size > LARGE_REWARD and float(fit.diagnosis.least_gap) > 0:
        found.append(
            f"the learned rewards reach {size:.1e}, because no policy matches the estimated occupancy exactly; use the"
            " policy, and do not read anything into the size of the rewards."
        )
    return found


def _closeness(fit: Fit, evidence: Evidence) -> tuple[str, str]:
    """Return how close the fit came: the occupancy gap, or the log-likelihood."""
    if fit.objective != LIKELIHOOD:
        return "occupancy gap", _gap(fit, evidence)
    mean = -float(np.asarray(fit.history.dual)[int(fit.verdict.best_step)])
    return "log-likelihood", f"{mean * (evidence.transitions or 1):.3f}, {mean:.4f} a choice (priors included)"


def _data(evidence: Evidence) -> str:
    if evidence.episodes is None:
        return "an occupancy given as exact"
    if evidence.transitions is None:
        return f"an occupancy estimated from {evidence.episodes} episodes"
    kind = "with actions" if evidence.has_actions else "states only"
    return f"{evidence.episodes} episodes, {evidence.transitions} transitions, {kind}"


def _alpha(fit: Fit, evidence: Evidence) -> str:
    chosen = evidence.alpha_estimate
    if np.ndim(fit.alpha):
        smallest, largest = float(np.asarray(fit.alpha).min()), float(np.asarray(fit.alpha).max())
        return f"α from {smallest:.4g} to {largest:.4g} by state and action, as given"
    if chosen is None:
        return "α = 1, no opponent" if float(fit.alpha) == 1 else f"α = {float(fit.alpha):.4g}, as given"
    if chosen.method == "likelihood":
        return f"α = {float(fit.alpha):.4g}, the most likely of those tried: {chosen.note}"
    if chosen.method == "fits":
        return f"α = {float(fit.alpha):.4g}, chosen by comparing fits: {chosen.note}"
    text = f"α = {float(fit.alpha):.4g}, estimated from the {chosen.method}"
    interval = f" ({chosen.confidence:.0%} interval {chosen.low:.3g} to {chosen.high:.3g})".replace("%", " %")
    return f"{text}{interval}: {chosen.note}" if chosen.decisive else f"α = {float(fit.alpha):.4g}, by default"


def _goal(fit: Fit) -> str:
    return "gradient" if fit.objective == LIKELIHOOD else "gap"


def _ending(fit: Fit) -> str:
    steps, best = int(fit.verdict.steps), int(fit.verdict.best_step)
    match fit.verdict.status:
        case Status.CONVERGED:
            return f"converged after {steps} steps, within the tolerance {float(fit.verdict.tolerance):.3g}"
        case Status.SETTLED:
            return f"settled after {steps} steps, since no further step lowers the {_goal(fit)} (the best was {best})"
        case Status.MAX_STEPS:
            return f"after all {steps} steps (the best was {best})"
        case Status.STOPPED:
            return f"stopped by a callback or an interrupt after {steps} steps (the best was {best})"
        case _:
            return f"failed after {steps} steps"


def _gap(fit: Fit, evidence: Evidence) -> str:
    gap, first = float(fit.verdict.occupancy_gap), float(np.asarray(fit.history.occupancy_gap)[0])
    text = f"{gap:.4g} in l1, down from {first:.4g}" if gap < first else f"{gap:.4g} in l1, from {first:.4g}"
    estimate = evidence.occupancy_estimate
    if estimate is None:
        return text
    share = f"{estimate.confidence:.0%}".replace("%", " %")
    if gap <= estimate.error:
        return f"{text}; the demonstrations cannot tell gaps below {estimate.error:.3g} apart (at {share})"
    return f"{text}; more than the error of the demonstrations explains (up to {estimate.error:.3g} at {share})"
