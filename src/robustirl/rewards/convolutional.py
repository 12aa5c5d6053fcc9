"""A convolutional reward over the cells of a grid: the reward of a cell may depend on its neighbors' features.

The paper's Table 2 names "two 2D-CNN layers; layer size = number of input features" for ObjectWorld, without a kernel
size. `NetworkReward`, which our reproduction uses, is that network with kernels of 1 × 1: a perceptron applied to each
cell alone. Here the kernels may be larger.
"""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.rewards.models import AbstractReward, LinearReward
from robustirl.rewards.sizes import require_layers
from robustirl.types import ArrayLike


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
        >>> import numpy as np
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
        flat = LinearReward(features).features
        rows, columns = (checks.as_count("the side of the grid", side, 1) for side in shape)
        if rows * columns != flat.shape[0]:
            raise InvalidInputError(
                f"there are features for {flat.shape[0]} states, but the grid of {rows} x {columns} has"
                f" {rows * columns} cells; give one row of features per cell."
            )
        size = checks.as_count("the kernel size", kernel_size, 1)
        if size % 2 == 0:
            raise InvalidInputError(f"the kernel size is {size}, but an odd number is needed: a kernel has a center.")
        self.features = flat.T.reshape(-1, rows, columns)
        wide = flat.shape[1] if width is None else checks.as_count("the width", width, 1)
        deep = checks.as_count("the depth", depth)
        require_layers(flat.shape[1], wide, deep, size)
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
