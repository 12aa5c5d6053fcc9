r"""How exactly a step of learning has to be planned.

A gradient step follows ρ_mix - ρ. As long as that is large, digits of ρ_mix far below it are wasted: at γ = 0.99 a
plan to 1e-10 takes as many products as a cold solve, however close the start. In large worlds plain gradient methods
therefore plan to a share of the smallest gap so far, and exactly once the gap is close to its goal. Methods that
compare values (line searches, Newton steps) and fits with a `planner_tolerance` are always planned exactly.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from robustirl._runtime import working_precision
from robustirl.irl.mce.descent import is_newton_path
from robustirl.irl.mce.problem import Problem
from robustirl.planning import StoppingRule
from robustirl.types import Tree

LEAST_STATES = 5000  # In smaller worlds exact plans are cheap.
SHARE = 0.1  # Of the gap: what a plan's Bellman residual and the error of its occupancy may be.
CLOSE = 3  # Times the goal: from there on plans are exact.


@working_precision
def plans_roughly(problem: Problem) -> bool:
    """Return whether the steps of this fit are planned to a share of the gap."""
    if problem.planner_tolerance is not None or problem.uncertainty is not None:
        return False
    if problem.expert.shape[-1] <= LEAST_STATES:
        return False
    return not (is_newton_path(problem.optimizer) or compares_values(problem))


def compares_values(problem: Problem) -> bool:
    """Return whether the optimizer asks for the objective at other parameters, as line searches do."""
    asked = False

    def objective(parameters: Tree) -> Float[Array, ""]:
        nonlocal asked
        asked = True
        return jnp.zeros((), problem.expert.dtype) * sum(jnp.sum(leaf) for leaf in jax.tree.leaves(parameters))

    def update() -> Tree:
        extended = optax.with_extra_args_support(problem.optimizer)
        parameters = problem.model.initial_parameters()
        zero = jnp.zeros((), problem.expert.dtype)
        memory = extended.init(parameters)
        return extended.update(parameters, memory, parameters, value=zero, grad=parameters, value_fn=objective)

    jax.eval_shape(update)
    return asked


def loosened(
    rule: StoppingRule, value: Float[Array, " S"], gap: Float[Array, ""], goal: Float[Array, ""]
) -> tuple[StoppingRule, Float[Array, ""]]:
    """Return the rule for the value of a step, and the error that its occupancy may have.

    Args:
        rule: The rule of an exact plan.
        value: The value that the step starts from.
        gap: The smallest gap so far; infinite at the start.
        goal: The gap at which the fit ends.
    """
    share = jnp.where(gap > CLOSE * goal, SHARE * jnp.minimum(gap, 1), 0)
    tolerance = jnp.maximum(rule.tolerance, share / ((1 - rule.discount) * rule.scale(value)))
    return eqx.tree_at(lambda r: r.tolerance, rule, tolerance), jnp.maximum(rule.tolerance, share)
