"""Reward models R_θ(s) and R_θ(s,a): how parameters become rewards of states, or of states and actions.

A model is a function of its parameters; the parameters are a separate tree of arrays, so that any optimizer can move
them and nothing else. Learning asks a model for what `AbstractReward` says and for nothing more. A reward of states
and actions is that of the executed action, of the player or the opponent.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_floats, as_seed, concrete, require_finite, require_memory
from robustirl._jax import DeviceModule, as_float, working_dtype
from robustirl.errors import InvalidInputError
from robustirl.types import ArrayLike, FloatTree

__all__ = [
    "AbstractReward",
    "ClassReward",
    "ConvolutionalReward",
    "LinearReward",
    "NetworkReward",
    "TabularReward",
    "classes",
    "make_reward_model",
]

REWARD_MODELS = ("tabular", "tabular-action", "linear", "network")
LAYER_BYTES = 10_000
"""A layer, however narrow: its modules and arrays; those of 2,000 layers of one unit took 47 kB each."""


class AbstractReward(DeviceModule):
    """A parametrized reward over the states of a world, or over its states and actions."""

    default_optimizer: ClassVar[Any] = None
    """The optimizer that learns this model best; None for that of `fit`."""

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

    def seen(self, difference: Float[Array, " S"] | Float[Array, "S A"]) -> Float[Array, "..."]:
        """Return what the reward can tell of a difference of two occupancies.

        Its ℓ1 norm is the gap that learning is able to close. For a reward that gives every state its own number it is
        the difference itself.
        """
        return difference

    def scales(self) -> FloatTree | None:
        """Return the largest |∂R/∂θ_j| for every parameter of a linear reward; None for one that is not linear."""
        return None

    def size(self, parameters: FloatTree) -> Float[Array, ""]:
        """Return the largest scaled parameter of a linear reward, the norm dual to that of `seen`.

        It is the least over all parameters whose rewards differ by a constant, which changes no policy.
        """
        scaled = jax.tree.map(lambda scale, theta: jnp.max(jnp.abs(scale * theta)), self.scales(), parameters)
        return jnp.max(jnp.stack(jax.tree.leaves(scaled)))

    def game(self, game: Any, parameters: FloatTree) -> Any:
        """Return the game under these parameters, for models that learn the world as well."""
        del parameters
        return game

    def further_log_likelihood(self, parameters: FloatTree) -> Float[Array, ""] | float:
        """Return the mean log-probability of what was recorded besides choices, for models that explain it."""
        del parameters
        return 0.0


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
        return as_float(np.zeros(self.shape))

    def __call__(self, parameters: Float[Array, "..."]) -> Float[Array, " S"] | Float[Array, "S A"]:
        return parameters

    def parameter_names(self) -> tuple[str, ...]:
        return tuple(f"reward[{','.join(map(str, place))}]" for place in np.ndindex(self.shape))

    def scales(self) -> Float[Array, "..."]:
        return jnp.ones(self.shape, working_dtype())

    def size(self, parameters: Float[Array, "..."]) -> Float[Array, ""]:
        return (parameters.max() - parameters.min()) / 2


class ClassReward(AbstractReward):
    """One parameter per class of states, such as ice, hole and goal.

    Learning starts from zero.

    Args:
        classes: `[S]`, the number of each state's class, from 0.
        names: A name for every class, which reports show.

    Example:
        >>> model = ClassReward([0, 0, 1], names=["ice", "goal"])
        >>> model(jnp.array([-1.0, 5.0])).tolist(), model.parameter_names()
        ([-1.0, -1.0, 5.0], ('ice', 'goal'))
    """

    classes: Int[Array, " S"]
    count: int = eqx.field(static=True)
    names: tuple[str, ...] | None = eqx.field(static=True)

    def __init__(self, classes: ArrayLike, *, names: Sequence[str] | None = None):
        array = np.asarray(classes)
        if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size or array.min() < 0:
            raise InvalidInputError("the classes are no row of whole numbers from 0; give the class of every state.")
        self.count = int(array.max()) + 1 if names is None else len(names)
        if array.max() >= self.count:
            raise InvalidInputError(f"class {int(array.max())} has no name; give a name for every class.")
        self.classes = jnp.asarray(array)
        self.names = None if names is None else _as_feature_names(names, self.count)

    def initial_parameters(self) -> Float[Array, " d"]:
        return as_float(np.zeros(self.count))

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, " S"]:
        return parameters[self.classes]

    def parameter_names(self) -> tuple[str, ...]:
        return super().parameter_names() if self.names is None else self.names

    def seen(self, difference: Float[Array, " S"] | Float[Array, "S A"]) -> Float[Array, " d"]:
        by_state = difference if difference.ndim == 1 else difference.sum(-1)
        return jax.ops.segment_sum(by_state, self.classes, self.count)

    def scales(self) -> Float[Array, " d"]:
        return jnp.ones(self.count, working_dtype())

    def size(self, parameters: Float[Array, "..."]) -> Float[Array, ""]:
        return (parameters.max() - parameters.min()) / 2


def classes(labels: Sequence[object] | Mapping[Any, object], state_names: Sequence[str] | None = None) -> ClassReward:
    """Return a reward of one named weight for each class of states: say which states are alike.

    Args:
        labels: The class of every state in order (a list, an array, a column of a table), or of every state's name.
        state_names: The name of every state in order, if the labels are by name.

    Example:
        >>> classes(["ice", "hole", "ice", "goal"]).parameter_names()
        ('goal', 'hole', 'ice')
        >>> classes({"A": "ward", "B": "home"}, ["B", "A"]).classes.tolist()
        [0, 1]
    """
    if isinstance(labels, Mapping):
        if state_names is None:
            raise InvalidInputError("labels by name need the names of all states in order; give state_names.")
        missing = [name for name in state_names if name not in labels]
        if missing:
            raise InvalidInputError(f"state {missing[0]!r} has no label; give one for every state.")
        labels = [labels[name] for name in state_names]
    names, numbers = np.unique(np.asarray([str(label) for label in labels]), return_inverse=True)
    return ClassReward(numbers, names=names.tolist())


class LinearReward(AbstractReward):
    """R_θ(s) = ⟨θ, φ(s)⟩ for features φ `[S, d]`, or R_θ(s,a) = ⟨θ, φ(s,a)⟩ for `[S, A, d]`.

    Learning starts from zero.

    Args:
        features: φ.
        names: A name for every feature, which reports show.

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
        self.features = _as_features(features)
        self.names = None if names is None else _as_feature_names(names, self.features.shape[-1])

    def initial_parameters(self) -> Float[Array, " d"]:
        return as_float(np.zeros(self.features.shape[-1]))

    def __call__(self, parameters: Float[Array, " d"]) -> Float[Array, " S"] | Float[Array, "S A"]:
        return self.features @ parameters

    def parameter_names(self) -> tuple[str, ...]:
        return super().parameter_names() if self.names is None else self.names

    def seen(self, difference: Float[Array, " S"] | Float[Array, "S A"]) -> Float[Array, " d"]:
        """Return the gaps of the features, each in units of its largest size.

        Example:
            >>> LinearReward([[1.0], [1.0], [0.0]]).seen(jnp.array([0.25, -0.25, 0.0])).tolist()
            [0.0]
        """
        return jnp.tensordot(difference, self.features, difference.ndim) / self.scales()

    def scales(self) -> Float[Array, " d"]:
        """Return max |φ_j| for every feature; one for a feature that is zero everywhere."""
        largest = jnp.max(jnp.abs(self.features), tuple(range(self.features.ndim - 1)))
        return jnp.where(largest > 0, largest, 1)


class NetworkReward(AbstractReward):
    """R_θ(s) = f_θ(φ(s)) with a small network f_θ, the same for every state.

    This is deep MCE IRL (Wulfmeier et al., 2015). With features φ(s,a) of states and actions, `[S, A, d]`, it is
    R_θ(s,a) = f_θ(φ(s,a)).

    Two hidden layers as wide as the features, with rectifiers. The paper's Table 2 says "two 2D-CNN layers" for
    ObjectWorld, without a kernel size; this is them with kernels of 1 × 1, a perceptron per state.
    `ConvolutionalReward` has larger kernels. Learning starts from random weights, which the key decides.

    Example:
        >>> model = NetworkReward([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]], key=jax.random.key(0))
        >>> rewards = model(model.initial_parameters())
        >>> rewards.shape, bool(rewards[0] == rewards[2])
        ((3,), True)
    """

    features: Float[Array, "S d"] | Float[Array, "S A d"]
    layers: tuple[eqx.nn.Linear, ...]

    def __init__(self, features: ArrayLike, *, key: PRNGKeyArray, width: int | None = None, depth: int = 2):
        self.features = _as_features(features)
        inputs = self.features.shape[-1]
        wide = inputs if width is None else as_count("the width", width, 1)
        deep, dtype = as_count("the depth", depth), self.features.dtype
        _require_layers(inputs, wide, deep)
        # Only the layers are kept: the activation of a perceptron is a leaf that is no array, and could not be stacked.
        self.layers = eqx.nn.MLP(inputs, 1, wide, deep, dtype=dtype, key=key).layers

    def initial_parameters(self) -> tuple[eqx.nn.Linear, ...]:
        return self.layers

    def __call__(self, parameters: tuple[eqx.nn.Linear, ...]) -> Float[Array, " S"] | Float[Array, "S A"]:
        hidden = self.features.reshape(-1, self.features.shape[-1])
        for layer in parameters[:-1]:
            hidden = jax.nn.relu(jax.vmap(layer)(hidden))
        return jax.vmap(parameters[-1])(hidden)[:, 0].reshape(self.features.shape[:-1])


class ConvolutionalReward(AbstractReward):
    """R_θ(s) = f_θ(φ)(s) with a small convolutional network f_θ over a grid of cells.

    Cells are numbered row by row. Hidden layers of `width` channels with rectifiers, then a 1 × 1 layer to one reward
    per cell. Cells beyond the edge count as zeros, so that the reward of a cell sees the features of
    `depth · (kernel_size // 2)` cells to every side. Learning starts from random weights, which the key determines.

    Args:
        features: φ(s), `[S, d]`, with S = rows · columns.
        shape: (rows, columns) of the grid.
        key: Draws the first weights.
        kernel_size: The side of every kernel, an odd number; 1 is a perceptron per cell.
        width: Channels of the hidden layers; as many as there are features if omitted.
        depth: Hidden layers.

    Example:
        >>> model = ConvolutionalReward(np.eye(6), (2, 3), key=jax.random.key(0))
        >>> model(model.initial_parameters()).shape
        (6,)
    """

    features: Float[Array, "d rows columns"]
    layers: tuple[eqx.nn.Conv2d, ...]

    def __init__(
        self,
        features: ArrayLike,
        shape: tuple[int, int],
        *,
        key: PRNGKeyArray,
        kernel_size: int = 3,
        width: int | None = None,
        depth: int = 2,
    ):
        flat = _as_features(features)
        rows, columns = (as_count("the side of the grid", side, 1) for side in shape)
        if rows * columns != flat.shape[0]:
            raise InvalidInputError(
                f"there are features for {flat.shape[0]} states, but the grid of {rows} x {columns} has"
                f" {rows * columns} cells; give one row of features per cell."
            )
        size = as_count("the kernel size", kernel_size, 1)
        if size % 2 == 0:
            raise InvalidInputError(f"the kernel size is {size}, but an odd number is needed: a kernel has a center.")
        self.features = flat.T.reshape(-1, rows, columns)
        wide = flat.shape[1] if width is None else as_count("the width", width, 1)
        deep = as_count("the depth", depth)
        _require_layers(flat.shape[1], wide, deep, size)
        channels = [flat.shape[1], *[wide] * deep]
        keys = jax.random.split(key, len(channels))
        hidden = [
            eqx.nn.Conv2d(into, out, size, padding=size // 2, key=own, dtype=flat.dtype)
            for into, out, own in zip(channels, channels[1:], keys, strict=False)
        ]
        last = eqx.nn.Conv2d(channels[-1], 1, 1, key=keys[-1], dtype=flat.dtype)
        self.layers = (*hidden, last)

    def initial_parameters(self) -> tuple[eqx.nn.Conv2d, ...]:
        return self.layers

    def __call__(self, parameters: tuple[eqx.nn.Conv2d, ...]) -> Float[Array, " S"]:
        hidden = self.features
        for layer in parameters[:-1]:
            hidden = jax.nn.relu(layer(hidden))
        return parameters[-1](hidden).ravel()


def make_reward_model(
    kind: str,
    num_states: int,
    features: ArrayLike | None = None,
    *,
    num_actions: int | None = None,
    feature_names: Sequence[str] | None = None,
    seed: int = 0,
    world: str = "this world",
) -> AbstractReward:
    """Return the reward model of this name for a world.

    Args:
        kind: `tabular`, `tabular-action` (one parameter per state and action), `linear` in the features, or a
            `network` of them.
        num_states: S.
        features: φ `[S, d]`, or `[S, A, d]` for a reward of states and actions; linear models and networks need them.
        num_actions: A, which `tabular-action` needs.
        feature_names: A name for every feature of a linear model, if there are any.
        seed: Decides the first weights of a network.
        world: What errors call the world.

    Example:
        >>> make_reward_model("linear", 2, [[1.0, 0.0], [1.0, 1.0]]).features.shape
        (2, 2)
    """
    if kind not in REWARD_MODELS:
        raise InvalidInputError(f"the reward is {kind!r}, but one of {', '.join(REWARD_MODELS)} is needed.")
    if kind == "tabular":
        return TabularReward(num_states)
    if kind == "tabular-action":
        if num_actions is None:
            raise InvalidInputError("a reward of states and actions needs the number of actions; give num_actions.")
        return TabularReward(num_states, num_actions)
    if features is None:
        raise InvalidInputError(f"{world} has no features for a {kind} reward; choose a tabular one.")
    if kind == "linear":
        return LinearReward(features, names=feature_names)
    return NetworkReward(features, key=jax.random.key(as_seed("the seed", seed)))


def _as_features(features: ArrayLike) -> Float[Array, "S d"] | Float[Array, "S A d"]:
    """Return checked features of states, or of states and actions."""
    if concrete(features):
        features = as_floats("the feature matrix", features)
        if features.ndim not in (2, 3) or 0 in features.shape:
            raise InvalidInputError(
                f"the feature matrix has shape {features.shape}, but (S, d) is needed, d features for every state,"
                " or (S, A, d) for a reward of states and actions."
            )
        axes = ("state", "feature") if features.ndim == 2 else ("state", "action", "feature")
        require_finite("the feature matrix", features, axes)
    return as_float(features)


def _as_feature_names(names: Sequence[str], count: int) -> tuple[str, ...]:
    words = tuple(str(name) for name in names)
    if isinstance(names, str) or len(words) != count or len(set(words)) != count:
        raise InvalidInputError(f"the feature names are {names!r}, but {count} different words are needed.")
    return words


def _require_layers(inputs: int, width: int, depth: int, kernel_size: int = 1) -> None:
    """Refuse a reward network whose weights do not fit into memory, before they are drawn."""
    first = float(inputs) * (width if depth else 1)
    weights = float(kernel_size) ** 2 * (first + max(depth - 1, 0) * float(width) ** 2)
    needed = working_dtype().itemsize * weights + float(LAYER_BYTES) * depth
    require_memory(needed, f"a reward network with width={width}, depth={depth}", "use a smaller one")
