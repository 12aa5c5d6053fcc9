"""Worlds whose states are not cut into halves (`halves.py`): their systems are solved for all states at once."""

from typing import Any

import jax

from robustirl.mdp.banded import BandedKernel
from robustirl.mdp.halves import HalvedLists
from robustirl.types import Tree


def without_halves(tree: Tree) -> Any:
    """Return a world, or anything that has one in it, without its halves.

    Independent sets differ in size, so that worlds of one shape may differ in that of their halves. And where states
    are spread over devices, each half has states of every device.

    Example:
        >>> import numpy as np
        >>> wide = BandedKernel((1, -1), np.tile(np.eye(2)[..., None], 1100) * (np.arange(1100) % 2 == [[[0]], [[1]]]))
        >>> wide.halves() is None, without_halves([wide])[0].halves() is None
        (False, True)
    """

    def whole(part: Any) -> Any:
        if isinstance(part, BandedKernel):
            return BandedKernel(part.offsets, part.weights, leaky=part.leaky, spread=True)
        return None if isinstance(part, HalvedLists) else part

    return jax.tree.map(whole, tree, is_leaf=lambda part: isinstance(part, BandedKernel | HalvedLists))
