r"""Whether the learner can have the expert's occupancy of states and actions (appendix to Theorem 2).

An occupancy of pairs x(s,a) leaves no choice: the only policies that can have it are π(a|s) = x(s,a) / Σ_a x(s,a) where
the expert goes, and any actions elsewhere. In the learner's world they have it if and only if x solves its flow
equations. So the test is a sum, and no linear program:

    δ = ‖Σ_a x - (1-γ) P₀ - γ Tᵀx‖₁.

The appendix calls a match impossible as soon as the worlds differ, because "the same policy can not induce the same
state occupancy measure under different transition dynamics". It can: worlds may differ in pairs that the expert never
takes, or in ways that cancel in the mean over its actions. What holds is that a match of pairs is a match of states as
well, and that it is the expert's own policy where the expert goes.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from robustirl._runtime import ShortRepr, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, checks
from robustirl.theory.existence import default_tolerance
from robustirl.theory.flow import FlowProblem, require_positive
from robustirl.types import ArrayLike


@dataclasses.dataclass(frozen=True)
class PairMatching(ShortRepr):
    """The answer for an occupancy of states and actions.

    Attributes:
        feasible: Whether a policy has it in this world: `violation` is within the tolerance.
        policy: `[S, A]`, the expert's own; uniform where the expert never is.
        violation: δ.
        gap: ‖x_π - x‖₁ of that policy in this world, at most δ/(1-γ).
    """

    feasible: bool
    policy: Float[np.ndarray, "S A"]
    violation: float
    gap: float


@working_precision
def match_state_actions(mdp: MDP, occupancy: ArrayLike, tolerance: float | None = None) -> PairMatching:
    """Decide whether a policy of this world has the given occupancy of states and actions.

    Args:
        mdp: The learner's world.
        occupancy: x(s,a), `[S, A]`, of the expert in its own world.
        tolerance: The violation up to which it counts as matched; by default 1e-9, in float32 1e-5.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.planning import state_action_occupancy
        >>> env = ThreeState()
        >>> second = [[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]]  # Never a1, the action that the worlds disagree about.
        >>> pairs = state_action_occupancy(env.mdp(0.3), second)
        >>> match_state_actions(env.mdp(0.0), pairs).feasible
        True
    """
    checks.require_shape("the occupancy", occupancy, mdp.mask.shape, "states, actions")
    pairs = checks.as_floats("the occupancy", occupancy).astype(float)
    checks.require_distributions("the occupancy", pairs.ravel())
    outside = (pairs > 0) & ~np.asarray(mdp.mask)
    if outside.any():
        state, action = (int(i) for i in np.argwhere(outside)[0])
        raise InvalidInputError(
            f"the occupancy has {float(pairs[state, action])!r} at state {state}, action {action}, which the world does"
            " not have; no policy of it can have this occupancy."
        )
    tolerance = default_tolerance(mdp) if tolerance is None else tolerance
    require_positive("tolerance", tolerance)
    problem = FlowProblem(mdp, pairs.sum(-1))
    policy = problem.policy(pairs.ravel()[problem.columns])
    violation = problem.violation(policy)
    reached = problem.reached(policy)[:, None] * policy
    return PairMatching(violation <= tolerance, policy, violation, float(np.abs(reached - pairs).sum()))
