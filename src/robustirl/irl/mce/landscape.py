"""What an optimizer may ask about the dual around the present parameters: its curvature, and its value elsewhere."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from robustirl.rewards import AbstractReward, LinearReward, TabularReward
from robustirl.types import FloatTree


class Landscape(eqx.Module):
    """The dual around one point.

    Attributes:
        curvature: Its second derivative there: a `Curvature`, or the `Information` of a likelihood.
        objective: Parameters to c(θ), and whether the plan is accurate enough for it.
        magnitude: The size of what cancels in c, for rounding: (1-γ) P₀ᵀ|V| + ρᵀ|R|.
    """

    curvature: Any
    objective: Callable[[FloatTree], tuple[Float[Array, ""], Bool[Array, ""]]]
    magnitude: Float[Array, ""]

    @property
    def entropy(self) -> float | Float[Array, ""]:
        """Return τ log A, the most that the player's entropy adds to the value of a step."""
        actions = self.curvature.player.shape[1]
        return self.curvature.temperature * math.log(max(actions, 2))

    def scales(self) -> Float[Array, " d"] | float:
        """Return the largest |∂R/∂θ_j| over states, or pairs, for every parameter."""
        features = self.curvature.features
        if features is None:
            return 1.0
        return feature_scales(features)


def is_linear(model: AbstractReward) -> bool:
    """Return whether a reward model is linear in its parameters, as the curvature requires."""
    return isinstance(model, TabularReward | LinearReward)


def features_of(model: AbstractReward) -> Float[Array, "S d"] | Float[Array, "S A d"] | None:
    """Return the derivative of a linear reward in its parameters; None for the identity."""
    return model.features if isinstance(model, LinearReward) else None


def matching_gap(
    features: Float[Array, "S d"] | Float[Array, "S A d"] | None,
    difference: Float[Array, " S"] | Float[Array, "S A"],
) -> Float[Array, ""]:
    """Return the size of ρ_mix - ρ in what the reward can express.

    It is the gap that learning is able to close. That is the occupancy gap ‖ρ_mix - ρ‖₁ for a reward of every state,
    and for a linear one the sum of the feature gaps |Σ_s φ_j(s) (ρ_mix - ρ)(s)|, each in units of max_s |φ_j(s)|. For
    one-hot features the two are the same. Rewards of states and actions sum over both.

    Example:
        >>> difference = jnp.array([0.25, -0.25, 0.0])
        >>> matching_gap(None, difference).item(), matching_gap(jnp.array([[1.0], [1.0], [0.0]]), difference).item()
        (0.5, 0.0)
    """
    if features is None:
        return jnp.abs(difference).sum()
    return jnp.abs(jnp.tensordot(difference, features, difference.ndim) / feature_scales(features)).sum()


def feature_scales(features: Float[Array, "S d"] | Float[Array, "S A d"]) -> Float[Array, " d"]:
    """Return max |φ_j| for every feature; one for a feature that is zero everywhere."""
    largest = jnp.max(jnp.abs(features), tuple(range(features.ndim - 1)))
    return jnp.where(largest > 0, largest, 1)
