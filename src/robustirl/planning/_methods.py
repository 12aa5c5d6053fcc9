"""The names that version 0.1 had for solvers, each with a warning that says the new way."""

from robustirl._runtime import warn_renamed
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
    """Return the solver that version 0.1 called `method`, with a warning.

    The result is None for `auto`, its own choice.
    """
    if method not in METHODS:
        raise InvalidInputError(f"there is no method {method!r}; pass a solver, such as solver=planning.Newton().")
    warn_renamed(f"planning.solve(..., method={method!r})")
    return SOLVERS.get(method)
