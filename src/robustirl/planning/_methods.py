"""The names that version 0.1 had for solvers, each with a warning that says the new way."""

import warnings

from robustirl.errors import InvalidInputError
from robustirl.planning.solvers.base import AbstractSolver
from robustirl.planning.solvers.newton import Newton
from robustirl.planning.solvers.newton_krylov import NewtonKrylov
from robustirl.planning.solvers.newton_sparse import NewtonSparse
from robustirl.planning.solvers.value_iteration import ValueIteration

SOLVERS = {
    "value-iteration": ValueIteration(),
    "newton": Newton(),
    "newton-krylov": NewtonKrylov(),
    "newton-sparse": NewtonSparse(),
}
METHODS = ("auto", *SOLVERS)


def solver_of_method(method: str) -> AbstractSolver | None:
    """Return the solver that version 0.1 called `method`, None for its own choice, with a warning."""
    if method not in METHODS:
        raise InvalidInputError(f"there is no method {method!r}; pass a solver, such as solver=planning.Newton().")
    solver = SOLVERS.get(method)
    new = "without a method" if solver is None else f"with solver=planning.{type(solver).__name__}()"
    warn_old_way(f"planning.solve(..., method={method!r})", f"planning.solve {new}", stacklevel=5)
    return solver


def warn_old_way(old: str, new: str, stacklevel: int) -> None:
    """Warn that a name or a keyword has changed."""
    message = f"{old} is now {new}; the old way goes with the next version."
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
