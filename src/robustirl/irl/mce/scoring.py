r"""Fisher scoring with a line search: the default way to maximize a likelihood.

A step solves (F + μ diag F) δ = -g, with F the Fisher information of a recorded choice and g the gradient of minus the
mean log-likelihood. The damping μ falls while full steps lower the objective, and rises where they must be shortened
(Levenberg, Marquardt). Directions that the data do not identify have no information and no gradient: they stay put.
"""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import epsilon
from robustirl.irl.mce.descent import _NewtonPath
from robustirl.irl.mce.landscape import Landscape
from robustirl.irl.mce.line_search import search_length
from robustirl.types import FloatTree

FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-12
FALL, RISE = 0.03, 10.0
MOST_CUTS, CUT = 30, 0.3
UNIDENTIFIED = 1e-14  # Of the largest information: what has less is held in place.
PROGRESS, PATIENCE = 0.9, 10  # Settled after so many steps that leave more than this share of the gradient.


class ScoringState(NamedTuple):
    """Where the last step was taken."""

    damping: Float[Array, ""]  # μ
    gradient: Float[Array, ""]  # The smallest ‖g‖₁ so far, but for steps without progress.
    idle: Int[Array, ""]  # How many steps in a row have made no progress, while the objective stood still.
    value: Float[Array, ""]


class _Scoring(_NewtonPath):
    """An Optax transformation whose `update` needs the `landscape`.

    The curvature of the landscape is the information.
    """


def is_scoring(optimizer: object) -> bool:
    """Return whether an optimizer is Fisher scoring, which is for likelihoods alone."""
    return isinstance(optimizer, _Scoring)


def scoring() -> optax.GradientTransformationExtraArgs:
    """Return Fisher scoring as an Optax transformation.

    Example:
        >>> float(scoring().init(jnp.zeros(2)).damping) < 0.01
        True
    """

    def init(parameters: FloatTree) -> ScoringState:
        flat, _ = ravel_pytree(parameters)
        damping, infinite = (jnp.asarray(number, flat.dtype) for number in (FIRST_DAMPING, jnp.inf))
        return ScoringState(damping, infinite, jnp.asarray(0), infinite)

    def update(gradient: FloatTree, state: ScoringState, parameters: FloatTree, *, value, landscape: Landscape, **_):
        slope_vector, _ = ravel_pytree(gradient)
        theta, unravel = ravel_pytree(parameters)
        direction = -damped_solve(landscape.curvature, slope_vector, state.damping)
        slope = slope_vector @ direction
        # Below this the objective is rounding, and a step is judged by the gradient alone.
        slack = 8 * epsilon(theta) * jnp.maximum(jnp.abs(value), 1)

        def objective(length: Float[Array, ""]) -> tuple[Float[Array, ""], Bool[Array, ""]]:
            return landscape.objective(unravel(theta + length * direction))

        length, good, cuts = search_length(
            objective, value, slope, slack, cut=CUT, most_cuts=MOST_CUTS, skip=jnp.asarray(False)
        )
        damping = jnp.where(cuts == 0, jnp.maximum(FALL * state.damping, LEAST_DAMPING), RISE * state.damping)
        size = jnp.abs(slope_vector).sum()
        better = (size < PROGRESS * state.gradient) | (value < state.value - slack)
        idle = jnp.where(better, 0, state.idle + 1)
        moving = good & jnp.isfinite(slope) & (idle < PATIENCE)
        moved = jnp.where(moving, length, 0) * jnp.nan_to_num(direction)
        least = jnp.minimum(size, state.gradient)
        return unravel(moved), ScoringState(damping, least, idle, jnp.minimum(value, state.value))

    return _Scoring(init, update)  # pyright: ignore[reportArgumentType]


def damped_solve(
    matrix: Float[Array, "d d"], right: Float[Array, " d"], damping: Float[Array, ""]
) -> Float[Array, " d"]:
    """Return (F + μ diag F)⁻¹ b in units in which F has a unit diagonal."""
    diagonal = jnp.diagonal(matrix)
    least = UNIDENTIFIED * jnp.max(diagonal)
    known = diagonal > least
    unit = jnp.where(known, 1 / jnp.sqrt(jnp.where(known, diagonal, 1)), 0)
    system = matrix * unit[:, None] * unit + jnp.diag(jnp.where(known, damping, 1))
    return unit * jnp.linalg.solve(system, unit * right)


SCORING = scoring()
"""Fisher scoring: the default for objective="likelihood"."""
