"""The optimizer of a fit: the one that was given, checked, or the default for its objective."""

from collections.abc import Sequence

import jax
import optax

from robustirl.errors import InvalidInputError
from robustirl.irl._optimizer_identity import canonical_optimizer
from robustirl.irl.mce.descent import is_newton_path
from robustirl.irl.mce.landscape import is_linear
from robustirl.irl.mce.scoring import SCORING, is_scoring
from robustirl.irl.optimizers import LBFGS, NEWTON, SETTLING_ADAM, paper_optimizer
from robustirl.mdp import MDP
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward

LARGEST_INFORMATION = 600  # Parameters, and states, up to which a likelihood is maximized by scoring.
# Parameters up to which Newton steps are the default at α = 1. Beyond, every step solves up to 400 systems as large as
# the world: on a grid of 5,184 cells with a reward for each, 8 Newton steps take six times as long as 200 steps of Adam
# with a decaying rate, and leave a gap of 0.19 where those leave 0.0007.
LARGEST_NEWTON = 5000


def matching_optimizer(
    optimizer: optax.GradientTransformation | None,
    models: Sequence[AbstractReward],
    temperatures: Temperatures,
    *,
    accurate: bool,
) -> optax.GradientTransformation:
    """Return the optimizer, or the default one.

    For rewards linear in their parameters that is `NEWTON` where accuracy counts: at α = 1, where the dual is convex,
    for up to 5,000 parameters, and wherever a tolerance is asked for. Else it is Adam with a decaying rate, whose best
    iterate acts better below α = 1.
    """
    smooth = temperatures.player > 0 and all(is_linear(model) for model in models)
    if optimizer is None:
        if not smooth:
            return paper_optimizer(models[0])
        return NEWTON if accurate else SETTLING_ADAM
    optimizer = require_optax(optimizer)
    if is_scoring(optimizer):
        raise InvalidInputError("SCORING is for objective='likelihood'; for occupancy matching use NEWTON or ADAM.")
    if is_newton_path(optimizer) and not smooth:
        raise InvalidInputError(
            "NEWTON needs a reward that is linear in its parameters and a player's temperature above 0;"
            " give another optimizer, such as robustirl.irl.ADAM."
        )
    return optimizer


def likelihood_optimizer(
    optimizer: optax.GradientTransformation | None, model: AbstractReward, mdp: MDP
) -> optax.GradientTransformation:
    """Return the optimizer, or the default if omitted.

    The default is scoring where the information is a small matrix, else L-BFGS.
    """
    if optimizer is None:
        return SCORING if max(count_parameters(model), mdp.num_states) <= LARGEST_INFORMATION else LBFGS
    if is_newton_path(optimizer) and not is_scoring(optimizer):
        raise InvalidInputError("NEWTON is for occupancy matching; for a likelihood use SCORING or LBFGS.")
    return require_optax(optimizer)


def count_parameters(model: AbstractReward) -> int:
    """Return how many numbers the parameters of a reward model are.

    Example:
        >>> from robustirl.rewards import TabularReward
        >>> count_parameters(TabularReward(7))
        7
    """
    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(model.initial_parameters)))


def require_optax(optimizer: object) -> optax.GradientTransformation:
    """Return an Optax optimizer, the first one of its kind that was seen."""
    if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
        raise InvalidInputError(
            f"the optimizer is {optimizer!r}, but an Optax optimizer is needed, such as optax.adam(0.1)."
        )
    return canonical_optimizer(optimizer)  # pyright: ignore[reportArgumentType]
