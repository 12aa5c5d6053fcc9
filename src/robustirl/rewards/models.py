"""Reward models R_θ(s): how parameters become one reward per state.

A model is a function of its parameters; the parameters are a separate tree of arrays, so that any
optimiser can move them and nothing else. The learning loop asks a model for nothing more than this.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.precision import as_float
from robustirl.types import ArrayLike


class AbstractReward(eqx.Module):
    """A parametrised reward over the states of a world."""

    @abc.abstractmethod
    def initial_parameters(self) -> PyTree[Float[Array, "..."]]:
        """Where learning starts."""

    @abc.abstractmethod
    def __call__(self, parameters: PyTree[Float[Array, "..."]]) -> Float[Array, " S"]:
        """The reward of every state under these parameters, differentiable in them."""


class TabularReward(AbstractReward):
    """One parameter per state: the one-hot features of the paper. Learning starts from zero.

    Example:
        >>> model = TabularReward(2)
        >>> model(model.initial_parameters()).tolist()
        [0.0, 0.0]
    """

    num_states: int = eqx.field(static=True)

    def initial_parameters(self) -> Float[Array, " S"]:
        return jnp.zeros(self.num_states, dtype=float)

    def __call__(self, parameters: Float[Array, " S"]) -> Float[Array, " S"]:
        return parameters


class LinearReward(AbstractReward):
    """R_θ(s) = ⟨θ, φ(s)⟩ for features φ `[S, d]`. Learning starts from zero.

    Example:
        >>> LinearReward([[1.0, 0.0], [1.0, 1.0]])(jnp.array([2.0, -1.0])).tolist()
        [2.0, 1.0]
    """

    features: Float[Array, "S d"]

    def __init__(self, features: ArrayLike):
        if checks.concrete(features):
            features = checks.as_floats("the feature matrix", features)
            if features.ndim != 2 or 0 in features.shape:
                raise InvalidInputError(
                    f"the feature matrix has shape {features.shape}, but (S, d) is needed: d features for every state."
                )
            checks.require_finite("the feature matrix", features, ("state", "feature"))
        self.features = as_float(features)

    def initial_parameters(self) -> Float[Array, " d"]:
        return jnp.zeros(self.features.shape[1], self.features.dtype)

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, " S"]:
        return self.features @ parameters
