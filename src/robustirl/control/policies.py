r"""Gaussian policies: a ~ N(μ(φ(s)), diag σ²), the mean linear in the features (as in the paper) or a small network.

Both players use them; the deviations σ are learned with the rest. A policy is a tree of arrays and nothing else, so
that optimizers, averages and batches treat it as one vector. Actions are drawn from standard normal numbers given
from outside: the same numbers give the same actions. What an action out of bounds does is for the world to say
(it clips), so densities are those of the unclipped draw.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl._runtime import ScopedModule, working_precision
from robustirl.control.memory import require_network
from robustirl.mdp import as_count, as_positive

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
        """σ."""
        return jnp.exp(self._log_deviation)

    @property
    def _log_deviation(self) -> Float[Array, " a"]:
        return jnp.clip(self.log_deviation, *LOG_DEVIATIONS)

    def mean(self, features: Float[Array, "*n d"]) -> Float[Array, "*n a"]:
        """μ(φ)."""
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

    def entropy(self) -> Float[Array, ""]:
        """Return the entropy of the unclipped action, the same in every state."""
        return (self._log_deviation + (1 + math.log(2 * math.pi)) / 2).sum()


@working_precision
def linear_policy(features: int, actions: int, *, deviation: float = 0.5) -> GaussianPolicy:
    """Return the paper's policy, μ = wᵀφ(s), starting from w = 0.

    Example:
        >>> linear_policy(7, 2).weights[0].shape
        (7, 2)
    """
    features, actions = as_count("the number of features", features, 1), as_count("the action size", actions, 1)
    require_network(features, (), actions)
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
    widths = [as_count("the width of a hidden layer", width, 1) for width in hidden]
    require_network(as_count("the number of features", features, 1), widths, as_count("the action size", actions, 1))
    linear = linear_policy(features, actions, deviation=deviation)
    sizes = [features, *widths]
    keys = jax.random.split(key, max(len(sizes), 2))
    weights = [
        jax.random.normal(k, (rows, columns), dtype=float) / math.sqrt(rows)
        for k, rows, columns in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]
    biases = tuple(jnp.zeros(width, dtype=float) for width in sizes[1:])
    return GaussianPolicy((*weights, jnp.zeros((sizes[-1], actions), dtype=float)), biases, linear.log_deviation)
