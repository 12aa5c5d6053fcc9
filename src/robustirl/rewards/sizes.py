"""Refuse networks that memory cannot hold, before their weights are drawn."""

from robustirl._runtime import require_memory, working_dtype

LAYER_BYTES = 10_000
"""A layer, however narrow: its modules and arrays; those of 2,000 layers of one unit took 47 kB each."""


def require_layers(inputs: int, width: int, depth: int, kernel_size: int = 1) -> None:
    """Refuse a reward network whose weights do not fit.

    Args:
        inputs: Features.
        width: Of the hidden layers.
        depth: How many of them there are.
        kernel_size: The side of the kernels; 1 for a perceptron.

    Example:
        >>> require_layers(3, 10**9, 2)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: a reward network with width=1000000000, depth=2 needs about 7,450,580,...
    """
    first = float(inputs) * (width if depth else 1)
    weights = float(kernel_size) ** 2 * (first + max(depth - 1, 0) * float(width) ** 2)
    needed = working_dtype().itemsize * weights + float(LAYER_BYTES) * depth
    require_memory(needed, f"a reward network with width={width}, depth={depth}", "use a smaller one")
