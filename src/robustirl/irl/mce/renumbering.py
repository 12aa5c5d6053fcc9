"""Learn in an order of states that is good for memory, and give the fit back in the world's own."""

import equinox as eqx

from robustirl.irl.mce.problem import Problem
from robustirl.irl.mce.result import Fit
from robustirl.mdp import Order, renumbered
from robustirl.rewards import LinearReward, TabularReward
from robustirl.types import Tree


def order_problem(problem: Problem, start: Tree | None) -> tuple[Problem, Tree | None, Order | None]:
    """Return problem and initial parameters in another order of states, and that order.

    They are as given if the given order is as good. Rewards that are neither tabular nor linear keep their order: what
    they do with a state may depend on its number.
    """
    model = problem.model
    if problem.uncertainty is not None:
        return problem, start, None
    found = renumbered(problem.game.mdp) if isinstance(model, TabularReward | LinearReward) else None
    if found is None:
        return problem, start, None
    world, order = found
    if isinstance(model, LinearReward):
        model = eqx.tree_at(lambda m: m.features, model, order.into(model.features))
    elif start is not None:
        start = order.into(start)
    alpha = problem.game.alpha
    alpha = order.into(alpha) if alpha.ndim else alpha
    changed = (world, alpha, order.into(problem.expert), model)
    return eqx.tree_at(lambda p: (p.game.mdp, p.game.alpha, p.expert, p.model), problem, changed), start, order


def order_fit(fit: Fit, problem: Problem, order: Order | None) -> Fit:
    """Return a fit in the world's own order of states."""
    if order is None:
        return fit
    tabular = isinstance(problem.model, TabularReward)
    local = fit.alpha.ndim > 0  # Asked here: inside `parts` leaves are no arrays.

    def parts(fit: Fit) -> tuple:
        vectors = fit.player, fit.opponent, fit.reward, fit.value, fit.expert_occupancy, fit.occupancy
        vectors = (*vectors, fit.alpha) if local else vectors
        return (*vectors, fit.parameters) if tabular else vectors

    return eqx.tree_at(parts, fit, tuple(order.back(array) for array in parts(fit)))
