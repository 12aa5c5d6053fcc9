"""A linear program under construction, and its solution by HiGHS."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robustirl.errors import ConvergenceError, InvalidInputError

DIGITS = 1e-6  # Added to an optimum, far above what the solver's tolerances leave open.


class Rows:
    """A linear program under construction.

    It has named blocks of variables, and rows as sums of matrices of them.
    """

    def __init__(self) -> None:
        self.size: int = 0
        self.places: dict[str, slice] = {}
        self.limits: list[tuple[float, float | None]] = []
        self.equal: list[tuple[dict[str, Any], np.ndarray]] = []
        self.below: list[tuple[dict[str, Any], np.ndarray]] = []

    def variable(self, name: str, count: int, low: float = 0.0, high: float | None = None) -> None:
        """Add a block of variables."""
        self.places[name] = slice(self.size, self.size + count)
        self.size += count
        self.limits += [(low, high)] * count

    def matrix(self, rows: list[tuple[dict[str, Any], np.ndarray]]) -> tuple[Any, np.ndarray | None]:
        """Return rows as one sparse matrix and its right side."""
        import scipy.sparse

        if not rows:
            return None, None
        table = []
        for blocks, right in rows:
            line = []
            for name, place in self.places.items():
                empty = scipy.sparse.csr_array((len(right), place.stop - place.start))
                block = blocks.get(name)
                line.append(empty if block is None else scipy.sparse.csr_array(block))
            table.append(scipy.sparse.hstack(line))
        return scipy.sparse.csr_array(scipy.sparse.vstack(table)), np.concatenate([right for _, right in rows])


def largest(program: Rows, objective: Mapping[str, float | np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """Return an upper bound on the maximum of a weighted sum of blocks, by HiGHS.

    Also return the variables that attain it. HiGHS satisfies constraints to 1e-9; `DIGITS` is added to the optimum so
    that this is no matter.
    """
    import scipy.optimize

    cost, message = np.zeros(program.size), ""
    for name, weight in objective.items():
        cost[program.places[name]] = -weight
    (above, right), (equal, target) = program.matrix(program.below), program.matrix(program.equal)
    for method in ("highs-ds", "highs-ipm"):
        found = scipy.optimize.linprog(
            cost,
            A_ub=above,
            b_ub=right,
            A_eq=equal,
            b_eq=target,
            bounds=program.limits,
            method=method,
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        message = " ".join(found.message.split())
        if found.status == 2:
            raise InvalidInputError(
                "no expert in a world within the radius has the occupancy of the demonstrations, within their error;"
                " raise the radius, or check that the states have the same numbers and starts in both worlds."
            )
        if found.status == 0:
            bound = -float(found.fun) + DIGITS
            return bound, {name: found.x[place] for name, place in program.places.items()}
    raise ConvergenceError(
        f"the linear program of the guarantee did not end in a solution ({message}); use a smaller world."
    )
