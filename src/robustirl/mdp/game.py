"""The two-player game that the paper makes of a world, and α, the player's chance of control."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._check import as_floats, as_number_within, concrete, place, require_shape, shape_of
from robustirl._jax import DeviceModule, as_float, in_working_precision, working_dtype
from robustirl._show import short_value
from robustirl.errors import InvalidInputError
from robustirl.mdp.mdp import MDP, as_world, world_in_words
from robustirl.types import ArrayLike


class MarkovGame(DeviceModule):
    """The two-player zero-sum game on a world (Section 4.3).

    Its kernel is T^{two,L,α} = α T(·|s,a_pl) + (1-α) T(·|s,a_op). With probability α the player's action is executed,
    otherwise the opponent's; α = 1 is the world itself.

    Args:
        mdp: The world.
        alpha: α in (0, 1]: one number, or one a state `[S]`, or one a state and action of the player `[S, A]`. The
            last two are kept as `[S, A]`; α(s,a) is then the chance that the player's action a takes effect in s.

    Example:
        >>> MarkovGame(MDP([[[1.0]]], discount=0.5), alpha=0.75).alpha.item()
        0.75
        >>> MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=[0.75]).alpha.tolist()
        [[0.75, 0.75]]
    """

    mdp: MDP
    alpha: Float[Array, ""] | Float[Array, "S A"]

    def __init__(self, mdp: MDP, alpha: ArrayLike = 1.0):
        self.mdp = mdp
        self.alpha = as_local_alpha(alpha, mdp)

    def __repr__(self) -> str:
        return f"MarkovGame({world_in_words(self.mdp)}, α = {short_value(self.alpha)})"


def as_alpha(alpha: ArrayLike) -> Float[Array, ""]:
    """Return α as a checked number in (0, 1].

    It is the probability that the player's action is the one executed.
    """
    return as_number_within("alpha", alpha, "0 < alpha <= 1", lambda x: 0 < x <= 1)


def as_local_alpha(alpha: ArrayLike, mdp: MDP) -> Float[Array, ""] | Float[Array, "S A"]:
    """Return α as a checked number, or as checked numbers `[S, A]`.

    The latter are made from one number a state, or from one a state and action.

    Example:
        >>> as_local_alpha([0.5, 1.0], MDP([[[1.0, 0.0]], [[0.0, 1.0]]], discount=0.5)).tolist()
        [[0.5], [1.0]]
    """
    axes = len(shape_of("alpha", alpha))
    if axes == 0:
        return as_alpha(alpha)
    size = mdp.mask.shape
    require_shape("alpha", alpha, size if axes > 1 else size[:1], "states, actions; or states; or one number")
    if concrete(alpha):
        array = as_floats("alpha", alpha)
        bad = ~((array > 0) & (array <= 1))
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise InvalidInputError(
                f"alpha at {place(index)} is {float(array[index])!r}, but numbers with 0 < alpha <= 1 are needed."
            )
        alpha = array
    values = as_float(alpha)
    return jnp.broadcast_to(values if axes > 1 else values[:, None], size)


def as_game(game: MarkovGame | MDP) -> MarkovGame:
    """Return a game as it is, or a world as the game without an opponent.

    The result is cast to the precision in use.
    """
    if isinstance(game, MarkovGame):
        return game if game.alpha.dtype == game.mdp.initial.dtype == working_dtype() else in_working_precision(game)
    return MarkovGame(as_world(game))
