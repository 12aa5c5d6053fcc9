"""The interface of solvers."""

import abc
from typing import ClassVar

from robustirl._runtime import PlainModule
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.verdict import Solution

NEWTON_MAX_STEPS = 500  # Each step halves the residual, so that float64 does not need as many.


class AbstractSolver(PlainModule):
    """A method for the fixed point of a game. Its fields are its tuning numbers: they change the time, not the answer.

    A solver keeps the tolerance of the problem or says in its verdict that it did not.
    """

    description: ClassVar[str] = "the solver"
    """What messages call it."""

    @abc.abstractmethod
    def run(self, problem: PlanningProblem, max_steps: int | None) -> Solution:
        """Solve a checked problem in at most `max_steps` steps, or as many as the method can need if None."""
