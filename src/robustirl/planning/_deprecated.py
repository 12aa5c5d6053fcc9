"""The solvers of version 0.1 by their old names, each with a warning that says the new way."""

import warnings
from typing import Any

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame, as_game
from robustirl.planning.linear.dense import writes_matrices
from robustirl.planning.solvers.base import AbstractSolver
from robustirl.planning.solvers.newton import Newton
from robustirl.planning.solvers.newton_krylov import NewtonKrylov
from robustirl.planning.solvers.newton_sparse import NewtonSparse
from robustirl.planning.solvers.value_iteration import ValueIteration
from robustirl.planning.verdict import Solution
from robustirl.types import ArrayLike

_SOLVERS = {
    "value-iteration": ValueIteration(),
    "newton": Newton(),
    "newton-krylov": NewtonKrylov(),
    "newton-sparse": NewtonSparse(),
}
METHODS = ("auto", *_SOLVERS)


def solver_of_method(method: str) -> AbstractSolver | None:
    """Return the solver that version 0.1 called `method`, None for its own choice, with a warning."""
    if method not in METHODS:
        raise InvalidInputError(f"there is no method {method!r}; pass a solver, such as solver=planning.Newton().")
    solver = _SOLVERS.get(method)
    new = "without a method" if solver is None else f"with solver=planning.{type(solver).__name__}()"
    _warn(f"planning.solve(..., method={method!r})", f"planning.solve {new}", stacklevel=5)
    return solver


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
    from robustirl.planning.solve import choose_solver  # Here, because `solve` imports this module.

    _warn("planning.choose_method(game)", "planning.choose_solver(game), which returns a solver", stacklevel=3)
    chosen = choose_solver(game)
    return next(name for name, solver in _SOLVERS.items() if type(solver) is type(chosen))


def _solve(
    name: str, game: MarkovGame | MDP, reward: ArrayLike, solver: AbstractSolver, options: dict[str, Any]
) -> Solution:
    from robustirl.planning.solve import solve  # Here, because `solve` imports this module.

    new = f"planning.solve(game, reward, solver=planning.{type(solver).__name__}(), ...)"
    _warn(f"planning.{name}(game, reward, ...)", new, stacklevel=4)
    return solve(game, reward, solver=solver, **options)


def _warn(old: str, new: str, stacklevel: int) -> None:
    message = f"{old} is now {new}; the old way goes with the next version."
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
