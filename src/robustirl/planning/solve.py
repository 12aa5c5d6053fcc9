r"""One function for all solvers, and the choice between them.

| solver | how | where it is fastest |
| --- | --- | --- |
| `Newton` | steps with the inverse of I - γ P_mix | up to some thousand states |
| `NewtonKrylov` | steps with BiCGStab and sweeps, no matrix | larger worlds |
| `ValueIteration` | repeated backups | nowhere; a plain reference |
"""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from robustirl._check import as_count, require_kind, require_memory
from robustirl._jax import jit, wait_interruptibly, working_dtype, working_precision
from robustirl._progress import progress_bar
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.game import as_game
from robustirl.planning.krylov import NewtonKrylov
from robustirl.planning.newton import Newton
from robustirl.planning.operators import Temperatures
from robustirl.planning.problem import UNLIMITED, AbstractSolver, Memory, PlanningProblem, planning_problem
from robustirl.planning.value_iteration import ValueIteration as ValueIteration
from robustirl.planning.verdict import Solution, checked
from robustirl.types import ArrayLike

MOST_INVERTED_CPU, MOST_INVERTED_GPU = 1000, 5000
"""States up to which an inverse is cheaper than Krylov methods."""
WORTH_THREADS = 512
"""States from which several threads of LAPACK are faster than one."""
VECTORS = 60
"""Numbers a state that solvers of large worlds hold besides the world, which is there already."""


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
) -> Solution:
    """Solve the game by a solver, or by the one that should be fastest here.

    Args:
        game: The world and α; a world alone stands for α = 1.
        reward: R(s), `[S]`, or R(s,a), `[S, A]`: the reward of the executed action, of the player or the opponent.
        solver: `Newton()`, `NewtonKrylov()` or `ValueIteration()`. None chooses.
        temperatures: Entropy weights of player and opponent; the paper's by default.
        initial_value: Where to start, `[S]`; zero by default.
        tolerance: The guaranteed ‖V - V*‖∞, relative to ‖V‖∞, or to the temperature where that is larger. By default
            1e-10 in float64, and the absolute error must not exceed the temperature. This holds for all solvers.
        max_steps: The largest number of backups or Newton steps; by default as many as can be needed.
        progress: Show a bar with the time.
        throw: Raise `ConvergenceError` if the tolerance is not reached.

    Example:
        >>> world = MDP([[[1.0]]], discount=0.5)
        >>> round(solve(world, [1.0]).value.item(), 6)
        2.0
        >>> int(solve(world, [1.0], solver=ValueIteration(), max_steps=3, throw=False).verdict.iterations)
        3
    """
    game = as_game(game)
    solver = choose_solver(game.mdp) if solver is None else require_solver(solver)
    most = UNLIMITED if max_steps is None else as_count("max_steps", max_steps, 1)
    problem = planning_problem(game, reward, temperatures, initial_value, tolerance)
    require_room(solver, game.mdp)
    title = f"{solver.description}, {game.mdp.num_states} states"
    with progress_bar(title, None, show=progress), single_threaded(game.mdp):
        solution = wait_interruptibly(_run(solver, problem, solver.begin(game), jnp.asarray(most)))
    return checked(solution, throw=throw, solver=solver.description, rule=problem.rule)


@jit
def _run(solver: AbstractSolver, problem: PlanningProblem, memory: Memory, max_steps: Int[Array, ""]) -> Solution:
    return solver.steps(problem, memory, max_steps)[0]


@contextlib.contextmanager
def single_threaded(mdp: MDP) -> Iterator[None]:
    """Keep LAPACK to one thread while a small world is solved.

    XLA on a CPU leaves inverses to LAPACK, whose threads wait for each other actively. For small matrices that gains
    nothing on an idle machine, and on a busy one every wait can cost a time slice: twelve times slower was measured.
    """
    if mdp.num_states >= WORTH_THREADS or jax.default_backend() != "cpu":
        yield
        return
    global _users, _limits
    with _lock:
        _users += 1
        if _users == 1:
            _limits = _thread_pools().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:  # The last of all threads that solve at the same time removes the limit.
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()


_lock, _users = threading.Lock(), 0
_limits: Any = None


@functools.cache
def _thread_pools() -> Any:
    import scipy.linalg  # noqa: F401  # Its LAPACK is the one that JAX calls, so it must be loaded before we look.
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


def choose_solver(mdp: MDP) -> AbstractSolver:
    """Return the solver that should be fastest in this world on this device.

    Example:
        >>> choose_solver(MDP([[[1.0]]], discount=0.99))
        Newton()
    """
    most = MOST_INVERTED_CPU if jax.default_backend() == "cpu" else MOST_INVERTED_GPU
    return Newton() if mdp.num_states <= most else NewtonKrylov()


def require_solver(solver: object) -> AbstractSolver:
    """Return a solver, or refuse what is none."""
    return require_kind("the solver", solver, AbstractSolver, "planning.Newton() or planning.krylov.NewtonKrylov()")  # pyright: ignore[reportArgumentType]


def require_room(solver: AbstractSolver, mdp: MDP, count: int = 1) -> None:
    """Refuse worlds whose solver needs more memory than there is."""
    states, remedy = float(mdp.num_states), "use a smaller one, or NewtonKrylov"
    numbers = states * (states if isinstance(solver, Newton) else 0) * 3 + VECTORS * states * mdp.num_actions
    require_memory(count * numbers * working_dtype().itemsize, f"solving a world of {mdp.num_states} states", remedy)
