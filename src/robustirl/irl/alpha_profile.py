r"""Choose α by likelihood, where actions were recorded: the mixture's probability of the choices, maximized at every α.

    L(α) = max_θ Σ_i log π_mix(a_i|s_i; θ, α)

α = 1 is at the edge of what is possible, so that twice the gain over it is, without an opponent, zero half of the time
and chi-squared with one degree of freedom otherwise. An α below 1 is taken if the gain is beyond the 95 % point of
that, 2 (L(α) - L(1)) > 2.71.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from robustirl.demonstrations import Choices, Demonstrations
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.demonstrations.choices import as_choices
from robustirl.irl.mce.fit import fit
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, as_alpha, as_list

CANDIDATES = (1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7)
DECISIVE_GAIN = 2.71 / 2  # In log-likelihood.


def profile_alpha(
    mdp: MDP,
    choices: Choices | Demonstrations,
    *,
    candidates: Sequence[float] = CANDIDATES,
    **options: Any,
) -> tuple[AlphaEstimate, list[Fit]]:
    """Return the α under which recorded choices are most likely, and the fit at each candidate.

    The α is 1 unless another makes the choices more likely by more than chance.

    Args:
        mdp: The learner's world.
        choices: What was chosen where.
        candidates: α to try; 1 is added if it is missing.
        options: Those of `fit`: `reward`, `penalty`, `temperatures` and so on.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.9)
        >>> estimate, fits = profile_alpha(world, Choices([0, 0, 0], [1, 1, 0]), candidates=[0.9])
        >>> estimate.alpha, len(fits)
        (1.0, 2)
    """
    rows = as_choices(choices)
    given = as_list("candidates", candidates, "a sequence of numbers")
    tried = sorted({1.0, *(float(as_alpha(alpha)) for alpha in given)}, reverse=True)
    fits = [fit(mdp, rows, alpha=alpha, objective="likelihood", **{**options, "throw": False}) for alpha in tried]
    fitness = np.array([-float(found.history.dual[int(found.verdict.best_step)]) for found in fits]) * len(rows)
    gains = np.where([bool(found.verdict.valid) for found in fits], fitness - fitness[0], -np.inf)
    best = int(np.argmax(gains))
    decisive = bool(gains[best] > DECISIVE_GAIN)
    chosen = best if decisive else 0
    inside = [alpha for alpha, gain in zip(tried, gains, strict=True) if gain >= gains[best] - DECISIVE_GAIN]
    note = (
        f"the choices are {gains[best]:.2f} more likely in log than at 1"
        if decisive
        else f"no opponent makes the choices more likely by more than chance (at most {max(gains[best], 0):.2f} in log)"
    )
    estimate = AlphaEstimate(
        alpha=tried[chosen],
        low=min(inside),
        high=max(inside),
        decisive=decisive or best == 0,
        note=note,
        method="likelihood",
        excess=1 - tried[best],
        moves=len(rows),
        confidence=0.95,
    )
    return estimate, fits
