"""Choose α by fitting several and comparing what each opponent explains with what it leaves unexplained.

The rules are in `alpha_rules.py`; here are the fits and the curves that the rules need.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from robustirl._runtime import ShortRepr, draw, html_columns, joined, released, working_precision
from robustirl.demonstrations import Demonstrations, estimate_occupancy
from robustirl.demonstrations.alpha import AlphaEstimate, estimate_alpha
from robustirl.demonstrations.occupancy import as_confidence
from robustirl.errors import InvalidInputError
from robustirl.irl._callbacks import Interrupted
from robustirl.irl.alpha_rules import (
    FEWEST_EPISODES,
    OFTEN,
    SMALL_GAP,
    AlphaCurves,
    admissible_candidates,
    choose_candidate,
)
from robustirl.irl.arrivals import arrivals, chances_of_arrival
from robustirl.irl.least_gap import with_least_gap
from robustirl.irl.likelihood import move_log_likelihoods
from robustirl.irl.mce.evidence_checks import matched_occupancy
from robustirl.irl.mce.fit import PAPER_SETTINGS, fit_many
from robustirl.irl.mce.result import Fit
from robustirl.irl.optimizers import ADAM, paper_optimizer
from robustirl.mdp import MDP, as_alpha, as_list, as_world, require_kind
from robustirl.planning import state_occupancy
from robustirl.rewards import AbstractReward

CANDIDATES = (1.0, 0.99, 0.98, 0.97, 0.96, 0.95, 0.925, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6)
FEW_CANDIDATES = (1.0, 0.98, 0.95, 0.9, 0.8)
LARGE_WORLD = 5000  # States; beyond, the default is `FEW_CANDIDATES`, because every candidate is a fit.


@dataclasses.dataclass(frozen=True, eq=False)
class AlphaSelection(AlphaCurves, ShortRepr):
    """The α that was chosen, and the curves that decided; every array has one entry a candidate.

    The curves are those of `AlphaCurves`: `candidates`, `gap`, `distance`, `excess`, `arrival`, `reach`, `planned`,
    `gain`, `gain_error`, `own_gains`, `avoidable_gap`, `sampling_error` and `direction`.

    Attributes:
        alpha: α, one of the candidates.
        log_likelihood: `[K]`, mean log-probability of the expert's moves, states only; see `RobustIRL.score`.
        log_likelihood_error: `[K]`, its standard error over episodes.
        admissible: `[K]`, whether the fit is no worse than standard IRL by what the learner can see.
        decisive: Whether the data decided; if not, α = 1 is a default.
        note: In a sentence, what decided.
        episodes: How many episodes it rests on.
        fits: The fits of the candidates, to all episodes.
        mismatch: What the moves tell about 1 - d/2 without a fit, with its confidence interval.
        judges: The rewards of standard IRL on the two halves of the episodes; none if there are too few.
    """

    alpha: float
    log_likelihood: Float[np.ndarray, " K"]
    log_likelihood_error: Float[np.ndarray, " K"]
    admissible: Bool[np.ndarray, " K"]
    decisive: bool
    note: str
    episodes: int
    fits: tuple[Fit, ...]
    mismatch: AlphaEstimate
    judges: tuple[np.ndarray, ...] = ()

    def __repr__(self) -> str:
        low, high = self.candidates.min(), self.candidates.max()
        return joined(
            "AlphaSelection",
            [
                f"α = {self.alpha:g}, {'decisive' if self.decisive else 'not decisive'}",
                f"{len(self.candidates)} candidates from {high:g} to {low:g}, {self.episodes} episodes",
                self.note.removesuffix("."),
            ],
        )

    def plot(self) -> Any:
        """Return a figure of what decided: explained and missed visits and the gain, by candidate."""
        return draw("figure_alpha", self)

    def _repr_html_(self) -> str:
        columns = {
            "α": [f"{alpha:g}" + (" ←" if alpha == self.alpha else "") for alpha in self.candidates],
            "explained": [f"{x:.3g}" for x in self.explained],
            "missed": [f"{max(x, 0):.3g}" for x in self.missed],
            "gain": [f"{x:.3g} ± {e:.2g}" for x, e in zip(self.gain, self.gain_error, strict=True)],
            "admissible": ["yes" if x else "no" for x in self.admissible],
        }
        return html_columns(self.note, columns)

    def without_fits(self) -> "AlphaSelection":
        """Return the choice and its curves alone, as `RobustIRL.alpha_selection_` keeps them."""
        return dataclasses.replace(self, fits=(), judges=())

    @property
    def fit(self) -> Fit:
        """The fit at `alpha`, to all episodes."""
        if not self.fits:
            raise InvalidInputError("these are the curves alone, without the fits; see fit_ of the estimator.")
        return self.fits[list(self.candidates).index(self.alpha)]

    def as_estimate(self) -> AlphaEstimate:
        """Return the choice as an `AlphaEstimate`.

        Its interval is that of the moves for 1 - d/2, which is not what α is chosen by; it is widened if the chosen α
        lies outside.
        """
        chosen = int(np.argmin(np.abs(self.candidates - self.alpha)))
        return dataclasses.replace(
            self.mismatch,
            alpha=self.alpha,
            low=min(self.mismatch.low, self.alpha),
            high=max(self.mismatch.high, self.alpha),
            decisive=self.decisive,
            note=self.note,
            method="fits",
            excess=float(self.explained[chosen]),
            direction=self.direction,
        )


@working_precision
def select_alpha(
    mdp: MDP,
    demonstrations: Demonstrations,
    *,
    candidates: Sequence[float | int] | None = None,
    actions: bool | None = None,
    confidence: float = 0.95,
    tail: str = "chain",
    reward: AbstractReward | None = None,
    **options: Any,
) -> AlphaSelection:
    """Choose α by fitting every candidate to the demonstrations.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did.
        candidates: The α to compare; 1 is added if it is missing. Thirteen from 1 to 0.6 if omitted (five in worlds of
            more than 5000 states).
        actions: Whether recorded actions may prove that the expert's world is noisier or calmer; by default if there
            are any. All else rests on states alone.
        confidence: Of the interval of `mismatch`.
        tail: What follows the last state of a truncated episode; see `estimate_occupancy`.
        reward: The reward model; one parameter per state if omitted. A reward of states and actions needs recorded
            actions, and distances are then those of ρ(s,a).
        **options: Further arguments of `fit_many`, such as `optimizer` and `steps`.

    Example:
        >>> import jax
        >>> from robustirl import envs
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> from robustirl.planning import expert_policy
        >>> env = envs.make("gridworld-4")
        >>> world = env.mdp(0.2)
        >>> demos = sample_demonstrations(
        ...     world, expert_policy(world, env.reward), episodes=400, horizon=200, key=jax.random.key(0)
        ... )
        >>> found = select_alpha(env.mdp(0.0), demos, candidates=[1, 0.95, 0.85])
        >>> found.alpha, found.decisive, bool(found.gain[2] > found.gain[1] > 0)
        (0.85, True, True)
    """
    require_kind("demonstrations", demonstrations, Demonstrations, "an object of the class Demonstrations")
    as_confidence(confidence)
    demonstrations.check_against(as_world(mdp))
    demonstrations = demonstrations.in_world(mdp)
    alphas = _as_candidates(candidates, mdp.num_states)
    parts = [demonstrations]
    if len(demonstrations) >= FEWEST_EPISODES:
        # Every other episode, so that a trend in the order of the recording is in both halves.
        parts += [demonstrations[0::2], demonstrations[1::2]]
    estimates = [np.asarray(estimate_occupancy(part, mdp, tail=tail).occupancy) for part in parts]
    occupancies = [matched_occupancy(part, mdp, rho, reward) for part, rho in zip(parts, estimates, strict=True)]
    settings = {**{name: value for name, value in options.items() if value is not None}, "throw": False}
    fitted = fit_many([mdp] * len(alphas), occupancies[:1] * len(alphas), alphas, rewards=reward, **settings)
    # The judges take the paper's steps. The default runs on until it matches the noise of the data, where rewards of
    # 10⁴ and more have no say in how good other policies are.
    judging = {**settings, **PAPER_SETTINGS, "tolerance": None}
    judging["optimizer"] = ADAM if reward is None else paper_optimizer(reward)
    count = len(parts) - 1
    try:
        halves = fit_many([mdp] * count, occupancies[1:], [1.0] * count, rewards=reward, **judging) if count else []
    except Interrupted:
        raise Interrupted(fitted) from None  # The kept fits are those to all episodes, not to halves.
    alone = np.array([np.asarray(state_occupancy(mdp, one.player)) for one in fitted])
    players, judges = [one.player for one in fitted], tuple(np.asarray(half.reward) for half in halves)
    gains = [player_gains(alone, players, judge, mdp) for judge in judges]
    own_gains = np.array([player_gains(alone, players, one.reward, mdp) for one in fitted])
    mismatch, direction = estimate_mismatch(mdp, demonstrations, actions, confidence)
    curves = _curves(mdp, alphas, fitted, alone, gains, own_gains, occupancies, direction)
    place, decisive, note = choose_candidate(curves, len(demonstrations))
    scores = [_per_episode(mdp, one, demonstrations) for one in fitted]
    return AlphaSelection(
        **{field.name: getattr(curves, field.name) for field in dataclasses.fields(AlphaCurves)},
        alpha=alphas[place],
        log_likelihood=np.array([mean for mean, _ in scores]),
        log_likelihood_error=np.array([error for _, error in scores]),
        admissible=admissible_candidates(curves),
        decisive=decisive,
        note=note,
        episodes=len(demonstrations),
        fits=released(tuple(fitted)),  # Not done elsewhere, because a dataclass is no tree.
        mismatch=mismatch,
        judges=judges,
    )


def _curves(
    mdp: MDP,
    alphas: Sequence[float],
    fits: Sequence[Fit],
    alone: Float[np.ndarray, "K S"],
    gains: Sequence[Float[np.ndarray, " K"]],
    own_gains: Float[np.ndarray, "K K"],
    occupancies: Sequence[Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]],
    direction: str,
) -> AlphaCurves:
    """Return what the fits look like to the learner.

    `gains` are those by the rewards of the two halves, or none; `occupancies` those of all episodes and of the halves.
    """
    matched, *halves = occupancies
    players = np.array([np.asarray(one.player) for one in fits])
    own, expert = (alone, matched) if matched.ndim == 1 else (alone[:, :, None] * players, matched.sum(-1))
    arrived, zeros = arrivals(mdp, alone, expert), np.zeros(len(fits))
    reached = chances_of_arrival(mdp, players, expert)
    gap = np.array([float(one.verdict.occupancy_gap) for one in fits])
    return AlphaCurves(
        candidates=np.array(alphas),
        gap=gap,
        distance=np.abs(own - matched).reshape(len(fits), -1).sum(1),
        excess=np.maximum(alone - OFTEN * expert, 0).sum(1),
        arrival=arrived / arrived[0] if arrived[0] > 0 else zeros + 1,
        reach=reached / reached[0] if reached[0] > 0 else zeros + 1,
        planned=np.array([bool(one.verdict.valid) for one in fits]),
        gain=(gains[0] + gains[1]) / 2 if gains else zeros,
        gain_error=np.abs(gains[0] - gains[1]) / 2 if gains else zeros + np.inf,
        own_gains=own_gains,
        avoidable_gap=_avoidable_gap(mdp, fits[0], gap[0]),
        sampling_error=float(np.abs(halves[0] - halves[1]).sum() / 2) if halves else 0.0,
        direction=direction,
    )


def _avoidable_gap(mdp: MDP, standard: Fit, gap: float) -> float:
    """Return how far standard IRL stays from the closest policy there is.

    It is 0 for small gaps and for rewards of pairs, which are not looked at.
    """
    if gap <= SMALL_GAP or standard.reward.ndim == 2:
        return 0.0
    return max(gap - float(with_least_gap(standard, mdp).diagnosis.least_gap), 0.0)


def estimate_mismatch(
    mdp: MDP, demonstrations: Demonstrations, actions: bool | None = None, confidence: float = 0.95
) -> tuple[AlphaEstimate, str]:
    """Return what the moves tell without a fit, and what they prove about the expert.

    They prove a `noisier` or `calmer` expert, or it is `unknown`. Moves that the learner cannot make prove noise with
    or without the actions. Recorded actions prove more.

    Example:
        >>> rows = [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]]]
        >>> world = MDP(rows, discount=0.9)
        >>> walks = Demonstrations.from_arrays([[0, 1], [0, 2]] * 40, terminated=True)  # Nothing leads to state 2.
        >>> estimate_mismatch(world, walks)[1]
        'noisier'
    """
    found = estimate_alpha(mdp, demonstrations, actions=False, confidence=confidence)
    direction = found.direction
    if demonstrations.has_actions if actions is None else actions:
        found = estimate_alpha(mdp, demonstrations, actions=True, confidence=confidence)
        direction = direction if direction == "noisier" else found.direction
    return found, direction


def _as_candidates(candidates: Sequence[float | int] | None, states: int) -> list[float]:
    """Return the candidates from 1 downwards, 1 included."""
    if candidates is None:
        return list(CANDIDATES if states <= LARGE_WORLD else FEW_CANDIDATES)
    given = [float(as_alpha(alpha)) for alpha in as_list("candidates", candidates, "a sequence of numbers")]
    if not given:
        raise InvalidInputError("there are no candidates for alpha; give at least one number with 0 < alpha <= 1.")
    return sorted({1.0, *given}, reverse=True)


def player_gains(
    alone: Float[np.ndarray, "K S"], players: Sequence[Any], reward: Any, mdp: MDP
) -> Float[np.ndarray, " K"]:
    """Return what each player earns more than the first.

    The reward is one of states, or of states and actions.
    """
    pay = np.asarray(reward)
    if pay.ndim == 1:
        earned = alone @ pay
    else:
        earned = np.array(
            [(rho[:, None] * np.asarray(one) * pay).sum() for rho, one in zip(alone, players, strict=True)]
        )
    return (earned - earned[0]) / (1 - float(mdp.discount))


def _per_episode(mdp: MDP, fit: Fit, demonstrations: Demonstrations) -> tuple[float, float]:
    """Return the mean log-likelihood per move and its standard error.

    Episodes are taken as independent.
    """
    found, episodes = move_log_likelihoods(mdp, fit, demonstrations)
    if not found.size:
        return 0.0, float("inf")
    mean, count = float(found.mean()), len(demonstrations)
    deviations = np.bincount(episodes, found - mean, count)
    return mean, float(np.sqrt((deviations**2).sum()) / found.size)
