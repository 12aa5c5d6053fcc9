r"""Facts about a fit that decide whether its policy can be trusted; `robustirl.irl.judgment` puts them into words."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import working_precision
from robustirl.irl.mce.landscape import features_of, matching_gap
from robustirl.irl.mce.matching import as_matched
from robustirl.irl.mce.problem import OCCUPANCY, Problem, leavable_states
from robustirl.irl.mce.result import Diagnosis, History
from robustirl.mdp import MDP
from robustirl.planning import Solution

MOST_ROUNDS = 10_000
MOST_EXACT, PROBES = 256, 16


def diagnose(
    problem: Problem,
    solution: Solution,
    occupancy: Float[Array, " S"],
    player_occupancy: Float[Array, " S"],
    gap: Float[Array, ""],
    reward: Float[Array, " S"] | Float[Array, "S A"],
    history: History,
    best: Int[Array, ""],
) -> Diagnosis:
    """Return the facts, for use inside compiled code."""
    mdp = problem.game.mdp
    expert = problem.expert if problem.expert.ndim == 1 else problem.expert.sum(-1)
    leavable = leavable_states(mdp)
    difference, own_difference = (jnp.abs(found - expert) for found in (occupancy, player_occupancy))
    half_range = (reward.max() - reward.min()) / 2
    # ⟨ρ,R⟩ - max_π ⟨ρ_π,R⟩ bounds the gap of every policy for |R| <= 1, and the soft value exceeds the hard one.
    bound = -history.dual[best] / jnp.where(half_range > 0, half_range, 1)
    alone = jnp.all(problem.game.alpha == 1) & (problem.uncertainty is None) & (problem.objective_name == OCCUPANCY)
    own_matched = as_matched(player_occupancy, solution.player, problem.expert) - problem.expert
    features = features_of(problem.model)
    if problem.objective_name != OCCUPANCY:
        own_matched, features = player_occupancy - expert, None
    return Diagnosis(
        matching_gap=gap,
        least_gap=jnp.where(alone & (half_range > 0), jnp.maximum(bound, 0), 0),
        leavable_mass=jnp.where(leavable, expert, 0).sum(),
        leavable_gap=jnp.where(leavable, difference, 0).sum(),
        unvisited_mass=jnp.where(expert > 0, 0, occupancy).sum(),
        unreachable_mass=jnp.where(reachable_states(mdp), 0, expert).sum(),
        start_deficit=jnp.maximum((1 - mdp.discount) * mdp.initial - expert, 0).sum(),
        discount=mdp.discount,
        player_gap=matching_gap(features, own_matched),
        player_leavable_gap=jnp.where(leavable, own_difference, 0).sum(),
        randomness=choice_randomness(mdp, solution.player, jnp.where(leavable, player_occupancy, 0)),
    )


def choice_randomness(mdp: MDP, policy: Float[Array, "S A"], occupancy: Float[Array, " S"]) -> Float[Array, ""]:
    r"""Return how much of what a policy does is left to chance by choice.

    It is a mean over an occupancy. In one state it is 1 - ‖Σ_a π(a|s) T(·|s,a)‖₂² / Σ_a π(a|s) ‖T(·|s,a)‖₂², between 0
    and 1. Where moves have no noise, that is the probability that two tries lead to different states. Actions that do
    the same count as one, and noise does not count.

    It is exact up to `MOST_EXACT` states. Beyond, the squares are estimated from `PROBES` vectors of signs x, by
    ‖v‖₂² = E (xᵀv)².

    Example:
        >>> world = MDP([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.5)
        >>> policy, occupancy = jnp.array([[0.5, 0.5], [0.5, 0.5]]), jnp.array([0.25, 0.75])
        >>> choice_randomness(world, policy, occupancy).item()  # In state 0 a half, in state 1 nothing.
        0.125
    """
    states = mdp.num_states

    def squares(probe: Float[Array, " S"]) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
        moved = mdp.kernel.expect(probe)
        return (policy * moved).sum(-1) ** 2, (policy * moved**2).sum(-1)

    if states <= MOST_EXACT:
        found = jax.vmap(squares)(jnp.eye(states, dtype=occupancy.dtype))
    else:
        found = jax.lax.map(lambda k: squares(_signs(states, k).astype(occupancy.dtype)), jnp.arange(PROBES))
    together, apart = (part.sum(0) for part in found)
    chance = jnp.clip(1 - together / jnp.where(apart > 0, apart, 1), 0, 1)
    mass = occupancy.sum()
    return jnp.where(mass > 0, occupancy @ chance / jnp.where(mass > 0, mass, 1), 0)


def _signs(size: int, number: Int[Array, ""]) -> Int[Array, " S"]:
    """Return signs that look random (a hash of the index).

    They do not change if states are added at the end.
    """
    bits = jnp.arange(1, size + 1, dtype=jnp.uint32) * (2 * number.astype(jnp.uint32) + 1) * jnp.uint32(0x9E3779B1)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        bits = (bits ^ (bits >> shift)) * jnp.uint32(factor)
    return 1 - 2 * ((bits >> 16) & 1).astype(jnp.int32)


@working_precision
def reachable_states(mdp: MDP) -> Bool[Array, " S"]:
    """Return the states that some policy visits.

    These are all states if the world is too long to find out in `MOST_ROUNDS` rounds.

    Example:
        >>> kernel = [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]]
        >>> world = MDP(kernel, discount=0.9, initial=[1.0, 0.0, 0.0])
        >>> reachable_states(world).tolist()
        [True, True, False]
    """

    def spread(state):
        reached, _, rounds = state
        arriving = mdp.kernel.push((mdp.mask & reached[:, None]).astype(mdp.initial.dtype))
        following = reached | (arriving > 0)
        return following, jnp.any(following != reached), rounds + 1

    start = (mdp.initial > 0, jnp.asarray(True), jnp.asarray(0))
    reached, growing, _ = jax.lax.while_loop(lambda s: s[1] & (s[2] < MOST_ROUNDS), spread, start)
    return reached | growing
