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

**Features.** With rewards linear in features φ(s) `[S, d]`, IRL matches Φᵀρ_π = Φᵀρ instead: d equations in place of
|S|, which can have a solution where the occupancy has none. The smallest violation is a linear program again,

    g_Φ = min_π ‖Φᵀρ_π - Φᵀρ‖₁ = max_θ ( ⟨Φᵀρ, θ⟩ - max_π ⟨Φᵀρ_π, θ⟩ ),    θ in [-1,1]^d.

For one-hot features g_Φ is g, and never more than max |φ| times it otherwise.

**States and actions.** An occupancy of pairs x(s,a) leaves no choice: the only policies that can have it are
π(a|s) = x(s,a) / Σ_a x(s,a) where the expert goes. So the test is a sum, and no linear program:
δ = ‖Σ_a x - (1-γ) P₀ - γ Tᵀx‖₁. The appendix calls a match impossible as soon as the worlds differ. It is not: worlds
may differ in pairs that the expert never takes, or in ways that cancel in the mean over its actions.

All of this happens on the host, in float64, and sparsely, whatever the kernel; only available pairs are unknowns.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Int

from robustirl._check import as_floats, as_positive, require_distributions, require_finite, require_shape
from robustirl._jax import working_precision
from robustirl._show import ShortRepr
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP, uniform_policy
from robustirl.mdp.policy import as_occupancy
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

DENSE_FROM = 0.1  # The filling from which a chain is solved as a dense matrix.


class FlowSystem(NamedTuple):
    """The paper's system 𝐓 π = 𝐯 (Section 4.1).

    Attributes:
        matrix: 𝐓, `[2S, n]`, sparse: the flow rows γ ρ(s') T(s|s',a'), then the normalization rows.
        target: 𝐯, `[2S]`: ρ - (1-γ) P₀, then ones.
        columns: `[n]`, the pair s·|A| + a that each column stands for: n = |S||A| if every action is available.
    """

    matrix: "scipy.sparse.csr_array"
    target: Float[np.ndarray, " rows"]
    columns: Int[np.ndarray, " n"]


@working_precision
def flow_system(mdp: MDP, occupancy: ArrayLike) -> FlowSystem:
    """Return the matrix 𝐓 and the vector 𝐯 of Theorem 2.

    The flow rows contain γ, and unavailable actions are omitted.

    Example:
        >>> world = MDP([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.5)
        >>> matrix, target, columns = flow_system(world, [0.5, 0.5])
        >>> matrix.toarray().tolist()
        [[0.0, 0.25, 0.0], [0.25, 0.0, 0.25], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> target.tolist(), columns.tolist()
        ([0.25, 0.25, 1.0, 1.0], [0, 1, 2])
    """
    import scipy.sparse

    problem = FlowProblem(mdp, occupancy)
    weights = problem.owner.T @ problem.occupancy
    matrix = scipy.sparse.csr_array(scipy.sparse.vstack([problem.flow * weights, problem.owner]))
    return FlowSystem(matrix, np.concatenate([problem.supply, np.ones(mdp.num_states)]), problem.columns)


class FlowProblem:
    """The pieces that the flow system and the linear programs are made of.

    Attributes:
        mdp: The learner's world.
        occupancy: `[S]`, ρ.
        discount: γ.
        start: `[S]`, (1-γ) P₀.
        supply: `[S]`, ρ - (1-γ) P₀: what the flow has to bring.
        columns: `[n]`, the available pairs s·|A| + a.
        flow: `[S, n]`, γ T(s|s',a').
        owner: `[S, n]`, one where the action is one of the state's.
    """

    def __init__(self, mdp: MDP, occupancy: ArrayLike):
        import scipy.sparse

        self.mdp = mdp
        self.occupancy: np.ndarray = np.asarray(as_occupancy(occupancy, mdp), float)
        self.discount: float = float(mdp.discount)
        self.start: np.ndarray = (1 - self.discount) * np.asarray(mdp.initial, float)
        self.supply: np.ndarray = self.occupancy - self.start
        self.columns: np.ndarray = np.flatnonzero(np.asarray(mdp.mask))
        count = len(self.columns)
        kernel = scipy.sparse.csr_array(mdp.kernel.to_sparse(), dtype=float)
        self.flow: Any = scipy.sparse.csc_array((self.discount * kernel[self.columns]).T)
        placed = (np.ones(count), (self.columns // mdp.num_actions, np.arange(count)))
        self.owner: Any = scipy.sparse.csc_array(placed, shape=(mdp.num_states, count))

    def table(self, numbers: np.ndarray, fill: float) -> np.ndarray:
        """Return one number per available pair as an array `[S, A]`, with `fill` elsewhere."""
        out = np.full(self.mdp.mask.size, fill)
        out[self.columns] = numbers
        return out.reshape(self.mdp.mask.shape)

    def policy(self, x: np.ndarray) -> np.ndarray:
        """π(a|s) = x(s,a) / Σ_a x(s,a), uniform where there is nothing to divide."""
        measure = self.table(np.maximum(x, 0), 0.0)
        total = measure.sum(-1, keepdims=True)
        seen = total > 0
        return np.where(seen, measure / np.where(seen, total, 1), np.asarray(uniform_policy(self.mdp.mask), float))

    def violation(self, policy: np.ndarray) -> float:
        """‖ρ - (1-γ) P₀ - γ P_πᵀρ‖₁."""
        measure = (self.occupancy[:, None] * policy).ravel()[self.columns]
        return float(np.abs(self.supply - self.flow @ measure).sum())

    def reached(self, policy: np.ndarray) -> np.ndarray:
        """ρ_π, by a direct solve that stays sparse if the chain is."""
        import scipy.sparse.linalg

        chosen = self.owner * policy.ravel()[self.columns]
        system = scipy.sparse.csc_array(scipy.sparse.eye_array(self.mdp.num_states) - self.flow @ chosen.T)
        if system.nnz > DENSE_FROM * self.mdp.num_states**2:
            return np.linalg.solve(system.toarray(), self.start)
        return scipy.sparse.linalg.splu(system).solve(self.start)

    def largest_return(self, reward: np.ndarray, value: np.ndarray) -> float:
        """Return an upper bound on max_π ⟨ρ_π, R⟩, from any `value` V.

        It is (1-γ) ⟨P₀, V⟩ + max(0, max (R + γ T V - V)). It holds because ρ_π has a mass of at most one, and is
        attained by the optimal V.
        """
        advantage = float((self.owner.T @ (reward - value) + self.flow.T @ value).max())
        return float(self.start @ value) + max(0.0, advantage)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome(ShortRepr):
    """How a linear program ended.

    Attributes:
        converged: Whether the solver ended well, and primal and dual agree.
        message: What the solver said.
        seconds: What it took.
    """

    converged: bool
    message: str = ""
    seconds: float = 0.0


class Equations(NamedTuple):
    """`matrix` x = `target`; one row per state, or per feature."""

    matrix: "scipy.sparse.csc_array"
    target: np.ndarray


Result = TypeVar("Result", bound=Outcome)


def least_violation(
    wanted: Equations,
    exact: Equations,
    read: Callable[[np.ndarray, np.ndarray, np.ndarray], Result],
    *,
    time_limit: float | None,
    throw: bool,
) -> Result:
    """Minimize ‖A x - b‖₁ of the `wanted` equations over x >= 0 that satisfy the `exact` ones.

    The solver is HiGHS. Interior points with crossover are tried first, the simplex method should they fail. On grids
    of 10⁴ states the two take about as long, save where an infeasible occupancy is to be approached: that takes simplex
    steps more than 40 s.

    Args:
        wanted: The equations to come close to.
        exact: The equations to satisfy.
        read: Makes a result of x and the duals of both, and says in it whether they agree.
        time_limit: Seconds for each method.
        throw: Raise `ConvergenceError` if neither method ends well.
    """
    import scipy.optimize
    import scipy.sparse

    if time_limit is not None:
        as_positive("the time limit", time_limit)
    rows, count = wanted.matrix.shape  # pyright: ignore[reportGeneralTypeIssues]
    states = exact.matrix.shape[0]  # pyright: ignore[reportOptionalSubscript]
    identity, nothing = scipy.sparse.eye_array(rows), scipy.sparse.csc_array((states, rows))
    solve = functools.partial(
        scipy.optimize.linprog,
        c=np.concatenate([np.zeros(count), np.ones(2 * rows)]),
        A_eq=scipy.sparse.block_array(
            [[wanted.matrix, identity, -identity], [exact.matrix, nothing, nothing]], format="csc"
        ),
        # In units of 1/|S|: HiGHS's tolerances are absolute, and 1e-10 is the least it takes.
        b_eq=states * np.concatenate([wanted.target, exact.target]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": time_limit},
    )
    begin, message = time.perf_counter(), ""
    result = dataclasses.replace(read(np.zeros(count), np.zeros(rows), np.zeros(states)), converged=False)
    for method in ("highs-ipm", "highs-ds"):
        answer = solve(method=method)
        message = " ".join(answer.message.split())
        if answer.status == 0:
            result = read(answer.x[:count], *np.split(answer.eqlin.marginals, [rows]))
            if result.converged:
                break
    seconds = time.perf_counter() - begin
    if throw and not result.converged:
        raise ConvergenceError(
            f"the linear program over {states} states did not end in a solution after {seconds:.1f} s ({message});"
            " raise the time limit or the tolerance, or pass throw=False to look at the unfinished result."
        )
    return dataclasses.replace(result, message=message, seconds=seconds)


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
        as_positive("the tolerance", tolerance)
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
    return default_tolerance(mdp) if tolerance is None else as_positive("the tolerance", tolerance)


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
    phi = as_floats("the feature matrix", features)
    require_shape("the feature matrix", phi, (mdp.num_states, *phi.shape[1:2]), "states, features")
    require_finite("the feature matrix", phi, ("state", "feature"))
    largest = float(np.abs(phi).max(initial=0.0)) or 1.0
    if tolerance is None:
        tolerance = largest * default_tolerance(mdp) / (1 - problem.discount)
    as_positive("the tolerance", tolerance)
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
        >>> from robustirl.planning.evaluation import state_action_occupancy
        >>> env = ThreeState()
        >>> second = [[0.0, 1.0], [0.5, 0.5], [0.5, 0.5]]  # Never a1, the action that the worlds disagree about.
        >>> pairs = state_action_occupancy(env.mdp(0.3), second)
        >>> match_state_actions(env.mdp(0.0), pairs).feasible
        True
    """
    require_shape("the occupancy", occupancy, mdp.mask.shape, "states, actions")
    pairs = as_floats("the occupancy", occupancy).astype(float)
    require_distributions("the occupancy", pairs.ravel())
    outside = (pairs > 0) & ~np.asarray(mdp.mask)
    if outside.any():
        state, action = (int(i) for i in np.argwhere(outside)[0])
        raise InvalidInputError(
            f"the occupancy has {float(pairs[state, action])!r} at state {state}, action {action}, which the world does"
            " not have; no policy of it can have this occupancy."
        )
    tolerance = _as_tolerance(mdp, tolerance)
    problem = FlowProblem(mdp, pairs.sum(-1))
    policy = problem.policy(pairs.ravel()[problem.columns])
    violation = problem.violation(policy)
    reached = problem.reached(policy)[:, None] * policy
    return PairMatching(violation <= tolerance, policy, violation, float(np.abs(reached - pairs).sum()))
