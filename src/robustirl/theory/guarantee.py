r"""A guarantee from data: how much less than the expert a policy can earn, whatever reward and worlds may be.

Given are the learner's world (T, γ, P₀), a policy π for it, demonstrations of an expert (states only), and a radius d.
Returns are normalized, J(ρ, R) = ⟨ρ, R⟩ = (1-γ) E Σ_t γ^t R(s_t), and rewards scaled to [0,1]^S, so that returns are
from 0 to 1. Let B be the worlds T' with ‖T'(·|s,a) - T(·|s,a)‖₁ <= d for all pairs, with the same γ, P₀ and actions.

**The rewards that explain the expert.** A reward R in [0,1]^S explains an occupancy ρ_E within ε if there is a world
T^E in B in which some policy has ρ_E and no policy earns more than ⟨ρ_E, R⟩ + ε. A constant reward explains every
expert, so that no return can be guaranteed by itself. What can be is a return relative to the expert's:

    J(π in T', R) >= J(expert in T^E, R) - shortfall    for all R that explain the expert, all T' and T^E in B,

with the stated confidence over the draw of the demonstrations. If the expert is known to earn at least v, the rewards
are limited to those with ⟨ρ_E, R⟩ >= v, and `return_bound` is a lower bound x on π's own return.

**What it rests on.** Episodes are independent, and made by an expert who is optimal within ε (in a world of B, for its
reward). Half of the risk goes to ‖ρ_E - ρ̂‖₁ <= e (`demonstrations.concentration`), half to l <= ρ_E <= u
(`occupancy_box` there). If both hold, so does the guarantee: what remains is optimization, an outer bound by a
linear program (`robustirl.theory.guarantee_program`). With `radius="moves"` half of the risk goes to the radius, which
comes from recorded actions then: d(s,a) = 2 (1 - the lower end of α(s,a)), by `demonstrations.estimate_local_alpha`.
The program is the exact answer for d = 0 and an exact occupancy. `attained` is a shortfall that one reward and two
worlds in all of these sets do have, so that the truth is pinned from both sides.

**Vacuous** means that demonstrations add next to nothing: the shortfall is not below 99 % of `without_data`, what the
same program gives without demonstrations. (For `return_bound`: it is zero.)
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Float

from robustirl._check import as_number, as_number_between, short_repr
from robustirl._jax import working_precision
from robustirl._progress import Report, progress_bar
from robustirl._show import ShortRepr
from robustirl.demonstrations import Demonstrations, estimate_local_alpha, estimate_occupancy
from robustirl.demonstrations.concentration import certain_error, occupancy_box
from robustirl.demonstrations.occupancy import as_confidence
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import as_world
from robustirl.mdp.policy import as_occupancy, as_policy
from robustirl.theory.guarantee_program import (
    ExpertRegion,
    LearnerRegion,
    Rows,
    Surroundings,
    attained_shortfall,
    guarantee_rows,
    largest,
)
from robustirl.types import ArrayLike

USEFUL = 0.99  # A bound above this share of what holds without data is vacuous.
SMALLEST_ERROR = 1e-4  # A share of the error now: as good as none.
HALVINGS = 12  # Steps of the search for the error at which a guarantee stops being vacuous.
MOST_EPISODES = 10**12  # Beyond, more episodes are no remedy.


@dataclasses.dataclass(frozen=True, eq=False)
class Guarantee(ShortRepr):
    """How much less than the expert a policy can earn.

    Rewards are in [0,1], and returns are normalized to 1.

    Attributes:
        shortfall: An upper bound on J(expert) - J(policy) over all rewards that explain the expert and all worlds.
        attained: A shortfall that one of them has: the true one lies between the two. None if none was found.
        without_data: The bound without demonstrations.
        vacuous: Whether the demonstrations add next to nothing, or `return_bound` is zero.
        episodes_needed: After how many episodes like these the guarantee would not be vacuous; the number given if it
            is not vacuous, None if no number suffices.
        obstacle: Why no number suffices, in words; None otherwise.
        return_bound: x, a lower bound on the policy's return if the expert's is at least `expert_return`; None without.
        reward: `[S]`, the reward at which the program attains `shortfall`.
        occupancy_error: e, the ℓ1 error of the expert's occupancy.
        mismatch: κ, the most by which d moves an occupancy, in total variation.
        radius: The largest d(s,a).
        confidence: Of the guarantee; 1 for an exact occupancy.
        episodes: How many episodes it rests on; None for an exact occupancy.
        suboptimality: ε.
        expert_return: v.
    """

    shortfall: float
    attained: float | None
    without_data: float
    vacuous: bool
    episodes_needed: int | None
    obstacle: str | None
    return_bound: float | None
    reward: Float[np.ndarray, " S"]
    occupancy_error: float
    mismatch: float
    radius: float
    confidence: float
    episodes: int | None
    suboptimality: float
    expert_return: float | None

    def summary(self) -> str:
        """Return the guarantee in words, with what it rests on."""
        sure = "" if self.episodes is None else f"with {100 * self.confidence:g} % confidence "
        where = f"every world within {self.radius:.3g} of the learner's" if self.radius else "the learner's world"
        within = f" within {self.suboptimality:g}" if self.suboptimality else ""
        lines = [
            f"{sure}the policy earns at least what the expert earns, less {self.shortfall:.3g} (returns from 0 to 1),"
            f" in {where}, under every reward in [0,1] that explains the expert{within}."
        ]
        if self.return_bound is not None:
            lines.append(
                f"If the expert earns at least {self.expert_return:g}, the policy earns {self.return_bound:.3g}."
            )
        if self.attained is not None:
            lines.append(f"A shortfall of {self.attained:.3g} does occur for one such reward.")
        data = "an exact occupancy" if self.episodes is None else f"{self.episodes} independent episodes"
        own = "some world within the radius" if self.radius else where
        moves = f" The radius moves occupancies by up to {self.mismatch:.3g}." if self.radius else ""
        lines.append(
            f"It rests on {data} (the expert's occupancy is known within {self.occupancy_error:.3g} in l1) and on an"
            f" expert who is optimal{within} in {own}.{moves}"
        )
        if self.vacuous:
            remedy = (
                f"no number of episodes would change that, because {self.obstacle}."
                if self.obstacle is not None
                else f"after about {self.episodes_needed} episodes like these it would not be."
            )
            lines.append(
                f"It is vacuous, since {self.without_data:.3g} holds without demonstrations: {remedy}"
                if self.return_bound is None
                else f"It is vacuous: {remedy}"
            )
        return "\n".join(lines)


@working_precision
def guarantee(
    world: MDP,
    demonstrations: Demonstrations | ArrayLike,
    policy: ArrayLike,
    *,
    radius: ArrayLike | Literal["moves"] = 0.0,
    confidence: float = 0.95,
    suboptimality: float = 0.0,
    expert_return: float | None = None,
    progress: bool = False,
) -> Guarantee:
    """Return how much less than the expert a policy can earn, from data.

    This is over all rewards that explain the expert.

    Args:
        world: The learner's world.
        demonstrations: What the expert did, states only; or its exact occupancy ρ(s), `[S]`.
        policy: π, `[S, A]`, however it was found.
        radius: d, within which the expert's world and the one that the policy will act in are: one number, or one a
            pair `[S, A]`, such as 0 in states that are never left; or "moves", to take it from the moves of
            demonstrations with actions. A pair that was never seen then has the largest radius there is.
        confidence: Of the guarantee.
        suboptimality: ε, by how much of a normalized return the expert may be worse than optimal.
        expert_return: v, what the expert is known to earn, on a scale on which rewards are from 0 to 1 and returns too.
        progress: Show a bar.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> world = ThreeState().mdp(noise=0.0)  # γ = 0.9; state 0 leads to state 1 or 2, which are never left.
        >>> walks = Demonstrations.from_arrays([[0, 1]] * 1000, terminated=True)
        >>> wavering = [[0.75, 0.25], [1.0, 0.0], [1.0, 0.0]]
        >>> found = guarantee(world, walks, wavering)
        >>> round(found.shortfall, 3), round(found.attained, 3), found.vacuous  # 0.9 · 0.25: it misses state 1.
        (0.225, 0.225, False)
    """
    world = as_world(world)
    suboptimality = as_number_between("the suboptimality", suboptimality, 0, 1, open_high=True)
    if expert_return is not None and not 0 < as_number("the expert's return", expert_return) <= 1:
        raise InvalidInputError(
            f"the expert's return is {short_repr(expert_return)}, but a number above 0 and at most 1 is needed:"
            " rewards are scaled to [0, 1] and returns by 1-γ."
        )
    level = as_confidence(confidence)
    if isinstance(radius, str):
        level = (1 + level) / 2  # Two bounds share the error.
        radius = _from_moves(world, demonstrations, radius, level)
    around = Surroundings.of(world, radius)
    region, known = _region(world, demonstrations, level)
    checked = np.asarray(as_policy(policy, world), float)
    # Every occupancy has two limits, of all policies and, where worlds differ, of this one; programs come on top.
    work = 2 * len(around.start) * (1 if around.exact else 2) + HALVINGS
    with progress_bar("guarantee", work, show=progress) as report:
        return _Search(around, region, known, checked, suboptimality, expert_return, report).run(float(confidence))


class _Search:
    """What one guarantee is made of: the regions of expert and learner, and the programs over them."""

    def __init__(
        self,
        around: Surroundings,
        region: ExpertRegion,
        known: tuple[int, float, float] | None,
        policy: Float[np.ndarray, "S A"],
        suboptimality: float,
        expert_return: float | None,
        report: Report,
    ):
        self.around, self.known, self._report, self._done = around, known, report, 0
        self.suboptimality, self.expert_return = suboptimality, expert_return
        self.learner: LearnerRegion = LearnerRegion.of(around, policy, self._advance)
        self.mismatch: float = 0.0 if around.exact else around.deviation()
        limits = around.occupancy_limits(report=self._advance)
        self.anything: ExpertRegion = ExpertRegion(region.occupancy, *limits, 2.0)
        self.region: ExpertRegion = region.within(self.anything)

    def _advance(self, note: str = "limits of occupancies") -> None:
        self._done += 1
        self._report(self._done, note)

    def _rows(self, place: ExpertRegion, expert_return: float | None = None) -> Rows:
        self._advance("linear programs")
        slack = self.mismatch + self.suboptimality
        return guarantee_rows(self.around, self.learner, place, slack=slack, expert_return=expert_return)

    def shortfall(self, place: ExpertRegion) -> tuple[float, dict[str, np.ndarray]]:
        """Return the largest shortfall, and the variables at which it is attained."""
        return largest(self._rows(place), {"w": 1.0, "z": -1.0})

    def earned(self, place: ExpertRegion) -> float | None:
        """Return what the policy earns at least, if the expert's return is known."""
        if self.expert_return is None:
            return None
        return max(0.0, -largest(self._rows(place, self.expert_return), {"z": -1.0})[0])

    def closest(self) -> ExpertRegion:
        """Return the region around the closest occupancy that an expert can have, for errors that shrink."""
        center = np.zeros(self.around.mask.shape)
        center[self.around.mask] = largest(self._rows(self.region), {"off": -1.0})[1]["expert"]
        return ExpertRegion(center.sum(-1), self.region.lower, self.region.upper, self.region.error)

    def run(self, confidence: float) -> Guarantee:
        """Return the guarantee."""
        (found, variables), without = self.shortfall(self.region), self.shortfall(self.anything)[0]
        earned = self.earned(self.region)
        episodes = None if self.known is None else self.known[0]

        def useful(place: ExpertRegion) -> bool:
            least = self.earned(place)
            return self.shortfall(place)[0] < USEFUL * without if least is None else least > 0

        vacuous = not (found < USEFUL * without if earned is None else earned > 0)
        needed, obstacle = _episodes_needed(self.closest(), self.known, useful) if vacuous else (episodes, None)
        reward = variables["reward"]
        return Guarantee(
            shortfall=min(1.0, found),
            attained=attained_shortfall(self.around, self.learner, self.region, reward, self.suboptimality),
            without_data=min(1.0, without),
            vacuous=vacuous,
            episodes_needed=needed,
            obstacle=obstacle,
            return_bound=earned,
            reward=reward,
            occupancy_error=self.region.error,
            mismatch=self.mismatch,
            radius=2 * float(self.around.strength.max()),
            confidence=1.0 if episodes is None else confidence,
            episodes=episodes,
            suboptimality=self.suboptimality,
            expert_return=self.expert_return,
        )


def _from_moves(
    world: MDP, demonstrations: Demonstrations | ArrayLike, radius: str, confidence: float
) -> Float[np.ndarray, "S A"]:
    """Return how far the expert's world may be from the learner's at every pair.

    This is taken from recorded actions.
    """
    if radius != "moves" or not isinstance(demonstrations, Demonstrations):
        raise InvalidInputError(
            f"the radius is {radius!r}, but numbers are needed, or 'moves' together with demonstrations that have"
            " actions."
        )
    return 2 * (1 - estimate_local_alpha(world, demonstrations, confidence=confidence).low)


def _region(
    world: MDP, demonstrations: Demonstrations | ArrayLike, confidence: float
) -> tuple[ExpertRegion, tuple[int, float, float] | None]:
    """Return where the expert's occupancy is, and how many episodes tell it, their radius and their bias.

    An exact occupancy has none of these.
    """
    if not isinstance(demonstrations, Demonstrations):
        exact = np.asarray(as_occupancy(demonstrations, world), float)
        return ExpertRegion(exact, exact, exact, 0.0), None
    demonstrations = demonstrations.in_world(world)
    level = (1 + confidence) / 2
    estimate = estimate_occupancy(demonstrations, world, confidence=level)
    lower, upper = occupancy_box(demonstrations, world, confidence=level)
    radius, bias = certain_error(demonstrations, world, confidence=level)
    error = min(2.0, radius + bias)
    half, rho = error / 2, estimate.occupancy
    # Both are distributions, so that no entry differs by more than half of the ℓ1 distance.
    lower, upper = np.maximum(lower, rho - half), np.minimum(upper, rho + half)
    return ExpertRegion(rho, np.clip(lower, 0, 1), np.clip(upper, 0, 1), error), (len(demonstrations), radius, bias)


def _episodes_needed(
    region: ExpertRegion, known: tuple[int, float, float] | None, useful: Callable[[ExpertRegion], bool]
) -> tuple[int | None, str | None]:
    """Return after how many episodes the guarantee would not be vacuous.

    They are assumed to tell the same with less error. Errors fall with the square root of the number of episodes, but
    for the bias of truncated ones. If no number suffices, also return why.
    """
    if known is None or region.error <= 0 or not useful(region.shrunk(SMALLEST_ERROR)):
        return None, "it would be so with the expert's exact occupancy, for this policy and radius"
    low, high = SMALLEST_ERROR, 1.0  # Factors on the error: useful at the one, not at the other.
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if useful(region.shrunk(middle)) else (low, middle)
    episodes, radius, bias = known
    left = low * region.error - bias
    if left <= 0:
        return None, "the expert's occupancy stays open where episodes were truncated; record longer ones"
    needed = math.ceil(episodes * (radius / left) ** 2)
    return (needed, None) if needed <= MOST_EPISODES else (None, f"more than {MOST_EPISODES:.0e} would be needed")
