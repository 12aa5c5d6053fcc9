r"""The Bellman flow equations at a given occupancy, as matrices, and linear programs over them.

For the measure x(s,a) = ρ(s) π(a|s) over state-action pairs they read

    Σ_a x(s,a) = (1-γ) P₀(s) + γ Σ_{s',a'} T(s|s',a') x(s',a').

Unavailable actions are no unknowns: only available pairs have a column. All of this happens on the host, in
float64, and sparsely, whatever the kernel.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import ShortRepr, working_precision
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP, as_occupancy, uniform_policy
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
        require_positive("time limit", time_limit)
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


def require_positive(name: str, value: float) -> None:
    """Refuse what is not a finite number above zero."""
    if not 0 < value < np.inf:
        raise InvalidInputError(f"the {name} is {value!r}, but a finite number above 0 is needed.")
