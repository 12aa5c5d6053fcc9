"""Small networks of tanh layers, for critics and discriminators: trees of arrays and nothing else."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class Network(eqx.Module):
    """A function of a vector into one number.

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
        """The deviation, at least a thousandth."""
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
