"""Fits in worlds of many sizes by few programs: a problem is padded as for planning, and its result cut back.

Neither the expert nor the reward model has anything in the further states, so that the numbers of a padded fit are
those of the fit itself, up to the order in which sums are rounded.
"""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from robustirl.irl.mce.problem import Problem
from robustirl.irl.mce.result import Fit
from robustirl.planning import cut, extended, pad_alpha, pad_world, writes_matrices
from robustirl.types import FloatTree


def pad_problem(problem: Problem) -> Problem:
    """Return the problem in a world of a common shape.

    It is returned as it is if it has such a shape or cannot be padded.
    """
    mdp = problem.game.mdp
    if problem.expert.ndim == 2:
        return problem  # Rewards of states and actions, and choices, are used as they are.
    if problem.uncertainty is not None:
        return problem
    padded = pad_world(mdp)
    if padded is mdp or writes_matrices(padded) != writes_matrices(mdp):
        return problem  # Beyond the border the planner would use another method.
    model = problem.model.padded(padded.num_states)
    if model is None:
        return problem
    shape = padded.mask.shape
    alpha = pad_alpha(problem.game.alpha, shape)
    changed = (padded, alpha, extended(problem.expert, shape[:1]), model)
    return eqx.tree_at(lambda given: (given.game.mdp, given.game.alpha, given.expert, given.model), problem, changed)


def pad_parameters(parameters: FloatTree, padded: Problem) -> FloatTree:
    """Return parameters with zeros at the end of arrays that are longer in the padded problem."""
    return jax.tree.map(lambda leaf, due: extended(leaf, due.shape), parameters, parameter_shapes(padded))


def parameter_shapes(problem: Problem) -> Any:
    """Return the shapes of the parameters of a problem, arranged as they are."""
    return jax.eval_shape(problem.model.initial_parameters)


def cut_parameters(parameters: FloatTree, shapes: Any) -> Any:
    """Return the parameters of a padded problem without what padding has added.

    The `parameter_shapes` say what that is.
    """
    return jax.tree.map(lambda leaf, due: cut(leaf, due.shape), parameters, shapes)


def cut_policy(policy: Float[Array, "padded_S padded_A"], problem: Problem) -> Float[Array, "S A"]:
    """Return a policy in the world of the problem itself."""
    return cut(policy, problem.game.mdp.mask.shape)


def cut_fit(fit: Fit, problem: Problem) -> Fit:
    """Return the fit of a padded problem as that of the problem itself."""
    if fit.player.shape == problem.game.mdp.mask.shape:
        return fit
    states = problem.expert.shape

    def parts(fit: Fit) -> tuple:
        vectors = fit.reward, fit.value, fit.expert_occupancy, fit.occupancy
        return fit.player, fit.opponent, fit.alpha, *vectors, fit.parameters

    player, opponent, alpha, *vectors, parameters = parts(fit)
    policies = cut_policy(player, problem), cut_policy(opponent, problem)
    policies = (*policies, cut(alpha, problem.game.alpha.shape))
    kept = cut_parameters(parameters, parameter_shapes(problem))
    return eqx.tree_at(parts, fit, (*policies, *(cut(vector, states) for vector in vectors), kept))
