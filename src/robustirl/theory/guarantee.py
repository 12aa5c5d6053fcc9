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
linear program (`guarantee_program.py`). With `radius="moves"` half of the risk goes to the radius, which comes from
recorded actions then: d(s,a) = 2 (1 - the lower end of α(s,a)), by `demonstrations.estimate_local_alpha`.
The program is the exact answer for d = 0 and an exact occupancy. `attained` is a
shortfall that one reward and two worlds in all of these sets do have, so that the truth is pinned from both sides.

**Vacuous** means that demonstrations add next to nothing: the shortfall is not below 99 % of `without_data`, what the
same program gives without demonstrations. (For `return_bound`: it is zero.)
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from jaxtyping import Float

from robustirl._runtime import short_repr, working_precision
from robustirl.demonstrations import Demonstrations, estimate_local_alpha, estimate_occupancy
from robustirl.demonstrations.concentration import certain_error, occupancy_box
from robustirl.demonstrations.occupancy import as_confidence
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_number, as_number_between, as_occupancy, as_policy, as_world
from robustirl.theory.attained import attained_shortfall
from robustirl.theory.guarantee_program import ExpertRegion, LearnerRegion, guarantee_rows
from robustirl.theory.guarantee_result import Guarantee
from robustirl.theory.linear_program import largest
from robustirl.theory.reachable import Surroundings
from robustirl.types import ArrayLike

USEFUL = 0.99  # A bound above this share of what holds without data is vacuous.
SMALLEST_ERROR = 1e-4  # A share of the error now: as good as none.
HALVINGS = 12  # Steps of the search for the error at which a guarantee stops being vacuous.
MOST_EPISODES = 10**12  # Beyond, more episodes are no remedy.


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
    episodes = None if known is None else known[0]
    learner = LearnerRegion.of(around, np.asarray(as_policy(policy, world), float))
    mismatch = 0.0 if around.exact else around.deviation()
    slack = mismatch + suboptimality

    def shortfall_of(place: ExpertRegion) -> tuple[float, dict[str, np.ndarray]]:
        return largest(guarantee_rows(around, learner, place, slack=slack, expert_return=None), {"w": 1.0, "z": -1.0})

    def return_of(place: ExpertRegion) -> float:
        assert expert_return is not None
        program = guarantee_rows(around, learner, place, slack=slack, expert_return=expert_return)
        return max(0.0, -largest(program, {"z": -1.0})[0])

    anything = ExpertRegion(region.occupancy, *around.occupancy_limits(), 2.0)
    region = region.within(anything)
    found, variables = shortfall_of(region)
    without = shortfall_of(anything)[0]
    earned = None if expert_return is None else return_of(region)

    def useful(place: ExpertRegion) -> bool:
        return shortfall_of(place)[0] < USEFUL * without if expert_return is None else return_of(place) > 0

    def closest() -> ExpertRegion:
        """Return the region around the closest occupancy that an expert can have.

        It is for errors that shrink.
        """
        program = guarantee_rows(around, learner, region, slack=slack, expert_return=None)
        pairs = largest(program, {"off": -1.0})[1]["expert"]
        center = np.zeros(np.asarray(around.mask).shape)
        center[around.mask] = pairs
        return ExpertRegion(center.sum(-1), region.lower, region.upper, region.error)

    vacuous = not (found < USEFUL * without if earned is None else earned > 0)
    needed, obstacle = _episodes_needed(closest(), known, useful) if vacuous else (episodes, None)
    return Guarantee(
        shortfall=min(1.0, found),
        attained=attained_shortfall(around, learner, region, variables["reward"], suboptimality),
        without_data=min(1.0, without),
        vacuous=vacuous,
        episodes_needed=needed,
        obstacle=obstacle,
        return_bound=earned,
        reward=variables["reward"],
        occupancy_error=region.error,
        mismatch=mismatch,
        radius=2 * float(around.strength.max()),
        confidence=1.0 if episodes is None else float(confidence),
        episodes=episodes,
        suboptimality=float(suboptimality),
        expert_return=expert_return,
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
