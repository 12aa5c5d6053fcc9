r"""Facts about a fit that decide whether its policy can be trusted; `robustirl.irl.judgment` puts them into words."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl.irl.mce.landscape import features_of, matching_gap
from robustirl.irl.mce.problem import Problem, leavable_states
from robustirl.irl.mce.result import Diagnosis, History
from robustirl.mdp import MDP

MOST_ROUNDS = 10_000


def diagnose(
    problem: Problem,
    occupancy: Float[Array, " S"],
    player_occupancy: Float[Array, " S"],
    gap: Float[Array, ""],
    reward: Float[Array, " S"],
    history: History,
    best: Int[Array, ""],
) -> Diagnosis:
    """Return the facts, for use inside compiled code."""
    mdp, expert = problem.game.mdp, problem.expert
    leavable = leavable_states(mdp)
    difference, own_difference = (jnp.abs(found - expert) for found in (occupancy, player_occupancy))
    half_range = (reward.max() - reward.min()) / 2
    # ⟨ρ,R⟩ - max_π ⟨ρ_π,R⟩ bounds the gap of every policy for |R| <= 1, and the soft value exceeds the hard one.
    bound = -history.dual[best] / jnp.where(half_range > 0, half_range, 1)
    alone = jnp.all(problem.game.alpha == 1)
    return Diagnosis(
        matching_gap=gap,
        least_gap=jnp.where(alone & (half_range > 0), jnp.maximum(bound, 0), 0),
        leavable_mass=jnp.where(leavable, expert, 0).sum(),
        leavable_gap=jnp.where(leavable, difference, 0).sum(),
        unvisited_mass=jnp.where(expert > 0, 0, occupancy).sum(),
        unreachable_mass=jnp.where(reachable_states(mdp), 0, expert).sum(),
        start_deficit=jnp.maximum((1 - mdp.discount) * mdp.initial - expert, 0).sum(),
        discount=mdp.discount,
        player_gap=matching_gap(features_of(problem.model), player_occupancy - expert),
        player_leavable_gap=jnp.where(leavable, own_difference, 0).sum(),
    )


def reachable_states(mdp: MDP) -> Bool[Array, " S"]:
    """Return the states that some policy visits; all, if the world is too long to find out in `MOST_ROUNDS` rounds.

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
