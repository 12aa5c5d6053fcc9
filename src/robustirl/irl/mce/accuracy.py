r"""How exactly a step of learning has to be planned.

A gradient step follows ρ_mix - ρ. As long as that is large, digits of ρ_mix far below it are wasted: at γ = 0.99 a
plan to 1e-10 takes as many products as a cold solve, however close the start. In large worlds plain gradient methods
therefore plan to a share of the smallest gap so far, and exactly once the gap is close to its goal. Methods that
compare values (line searches, Newton steps) and fits with a `planner_tolerance` are always planned exactly.

What counts is the mean of the Bellman residual over the states that are visited. The largest one belongs to a state
that is hardly visited, and is a hundred times as large. With the shares below the gap falls as with exact plans: on 10⁴
states, in 100 steps, to 0.098 with both, and to 0.101 with a mean residual three times as large.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from robustirl._runtime import working_precision
from robustirl.irl.mce.descent import is_newton_path
from robustirl.irl.mce.objective import Neighbor
from robustirl.irl.mce.problem import OCCUPANCY, Problem
from robustirl.planning import MeanAccuracy, StoppingRule
from robustirl.types import Tree

LEAST_STATES = 5000  # In smaller worlds exact plans are cheap.
SHARE = 0.1  # Of the gap: what a plan's largest Bellman residual may be, where the mean is not made small.
MEAN_SHARE = 0.003  # Of the gap: what its mean Bellman residual may be.
OCCUPANCY_SHARE = 0.2  # Of the gap: what the error of its occupancy may be.
ELSEWHERE = 0.1  # The weight of all states together in that mean, visited or not.
EXACT_PLAN_GAP = 3  # Times the goal: from there on plans are exact.


@working_precision
def plans_roughly(problem: Problem) -> bool:
    """Return whether the steps of this fit are planned to a share of the gap."""
    if problem.planner_tolerance is not None or problem.uncertainty is not None:
        return False
    if problem.objective_name != OCCUPANCY or problem.game.mdp.num_states <= LEAST_STATES:
        return False
    return not (is_newton_path(problem.optimizer) or compares_values(problem))


def compares_values(problem: Problem) -> bool:
    """Return whether the optimizer asks for the objective at other parameters.

    Line searches do.
    """
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
    rule: StoppingRule, near: Neighbor, gap: Float[Array, ""], goal: Float[Array, ""]
) -> tuple[StoppingRule, MeanAccuracy]:
    """Return the rule for the value of a step, and what suffices in the mean.

    The rule applies if the residual is a maximum. The mean is over the states as the last step visits them, with a
    share for all others. Without that share, a state whose value is wrongly low would not be visited, and its value
    would not be corrected.

    Args:
        rule: The rule of an exact plan.
        near: What the step starts from.
        gap: The smallest gap so far; infinite at the start.
        goal: The gap at which the fit ends.
    """
    far = jnp.where(gap > EXACT_PLAN_GAP * goal, jnp.minimum(gap, 1), 0)
    exact = rule.tolerance * rule.scale(near.value)
    tolerance = jnp.maximum(rule.tolerance, SHARE * far / ((1 - rule.discount) * rule.scale(near.value)))
    visits = jnp.maximum(near.occupancy, 0)
    measure = (1 - ELSEWHERE) * visits / jnp.maximum(visits.sum(), 1e-30) + ELSEWHERE / visits.size
    return eqx.tree_at(lambda r: r.tolerance, rule, tolerance), MeanAccuracy(
        measure,
        residual=jnp.maximum(MEAN_SHARE * far, (1 - rule.discount) * exact),
        occupancy=jnp.maximum(rule.tolerance, OCCUPANCY_SHARE * far),
    )
