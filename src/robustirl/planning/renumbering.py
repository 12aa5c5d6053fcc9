"""Solve in an order of states that is good for memory, and give the solution back in the world's own."""

import equinox as eqx

from robustirl.mdp import Order, renumbered
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.verdict import Solution


def in_good_order(problem: PlanningProblem) -> tuple[PlanningProblem, Order | None]:
    """Return the problem in another order of its states, and that order.

    If its own order is as good, return the problem itself and None.
    """
    found = renumbered(problem.game.mdp)
    if found is None:
        return problem, None
    world, order = found
    alpha = problem.game.alpha
    alpha = order.into(alpha) if alpha.ndim else alpha
    changed = (world, alpha, order.into(problem.reward), order.into(problem.start))
    return eqx.tree_at(lambda p: (p.game.mdp, p.game.alpha, p.reward, p.start), problem, changed), order


def in_own_order(solution: Solution, order: Order | None) -> Solution:
    """Return a solution in the world's own order of states."""
    if order is None:
        return solution
    changed = tuple(order.back(array) for array in (solution.value, solution.player, solution.opponent))
    alpha = order.back(solution.alpha) if solution.alpha.ndim else solution.alpha
    return eqx.tree_at(lambda s: (s.value, s.player, s.opponent, s.alpha), solution, (*changed, alpha))
