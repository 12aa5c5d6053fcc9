"""What a sampled world must offer: nothing but ways to start, to move, to see and to end.

Any object with these members will do, such as `robustirl.envs.GaussianGrid`; there is nothing to inherit from. The
members are pure functions of one state, and must be traceable by JAX: rollouts map them over thousands of episodes.
No reward is among them, because the learner in inverse reinforcement learning is not given one.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray


@runtime_checkable
class World(Protocol):
    """A world known through samples alone.

    Attributes:
        discount: γ.
        action_size: Numbers in an action.
        bounds: The lowest and the highest action.
        draw_size: How many uniform numbers decide a step.
    """

    @property
    def discount(self) -> Float[Array, ""]: ...

    @property
    def action_size(self) -> int: ...

    @property
    def bounds(self) -> tuple[Float[Array, " a"], Float[Array, " a"]]: ...

    @property
    def draw_size(self) -> int: ...

    def initial(self, *, key: PRNGKeyArray) -> Float[Array, " n"]:
        """Return a first state."""
        ...

    def step(
        self, state: Float[Array, " n"], action: Float[Array, " a"], draws: Float[Array, " k"]
    ) -> Float[Array, " n"]:
        """Return the next state, decided by uniform draws in [0, 1).

        Actions out of bounds are clipped, as the world says.
        """
        ...

    def terminal(self, state: Float[Array, " n"]) -> Bool[Array, ""]:
        """Return whether an episode ends in this state."""
        ...

    def features(self, state: Float[Array, " n"]) -> Float[Array, " d"]:
        """φ(s): what rewards and policies see."""
        ...


@runtime_checkable
class RewardedWorld(World, Protocol):
    """A world whose true reward is known, for training experts and for measuring returns."""

    def reward(self, state: Float[Array, " n"]) -> Float[Array, ""]:
        """R(s)."""
        ...


def action_units(world: Any) -> Float[np.ndarray, " a"] | None:
    """Return the largest size of each number of an action; None if all are one.

    Policies learn to act in these units. A deviation of 0.6 is then as much exploration where torques reach ±2 as where
    they reach ±1. Numbers without bounds have the unit one. None keeps the programs of most worlds free of a
    multiplication by one.

    Example:
        >>> from robustirl.envs import physics
        >>> action_units(physics.make("pendulum")), action_units(physics.make("cart-pole"))
        (array([2.]), None)
    """
    bounds = getattr(world, "bounds", None)
    if bounds is None:
        return None
    sizes = np.abs(np.stack([np.asarray(bound, float) for bound in bounds])).max(0)
    units = np.where(np.isfinite(sizes) & (sizes > 0), sizes, 1.0)
    return None if (units == 1).all() else units
