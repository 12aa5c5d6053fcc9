"""Experts: policies that know the true reward and act in their own world.

The paper's theory has an optimal expert; its published gridworld runs have a soft-optimal one (this is a
fact about its data, not its text); a robust expert plays its own game against an opponent of strength 1-α_E.
"""

from typing import Literal, get_args

from jaxtyping import Array, Float

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning.operators import Temperatures
from robustirl.planning.solvers.newton import newton
from robustirl.types import ArrayLike

ExpertKind = Literal["soft", "optimal"]


@working_precision
def expert_policy(
    mdp: MDP, reward: ArrayLike, *, kind: str = "soft", alpha: float = 1.0, tolerance: float | None = None
) -> Float[Array, "S A"]:
    """The expert's policy in its world.

    Args:
        mdp: The expert's world M^E.
        reward: The true reward R(s), `[S]`, or R(s,a), `[S, A]`.
        kind: `soft` for the soft-optimal policy, `optimal` for the greedy one with ties shared evenly.
        alpha: α_E. Below one the expert is robust: it is the player of the game (M^E, α_E).
        tolerance: Accuracy of the solver; its default otherwise.

    Example:
        >>> world = MDP([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.9)
        >>> expert_policy(world, [-1.0, 0.0], kind="optimal").tolist()
        [[1.0, 0.0], [0.5, 0.5]]
    """
    require_expert_kind(kind)
    temperatures = Temperatures(player=1.0 if kind == "soft" else 0.0)
    return newton(MarkovGame(mdp, alpha), reward, temperatures=temperatures, tolerance=tolerance).player


def require_expert_kind(kind: str) -> None:
    """Refuse an unknown kind of expert."""
    if kind not in get_args(ExpertKind):
        raise InvalidInputError(f"the expert is {kind!r}, but one of {', '.join(get_args(ExpertKind))} is needed.")
