"""Reward models R_θ(s) and R_θ(s,a): how parameters become rewards of states, or of states and actions.

A model is a function of its parameters; the parameters are a separate tree of arrays, so that any
optimizer can move them and nothing else. The learning loop asks a model for nothing more than this. A reward of states
and actions is that of the executed action, of the player or the opponent.
"""

import abc
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import DeviceModule, as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.rewards.sizes import require_layers
from robustirl.types import ArrayLike, FloatTree


class AbstractReward(DeviceModule):
    """A parametrized reward over the states of a world, or over its states and actions."""

    @abc.abstractmethod
    def initial_parameters(self) -> FloatTree:
        """Return the parameters that learning starts from."""

    @abc.abstractmethod
    def __call__(self, parameters: FloatTree) -> Float[Array, " S"] | Float[Array, "S A"]:
        """Return the reward of every state, or of every pair, under these parameters.

        It is differentiable in the parameters.
        """

    def parameter_names(self) -> tuple[str, ...]:
        """Return a name for every number among the parameters, in the order of a flattened tree.

        Example:
            >>> LinearReward([[1.0, 0.0], [1.0, 1.0]], names=["base", "slope"]).parameter_names()
            ('base', 'slope')
        """
        sizes = [leaf.size for leaf in jax.tree.leaves(jax.eval_shape(self.initial_parameters))]
        return tuple(f"theta[{i}]" for i in range(sum(sizes)))

    def padded(self, states: int) -> "AbstractReward | None":
        """Return this model for more states, whose rewards are zero; None if it cannot be padded.

        Its parameters are those of this model, with arrays that may have further entries at their ends.
        """
        del states
        return None


class TabularReward(AbstractReward):
    """One parameter per state (the one-hot features of the paper) or per state and action.

    Learning starts from zero.

    Attributes:
        num_states: S.
        num_actions: A, for a reward of states and actions; None for one of states.

    Example:
        >>> model = TabularReward(2)
        >>> model(model.initial_parameters()).tolist()
        [0.0, 0.0]
        >>> TabularReward(2, 3).initial_parameters().shape
        (2, 3)
    """

    num_states: int = eqx.field(static=True)
    num_actions: int | None = eqx.field(static=True, default=None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the reward: (S,) or (S, A)."""
        return (self.num_states,) if self.num_actions is None else (self.num_states, self.num_actions)

    def initial_parameters(self) -> Float[Array, " S"] | Float[Array, "S A"]:
        return jnp.zeros(self.shape, dtype=float)

    def __call__(self, parameters: Float[Array, "..."]) -> Float[Array, " S"] | Float[Array, "S A"]:
        return parameters

    def parameter_names(self) -> tuple[str, ...]:
        return tuple(f"reward[{','.join(map(str, place))}]" for place in np.ndindex(self.shape))

    def padded(self, states: int) -> "TabularReward | None":
        return TabularReward(states) if self.num_actions is None else None


class LinearReward(AbstractReward):
    """R_θ(s) = ⟨θ, φ(s)⟩ for features φ `[S, d]`, or R_θ(s,a) = ⟨θ, φ(s,a)⟩ for `[S, A, d]`.

    Learning starts from zero.

    Args:
        features: φ.
        names: A name for every feature, which summaries show.

    Example:
        >>> LinearReward([[1.0, 0.0], [1.0, 1.0]])(jnp.array([2.0, -1.0])).tolist()
        [2.0, 1.0]
        >>> toll = LinearReward([[[0.0], [-1.0]]], names=["toll"])  # One state; the second of its actions costs.
        >>> toll(jnp.array([3.0])).tolist()
        [[0.0, -3.0]]
    """

    features: Float[Array, "S d"] | Float[Array, "S A d"]
    names: tuple[str, ...] | None = eqx.field(static=True)

    def __init__(self, features: ArrayLike, *, names: Sequence[str] | None = None):
        if checks.concrete(features):
            features = checks.as_floats("the feature matrix", features)
            if features.ndim not in (2, 3) or 0 in features.shape:
                raise InvalidInputError(
                    f"the feature matrix has shape {features.shape}, but (S, d) is needed, d features for every state,"
                    " or (S, A, d) for a reward of states and actions."
                )
            axes = ("state", "feature") if features.ndim == 2 else ("state", "action", "feature")
            checks.require_finite("the feature matrix", features, axes)
        self.features = as_float(features)
        self.names = None if names is None else _as_feature_names(names, self.features.shape[-1])

    def initial_parameters(self) -> Float[Array, " d"]:
        return jnp.zeros(self.features.shape[-1], self.features.dtype)

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, " S"] | Float[Array, "S A"]:
        return self.features @ parameters

    def parameter_names(self) -> tuple[str, ...]:
        return super().parameter_names() if self.names is None else self.names

    def padded(self, states: int) -> "LinearReward | None":
        if self.features.ndim == 3:
            return None
        return eqx.tree_at(lambda model: model.features, self, _with_zero_rows(self.features, states))


def _as_feature_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    words = tuple(str(name) for name in names)
    if isinstance(names, str) or len(words) != count or len(set(words)) != count:
        raise InvalidInputError(f"the feature names are {names!r}, but {count} different words are needed.")
    return words


class NetworkReward(AbstractReward):
    """R_θ(s) = f_θ(φ(s)) with a small network f_θ, the same for every state.

    This is deep MCE IRL (Wulfmeier et al., 2015). With features φ(s,a) of states and actions, `[S, A, d]`, it is
    R_θ(s,a) = f_θ(φ(s,a)).

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

    features: Float[Array, "S d"] | Float[Array, "S A d"]
    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, features: ArrayLike, *, key: PRNGKeyArray, width: int | None = None, depth: int = 2):
        self.features = LinearReward(features).features
        inputs = self.features.shape[-1]
        wide = inputs if width is None else checks.as_count("the width", width, 1)
        deep, dtype = checks.as_count("the depth", depth), self.features.dtype
        require_layers(inputs, wide, deep)
        # Only the layers are kept: the activation of a perceptron is a leaf that is no array, and could not be stacked.
        self.layers = eqx.nn.MLP(inputs, 1, wide, deep, dtype=dtype, key=key).layers

    def initial_parameters(self) -> tuple[eqx.nn.Linear, ...]:
        return self.layers

    def __call__(self, parameters: tuple[eqx.nn.Linear, ...]) -> Float[Array, " S"] | Float[Array, "S A"]:
        hidden = self.features.reshape(-1, self.features.shape[-1])
        for layer in parameters[:-1]:
            hidden = jax.nn.relu(jax.vmap(layer)(hidden))
        return jax.vmap(parameters[-1])(hidden)[:, 0].reshape(self.features.shape[:-1])

    def padded(self, states: int) -> "_PaddedNetwork | None":
        if self.features.ndim == 3:
            return None
        network = eqx.tree_at(lambda model: model.features, self, _with_zero_rows(self.features, states))
        return _PaddedNetwork(network, jax.device_put(np.arange(states) < len(self.features)))


class _PaddedNetwork(AbstractReward):
    """A network reward in a padded world: the network gives a reward to features of zeros, too."""

    network: NetworkReward
    exists: Bool[Array, " S"]

    def initial_parameters(self) -> FloatTree:
        return self.network.initial_parameters()

    def __call__(self, parameters: FloatTree) -> Float[Array, " S"] | Float[Array, "S A"]:
        return jnp.where(self.exists, self.network(parameters), 0)


def _with_zero_rows(features: Float[Array, "S d"], states: int) -> Float[Array, "padded_S d"]:
    """Return features with rows of zeros at the end, built on the host."""
    array = np.zeros((states, features.shape[1]), features.dtype)
    array[: features.shape[0]] = features
    return as_float(array)
