"""Reward models R_θ(s): how parameters become one reward per state.

A model is a function of its parameters; the parameters are a separate tree of arrays, so that any
optimizer can move them and nothing else. The learning loop asks a model for nothing more than this.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import DeviceModule, as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.types import ArrayLike, FloatTree


class AbstractReward(DeviceModule):
    """A parametrized reward over the states of a world."""

    @abc.abstractmethod
    def initial_parameters(self) -> FloatTree:
        """Return the parameters that learning starts from."""

    @abc.abstractmethod
    def __call__(self, parameters: FloatTree) -> Float[Array, " S"]:
        """Return the reward of every state under these parameters, differentiable in them."""

    def padded(self, states: int) -> "AbstractReward | None":
        """Return this model for a world of more states, whose rewards are zero; None if it cannot be padded.

        Its parameters are those of this model, with arrays that may have further entries at their ends.
        """
        del states
        return None


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

    def padded(self, states: int) -> "TabularReward":
        return TabularReward(states)


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

    def padded(self, states: int) -> "LinearReward":
        return eqx.tree_at(lambda model: model.features, self, _with_zero_rows(self.features, states))


class NetworkReward(AbstractReward):
    """R_θ(s) = f_θ(φ(s)) with a small network f_θ, the same for every state: deep MCE IRL (Wulfmeier et al., 2015).

    Two hidden layers as wide as the features, with rectifiers. The paper's Table 2 says "two 2D-CNN layers" for
    ObjectWorld, without a kernel size; this is them with kernels of 1 × 1, a perceptron per state.
    `ConvolutionalReward` has larger kernels.

    Learning starts from random weights, which the key decides.

    Example:
        >>> import jax
        >>> model = NetworkReward([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]], key=jax.random.key(0))
        >>> rewards = model(model.initial_parameters())
        >>> rewards.shape, bool(rewards[0] == rewards[2])
        ((3,), True)
    """

    features: Float[Array, "S d"]
    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, features: ArrayLike, *, key: PRNGKeyArray, width: int | None = None, depth: int = 2):
        self.features = LinearReward(features).features
        inputs = self.features.shape[1]
        wide = inputs if width is None else checks.as_count("the width", width, 1)
        deep, dtype = checks.as_count("the depth", depth), self.features.dtype
        # Only the layers are kept: the activation of a perceptron is a leaf that is no array, and could not be stacked.
        self.layers = eqx.nn.MLP(inputs, 1, wide, deep, dtype=dtype, key=key).layers

    def initial_parameters(self) -> tuple[eqx.nn.Linear, ...]:
        return self.layers

    def __call__(self, parameters: tuple[eqx.nn.Linear, ...]) -> Float[Array, " S"]:
        hidden = self.features
        for layer in parameters[:-1]:
            hidden = jax.nn.relu(jax.vmap(layer)(hidden))
        return jax.vmap(parameters[-1])(hidden)[:, 0]

    def padded(self, states: int) -> "_PaddedNetwork":
        network = eqx.tree_at(lambda model: model.features, self, _with_zero_rows(self.features, states))
        return _PaddedNetwork(network, jax.device_put(np.arange(states) < len(self.features)))


class _PaddedNetwork(AbstractReward):
    """A network reward in a padded world: the network gives a reward to features of zeros, too."""

    network: NetworkReward
    exists: Bool[Array, " S"]

    def initial_parameters(self) -> FloatTree:
        return self.network.initial_parameters()

    def __call__(self, parameters: FloatTree) -> Float[Array, " S"]:
        return jnp.where(self.exists, self.network(parameters), 0)


def _with_zero_rows(features: Float[Array, "S d"], states: int) -> Float[Array, "padded_S d"]:
    """Return features with rows of zeros at the end, built on the host."""
    array = np.zeros((states, features.shape[1]), features.dtype)
    array[: features.shape[0]] = features
    return as_float(array)
