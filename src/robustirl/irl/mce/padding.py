"""Worlds of many sizes in few programs: a problem is padded to one of few shapes, and its result cut back.

The further states cannot be reached, stay where they are, have no mass at the start and a reward of zero, so that their
value and their occupancy are exactly zero and no norm or sum over states changes. The numbers of a padded fit are those
of the fit itself, up to the order in which sums are rounded. The sizes of the paper's worlds are among the shapes.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float
from robustirl.irl.mce.problem import Problem
from robustirl.irl.mce.result import Fit
from robustirl.mdp import replace_parts
from robustirl.planning import writes_matrices
from robustirl.types import FloatTree

SMALLEST, LARGEST = 10, 1024
"""States of the worlds that are padded. Smaller ones have few sizes; in larger ones a copy costs too much memory."""
SIZES = (16, 25, 36, 64, 100, 144, 200, 256, 384, 512, 768, 1024)
"""States after padding. Up to 144 they are squares, because square grids are the most common worlds of few states. 200
is the last size that is planned with matrices; a step costs up to the cube of the states there, and grows with the
states alone beyond, where the shapes are further apart: a program of a fit takes seconds to compile."""
ACTIONS = {3: 4, 7: 8}
"""Actions after padding, where they change."""


def padded_states(states: int) -> int:
    """Return the number of states that a world is padded to.

    Example:
        >>> padded_states(3), padded_states(17), padded_states(100), padded_states(501), padded_states(2000)
        (3, 25, 100, 512, 2000)
    """
    if not SMALLEST <= states <= LARGEST:
        return states
    return next(size for size in SIZES if size >= states)


def pad_problem(problem: Problem) -> Problem:
    """Return the problem in a world of a common shape; itself, if it has one or cannot be padded."""
    mdp = problem.game.mdp
    if problem.expert.ndim == 2:
        return problem  # Rewards of states and actions, and choices, are used as they are.
    size, width = padded_states(mdp.num_states), mdp.num_actions
    if SMALLEST <= mdp.num_states <= LARGEST:
        width = ACTIONS.get(width, width)
    if (size, width) == (mdp.num_states, mdp.num_actions) or problem.uncertainty is not None:
        return problem
    kernel, model = mdp.kernel.padded(size, width), problem.model.padded(size)
    if kernel is None or model is None:
        return problem
    mask = np.zeros((size, width), bool)
    mask[: mdp.num_states, : mdp.num_actions] = mdp.mask
    mask[mdp.num_states :, 0] = True
    padded = replace_parts(
        mdp, kernel=kernel, mask=jax.device_put(mask), initial=_with_zeros(as_float(mdp.initial), size)
    )
    if writes_matrices(padded) != writes_matrices(mdp):
        return problem  # The planner would use another method.
    alpha = problem.game.alpha
    if alpha.ndim:
        whole = np.ones((size, width), alpha.dtype)
        whole[: mdp.num_states, : mdp.num_actions] = alpha
        alpha = jax.device_put(whole)
    changed = (padded, alpha, _with_zeros(problem.expert, size), model)
    return eqx.tree_at(lambda given: (given.game.mdp, given.game.alpha, given.expert, given.model), problem, changed)


def pad_parameters(parameters: FloatTree, padded: Problem) -> FloatTree:
    """Return parameters with zeros at the end of each array that is longer in the padded problem."""
    shapes = jax.eval_shape(padded.model.initial_parameters)
    return jax.tree.map(lambda leaf, due: _extended(leaf, due.shape), parameters, shapes)


def cut_parameters(parameters: FloatTree, problem: Problem) -> Any:
    """Return the parameters of a padded problem without what padding has added."""
    shapes = jax.eval_shape(problem.model.initial_parameters)
    return jax.tree.map(lambda leaf, due: _cut(leaf, due.shape), parameters, shapes)


def cut_policy(policy: Float[Array, "padded_S padded_A"], problem: Problem) -> Float[Array, "S A"]:
    """Return a policy in the world of the problem itself."""
    return _cut(policy, problem.game.mdp.mask.shape)


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
    policies = (*policies, _cut(alpha, problem.game.alpha.shape))
    cut = (*policies, *(_cut(vector, states) for vector in vectors), cut_parameters(parameters, problem))
    return eqx.tree_at(parts, fit, cut)


def _with_zeros(vector: Float[Array, " S"], size: int) -> Float[Array, " padded_S"]:
    return _extended(vector, (size,))


def _extended(leaf: Array, shape: tuple[int, ...]) -> Array:
    """Return an array with zeros at the ends of its axes, built on the host: on the device it would be a program."""
    if leaf.shape == shape:
        return leaf
    return as_float(np.pad(np.asarray(leaf), [(0, due - has) for has, due in zip(leaf.shape, shape, strict=True)]))


def _cut(leaf: Array, shape: tuple[int, ...]) -> Any:
    """Return the first entries along every axis, taken on the host."""
    if leaf.shape == shape:
        return leaf
    return jax.device_put(np.asarray(leaf)[tuple(slice(due) for due in shape)])
