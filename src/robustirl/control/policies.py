r"""Gaussian policies, a ~ N(μ(φ(s)), diag σ²), and the small networks beside them.

The mean is linear in the features, as in the paper, or a network of tanh layers; σ is learned with the rest. Policies,
critics and discriminators are trees of arrays and nothing else, so that optimizers and batches treat each as one
vector. Actions are drawn from standard normal numbers given from outside: the same numbers give the same actions. The
world clips actions out of bounds, so densities are those of the unclipped draw.
"""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl._check import as_count, as_positive
from robustirl._jax import PlainModule, ScopedModule, working_precision
from robustirl.control.worlds import HostWorld, World, world_width
from robustirl.errors import InvalidInputError

# Log deviations are read within these bounds: beyond them lie overflow and a policy without a density.
LOG_DEVIATIONS = (-7.0, 4.0)


class GaussianPolicy(ScopedModule):
    """A Gaussian policy whose mean is a network of tanh layers.

    Without hidden layers it is linear.

    Attributes:
        weights: One matrix a layer, `[inputs, outputs]`; the first takes the features, the last gives the mean.
        biases: One vector a hidden layer. The mean itself has none: features include a constant where one is wanted.
        log_deviation: `[a]`, log σ.

    Example:
        >>> policy = linear_policy(features=3, actions=2, deviation=0.5)
        >>> phi = jnp.array([1.0, 0.0, 2.0])
        >>> policy.mean(phi).tolist(), policy.act(phi, jnp.array([1.0, -1.0])).tolist()
        ([0.0, 0.0], [0.5, -0.5])
        >>> round(policy.log_density(phi, jnp.zeros(2)).item(), 4) == round(-math.log(2 * math.pi * 0.25), 4)
        True
    """

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    log_deviation: Float[Array, "*batch a"]

    @property
    def deviation(self) -> Float[Array, " a"]:
        """Return σ."""
        return jnp.exp(self._log_deviation)

    @property
    def _log_deviation(self) -> Float[Array, " a"]:
        return jnp.clip(self.log_deviation, *LOG_DEVIATIONS)

    def mean(self, features: Float[Array, "*n d"]) -> Float[Array, "*n a"]:
        """Return μ(φ)."""
        hidden = features
        for weight, bias in zip(self.weights[:-1], self.biases, strict=True):
            hidden = jnp.tanh(hidden @ weight + bias)
        return hidden @ self.weights[-1]

    def act(self, features: Float[Array, "*n d"], normals: Float[Array, "*n a"]) -> Float[Array, "*n a"]:
        """Return the action μ + σ z for these standard normal numbers z.

        Zeros give the mean action.
        """
        return self.mean(features) + self.deviation * normals

    def log_density(self, features: Float[Array, "*n d"], actions: Float[Array, "*n a"]) -> Float[Array, "*n"]:
        """Return the log-density log π(a|s)."""
        standard = (actions - self.mean(features)) / self.deviation
        return -(standard**2 / 2 + self._log_deviation + math.log(2 * math.pi) / 2).sum(-1)


class Players(PlainModule):
    """The two sides of a game: π_pl, whose action is executed with probability α, and π_op."""

    player: GaussianPolicy
    opponent: GaussianPolicy


@working_precision
def linear_policy(features: int, actions: int, *, deviation: float = 0.5) -> GaussianPolicy:
    """Return the paper's policy, μ = wᵀφ(s), starting from w = 0.

    Example:
        >>> linear_policy(7, 2).weights[0].shape
        (7, 2)
    """
    features, actions = as_count("the number of features", features, 1), as_count("the action size", actions, 1)
    log_deviation = jnp.full(actions, math.log(as_positive("the deviation", deviation)), dtype=float)
    return GaussianPolicy((jnp.zeros((features, actions), dtype=float),), (), log_deviation)


@working_precision
def network_policy(
    features: int, actions: int, *, hidden: Sequence[int] = (32, 32), deviation: float = 0.5, key: PRNGKeyArray
) -> GaussianPolicy:
    """Return a network with tanh layers, whose mean starts at zero: the last matrix does.

    Example:
        >>> policy = network_policy(7, 2, hidden=(16,), key=jax.random.key(0))
        >>> [weight.shape for weight in policy.weights], policy.mean(jnp.ones(7)).tolist()
        ([(7, 16), (16, 2)], [0.0, 0.0])
    """
    linear = linear_policy(features, actions, deviation=deviation)
    sizes = [features, *(as_count("the width of a hidden layer", width, 1) for width in hidden)]
    keys = jax.random.split(key, max(len(sizes), 2))
    weights = [
        jax.random.normal(k, (rows, columns), dtype=float) / math.sqrt(rows)
        for k, rows, columns in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]
    biases = tuple(jnp.zeros(width, dtype=float) for width in sizes[1:])
    return GaussianPolicy((*weights, jnp.zeros((sizes[-1], actions), dtype=float)), biases, linear.log_deviation)


@working_precision
def initial_players(world: World, deviation: float = 0.5) -> Players:
    """Return two linear policies of zero mean, sized for the world."""
    size = world_width(world)
    return Players(*(linear_policy(size, world.action_size, deviation=deviation) for _ in range(2)))


def require_policy(world: World | HostWorld, policy: object) -> None:
    """Refuse a policy that sees or does other numbers than the world shows and takes."""
    if not isinstance(policy, GaussianPolicy):
        raise InvalidInputError(
            f"the policy is a {type(policy).__name__}, but a GaussianPolicy is needed, such as"
            " train_policy(...).policy."
        )
    sizes = world_width(world), world.action_size
    own = policy.weights[0].shape[0], policy.log_deviation.shape[-1]
    if own != sizes:
        raise InvalidInputError(
            f"the policy takes {own[0]} numbers of a state and gives {own[1]} of an action, but the world shows"
            f" {sizes[0]} and takes {sizes[1]}; give a policy that was trained in a world like it."
        )


class Network(eqx.Module):
    """A function of a vector into one number, for critics and discriminators.

    Example:
        >>> network = Network.create(3, (8, 8), key=jax.random.key(0))
        >>> network(jnp.zeros((5, 3))).shape
        (5,)
    """

    layers: tuple[eqx.nn.Linear, ...]

    @classmethod
    def create(cls, inputs: int, hidden: Sequence[int], *, key: PRNGKeyArray) -> "Network":
        """Return a network with random weights."""
        sizes = [inputs, *hidden, 1]
        keys = jax.random.split(key, len(sizes) - 1)
        pairs = zip(sizes[:-1], sizes[1:], keys, strict=True)
        return cls(tuple(eqx.nn.Linear(before, after, key=k) for before, after, k in pairs))

    def __call__(self, inputs: Float[Array, "*n d"]) -> Float[Array, "*n"]:
        hidden = inputs
        for layer in self.layers[:-1]:
            hidden = jnp.tanh(_affine(layer, hidden))
        return _affine(self.layers[-1], hidden)[..., 0]


def _affine(layer: eqx.nn.Linear, inputs: Float[Array, "*n i"]) -> Float[Array, "*n o"]:
    """Apply a layer to any number of leading axes at once; `eqx.nn.Linear` takes one vector."""
    assert layer.bias is not None
    return inputs @ layer.weight.T + layer.bias


class Scale(eqx.Module):
    """The mean and the deviation of a stream of vectors, and how many it has had.

    Example:
        >>> scale = Scale.empty(1).seen(jnp.array([[1.0], [3.0]]))
        >>> [round(float(x), 2) for x in (scale.mean[0], scale.deviation[0], scale(jnp.array([5.0]))[0])]
        [2.0, 1.0, 3.0]
    """

    mean: Float[Array, "*batch d"]
    square: Float[Array, "*batch d"]
    count: Float[Array, "*batch"]

    @classmethod
    def empty(cls, size: int) -> "Scale":
        """Return the scale of nothing yet, which changes nothing."""
        return cls(jnp.zeros(size, dtype=float), jnp.ones(size, dtype=float), jnp.zeros((), dtype=float))

    @property
    def deviation(self) -> Float[Array, " d"]:
        """Return the deviation, at least a thousandth."""
        return jnp.sqrt(jnp.maximum(self.square, 1e-6))

    def __call__(self, values: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
        """Return `values` with mean zero and deviation one."""
        return (values - self.mean) / self.deviation

    def seen(self, values: Float[Array, "n d"]) -> "Scale":
        """Return the scale after more values (Chan's formula for two samples)."""
        count = jnp.asarray(values.shape[0], dtype=float)
        mean, square = values.mean(0), values.var(0)
        total = self.count + count
        share, shift = count / total, mean - self.mean
        mixed = (1 - share) * self.square + share * square + share * (1 - share) * shift**2
        return Scale(self.mean + share * shift, mixed, total)


def folded(policy: GaussianPolicy, scale: Scale, units: Float[Array, " a"] | None = None) -> GaussianPolicy:
    """Return the same policy for features that are not scaled and actions that are not in units.

    Example:
        >>> policy = network_policy(2, 1, hidden=(4,), key=jax.random.key(0))
        >>> policy = eqx.tree_at(lambda p: p.weights[-1], policy, jnp.ones((4, 1)))
        >>> scale, x = Scale(jnp.array([1.0, -2.0]), jnp.array([4.0, 0.25]), jnp.array(9.0)), jnp.array([3.0, 1.0])
        >>> bool(jnp.allclose(folded(policy, scale).mean(x), policy.mean(scale(x)), atol=1e-5))
        True
        >>> folded(policy, scale, jnp.array([2.0])).deviation.tolist()
        [1.0]
    """
    weight = policy.weights[0] / scale.deviation[:, None]
    bias = policy.biases[0] - scale.mean @ weight
    policy = eqx.tree_at(lambda p: (p.weights[0], p.biases[0]), policy, (weight, bias))
    if units is None:
        return policy
    larger = (policy.weights[-1] * units, policy.log_deviation + jnp.log(units))
    return eqx.tree_at(lambda p: (p.weights[-1], p.log_deviation), policy, larger)
