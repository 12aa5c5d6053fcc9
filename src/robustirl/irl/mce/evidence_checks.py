"""What a fit is made from, checked: the expert's occupancy, or recorded choices."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float
from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations.choices import as_choices, pair_occupancy
from robustirl.errors import InvalidInputError
from robustirl.irl.mce.choice_likelihood import Likelihood
from robustirl.irl.mce.dynamics import JointModel
from robustirl.mdp import MDP, as_occupancy, checks
from robustirl.rewards import AbstractReward
from robustirl.types import ArrayLike


def reward_shape(model: AbstractReward) -> tuple[int, ...]:
    """Return the shape of the rewards of a model: (S,) or (S, A)."""
    return jax.eval_shape(model, jax.eval_shape(model.initial_parameters)).shape


def as_expert(occupancy: ArrayLike, mdp: MDP, model: AbstractReward) -> Float[Array, " S"] | Float[Array, "S A"]:
    """Return a checked occupancy as the reward has it: ρ(s), `[S]`, or ρ(s,a), `[S, A]`.

    An occupancy of pairs is summed over actions for a reward of states.
    """
    of_pairs = len(reward_shape(model)) == 2
    axes = len(checks.shape_of("the occupancy", occupancy))
    if axes != 2:
        if of_pairs and axes == 1:
            raise InvalidInputError(
                "the reward is one of states and actions, but the occupancy is one of states; give rho(s,a), [S, A],"
                " from demonstrations with actions, or a reward of states."
            )
        return as_occupancy(occupancy, mdp)
    pairs = checks.as_floats("the occupancy", occupancy)
    checks.require_shape("the occupancy", pairs, mdp.mask.shape, "states, actions")
    absent = (pairs > 0) & ~np.asarray(mdp.mask)
    if absent.any():
        state, action = (int(i) for i in np.argwhere(absent)[0])
        raise InvalidInputError(
            f"the occupancy is {float(pairs[state, action])!r} for action {action} in state {state}, which the world"
            " does not offer there; correct the occupancy or the mask."
        )
    states = as_occupancy(pairs.sum(-1), mdp)
    if not of_pairs:
        return states
    checks.require_probabilities("the occupancy", pairs)
    return as_float(pairs)


def matched_occupancy(
    demonstrations: Demonstrations, mdp: MDP, occupancy: Float[np.ndarray, " S"], model: AbstractReward | None
) -> Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]:
    """Return what a reward model is matched by: ρ(s), or ρ(s,a) if it is of states and actions."""
    if model is None or len(reward_shape(model)) == 1:
        return occupancy
    return pair_occupancy(demonstrations, mdp, occupancy)


def as_shares(given: Any, mdp: MDP, model: AbstractReward, penalty: float) -> tuple[Float[Array, "S A"], Likelihood]:
    """Return the shares of the recorded choices, and the objective for them."""
    choices = as_choices(given)
    counts, total = choices.counts(mdp), float(len(choices))
    if isinstance(model, JointModel):
        outcomes = model.dynamics.outcomes.size
        if model.dynamics.kernels.shape[1:3] != mdp.mask.shape or outcomes != len(choices):
            raise InvalidInputError(
                f"the dynamics have {model.dynamics.kernels.shape[1:3]} states and actions and {outcomes} outcomes, but"
                f" the world has {mdp.mask.shape} and {len(choices)} choices were recorded; give one outcome a choice."
            )
    if not (isinstance(penalty, int | float | np.number) and 0 <= penalty < float("inf")):
        raise InvalidInputError(f"the penalty is {penalty!r}, but a finite number of at least 0 is needed.")
    return as_float(counts / total), Likelihood(as_float(penalty / total), as_float(total))


def require_rewards_alone(models: Sequence[AbstractReward], penalty: float) -> None:
    """Refuse what only a likelihood can use."""
    if penalty:
        raise InvalidInputError("a penalty is for objective='likelihood'; occupancy matching has none.")
    if any(isinstance(model, JointModel) for model in models):
        raise InvalidInputError("a JointModel is learned from recorded outcomes; use objective='likelihood'.")
