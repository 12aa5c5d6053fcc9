"""Types used throughout.

The axes of arrays are named once for the whole library: `S` states, `A` actions, `K` successors of a pair,
`d` features, `T` steps, and `*batch` for leading axes of stacked problems.
"""

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Array, Bool, Float

AnyArray: TypeAlias = Array | np.ndarray
"""An array of a result: NumPy's, or JAX's where double precision is JAX's default."""

if TYPE_CHECKING:
    # Of results and states of loops: JAX's while they are computed, NumPy's before and after.
    HeldArray: TypeAlias = Any
    from numpy.typing import ArrayLike as ArrayLike

    # The leaves of a tree have no static type; a run-time type checker looks at each of them.
    Tree: TypeAlias = Any
    FloatTree: TypeAlias = Any
    Objective: TypeAlias = Literal["occupancy", "likelihood"]
    PathLike: TypeAlias = str | os.PathLike[str]
else:
    from jaxtyping import PyTree

    HeldArray = AnyArray

    # Nested sequences of numbers, or arrays of NumPy or JAX. What is in them is checked where they enter,
    # with a sentence; a run-time type checker has nothing to add, and NumPy's own alias defeats it.
    ArrayLike = object
    Tree = PyTree
    FloatTree = PyTree[Float[AnyArray, "..."]]
    Objective = str  # Other words are refused with a sentence, too.
    PathLike = object  # Likewise what is no path.


class HostStep(NamedTuple):
    """What one step of environments that step themselves gave (`robustirl.control.worlds.HostWorld`).

    Attributes:
        after: `[N, d]`, what was seen after the step, before an episode that ended began anew.
        paid: `[N]`, rewards.
        terminated: `[N]`, whether episodes ended by themselves.
        truncated: `[N]`, whether they were cut off.
        onward: `[N, d]`, what the next step begins from.
        counted: `[N]`, False where an environment took no step because it began anew instead.
    """

    after: Float[np.ndarray, "N d"]
    paid: Float[np.ndarray, " N"]
    terminated: Bool[np.ndarray, " N"]
    truncated: Bool[np.ndarray, " N"]
    onward: Float[np.ndarray, "N d"]
    counted: Bool[np.ndarray, " N"]
