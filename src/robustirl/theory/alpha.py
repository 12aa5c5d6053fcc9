"""The choice of α from an estimate of the expert's world: the paper's two rules, and what becomes of the second.

The opponent takes control with probability 1-α. Given an estimate of T^E,
- Section 5 suggests 1-α ≈ d_dyn(T^L, T^E) / 2, the smallest opponent whose set T^{L,α} can hold T^E;
- the corollary to the infeasible-case bound suggests 1-α = (d_dyn(T^E, T^L) - d_dyn(T*, T^E)) / 4, which
  minimizes that bound as stated, T* being the opponent's kernel.

The second rests on a step that does not hold (see `robustirl.theory.bounds.infeasible_bound`). With the
step corrected the bound's α-dependent part is (1-α) {d(T*, T^L) + d(T*, T^E)} + α d(T^E, T^L), which by the
triangle inequality is always smallest at α = 1: the corrected bound never recommends an opponent.
"""

import dataclasses

import jax.numpy as jnp

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, DenseKernel, MarkovGame, as_policy, dynamics_distance
from robustirl.planning import solve
from robustirl.theory.constants import require_comparable
from robustirl.types import ArrayLike


@dataclasses.dataclass(frozen=True)
class AlphaChoice:
    """Suggestions for α.

    Attributes:
        distance: d_dyn(T^L, T^E).
        half_distance: The rule of Section 5, 1 - d/2.
        corollary: The corollary's rule; none where it was not asked for.
    """

    distance: float
    half_distance: float
    corollary: float | None = None


@working_precision
def choose_alpha(learner: MDP, expert: MDP, *, opponent_world: MDP | None = None) -> AlphaChoice:
    """α by the paper's rules, from the learner's world and an estimate of the expert's.

    Args:
        learner: M^L.
        expert: M^E, or an estimate of it.
        opponent_world: The world of the opponent's kernel T*, for the corollary's rule.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> env = ThreeState()
        >>> choose_alpha(env.mdp(0.0), env.mdp(0.25)).half_distance
        0.75
    """
    require_comparable(learner, expert)
    distance = float(dynamics_distance(learner, expert))
    if distance >= 2:
        raise InvalidInputError(
            "the worlds are at distance 2, where the rule gives alpha = 0: nothing of the expert's dynamics is left"
            " in the learner's; no alpha can help."
        )
    corollary = None
    if opponent_world is not None:
        require_comparable(learner, opponent_world)
        corollary = min(1.0, 1 - distance / 4 + float(dynamics_distance(opponent_world, expert)) / 4)
    return AlphaChoice(distance, 1 - distance / 2, corollary)


@working_precision
def opponent_world(mdp: MDP, opponent: ArrayLike) -> MDP:
    """Return the world in which the opponent always acts.

    T*(·|s,a) = Σ_b π_op(b|s) T(·|s,b), whatever the player's a.
    """
    chain = mdp.kernel.policy_matrix(as_policy(opponent, mdp))
    rows = jnp.broadcast_to(chain[:, None, :], (mdp.num_states, mdp.num_actions, mdp.num_states))
    return MDP(DenseKernel(rows), discount=mdp.discount, initial=mdp.initial, mask=mdp.mask)


@working_precision
def worst_opponent_world(mdp: MDP, reward: ArrayLike, alpha: float) -> MDP:
    """Return `opponent_world` of the opponent in the game's saddle point for a reward.

    It is T* of the appendix.
    """
    return opponent_world(mdp, solve(MarkovGame(mdp, alpha), reward).opponent)
