"""The solvers of version 0.1 by their old names, each with a warning that says the new way."""

from typing import Any

from robustirl._runtime import warn_renamed
from robustirl.mdp import MDP, MarkovGame, as_game
from robustirl.planning._methods import SOLVERS
from robustirl.planning.linear.dense import writes_matrices
from robustirl.planning.solve import choose_solver, solve
from robustirl.planning.solvers.base import AbstractSolver
from robustirl.planning.solvers.newton import Newton
from robustirl.planning.solvers.newton_krylov import NewtonKrylov
from robustirl.planning.solvers.newton_sparse import NewtonSparse
from robustirl.planning.solvers.value_iteration import ValueIteration
from robustirl.planning.verdict import Solution
from robustirl.types import ArrayLike


def value_iteration(game: MarkovGame | MDP, reward: ArrayLike, **options: Any) -> Solution:
    """Solve by value iteration, with the options of `solve`."""
    return _solve("value_iteration", game, reward, ValueIteration(), options)


def newton(game: MarkovGame | MDP, reward: ArrayLike, **options: Any) -> Solution:
    """Solve by Newton's method, with matrices in small worlds and without in large ones."""
    small = writes_matrices(as_game(game).mdp)
    return _solve("newton", game, reward, Newton() if small else NewtonKrylov(), options)


def newton_sparse(game: MarkovGame | MDP, reward: ArrayLike, **options: Any) -> Solution:
    """Solve by Newton's method with sparse factorizations."""
    return _solve("newton_sparse", game, reward, NewtonSparse(), options)


def choose_method(game: MarkovGame) -> str:
    """Return the name that version 0.1 had for the solver chosen for a game."""
    warn_renamed("planning.choose_method(game)")
    chosen = choose_solver(game)
    return next(name for name, solver in SOLVERS.items() if type(solver) is type(chosen))


def _solve(
    name: str, game: MarkovGame | MDP, reward: ArrayLike, solver: AbstractSolver, options: dict[str, Any]
) -> Solution:
    warn_renamed(f"planning.{name}(game, reward, ...)")
    return solve(game, reward, solver=solver, **options)
