r"""Whether a policy of the learner's world has the expert's feature expectations.

With features φ(s) `[S, d]` and rewards linear in them, IRL matches Φᵀρ_π = Φᵀρ instead of ρ_π = ρ. That is d equations
in place of |S|, and can have a solution where the occupancy has none. Over the occupancy measures x(s,a) >= 0 of
the world, Σ_a x = (1-γ) P₀ + γ Tᵀx, the smallest violation is a linear program:

    g_Φ = min_π ‖Φᵀρ_π - Φᵀρ‖₁ = max_θ ( ⟨Φᵀρ, θ⟩ - max_π ⟨Φᵀρ_π, θ⟩ ),    θ in [-1,1]^d.

For one-hot features g_Φ is g of `robustirl.theory.existence`, and never more than max |φ| times it otherwise.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from robustirl._runtime import working_precision
from robustirl.mdp import MDP, checks
from robustirl.rewards import LinearReward
from robustirl.theory.existence import AGREEMENT, default_tolerance
from robustirl.theory.flow import Equations, FlowProblem, Outcome, least_violation, require_positive
from robustirl.types import ArrayLike


@dataclasses.dataclass(frozen=True)
class FeatureMatching(Outcome):
    """The policy whose feature expectations come closest to the expert's.

    Attributes:
        feasible: Whether a policy with the expectations Φᵀρ exists: `gap` is within the tolerance.
        gap: ‖Φᵀρ_π - Φᵀρ‖₁ of that policy, computed from it.
        policy: `[S, A]`; uniform in states that it never visits.
        expectations: `[d]`, Φᵀρ_π.
        lower_bound: No policy has a smaller gap, by the witness.
        witness: `[d]`, θ in [-1,1]^d with ⟨Φᵀρ, θ⟩ - ⟨Φᵀρ_π, θ⟩ >= `lower_bound` for every policy π.
        converged: Whether the solver ended well and the two bounds met.
        message: What the solver said.
        seconds: What it took.
    """

    feasible: bool
    gap: float
    policy: Float[np.ndarray, "S A"]
    expectations: Float[np.ndarray, " d"]
    lower_bound: float
    witness: Float[np.ndarray, " d"]


@working_precision
def find_feature_matching_policy(
    mdp: MDP,
    occupancy: ArrayLike,
    features: ArrayLike,
    tolerance: float | None = None,
    *,
    time_limit: float | None = None,
    throw: bool = True,
) -> FeatureMatching:
    """Find a policy of this world with an occupancy's feature expectations, or the closest one.

    Args:
        mdp: The learner's world.
        occupancy: ρ(s) of the expert, `[S]`.
        features: φ(s), `[S, d]`.
        tolerance: The gap up to which the expectations count as matched; by default 1e-9/(1-γ), in float32
            1e-5/(1-γ), times the largest feature. Give the accuracy of Φᵀρ if it is an estimate.
        time_limit: Seconds that each of the two methods tried may take.
        throw: Raise `ConvergenceError` if they fail; otherwise the result says so, and is that of the uniform policy.

    Example:
        >>> from robustirl.theory.existence import rank_test_counterexample
        >>> world, rho = rank_test_counterexample()
        >>> round(find_feature_matching_policy(world, rho, np.eye(3)).gap, 6)  # One-hot: no policy matches.
        0.36
        >>> find_feature_matching_policy(world, rho, [[1.0], [0.0], [0.0]]).feasible  # How long in s0: any policy.
        True
    """
    import scipy.sparse

    problem = FlowProblem(mdp, occupancy)
    phi = np.asarray(LinearReward(features).features, float)
    checks.require_shape("the feature matrix", phi, (mdp.num_states, phi.shape[1]), "states, features")
    largest = float(np.abs(phi).max(initial=0.0)) or 1.0
    if tolerance is None:
        tolerance = largest * default_tolerance(mdp) / (1 - problem.discount)
    require_positive("tolerance", tolerance)
    target = phi.T @ problem.occupancy

    def read(x: np.ndarray, dual: np.ndarray, flow_dual: np.ndarray) -> FeatureMatching:
        policy = problem.policy(x)
        expectations = phi.T @ problem.reached(policy)
        gap = float(np.abs(expectations - target).sum())
        witness = np.clip(dual, -1, 1)
        most = problem.largest_return(phi @ witness, -flow_dual)
        bound = max(0.0, float(target @ witness) - most)
        met = gap - bound <= max(tolerance, AGREEMENT * gap)
        return FeatureMatching(gap <= tolerance, gap, policy, expectations, bound, witness, converged=met)

    wanted = Equations(scipy.sparse.csc_array(scipy.sparse.csr_array(phi.T) @ problem.owner), target)
    exact = Equations(problem.owner - problem.flow, problem.start)
    return least_violation(wanted, exact, read, time_limit=time_limit, throw=throw)
