"""The interface of solvers."""

import abc
import dataclasses
from typing import ClassVar

import equinox as eqx

from robustirl._runtime import field_repr
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.verdict import Solution

NEWTON_MAX_STEPS = 500  # Each step halves the residual, so that float64 does not need as many.


class AbstractSolver(eqx.Module):
    """A method for the fixed point of a game.

    Its fields are its tuning numbers: they change the time, not the answer. A solver keeps the tolerance of the problem
    or says in its verdict that it did not.
    """

    description: ClassVar[str] = "the solver"
    """What messages call it."""

    def __repr__(self) -> str:
        """Show the numbers that are not the default ones."""
        fields = {f.name: (getattr(self, f.name), f.default) for f in dataclasses.fields(self)}
        return field_repr(self, {name: value for name, (value, default) in fields.items() if value is not default})

    @abc.abstractmethod
    def run(self, problem: PlanningProblem, max_steps: int | None) -> Solution:
        """Solve a checked problem in at most `max_steps` steps.

        If `max_steps` is None, take as many as the method can need.
        """
