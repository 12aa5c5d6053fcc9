"""Worlds of many sizes in few programs: a world is padded to one of few shapes, and results are cut back.

The further states cannot be reached, stay where they are, have no mass at the start and a reward of zero, so that their
value and their occupancy are exactly zero and no norm or sum over states changes. The numbers are those of the world
itself, up to the order in which sums are rounded. The sizes of the paper's worlds are among the shapes.
"""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float
from robustirl.mdp import MDP, concrete, replace_parts
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.verdict import Solution

SMALLEST, LARGEST = 10, 1024
"""States of the worlds that are padded. Smaller ones have few sizes; in larger ones a copy costs too much memory."""
SIZES = (16, 25, 36, 64, 100, 144, 200, 256, 384, 512, 768, 1024)
"""States after padding. Up to 144 they are squares, because square grids are the most common worlds of few states. 200
is the last size that is planned with matrices; a step costs up to the cube of the states there, and grows with the
states alone beyond, where the shapes are further apart: a program of a fit takes seconds to compile."""
PLANNING_SIZES = (*(size for size in SIZES if size <= 200), 512, 1024)
"""States after padding for a single plan or measure, which takes milliseconds beyond 200 states, and its program up to
ten seconds."""
ACTIONS = {3: 4, 7: 8}
"""Actions after padding, where they change."""


def padded_states(states: int, sizes: tuple[int, ...] = SIZES) -> int:
    """Return the number of states that a world is padded to.

    Example:
        >>> padded_states(3), padded_states(17), padded_states(100), padded_states(501), padded_states(2000)
        (3, 25, 100, 512, 2000)
    """
    if not SMALLEST <= states <= LARGEST:
        return states
    return next(size for size in sizes if size >= states)


def pad_world(mdp: MDP, sizes: tuple[int, ...] = SIZES) -> MDP:
    """Return the world in a common shape; itself, if it has one or cannot be padded."""
    size, width = padded_states(mdp.num_states, sizes), mdp.num_actions
    if SMALLEST <= mdp.num_states <= LARGEST:
        width = ACTIONS.get(width, width)
    if (size, width) == (mdp.num_states, mdp.num_actions) or not concrete(mdp) or _is_sharded(mdp):
        return mdp
    kernel = mdp.kernel.padded(size, width)
    if kernel is None:
        return mdp
    mask = np.zeros((size, width), bool)
    mask[: mdp.num_states, : mdp.num_actions] = mdp.mask
    mask[mdp.num_states :, 0] = True
    initial = extended(as_float(mdp.initial), (size,))
    return replace_parts(mdp, kernel=kernel, mask=jax.device_put(mask), initial=initial)


def pad_planning(problem: PlanningProblem) -> PlanningProblem:
    """Return what a solver is given in a world of a common shape.

    The problem itself is returned if it has such a shape or cannot be padded.
    """
    if not concrete(problem):
        return problem
    world = pad_world(problem.game.mdp, PLANNING_SIZES)
    if world is problem.game.mdp:
        return problem
    shape = world.mask.shape
    reward = extended(problem.reward, shape[: problem.reward.ndim])
    changed = (world, pad_alpha(problem.game.alpha, shape), reward, extended(problem.start, shape[:1]))
    return eqx.tree_at(lambda p: (p.game.mdp, p.game.alpha, p.reward, p.start), problem, changed)


def cut_solution(solution: Solution, problem: PlanningProblem) -> Solution:
    """Return the solution of a padded problem as that of the problem itself."""
    shape = problem.game.mdp.mask.shape
    if solution.player.shape == shape:
        return solution
    policies = cut(solution.player, shape), cut(solution.opponent, shape)
    changed = (cut(solution.value, shape[:1]), *policies, cut(solution.alpha, problem.game.alpha.shape))
    return eqx.tree_at(lambda s: (s.value, s.player, s.opponent, s.alpha), solution, changed)


def pad_alpha(alpha: Array, shape: tuple[int, ...]) -> Array:
    """Return α, or α(s,a) with ones where there is no such state or action."""
    if not alpha.ndim or alpha.shape == shape:
        return alpha
    whole = np.ones(shape, alpha.dtype)
    whole[: alpha.shape[0], : alpha.shape[1]] = alpha
    return jax.device_put(whole)


def pad_policy(policy: Float[Array, "S A"], world: MDP) -> Float[Array, "padded_S padded_A"]:
    """Return a policy for a padded world: action 0 in the further states."""
    whole = np.zeros(world.mask.shape, policy.dtype)
    whole[: policy.shape[0], : policy.shape[1]] = policy
    whole[policy.shape[0] :, 0] = 1
    return jax.device_put(whole)


def extended(leaf: Array, shape: tuple[int, ...]) -> Array:
    """Return an array with zeros at the ends of its axes, built on the host.

    On the device it would be a program.
    """
    if leaf.shape == shape:
        return leaf
    return as_float(np.pad(np.asarray(leaf), [(0, due - has) for has, due in zip(leaf.shape, shape, strict=True)]))


def cut(leaf: Array, shape: tuple[int, ...]) -> Any:
    """Return the first entries along every axis, taken on the host."""
    if leaf.shape == shape:
        return leaf
    return jax.device_put(np.asarray(leaf)[tuple(slice(due) for due in shape)])


def _is_sharded(mdp: MDP) -> bool:
    """Return whether the states of a world lie on several devices.

    A copy would bring them together.
    """
    arrays = [leaf for leaf in jax.tree.leaves(mdp) if isinstance(leaf, jax.Array)]
    return any(len(array.sharding.device_set) > 1 for array in arrays)
