r"""Worlds that JAX cannot trace, such as Gymnasium's vector environments: they step themselves, in Python.

`host_training` collects segments from them; what is learned from a segment is the code of every other world.
"""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import numpy as np
from jaxtyping import Float

from robustirl.types import HostStep as HostStep


@runtime_checkable
class HostWorld(Protocol):
    """Environments side by side that step themselves.

    Attributes:
        discount: γ.
        action_size: Numbers in an action.
        width: Numbers in what is seen.
        environments: N, how many there are.
        horizon: After how many steps an episode is cut off at the latest.

    Where there are `bounds` as well, the lowest and the highest action, policies act in units of the larger one.
    """

    @property
    def discount(self) -> float: ...

    @property
    def action_size(self) -> int: ...

    @property
    def width(self) -> int: ...

    @property
    def environments(self) -> int: ...

    @property
    def horizon(self) -> int: ...

    def reset(self) -> Float[np.ndarray, "N d"]:
        """Begin all episodes, and return what is seen."""
        ...

    def advance(self, actions: Float[np.ndarray, "N a"]) -> HostStep:
        """Take one step in every environment."""
        ...


class HostField(eqx.Module):
    """Hold a `HostWorld` where a training of other worlds holds copies of a world.

    It is not traced.
    """

    world: Any = eqx.field(static=True)
