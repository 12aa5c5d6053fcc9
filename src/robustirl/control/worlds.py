"""Say what a sampled world must offer, and check what is given as one.

A `World` is a set of pure functions of one state that JAX can trace: ways to start, to move, to see and to end. There
is nothing to inherit from; `robustirl.envs.GaussianGrid` and the worlds of `robustirl.envs.physics` have these members.
No reward is among them, because the learner in inverse reinforcement learning is not given one; a `RewardedWorld` has
it, for experts and for measuring returns. A `HostWorld` cannot be traced and steps itself in Python, as Gymnasium's
vector environments do (`robustirl.envs.from_gymnasium_vector`).
"""

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from robustirl._check import as_count, short_repr
from robustirl.errors import InvalidInputError
from robustirl.types import HostStep as HostStep
from robustirl.types import Tree

DEFAULT_HORIZON = 200
"""After how many steps an episode is cut off in a world that does not say."""


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
        """Return φ(s): what rewards and policies see."""
        ...


@runtime_checkable
class RewardedWorld(World, Protocol):
    """A world whose true reward is known, for training experts and for measuring returns."""

    def reward(self, state: Float[Array, " n"]) -> Float[Array, ""]:
        """Return R(s)."""
        ...


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


class Field(eqx.Module):
    """N copies of a world side by side.

    All are alike, or each has parameters of its own (domain randomization).
    """

    world: Any
    each: bool = eqx.field(static=True)

    @classmethod
    def of(cls, world: Any, count: int) -> "Field":
        """Return N copies of a world, or the worlds of a list dealt out over N places."""
        if not isinstance(world, list | tuple):
            return cls(world, each=False)
        places = jnp.arange(count) % len(world)
        return cls(jax.tree.map(lambda *leaves: jnp.stack(leaves)[places], *world), each=True)

    def take(self, count: int) -> "Field":
        """Return the first so many copies."""
        return Field(jax.tree.map(lambda leaf: leaf[:count], self.world), each=True) if self.each else self

    def initial(self, keys: Key[Array, " N"]) -> Float[Array, "N n"]:
        """Draw a first state of each."""
        return self._map(lambda world, key: world.initial(key=key), keys)

    def step(
        self, states: Float[Array, "N n"], actions: Float[Array, "N a"], draws: Float[Array, "N k"]
    ) -> Float[Array, "N n"]:
        """Take a step in each."""
        return self._map(lambda world, *step: world.step(*step), states, actions, draws)

    def features(self, states: Float[Array, "N n"]) -> Float[Array, "N d"]:
        """Look at each."""
        return self._map(lambda world, state: world.features(state), states)

    def terminal(self, states: Float[Array, "N n"]) -> Bool[Array, " N"]:
        """Say which have ended."""
        return self._map(lambda world, state: world.terminal(state), states)

    def paid(self, states: Float[Array, "N n"]) -> Float[Array, " N"]:
        """Return what the worlds pay here; nothing where they have no reward."""
        if not hasattr(self.world, "reward"):
            return jnp.zeros(states.shape[:1], dtype=float)
        return self._map(lambda world, state: world.reward(state), states)

    def _map(self, function: Any, *arrays: Any) -> Any:
        axes = (0 if self.each else None, *(0 for _ in arrays))
        return jax.vmap(function, in_axes=axes)(self.world, *arrays)


class HostField(eqx.Module):
    """Hold a `HostWorld` where a training of other worlds holds a `Field`; it is not traced."""

    world: Any = eqx.field(static=True)


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


def usual_horizon(world: Any, horizon: int | None) -> int:
    """Return after how many steps an episode is cut off: as asked, as the world says, else 200.

    Example:
        >>> usual_horizon(object(), None), usual_horizon(object(), 7)
        (200, 7)
    """
    first = world[0] if isinstance(world, list | tuple) and world else world
    return as_count("the horizon", getattr(first, "horizon", DEFAULT_HORIZON) if horizon is None else horizon, 1)


def as_key(key: object) -> PRNGKeyArray:
    """Return a key of JAX, or refuse what is none.

    Example:
        >>> as_key(0)
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: key is 0, but a key of JAX is needed, such as jax.random.key(0).
    """
    if isinstance(key, jax.Array | np.ndarray):
        typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        if key.shape == () if typed else key.dtype == np.uint32 and key.ndim == 1:
            return key  # pyright: ignore[reportReturnType]
    raise InvalidInputError(f"key is {short_repr(key)}, but a key of JAX is needed, such as jax.random.key(0).")


def as_keys(count: int, keys: Sequence[object], **others: Sequence[object]) -> list[PRNGKeyArray]:
    """Return one key for each of `count` worlds; refuse other numbers of keys or of what else is given for each.

    Example:
        >>> as_keys(2, [jax.random.key(0)], policies=[1, 2])
        Traceback (most recent call last):
        robustirl.errors.InvalidInputError: 2 worlds, 2 policies and 1 keys were given, but as many of each are needed,
        and one at least.
    """
    sizes = {"worlds": count, **{name: len(values) for name, values in others.items()}, "keys": len(keys)}
    if set(sizes.values()) != {count} or not count:
        *first, last = (f"{size} {name}" for name, size in sizes.items())
        raise InvalidInputError(
            f"{', '.join(first)} and {last} were given, but as many of each are needed, and one at least."
        )
    return [as_key(key) for key in keys]


def list_worlds(world: object) -> list[World]:
    """Return a world, or several of one kind, as a list; refuse what cannot be sampled.

    Example:
        >>> from robustirl.envs import physics
        >>> len(list_worlds(physics.make("pendulum"))), len(list_worlds([physics.make("pendulum")] * 3))
        (1, 3)
    """
    worlds = list(world) if isinstance(world, list | tuple) else [world]
    for one in worlds or [world]:
        if not isinstance(one, World):
            refuse_world(one)
    require_one_kind(worlds)
    return worlds  # pyright: ignore[reportReturnType]


def world_width(world: World | HostWorld) -> int:
    """Return how many numbers a world shows of a state."""
    if isinstance(world, HostWorld):
        return world.width
    if not isinstance(world, World):
        refuse_world(world)
    return jax.eval_shape(lambda: world.features(world.initial(key=jax.random.key(0)))).shape[-1]


def refuse_world(world: object) -> NoReturn:
    """Say why this is no world that can be sampled, and what is one."""
    remedy = "see robustirl.control.World"
    if isinstance(world, str):
        remedy = "make one with robustirl.envs.physics.make(name)"
    elif hasattr(world, "observation_space"):
        remedy = "make one with robustirl.envs.from_gymnasium_vector(name)"
    elif hasattr(world, "num_states") or hasattr(world, "mdp"):
        remedy = "worlds of numbered states are for robustirl.RobustIRL"
    raise InvalidInputError(
        f"the world is {short_repr(world)}, which lacks some of what a sampled world offers; {remedy}."
    )


def require_reward(world: object) -> None:
    """Refuse what is no world, or has no reward to measure by."""
    if not isinstance(world, RewardedWorld):
        raise InvalidInputError(
            f"the world is {short_repr(world)}, which lacks some of what a world with a reward offers;"
            " see robustirl.control.worlds.RewardedWorld."
        )


def require_one_kind(worlds: Sequence[Tree]) -> None:
    """Refuse worlds that differ in more than numbers: they are to share a compiled program.

    Example:
        >>> require_one_kind([{"mass": 1.0}, {"mass": 2.0}])
    """
    kinds = [(jax.tree.structure(world), [np.shape(leaf) for leaf in jax.tree.leaves(world)]) for world in worlds]
    for place, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise InvalidInputError(
                f"world {place} is of another kind than world 0; give worlds that differ in the values of their"
                " parameters alone."
            )
