r"""The least occupancy gap that a learner can reach, whatever its reward and whatever α.

Player and opponent together act as one policy, α π_pl + (1-α) π_op, and every policy is such a mixture (of itself with
itself). The least gap over all pairs of a player and an opponent is therefore the same at every α, that of the linear
program of `robustirl.theory.closest_occupancy`:

    g = min_π ‖ρ_π - ρ‖₁ = max_{|R| <= 1} ( ⟨ρ, R⟩ - max_π ⟨ρ_π, R⟩ ).

What α changes is which of these mixtures are equilibria of a game. A fit may stay above g for that reason, never below.
Every reward gives a lower bound on g, by the right-hand side. In large worlds the one that was learned has to do.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import working_precision
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, MarkovGame, as_world
from robustirl.planning import Temperatures, solve
from robustirl.theory import closest_occupancy

MOST_STATES = 300  # Of worlds in which the linear program is solved; it takes half a second there.
TIME_LIMIT = 5.0  # Seconds.


@working_precision
def with_least_gap(fit: Fit, world: MDP) -> Fit:
    """Return a fit whose `diagnosis.least_gap` is as large as can be proved at little cost.

    Up to `MOST_STATES` states it is that of the linear program, beyond it is the bound from the learned reward.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit
        >>> world = ThreeState().mdp(noise=0.2)  # Its first action fails with probability 1/5, the expert's never did.
        >>> found = fit(world, [0.1, 0.9, 0.0], alpha=0.9)
        >>> round(float(with_least_gap(found, world).diagnosis.least_gap), 6)
        0.36
    """
    world = as_world(world)
    bound = _by_program(fit, world) if world.num_states <= MOST_STATES else None
    if bound is None:
        bound = _by_reward(fit, world)
    known = float(fit.diagnosis.least_gap)
    best = bound if np.isnan(known) else max(known, bound)
    return eqx.tree_at(lambda found: found.diagnosis.least_gap, fit, jnp.asarray(best))


def _by_program(fit: Fit, world: MDP) -> float | None:
    found = closest_occupancy(world, fit.expert_occupancy, time_limit=TIME_LIMIT, throw=False)
    return float(found.lower_bound) if found.converged else None


def _by_reward(fit: Fit, world: MDP) -> float:
    """Return (⟨ρ, R⟩ - max_π ⟨ρ_π, R⟩) / max |R| for the learned reward with the least max |R|."""
    reward = np.asarray(fit.reward)
    reward = reward - (reward.max() + reward.min()) / 2
    size = np.abs(reward).max()
    if size == 0:
        return 0.0
    scaled = reward / size
    plan = solve(MarkovGame(world), scaled, temperatures=Temperatures(player=0), throw=False)
    best = (1 - float(world.discount)) * float(np.asarray(world.initial) @ np.asarray(plan.value))
    allowance = (1 - float(world.discount)) * float(plan.verdict.error_bound)
    return max(0.0, float(np.asarray(fit.expert_occupancy) @ scaled) - best - allowance)
