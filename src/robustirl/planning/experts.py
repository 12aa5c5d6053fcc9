"""Plan experts: policies that know the true reward and act in their own world.

The paper's theory has an optimal expert; its published gridworld runs have a soft-optimal one (this is a
fact about its data, not its text); a robust expert plays its own game against an opponent of strength 1-α_E.
"""

import warnings
from typing import Literal, get_args

import numpy as np
from jaxtyping import Array, Float

from robustirl._check import as_floats, as_number, as_positive, concrete
from robustirl._jax import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning.operators import Temperatures
from robustirl.planning.solve import solve
from robustirl.types import ArrayLike

ExpertKind = Literal["soft", "optimal"]


@working_precision
def expert_policy(
    mdp: MDP,
    reward: ArrayLike,
    *,
    temperature: float | int | None = None,
    kind: str | None = None,
    alpha: float = 1.0,
    tolerance: float | None = None,
) -> Float[Array, "S A"]:
    """Return the expert's policy in its world: optimal at temperature 0, soft-optimal above.

    The larger the temperature beside the differences of the rewards, the more random is the expert. At temperature 1,
    the default and that of the published runs, it is close to optimal on the paper's grids, whose rewards go down to
    -100, and far from it where rewards are at most 1, as on FrozenLake; there the default gives a warning.

    Args:
        mdp: The expert's world M^E.
        reward: The true reward R(s), `[S]`, or R(s,a), `[S, A]`.
        temperature: 0 for the greedy policy with ties shared evenly, else that of the soft-optimal policy.
        kind: `optimal` for temperature 0, `soft` for temperature 1 if none is given.
        alpha: α_E. Below one the expert is robust: it is the player of the game (M^E, α_E).
        tolerance: Accuracy of the solver; its default if omitted.

    Example:
        >>> world = MDP([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.9)
        >>> expert_policy(world, [-1.0, 0.0], temperature=0.0).tolist()
        [[1.0, 0.0], [0.5, 0.5]]
        >>> expert_policy(world, [-1.0, 0.0], temperature=0.1)[0].round(3).tolist()
        [1.0, 0.0]
    """
    temperatures = Temperatures(player=_chosen_temperature(temperature, kind, reward))
    return solve(MarkovGame(mdp, alpha), reward, temperatures=temperatures, tolerance=tolerance).player


def _chosen_temperature(temperature: float | int | None, kind: str | None, reward: ArrayLike) -> float:
    if kind is not None:
        require_expert_kind(kind)
        if temperature is not None and _is_zero(temperature) != (kind == "optimal"):
            raise InvalidInputError(
                f"the expert is {kind!r} at temperature {temperature!r}, but 'optimal' goes with 0 and 'soft' with"
                " more; give the temperature alone."
            )
    if temperature is not None:
        return 0.0 if _is_zero(temperature) else as_positive("the temperature", temperature)
    if kind is None and concrete(reward):
        rewards = as_floats("the reward", reward)
        with np.errstate(invalid="ignore"):  # What is not finite is refused by the solver, with a sentence.
            spread = float(rewards.max(initial=-np.inf) - rewards.min(initial=np.inf))
        if 0 < spread <= 1:
            warnings.warn(
                f"no temperature was given, so the expert is soft at temperature 1, but its rewards differ by"
                f" {spread:g} at most; give temperature=0 for the optimal expert, a lower temperature, or temperature=1"
                " to keep this one.",
                UserWarning,
                stacklevel=4,
            )
    return 0.0 if kind == "optimal" else 1.0


def _is_zero(temperature: object) -> bool:
    return as_number("the temperature", temperature) == 0


def require_expert_kind(kind: str) -> None:
    """Refuse an unknown kind of expert."""
    if kind not in get_args(ExpertKind):
        raise InvalidInputError(f"the expert is {kind!r}, but one of {', '.join(get_args(ExpertKind))} is needed.")
