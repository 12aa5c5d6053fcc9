r"""One function for all solvers, and the choice between them.

| solver | how | where it is fastest |
| --- | --- | --- |
| `ValueIteration` | repeated backups | discounts up to 0.6; on a GPU up to γ ≈ 0.99 |
| `Newton` | steps with the inverse of I - γ P_mix | up to 200 states; on a GPU up to 1000 with γ from 0.9995 |
| `NewtonKrylov` | steps with BiCGStab, no matrix | large worlds |
| `NewtonSparse` | steps with sparse factorizations, on the CPU | grids with γ from 0.9995; chains and rings |

`docs/benchmarks.md` has the measurements behind the choice.
"""

import functools

import jax

from robustirl._runtime import WORKING_BYTES, require_memory, wait_interruptibly, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame, as_count, as_game, concrete
from robustirl.planning._methods import solver_of_method
from robustirl.planning.linear.dense import writes_matrices
from robustirl.planning.operators import Temperatures
from robustirl.planning.padding import cut_solution, pad_planning
from robustirl.planning.problem import planning_problem
from robustirl.planning.progress import run_with_progress
from robustirl.planning.renumbering import in_good_order, in_own_order
from robustirl.planning.solvers.base import AbstractSolver
from robustirl.planning.solvers.newton import Newton
from robustirl.planning.solvers.newton_krylov import NewtonKrylov
from robustirl.planning.solvers.newton_sparse import NewtonSparse
from robustirl.planning.solvers.value_iteration import ValueIteration
from robustirl.planning.verdict import Solution, checked
from robustirl.types import ArrayLike

SWEEP_MAX_DISCOUNT = 0.6  # Up to this discount fifty sweeps suffice for ten digits.
SPARSE_MIN_DISCOUNT = 0.9995  # From this discount on direct methods are faster.
LARGEST_INVERTED = 1000  # States up to which that holds for inverses, on a GPU.
NARROW = 8  # States that a move of a chain or a ring leads ahead at most: its factors stay as narrow, at any discount.
LARGEST_FACTORED = 300_000  # States up to which that holds for sparse factorizations of grids, on a CPU.


@working_precision
def solve(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    *,
    solver: AbstractSolver | None = None,
    temperatures: Temperatures = Temperatures(),
    initial_value: ArrayLike | None = None,
    tolerance: float | None = None,
    max_steps: int | None = None,
    progress: bool = False,
    throw: bool = True,
    method: str | None = None,
) -> Solution:
    """Solve the game by a solver, or by the one that should be fastest here.

    Args:
        game: The world and α; a world alone stands for α = 1.
        reward: R(s), `[S]`, or R(s,a), `[S, A]`: the reward of the executed action, of the player or the opponent.
        solver: `ValueIteration()`, `Newton()`, `NewtonKrylov()` or `NewtonSparse()`. None chooses.
        temperatures: Entropy weights of player and opponent; the paper's by default.
        initial_value: Where to start, `[S]`; zero by default.
        tolerance: The guaranteed ‖V - V*‖∞, relative to ‖V‖∞, or to the temperature where that is larger. By default
            1e-10 in float64, and the absolute error must not exceed the temperature. This holds for all solvers.
        max_steps: The largest number of backups or Newton steps; by default as many as can be needed.
        progress: Show a bar: of value iteration with an estimate of the time left, of other solvers the time.
        throw: Raise `ConvergenceError` if the tolerance is not reached.
        method: Deprecated: the solver by its name in version 0.1.

    Example:
        >>> world = MDP([[[1.0]]], discount=0.5)
        >>> round(solve(world, [1.0]).value.item(), 6)
        2.0
        >>> int(solve(world, [1.0], solver=ValueIteration(), max_steps=3, throw=False).verdict.iterations)
        3
    """
    game = as_game(game)
    if method is not None:
        solver = solver_of_method(method)
    solver = choose_solver(game) if solver is None else _as_solver(solver)
    if max_steps is not None:
        max_steps = as_count("max_steps", max_steps, 1)
    problem = planning_problem(game, reward, temperatures, initial_value, tolerance)
    if concrete(game) and not writes_matrices(game.mdp):
        needed = WORKING_BYTES * float(game.mdp.num_states)
        require_memory(needed, f"solving a world of {game.mdp.num_states} states", "use a smaller one")
    inner, order = in_good_order(problem)
    run = functools.partial(run_with_progress, solver, game.mdp.num_states) if progress else solver.run
    found = wait_interruptibly(run(pad_planning(inner), max_steps))
    solution = in_own_order(cut_solution(found, inner), order)
    return checked(solution, throw=throw, solver=solver.description, rule=problem.rule)


def choose_solver(game: MarkovGame | MDP) -> AbstractSolver:
    """Return the solver that should be fastest for this game on this device.

    Example:
        >>> choose_solver(MDP([[[1.0]]], discount=0.99))
        Newton()
    """
    game = as_game(game)
    mdp = game.mdp
    discount = float(mdp.discount) if concrete(mdp.discount) else 0.99
    direct, on_gpu = discount >= SPARSE_MIN_DISCOUNT, jax.default_backend() != "cpu"
    if writes_matrices(mdp) or (direct and on_gpu and mdp.num_states <= LARGEST_INVERTED):
        return Newton()
    if discount <= SWEEP_MAX_DISCOUNT:
        return ValueIteration()
    moves = mdp.kernel.diagonals
    if on_gpu or moves is None or mdp.num_states > LARGEST_FACTORED or not concrete(game):
        return NewtonKrylov()
    narrow = all(min(abs(move), mdp.num_states - abs(move)) <= NARROW for move in moves)
    return NewtonSparse() if direct or narrow else NewtonKrylov()


def _as_solver(solver: object) -> AbstractSolver:
    if not isinstance(solver, AbstractSolver):
        raise InvalidInputError(
            f"the solver is {solver!r}, but an object is needed, such as planning.Newton() or planning.NewtonKrylov()."
        )
    return solver
