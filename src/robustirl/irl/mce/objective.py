"""What a fit minimizes: the interface between the loop and its objectives, and what they hand to each other."""

import abc
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float

from robustirl.planning import MeanAccuracy, PolicyInverse, Solution, StoppingRule
from robustirl.types import FloatTree

if TYPE_CHECKING:
    from robustirl.irl.mce.landscape import Landscape
    from robustirl.irl.mce.problem import Problem


class Neighbor(eqx.Module):
    """What the planner starts from: a value and an occupancy close by, and an inverse.

    The inverse is there to correct them with. Large worlds have no inverse. There a first-order correction is a linear
    solve, as the planner's first step is.

    Attributes:
        value: `[S]`, V for the reward less the shift.
        occupancy: `[S]`, ρ of the mixture.
        inverse: (I - γ P_mix)⁻¹ of a policy close by.
        shift: What was taken off the reward of every step, so that values near γ = 1 stay small.
    """

    value: Float[Array, " S"]
    occupancy: Float[Array, " S"]
    inverse: PolicyInverse | None
    shift: Float[Array, ""]


class Evaluation(NamedTuple):
    """What an objective finds at some parameters.

    Attributes:
        solution: The plan under them.
        near: What the next plan starts from.
        exact: Whether linear systems were solved to their accuracy.
        difference: ρ_mix - ρ, where the objective is about occupancies; else None.
    """

    solution: Solution
    near: Neighbor
    exact: Bool[Array, ""]
    difference: Float[Array, "..."] | None


class AbstractObjective(eqx.Module):
    """A function of the reward's parameters that learning lowers."""

    @abc.abstractmethod
    def evaluate(
        self,
        problem: "Problem",
        parameters: FloatTree,
        near: Neighbor,
        rule: StoppingRule,
        accuracy: MeanAccuracy | None = None,
    ) -> tuple[Float[Array, ""], Evaluation]:
        """Return the objective and what was found on the way.

        The objective is written so that its automatic gradient is exact. `accuracy` says how rough a plan may be; None
        stands for an exact one.
        """

    @abc.abstractmethod
    def value(
        self, problem: "Problem", parameters: FloatTree, near: Neighbor, rule: StoppingRule
    ) -> tuple[Float[Array, ""], Solution]:
        """Return the objective alone, for line searches, and the plan that it rests on."""

    @abc.abstractmethod
    def landscape(
        self, problem: "Problem", parameters: FloatTree, solution: Solution, near: Neighbor, rule: StoppingRule
    ) -> "Landscape":
        """Return what an optimizer may ask about the objective around these parameters."""

    @abc.abstractmethod
    def gaps(
        self, problem: "Problem", gradient: FloatTree, found: Evaluation
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the size of what learning has to close, and what the history records of it."""

    @abc.abstractmethod
    def is_better(
        self, value: Float[Array, ""], gap: Float[Array, ""], kept_value: Float[Array, ""], kept_gap: Float[Array, ""]
    ) -> Bool[Array, ""]:
        """Return whether an iterate is to be kept rather than the best one so far."""
