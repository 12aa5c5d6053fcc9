r"""Choose α by fitting several and comparing what each opponent explains with what it leaves unexplained.

Let ρ_E be the expert's occupancy, ρ_α that of the player of the fit at α **alone** in the learner's world, and ρ_mix
that of player and opponent together, all discounted. Two distances describe a fit:

    D(α) = ‖ρ_α - ρ_E‖₁        what the opponent has to account for
    g(α) = ‖ρ_mix - ρ_E‖₁      what is left unaccounted for, the occupancy gap

At α = 1 both are the gap of standard IRL. A smaller α moves the player away from the expert (D grows) towards what the
expert would do undisturbed, as long as the opponent brings the mixture back (g stays). An α is *admissible* if

    g(α) - g(1) <= max(SHARE · (D(α) - D(1)), NEGLIGIBLE),

that is, if at most half of what the opponent changes misses the expert; if the player alone puts at most EXCESS more
mass than standard IRL on states that it visits more than three times as often as the expert; if D(α) <= FARTHEST; if
planning succeeded; and if every larger candidate is admissible too. For a calmer expert D hardly grows while g does,
and where a push is final the player waits in a few states. These rules refuse both without knowing the cause.

Among the admissible α the reward decides. Standard IRL is fitted to each half of the episodes; its reward judges the
return of every player, and the difference between the two halves is the standard error. The largest α with at least
ENOUGH of the best gain is taken, if that gain is beyond the error; otherwise α is 1.

All thresholds were chosen on the worlds of `docs/choosing-alpha.md`, where the study measures them.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from robustirl._runtime import ShortRepr, draw, html_columns, joined, working_precision
from robustirl.demonstrations import AlphaEstimate, Demonstrations, estimate_occupancy
from robustirl.errors import InvalidInputError
from robustirl.irl.likelihood import move_log_likelihoods
from robustirl.irl.mce.fit import PAPER_SETTINGS, fit_many
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, as_alpha, as_world
from robustirl.planning import state_occupancy
from robustirl.rewards import AbstractReward

CANDIDATES = (1.0, 0.99, 0.98, 0.95, 0.925, 0.9, 0.85, 0.8, 0.7, 0.6)
FEW_CANDIDATES = (1.0, 0.98, 0.95, 0.9, 0.8)
LARGE_WORLD = 5000  # States; beyond, the default is `FEW_CANDIDATES`, because every candidate is a fit.
FEWEST_EPISODES = 10  # Fewer do not give two halves worth comparing.
SHARE = 0.5  # Of what the opponent changes, the part that may miss the expert.
NEGLIGIBLE = 5e-4  # A gap in l1 that says nothing: fits end this far from their limits.
EXCESS = 0.05  # Mass that may move to states visited more than `OFTEN` times as often as by the expert.
OFTEN = 3.0
FARTHEST = 1.0  # Of the 2 that two occupancies can be apart.
WORST_STANDARD_GAP = 0.15  # A larger gap at α = 1 says that the fits themselves cannot be compared.
ENOUGH = 0.8  # Of the best gain.


@dataclasses.dataclass(frozen=True, eq=False)
class AlphaSelection(ShortRepr):
    """The α that was chosen, and the curves that decided; every array has one entry a candidate.

    Attributes:
        alpha: α, one of the candidates.
        candidates: `[K]`, the α that were fitted, from 1 downwards.
        gap: `[K]`, g(α), the occupancy gap of player and opponent together.
        distance: `[K]`, D(α), the distance of the player alone to the expert.
        excess: `[K]`, mass of the player alone beyond three times the expert's visits.
        gain: `[K]`, return of the player less that of standard IRL, by rewards learned from the two halves of the data.
        gain_error: `[K]`, its standard error.
        log_likelihood: `[K]`, mean log-probability of the expert's moves, states only; see `RobustIRL.score`.
        log_likelihood_error: `[K]`, its standard error over episodes.
        admissible: `[K]`, whether the fit is no worse than standard IRL by what the learner can see.
        decisive: Whether the data decided; if not, α = 1 is a default.
        note: In a sentence, what decided.
        episodes: How many episodes it rests on.
        fits: The fits of the candidates, to all episodes.
    """

    alpha: float
    candidates: Float[np.ndarray, " K"]
    gap: Float[np.ndarray, " K"]
    distance: Float[np.ndarray, " K"]
    excess: Float[np.ndarray, " K"]
    gain: Float[np.ndarray, " K"]
    gain_error: Float[np.ndarray, " K"]
    log_likelihood: Float[np.ndarray, " K"]
    log_likelihood_error: Float[np.ndarray, " K"]
    admissible: Bool[np.ndarray, " K"]
    decisive: bool
    note: str
    episodes: int
    fits: tuple[Fit, ...]

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
        """Return a figure of what decided: explained and missed visits and the gain, over the candidates."""
        return draw("figure_alpha", self)

    def _repr_html_(self) -> str:
        columns = {
            "α": [f"{alpha:g}" + (" ←" if alpha == self.alpha else "") for alpha in self.candidates],
            "explained": [f"{x - self.distance[0]:.3g}" for x in self.distance],
            "missed": [f"{max(x - self.gap[0], 0):.3g}" for x in self.gap],
            "gain": [f"{x:.3g} ± {e:.2g}" for x, e in zip(self.gain, self.gain_error, strict=True)],
            "admissible": ["yes" if x else "no" for x in self.admissible],
        }
        return html_columns(self.note, columns)

    @property
    def fit(self) -> Fit:
        """The fit at `alpha`, to all episodes."""
        return self.fits[list(self.candidates).index(self.alpha)]

    def as_estimate(self, moves: int, confidence: float) -> AlphaEstimate:
        """Return the choice as an `AlphaEstimate`; its interval is the range of admissible candidates."""
        chosen = int(np.argmin(np.abs(self.candidates - self.alpha)))
        return AlphaEstimate(
            alpha=self.alpha,
            low=float(self.candidates[self.admissible].min()),
            high=1.0,
            decisive=self.decisive,
            note=self.note,
            method="fits",
            excess=float(self.distance[chosen] - self.distance[0]),
            moves=moves,
            confidence=confidence,
        )


@working_precision
def select_alpha(
    mdp: MDP,
    demonstrations: Demonstrations,
    *,
    candidates: Sequence[float | int] | None = None,
    tail: str = "chain",
    reward: AbstractReward | None = None,
    **options: Any,
) -> AlphaSelection:
    """Choose α by fitting every candidate to the demonstrations; states alone are used.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did.
        candidates: The α to compare; 1 is added if it is missing. Ten from 1 to 0.6 if omitted (five in worlds of more
            than 5000 states).
        tail: What follows the last state of a truncated episode; see `estimate_occupancy`.
        reward: The reward model; one parameter per state if omitted.
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
    demonstrations.check_against(as_world(mdp))
    alphas = _as_candidates(candidates, mdp.num_states)
    episodes = len(demonstrations)
    parts = [demonstrations]
    if episodes >= FEWEST_EPISODES:
        # Every other episode, so that a trend in the order of the recording is in both halves.
        parts += [demonstrations[0::2], demonstrations[1::2]]
    occupancies = [_occupancy(part, mdp, tail) for part in parts]
    targets = [occupancies[0]] * len(alphas) + occupancies[1:]
    # The rules below were measured with the paper's steps.
    settings = {
        **PAPER_SETTINGS,
        **{name: value for name, value in options.items() if value is not None},
        "throw": False,
    }
    fits = fit_many(
        [mdp] * len(targets),
        targets,
        [*alphas, *[1.0] * (len(parts) - 1)],
        rewards=reward,
        **settings,
    )
    fitted, halves = fits[: len(alphas)], fits[len(alphas) :]
    alone = np.array([np.asarray(state_occupancy(mdp, one.player)) for one in fitted])
    gap = np.array([float(one.verdict.occupancy_gap) for one in fitted])
    distance = np.abs(alone - occupancies[0]).sum(1)
    excess = np.maximum(alone - OFTEN * occupancies[0], 0).sum(1)
    planned = np.array([bool(one.verdict.valid) for one in fitted])
    gains = np.array([_gains(alone, fitted, half.reward, float(mdp.discount)) for half in halves])
    gain = gains.mean(0) if len(gains) else np.zeros(len(alphas))
    gain_error = np.abs(np.diff(gains, axis=0)[0]) / 2 if len(gains) else np.full(len(alphas), np.inf)
    admissible = admissible_candidates(gap, distance, excess, planned)
    chosen, decisive, note = choose(np.array(alphas), gap, distance, gain, gain_error, admissible, episodes)
    scores = [_per_episode(mdp, one, demonstrations) for one in fitted]
    return AlphaSelection(
        alpha=alphas[chosen],
        candidates=np.array(alphas),
        gap=gap,
        distance=distance,
        excess=excess,
        gain=gain,
        gain_error=gain_error,
        log_likelihood=np.array([mean for mean, _ in scores]),
        log_likelihood_error=np.array([error for _, error in scores]),
        admissible=admissible,
        decisive=decisive,
        note=note,
        episodes=episodes,
        fits=tuple(fitted),
    )


def admissible_candidates(
    gap: Float[np.ndarray, " K"],
    distance: Float[np.ndarray, " K"],
    excess: Float[np.ndarray, " K"],
    planned: Bool[np.ndarray, " K"],
) -> Bool[np.ndarray, " K"]:
    """Return which candidates, given from 1 downwards, are no worse than the first by what the learner can see.

    Example:
        >>> gap, distance = np.array([0.0, 0.01, 0.03]), np.array([0.0, 0.04, 0.05])
        >>> admissible_candidates(gap, distance, np.zeros(3), np.ones(3, bool)).tolist()
        [True, True, False]
    """
    fine = planned & (gap - gap[0] <= np.maximum(SHARE * (distance - distance[0]), NEGLIGIBLE))
    fine &= (excess <= excess[0] + EXCESS) & (distance <= FARTHEST) & (gap[0] <= WORST_STANDARD_GAP)
    fine[0] = True
    return np.logical_and.accumulate(fine)


def choose(
    alphas: Float[np.ndarray, " K"],
    gap: Float[np.ndarray, " K"],
    distance: Float[np.ndarray, " K"],
    gain: Float[np.ndarray, " K"],
    gain_error: Float[np.ndarray, " K"],
    admissible: Bool[np.ndarray, " K"],
    episodes: int,
) -> tuple[int, bool, str]:
    """Return the place of the chosen candidate, whether the data decided, and the reason in a sentence."""
    if episodes < FEWEST_EPISODES:
        note = f"{episodes} episodes are too few to compare two halves of them ({FEWEST_EPISODES} are needed)"
        return 0, False, f"α stays 1: {note}."
    if gap[0] > WORST_STANDARD_GAP:
        note = f"standard IRL itself misses the expert's visits by {gap[0]:.2g} in l1, so fits cannot be compared"
        return 0, False, f"α stays 1: {note}."
    if not admissible[1:].any():
        note = (
            f"already at α = {alphas[1]:g} the opponent moves the player by {distance[1] - distance[0]:.2g} in l1 and"
            f" misses the expert's visits by {gap[1] - gap[0]:.2g} more than standard IRL"
        )
        return 0, True, f"α stays 1: {note}."
    sure = admissible & (gain > gain_error)
    if not sure.any():
        note = "no admissible α is better than 1 by more than the two halves of the data differ"
        return 0, False, f"α stays 1: {note}."
    best = gain[sure].max()
    place = int(np.argmax(sure & (gain >= ENOUGH * best)))
    note = (
        f"α is {alphas[place]:g}: the opponent explains {distance[place] - distance[0]:.2g} of the expert's visits in"
        f" l1, misses {max(gap[place] - gap[0], 0):.2g}, and the player's return is higher by {gain[place]:.2g} ±"
        f" {gain_error[place]:.1g} under the rewards of both halves of the data."
    )
    return place, True, note


def _as_candidates(candidates: Sequence[float | int] | None, states: int) -> list[float]:
    """Return the candidates from 1 downwards, 1 included."""
    if candidates is None:
        return list(CANDIDATES if states <= LARGE_WORLD else FEW_CANDIDATES)
    given = [float(as_alpha(alpha)) for alpha in candidates]
    if not given:
        raise InvalidInputError("there are no candidates for alpha; give at least one number with 0 < alpha <= 1.")
    return sorted({1.0, *given}, reverse=True)


def _occupancy(part: Demonstrations, mdp: MDP, tail: str) -> Float[np.ndarray, " S"]:
    return estimate_occupancy(part, num_states=mdp.num_states, discount=float(mdp.discount), tail=tail).occupancy


def _gains(
    alone: Float[np.ndarray, "K S"], fits: Sequence[Fit], reward: Any, discount: float
) -> Float[np.ndarray, " K"]:
    """Return what each player earns more than the first, by a reward of states or of states and actions."""
    pay = np.asarray(reward)
    if pay.ndim == 1:
        earned = alone @ pay
    else:
        earned = np.array(
            [(rho[:, None] * np.asarray(one.player) * pay).sum() for rho, one in zip(alone, fits, strict=True)]
        )
    return (earned - earned[0]) / (1 - discount)


def _per_episode(mdp: MDP, fit: Fit, demonstrations: Demonstrations) -> tuple[float, float]:
    """Return the mean log-likelihood per move and its standard error, episodes being independent."""
    found, episodes = move_log_likelihoods(mdp, fit, demonstrations)
    if not found.size:
        return 0.0, float("inf")
    mean, count = float(found.mean()), len(demonstrations)
    deviations = np.bincount(episodes, found - mean, count)
    return mean, float(np.sqrt((deviations**2).sum()) / found.size)
