r"""Whether any policy of the learner's world has the expert's state occupancy (Theorem 2, Corollary 1).

A policy π has the occupancy ρ in the learner's world if and only if it solves the Bellman flow equations

    ρ(s) - (1-γ) P₀(s) = γ Σ_{s',a'} ρ(s') π(a'|s') T(s|s',a'),    Σ_a π(a|s) = 1,    π >= 0.

The first two, written 𝐓 π = 𝐯, are the paper's linear system: 2|S| equations in |S||A| unknowns (`flow_system`).
Theorem 2 decides by Rouché-Capelli: a solution exists iff rank 𝐓 = rank (𝐓|𝐯). Three things to know about it:

- As printed, the flow rows lack γ. They then add up to the normalization rows weighted by ρ, but the right-hand
  sides to γ and 1: the printed system never has a solution. With γ, as in the proof's equation (LE), both are γ.
- For the same reason the 2|S| rows of 𝐓 are dependent in every world: rank 𝐓 <= 2|S| - 1. Corollary 1 asks for full
  rank, 2|S|, and so never applies (save in leaky worlds where the actions of a state lose unequally). Rank
  2|S| - 1 does make the system solvable, as 𝐯 obeys the same dependence, but see next.
- The test forgets π >= 0: it is necessary, not sufficient. `rank_test_counterexample` is the paper's own example.

On the paper's gridworlds every move changes the color c(s) = ±1 of the cell, as on a chessboard, whatever the policy.
That is one more dependence (rank 2|S| - 2), and the noise enters it. Multiply the flow equations by c: with a goal of
color 1, and a mean color of 0 over all cells, every policy of the world at noise ε has

    {c·ρ - (1-γ) c·P₀} / γ = ρ(goal) - X + ε Y,      X = Σ_{s ≠ goal} c(s) ρ(s),
    Y = X (uniform-state),     Y = 1/2 Σ_{s ≠ goal} b(s) c(s) ρ(s) (uniform-action; b counts the blocked moves of s).

The left side and Y are functions of ρ alone. So if Y ≠ 0, ρ belongs to one noise, and no policy matches it at another.
Under uniform-state noise this fixes each color's share by ε and ρ(goal); under uniform-action noise the share depends
on the policy through Y as well. Y ≠ 0 for the experts of gridworld-1 to -4 at all of the paper's noises (a test).
Given an action that stays put, the rank test says yes at any noise, while a policy was found only for ε_E >= ε_L: noise
can be imitated, not undone. The argument does not apply to features: the three of GridWorld-L can be matched
(`robustirl.theory.features`) in 9 of its 12 mismatched cells.

The true answer is a linear program's over x(s,a) = ρ(s) π(a|s) >= 0, and so is the distance from a yes:

- δ = min_π ‖ρ - (1-γ) P₀ - γ P_πᵀρ‖₁, the smallest violation of the flow equations at ρ: `find_matching_policy`;
- g = min_π ‖ρ_π - ρ‖₁, the smallest occupancy gap any policy leaves, IRL's included: `closest_occupancy`.

They vanish together: δ/(1+γ) <= g <= δ/(1-γ). The policy that leaves g violates the flow at ρ by (I - γ P_πᵀ)(ρ - ρ_π),
of norm at most (1+γ) g; the one that violates it by r has ρ_π = ρ - (I - γ P_πᵀ)⁻¹ r, off by at most ‖r‖₁/(1-γ).

Either comes with a witness from the dual, which proves without trust in any solver how far from zero it is: y for
δ; for g a reward R in [-1,1]^S for which the expert's occupancy is worth more than any in the learner's world,

    g = max_R ( ⟨ρ, R⟩ - max_π ⟨ρ_π, R⟩ ).

All this holds for leaky worlds too: I - γ P_πᵀ and its inverse have the same bounds there.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from robustirl._runtime import ShortRepr, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.theory.flow import Equations, FlowProblem, Outcome, least_violation, require_positive
from robustirl.theory.flow import flow_system as flow_system
from robustirl.types import ArrayLike

LARGEST_DENSE = 10_000_000  # Entries of a matrix whose singular values are asked for.
AGREEMENT = 1e-6  # How closely, relatively, primal and dual must agree for a program to count as solved.


@dataclasses.dataclass(frozen=True)
class RankTest(ShortRepr):
    """The verdict of Theorem 2 as the paper states it, non-negativity forgotten.

    Attributes:
        consistent: Whether rank 𝐓 = rank (𝐓|𝐯): the paper's yes. Its no is a no, but its yes may be wrong.
        rank: That of 𝐓, at most 2|S| - 1 (save in leaky worlds).
        augmented_rank: That of (𝐓|𝐯).
        full_rank: Corollary 1's premise, rank 𝐓 = 2|S|: never true (save in leaky worlds).
        singular_values: Of 𝐓, largest first.
        augmented_singular_values: Of (𝐓|𝐯), largest first.
        tolerance: Singular values of 𝐓 up to here count as zero.
    """

    consistent: bool
    rank: int
    augmented_rank: int
    full_rank: bool
    singular_values: Float[np.ndarray, " n"]
    augmented_singular_values: Float[np.ndarray, " m"]
    tolerance: float


@working_precision
def rank_test(mdp: MDP, occupancy: ArrayLike, tolerance: float | None = None) -> RankTest:
    """Apply Theorem 2's test by singular values.

    Those of the augmented matrix are compared with √(1+|S|) times the tolerance: if 𝐯 = 𝐓 π, then (𝐓|𝐯) = 𝐓 (I|π) has
    singular values up to √(1+‖π‖²) times those of 𝐓, and ‖π‖² <= |S| for every policy. Otherwise states that the expert
    hardly visits, whose part of 𝐓 is next to zero, would make a possible match look impossible.

    Args:
        mdp: The learner's world.
        occupancy: ρ(s), `[S]`.
        tolerance: Singular values of 𝐓 up to here count as zero; by default the usual one for ranks, the largest
            of (𝐓|𝐯) times its longer side times the machine epsilon.

    Example:
        >>> verdict = rank_test(*rank_test_counterexample())
        >>> verdict.consistent, verdict.rank, verdict.augmented_rank, verdict.full_rank
        (True, 4, 4, False)
    """
    rows, columns = 2 * mdp.num_states, mdp.num_states * mdp.num_actions + 1
    if rows * columns > LARGEST_DENSE:
        raise InvalidInputError(
            f"the rank test needs the singular values of a {rows} × {columns} matrix, more than {LARGEST_DENSE}"
            " entries; use find_matching_policy, which is sparse and gives the true answer."
        )
    if tolerance is not None:
        require_positive("tolerance", tolerance)
    matrix, target, _ = flow_system(mdp, occupancy)
    dense = matrix.toarray()
    values, augmented = (np.linalg.svd(m, compute_uv=False) for m in (dense, np.column_stack([dense, target])))
    if tolerance is None:
        tolerance = float(augmented[0] * max(rows, columns) * np.finfo(mdp.initial.dtype).eps)
    rank = int((values > tolerance).sum())
    consistent = not (augmented[rank:] > np.sqrt(1 + mdp.num_states) * tolerance).any()
    augmented_rank = rank if consistent else rank + 1  # One more column adds at most one.
    return RankTest(consistent, rank, augmented_rank, rank == rows, values, augmented, tolerance)


def rank_test_counterexample() -> tuple[MDP, Float[np.ndarray, " S"]]:
    """Return a world and an occupancy for which the rank test says yes, and no policy exists.

    The three-state example of Section 4.4 with the roles exchanged: the learner's first action fails with probability
    1/5, and the expert's never did. The flow asks for π(a1|s0) · 4/5 = 1, so π(a1|s0) = 5/4 and π(a2|s0) = -1/4. The
    smallest violation is δ = 0.036 and the smallest gap g = 0.36 = δ/(1-γ).

    Example:
        >>> mdp, rho = rank_test_counterexample()
        >>> rank_test(mdp, rho).consistent, find_matching_policy(mdp, rho).feasible
        (True, False)
        >>> matrix, target, _ = flow_system(mdp, rho)
        >>> bool(np.allclose(matrix @ [5/4, -1/4, 1/2, 1/2, 1/2, 1/2], target))
        True
    """
    kernel = np.zeros((3, 2, 3))
    kernel[0] = (0, 0.8, 0.2), (0, 0, 1)
    kernel[1, :, 1] = kernel[2, :, 2] = 1
    return MDP(kernel, discount=0.9, initial=[1.0, 0.0, 0.0]), np.array([0.1, 0.9, 0.0])


@dataclasses.dataclass(frozen=True)
class Matching(Outcome):
    """The true answer to Theorem 2's question.

    Attributes:
        feasible: Whether a policy with the occupancy ρ exists: `violation` is within the tolerance.
        policy: `[S, A]`, the policy that comes closest to obeying the flow at ρ; uniform where ρ(s) = 0.
        violation: δ of that policy, computed from it.
        lower_bound: What no policy gets below, by the witness.
        witness: `[S]`, y in [-1,1]^S: every π has δ >= ⟨y, ρ - (1-γ) P₀⟩ - γ Σ_s ρ(s) max_a Σ_s' T(s'|s,a) y(s').
        converged: Whether the solver ended well and the two bounds met.
        message: What the solver said.
        seconds: What it took.
    """

    feasible: bool
    policy: Float[np.ndarray, "S A"]
    violation: float
    lower_bound: float
    witness: Float[np.ndarray, " S"]


@working_precision
def find_matching_policy(
    mdp: MDP,
    occupancy: ArrayLike,
    tolerance: float | None = None,
    *,
    time_limit: float | None = None,
    throw: bool = True,
) -> Matching:
    """Return a policy with the given state occupancy, or how far this world is from having one.

    The linear program min ‖ρ - (1-γ) P₀ - γ Tᵀx‖₁ over x(s,a) = ρ(s) π(a|s) >= 0 with Σ_a x = ρ.

    Args:
        mdp: The learner's world.
        occupancy: ρ(s), `[S]`.
        tolerance: The violation δ up to which ρ counts as matched; by default 1e-9, in float32 1e-5. Give ρ's own
            accuracy if it is an estimate.
        time_limit: Seconds that each of the two methods tried may take.
        throw: Raise `ConvergenceError` if they fail; otherwise the result says so, and is that of the uniform policy.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> match = find_matching_policy(ThreeState().mdp(noise=0.0), [0.1, 0.72, 0.18])
        >>> match.feasible, match.policy[0].round(6).tolist()
        (True, [0.8, 0.2])
        >>> round(find_matching_policy(*rank_test_counterexample()).violation, 6)
        0.036
    """
    problem, tolerance = FlowProblem(mdp, occupancy), _as_tolerance(mdp, tolerance)

    def read(x: np.ndarray, dual: np.ndarray, _: np.ndarray) -> Matching:
        policy = problem.policy(x)
        violation = problem.violation(policy)
        witness = np.clip(dual, -1, 1)
        best = problem.table(problem.flow.T @ witness, -np.inf).max(-1)
        bound = max(0.0, float(witness @ problem.supply - problem.occupancy @ best))
        met = violation - bound <= max(tolerance, AGREEMENT * violation)
        return Matching(violation <= tolerance, policy, violation, bound, witness, converged=met)

    wanted, exact = Equations(problem.flow, problem.supply), Equations(problem.owner, problem.occupancy)
    return least_violation(wanted, exact, read, time_limit=time_limit, throw=throw)


@dataclasses.dataclass(frozen=True)
class Closest(Outcome):
    """The policy whose occupancy comes closest to the expert's.

    Attributes:
        gap: g = ‖ρ_π - ρ‖₁ of that policy, computed from it.
        policy: `[S, A]`; uniform where it never comes.
        occupancy: `[S]`, its ρ_π in the learner's world.
        lower_bound: What no policy gets below, by the witness.
        witness: `[S]`, a reward R in [-1,1]^S with ⟨ρ, R⟩ - ⟨ρ_π, R⟩ >= `lower_bound` for every policy π.
        converged: Whether the solver ended well and the two bounds met.
        message: What the solver said.
        seconds: What it took.
    """

    gap: float
    policy: Float[np.ndarray, "S A"]
    occupancy: Float[np.ndarray, " S"]
    lower_bound: float
    witness: Float[np.ndarray, " S"]


@working_precision
def closest_occupancy(
    mdp: MDP, occupancy: ArrayLike, *, time_limit: float | None = None, throw: bool = True
) -> Closest:
    """Return the smallest ‖ρ_π - ρ‖₁ of any policy in this world, and a policy that reaches it.

    The linear program min ‖Σ_a x - ρ‖₁ over the occupancy measures of the world, x(s,a) >= 0 with
    Σ_a x = (1-γ) P₀ + γ Tᵀx. No IRL does better: with α = 1 the learned policy is one of those policies, with α < 1 the
    mixture of player and opponent is.

    Args:
        mdp: The learner's world.
        occupancy: ρ(s), `[S]`.
        time_limit: Seconds that each of the two methods tried may take.
        throw: Raise `ConvergenceError` if they fail; otherwise the result says so, and is that of the uniform policy.

    Example:
        >>> closest = closest_occupancy(*rank_test_counterexample())
        >>> round(closest.gap, 6), closest.occupancy.round(6).tolist()
        (0.36, [0.1, 0.72, 0.18])
    """
    problem = FlowProblem(mdp, occupancy)
    accuracy = default_tolerance(mdp) / (1 - problem.discount)

    def read(x: np.ndarray, dual: np.ndarray, flow_dual: np.ndarray) -> Closest:
        policy = problem.policy(x)
        reached = problem.reached(policy)
        gap = float(np.abs(reached - problem.occupancy).sum())
        value, witness = -flow_dual, np.clip(dual, -1, 1)
        bound = max(0.0, float(problem.occupancy @ witness) - problem.largest_return(witness, value))
        met = gap - bound <= max(accuracy, AGREEMENT * gap)
        return Closest(gap, policy, reached, bound, witness, converged=met)

    wanted = Equations(problem.owner, problem.occupancy)
    exact = Equations(problem.owner - problem.flow, problem.start)
    return least_violation(wanted, exact, read, time_limit=time_limit, throw=throw)


def default_tolerance(mdp: MDP) -> float:
    """Return the violation of the flow equations that counts as none at this world's precision."""
    return 1e-9 if np.finfo(mdp.initial.dtype).eps < 1e-10 else 1e-5


def _as_tolerance(mdp: MDP, tolerance: float | None) -> float:
    if tolerance is None:
        return default_tolerance(mdp)
    require_positive("tolerance", tolerance)
    return tolerance
