r"""Newton steps along a path of ever weaker regularization: the default way to learn a reward, at every α.

The dual c(θ) may be flat, and where no policy matches the expert it has no minimum. What is minimized instead is

    F(θ) = c(θ) + (λ/2) Σ_j w_j θ_j²,        a minimum of which has  g_j = -λ w_j θ_j,  g the gradient of c.

It exists for every expert. Each step is a Newton step for F (`curvature.py`) with a line search on F. Whenever the
minimum for the present λ has been approached, λ is lowered, and the weights are set to w_j ∝ |g_j|: reweighted least
squares, so that the limit λ → 0 has the least ‖g‖₁ instead of the least ‖g‖₂. Then |θ_j| = const/λ where a gap
remains, and the path passes through the rewards of least size for each gap: the first one within a given gap is
also the dual of matching the expert within that radius.

The path ends where the gap is within the tolerance (the loop sees to that), or where lowering λ no longer lowers the
gap: then the update is zero, which tells the loop that the fit has settled.
"""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import epsilon
from robustirl.irl.mce.landscape import Landscape
from robustirl.irl.mce.line_search import search_length
from robustirl.types import FloatTree

FIRST_RIDGE, LAST_RIDGE = 1e-2, 1e-9
SHRINK = 0.3  # Of λ, when the minimum for it has been approached.
APPROACHED = 0.3  # A minimum counts as approached where ‖gradient of F‖₁ is at most this share of ‖g‖₁.
FLOOR = 0.05  # Of the mean |g_j|: the least weight, so that every entry stays regularized.
PROGRESS = 0.99  # A step that leaves more than this share of the smallest gap so far makes no progress.
PATIENCE = 15  # A fit has settled after so many steps without progress.
ENTROPY_SHARE = 100  # It has also settled where the player's entropy, at most τ log A a step, is below gap · |R| / 100.
MOST_CUTS, CUT = 10, 0.25


class PathState(NamedTuple):
    """Where on the path the last step was taken."""

    ridge: Float[Array, ""]  # λ
    weights: Float[Array, " d"]  # w
    gap: Float[Array, ""]  # The smallest so far, but for steps without progress.
    idle: Int[Array, ""]  # How many steps in a row have made no progress.


class _NewtonPath(optax.GradientTransformationExtraArgs):
    """An Optax transformation whose `update` needs the `landscape` of the present parameters."""


def is_newton_path(optimizer: object) -> bool:
    """Return whether an optimizer is the one of `newton_path`.

    The loop has to give the landscape to that one.
    """
    return isinstance(optimizer, _NewtonPath)


def newton_path() -> optax.GradientTransformationExtraArgs:
    """Return the method as an Optax transformation.

    Example:
        >>> import jax.numpy as jnp
        >>> newton_path().init(jnp.zeros(4)).weights.tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    def init(parameters: FloatTree) -> PathState:
        flat, _ = ravel_pytree(parameters)
        weights = jnp.full_like(flat, 1 / flat.size)
        ridge, gap = (jnp.asarray(number, flat.dtype) for number in (FIRST_RIDGE, jnp.inf))
        return PathState(ridge, weights, gap, jnp.asarray(0))

    def update(gradient: FloatTree, state: PathState, parameters: FloatTree, *, value, landscape: Landscape, **_):
        flat_gradient, _ = ravel_pytree(gradient)
        theta, unravel = ravel_pytree(parameters)
        # In units of the features' sizes, so that the path does not depend on them.
        scales = landscape.scales()
        state, settled = _lowered(state, flat_gradient / scales, theta * scales)
        # Softening the policy costs at most τ log A in ⟨ρ_mix - ρ, R⟩, which is about -‖ρ_mix - ρ‖₁ max |R| here.
        worth = jnp.abs(flat_gradient / scales).sum() * jnp.max(jnp.abs(theta * scales))
        settled = settled | (worth > ENTROPY_SHARE * landscape.entropy)
        penalty = state.ridge * state.weights * scales**2
        slope_vector = flat_gradient + penalty * theta
        direction = -landscape.curvature.solve(slope_vector, penalty)
        slope = slope_vector @ direction
        objective = value + penalty @ theta**2 / 2
        # What rounding may do to the objective must not refuse a step.
        slack = 8 * epsilon(theta) * (jnp.abs(value) + jnp.abs(landscape.magnitude))

        def penalized(length: Float[Array, ""]) -> tuple[Float[Array, ""], Bool[Array, ""]]:
            trial = theta + length * direction
            found, valid = landscape.objective(unravel(trial))
            return found + penalty @ trial**2 / 2, valid

        length, good, _ = search_length(penalized, objective, slope, slack, cut=CUT, most_cuts=MOST_CUTS, skip=settled)
        moved = jnp.where(good & ~settled & jnp.isfinite(slope), length, 0) * jnp.nan_to_num(direction)
        return unravel(moved), state

    return _NewtonPath(init, update)  # pyright: ignore[reportArgumentType]


def _lowered(
    state: PathState, gradient: Float[Array, " d"], theta: Float[Array, " d"]
) -> tuple[PathState, Bool[Array, ""]]:
    """Lower λ and renew the weights if the minimum for the present ones is close.

    Also return whether the fit has settled.
    """
    gap = jnp.abs(gradient).sum()
    better = gap < PROGRESS * state.gap
    idle = jnp.where(better, 0, state.idle + 1)
    # Parameters without a gradient do not count, so that states added to fill up a shape change nothing.
    count = jnp.maximum((gradient != 0).sum(), 1)
    held = jnp.where(jnp.isinf(state.gap), jnp.ones_like(gradient) / count, state.weights)
    left = jnp.abs(gradient + state.ridge * held * theta).sum()
    approached = left <= APPROACHED * gap
    weights = jnp.maximum(jnp.abs(gradient), FLOOR * gap / count)
    total = jnp.where(gradient != 0, weights, 0).sum()
    following = PathState(
        ridge=jnp.where(approached, SHRINK * state.ridge, state.ridge),
        weights=jnp.where(approached, weights / jnp.where(total > 0, total, 1), held),
        gap=jnp.where(better, gap, state.gap),
        idle=idle,
    )
    return following, (idle >= PATIENCE) | (following.ridge < LAST_RIDGE)
