"""What a fit rests on: the expert's occupancy with its error, α and where it came from, and what is doubtful."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from robustirl._runtime import ShortRepr
from robustirl.demonstrations import Choices, Demonstrations, OccupancyEstimate, estimate_occupancy
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.demonstrations.choices import as_choices
from robustirl.demonstrations.concentration import l1_radius
from robustirl.errors import InvalidInputError
from robustirl.irl.alpha_profile import profile_alpha
from robustirl.irl.alpha_selection import AlphaSelection, select_alpha
from robustirl.irl.mce.fit import WITHOUT_EVIDENCE
from robustirl.mdp import MDP, absorbing_states
from robustirl.types import AnyArray, ArrayLike

LARGE_BIAS = 0.2  # A tenth of the most that two occupancies can differ.


@dataclasses.dataclass(frozen=True, eq=False)
class Evidence(ShortRepr):
    """What a fit rests on.

    Attributes:
        discount: γ of the learner's world.
        episodes, transitions: How many went in; None where an occupancy was given.
        has_actions: Whether actions were recorded.
        alpha: α to learn with, or an array of it `[S]` or `[S, A]`.
        cautions: What is doubtful about the data, a sentence each.
        alpha_estimate: The estimate of α, if one was asked for.
        occupancy_estimate: ρ̂ with its error; None where ρ was given as exact.
        notes: What was understood from the data without being recorded, a sentence each.
    """

    discount: float
    episodes: int | None
    transitions: int | None
    has_actions: bool
    alpha: float | AnyArray
    cautions: tuple[str, ...]
    alpha_estimate: AlphaEstimate | None
    occupancy_estimate: OccupancyEstimate | None
    notes: tuple[str, ...] = ()


def collect_with_selection(
    mdp: MDP,
    data: Demonstrations | OccupancyEstimate | ArrayLike,
    *,
    alpha: float | AnyArray | str,
    tail: str,
    confidence: float,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Evidence, AlphaSelection | None]:
    """Return the evidence for a learner in `mdp`, and how α was chosen.

    The first is the evidence in demonstrations, or in an occupancy. The second is the choice of α with the fit of every
    candidate, if candidates were fitted for it. `options` are those of these fits; see `select_alpha`.

    Example:
        >>> world = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> walks = Demonstrations.from_arrays([[0, 1], [0, 0, 1]], terminated=True)
        >>> found, _ = collect_with_selection(world, walks, alpha=0.9, tail="hold", confidence=0.95)
        >>> found.episodes, found.occupancy_estimate.occupancy.tolist(), found.cautions
        (2, [0.625, 0.375], ())
    """
    discount = float(mdp.discount)
    notes: tuple[str, ...] = ()
    given = data if isinstance(data, Demonstrations) else None
    estimate = data if isinstance(data, OccupancyEstimate) else None
    if given is not None:
        given.check_against(mdp)
        recorded, given = given, given.in_world(mdp)
        if not recorded.ends_known:
            notes = (
                f"the demonstrations do not say how episodes ended: {int(given.terminated.sum())} of {len(given)} end"
                " in a state that the world never leaves, and count as terminated.",
            )
        estimate = estimate_occupancy(given, mdp, tail=tail, confidence=confidence)
    elif estimate is not None and not np.isclose(estimate.discount, discount, rtol=0, atol=1e-6):
        raise InvalidInputError(
            f"the occupancy was estimated at discount {estimate.discount!r}, but the world's is {discount!r};"
            " estimate it anew with the world's."
        )
    selection, alpha = _alpha(mdp, given, alpha, {"tail": tail, "confidence": confidence, **options})
    transitions = None if given is None else given.num_transitions
    evidence = Evidence(
        discount=discount,
        episodes=None if estimate is None else estimate.episodes,
        transitions=transitions,
        has_actions=given is not None and given.has_actions,
        alpha=alpha,
        cautions=() if given is None or estimate is None else _cautions(mdp, given, estimate),
        alpha_estimate=None if selection is None else selection.as_estimate(),
        occupancy_estimate=estimate,
        notes=notes,
    )
    return evidence, selection


def collect_choices(
    mdp: MDP, data: Choices | Demonstrations, *, alpha: ArrayLike | str, options: Mapping[str, Any]
) -> Evidence:
    """Return the evidence in recorded choices, for a fit by likelihood.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> found = collect_choices(world, Choices([0, 0], [1, 0]), alpha=1.0, options={})
        >>> found.transitions, found.alpha
        (2, 1.0)
    """
    rows = as_choices(data)
    rows.check_against(mdp)
    estimate, chosen = None, alpha
    if isinstance(alpha, str):
        if alpha != "auto":
            raise InvalidInputError(f"alpha is {alpha!r}, but a number with 0 < alpha <= 1 or 'auto' is needed.")
        estimate, _ = profile_alpha(mdp, rows, **options)
        chosen = estimate.alpha
    return Evidence(
        discount=float(mdp.discount),
        episodes=int(np.unique(rows.groups).size),
        transitions=len(rows),
        has_actions=True,
        alpha=chosen,  # pyright: ignore[reportArgumentType]
        cautions=(),
        alpha_estimate=estimate,
        occupancy_estimate=None,
    )


def _alpha(
    mdp: MDP,
    demonstrations: Demonstrations | None,
    alpha: float | AnyArray | str,
    options: Mapping[str, Any],
) -> tuple[AlphaSelection | None, float | AnyArray]:
    """Return the choice of α, if one was asked for, and α."""
    if not isinstance(alpha, str):
        return None, alpha
    if alpha != "auto":
        raise InvalidInputError(f"alpha is {alpha!r}, but a number with 0 < alpha <= 1 or 'auto' is needed.")
    if demonstrations is None:
        return None, WITHOUT_EVIDENCE
    found = select_alpha(mdp, demonstrations, **options)
    return found, found.alpha


def _cautions(mdp: MDP, demonstrations: Demonstrations, estimate: OccupancyEstimate) -> tuple[str, ...]:
    """Return signs that the demonstrations and the learner's world do not go together."""
    found = []
    if estimate.bias > LARGE_BIAS:
        found.append(
            f"what truncated episodes do not show may move the expert's occupancy by up to {estimate.bias:.2g} in l1,"
            " where 2 is the most possible; record longer episodes, or say which ones terminated."
        )
    # The learner may not be able to stay where the expert's episodes ended: then no policy of it matches them.
    left = demonstrations.terminated & ~absorbing_states(mdp)[demonstrations.last_states]
    if left.any():
        found.append(
            f"{int(left.sum())} of {len(demonstrations)} episodes end for good in states that can be left in the"
            f" learner's world (the first in state {int(demonstrations.last_states[np.argmax(left)])}), so their"
            " occupancy may be out of its reach."
        )
    starts = np.bincount(demonstrations.states[demonstrations.offsets[:-1]], minlength=mdp.num_states)
    apart = float(np.abs(starts / len(demonstrations) - np.asarray(mdp.initial)).sum())
    if apart > l1_radius(len(demonstrations), mdp.num_states, confidence=estimate.confidence):
        found.append(
            f"the demonstrations start elsewhere than the learner's world does: the two start distributions are"
            f" {apart:.3g} apart in l1, more than chance explains."
        )
    return tuple(found)
