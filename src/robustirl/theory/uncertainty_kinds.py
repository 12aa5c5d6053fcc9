"""The sets of kernels by name, made from a radius or from α.

Example:
    >>> from robustirl.mdp import MDP
    >>> coin = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
    >>> value = jnp.array([1.0, 0.0])
    >>> {kind: as_uncertainty(coin, alpha=0.5, kind=kind).lowest(value)[0, 0].item() for kind in KINDS}
    {'ball': 0.0, 'mixture': 0.25, 'game': 0.5}
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from robustirl._runtime import as_float, short_repr, sum_tolerance, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_local_alpha, as_world, checks
from robustirl.theory.kl_ball import KLBall
from robustirl.theory.shared_ball import SharedBall
from robustirl.theory.uncertainty import AbstractUncertainty, Ball, Game, Mixture
from robustirl.types import ArrayLike

KINDS: dict[str, type[AbstractUncertainty]] = {"ball": Ball, "mixture": Mixture, "game": Game}


@working_precision
def as_uncertainty(
    mdp: MDP,
    *,
    radius: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    kind: str = "ball",
    temperature: float = 1.0,
) -> AbstractUncertainty:
    """Return the set of kernels of a kind around a world, of radius δ or of α = 1 - δ/2.

    One of the two is given.

    Args:
        mdp: The world in the middle.
        radius: δ, one number for all pairs or one each, `[S, A]`, as `row_distances` of two kernels gives; for `kl` the
            relative entropy.
        alpha: α in place of the radius, likewise, or one a state, `[S]`; not for `kl`.
        kind: `ball`, `mixture` or `game`; `kl` (`kl_ball.py`); or `shared`, an ℓ1 budget that the actions of a state
            share (`shared_ball.py`).
        temperature: Of the player whom `shared` is against.

    Example:
        >>> as_uncertainty(MDP([[[1.0]]], discount=0.5), radius=0.5, kind="mixture").strength.tolist()
        [[0.25]]
    """
    kinds = (*KINDS, "kl", "shared")
    if kind not in kinds:
        raise InvalidInputError(f"the kind of uncertainty is {kind!r}, but one of {', '.join(kinds)} is needed.")
    number = checks.as_number("the temperature", temperature)
    if not 0 <= number < np.inf or (number == 0 and kind == "shared"):  # What is shared is shared out by the policy.
        least = "above 0" if kind == "shared" else "of at least 0"
        raise InvalidInputError(f"the temperature is {short_repr(temperature)}, but a finite number {least} is needed.")
    for name, given in (("radius", radius), ("alpha", alpha)):
        if isinstance(given, bool | np.bool_):
            raise InvalidInputError(f"{name} is {given!r}, but a number is needed.")
    if as_world(mdp).kernel.leaky:
        raise InvalidInputError(
            "a leaky world cannot be the middle of a set of kernels, because its rows sum to less than 1;"
            " use the evaluation world of the same environment instead."
        )
    if radius is not None and alpha is not None:
        raise InvalidInputError(
            f"both radius {radius!r} and alpha {alpha!r} are given, but one says it all: radius = 2 (1 - alpha)."
        )
    if kind == "kl":
        return KLBall(mdp, _as_entropy(radius, alpha, mdp))
    if alpha is not None:
        strength = jnp.broadcast_to(1 - as_local_alpha(alpha, mdp), mdp.mask.shape)
    elif radius is None:
        raise InvalidInputError(
            "neither radius nor alpha is given; say how far kernels may be from the world's by one of them."
        )
    else:
        strength = _as_radius(radius, mdp) / 2
    if kind == "shared":
        return SharedBall(mdp, strength, number)
    return KINDS[kind](mdp, strength)


def _as_entropy(radius: ArrayLike | None, alpha: ArrayLike | None, mdp: MDP) -> Float[Array, "S A"]:
    """Return the relative entropy of a KL ball as checked numbers of at least 0."""
    if radius is None or alpha is not None:
        raise InvalidInputError("a KL ball is given by a radius, the relative entropy in nats, and not by alpha.")
    if np.shape(radius):
        checks.require_shape("the radius", radius, mdp.mask.shape, "states, actions, or one number for all")
    if checks.concrete(radius):
        radius = checks.as_floats("the radius", radius)
        if not np.all((radius >= 0) & np.isfinite(radius)):
            raise InvalidInputError("the radius of a KL ball has an entry that is not a finite number of at least 0.")
    return jnp.broadcast_to(as_float(radius), mdp.mask.shape)


def _as_radius(radius: ArrayLike, mdp: MDP) -> Float[Array, "S A"]:
    """Return δ as checked numbers in [0, 2].

    The largest ℓ1 distance of two distributions is 2.
    """
    if np.shape(radius):
        checks.require_shape("the radius", radius, mdp.mask.shape, "states, actions, or one number for all")
    if checks.concrete(radius):
        radius = checks.as_floats("the radius", radius)
        bad = ~((radius >= 0) & (radius <= 2 + sum_tolerance(radius.dtype)))  # Distances are sums, with rounding.
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            where = f" at {checks.place(index)}" if index else ""
            raise InvalidInputError(
                f"the radius{where} is {float(radius[index])!r}, but ℓ1 distances of distributions are from 0 to 2."
            )
    return jnp.broadcast_to(jnp.minimum(as_float(radius), 2), mdp.mask.shape)
