"""Types used throughout.

The axes of arrays are named once for the whole library: `S` states, `A` actions, `K` successors of a pair,
`d` features, `T` steps, and `*batch` for leading axes of stacked problems.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Array

AnyArray: TypeAlias = Array | np.ndarray
"""An array of a result: NumPy's, or JAX's where double precision is JAX's default."""

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike

    # What is in a tree only its owner knows; a static type checker is told so, a run-time one looks at every leaf.
    Tree: TypeAlias = Any
    FloatTree: TypeAlias = Any
else:
    from jaxtyping import Float, PyTree

    # Nested sequences of numbers, or arrays of NumPy or JAX. What is in them is checked where they enter,
    # with a sentence; a run-time type checker has nothing to add, and NumPy's own alias defeats it.
    ArrayLike = object
    Tree = PyTree
    FloatTree = PyTree[Float[AnyArray, "..."]]
