"""Refuse keys, worlds and policies that a training or a measurement cannot use, in a sentence."""

from collections.abc import Sequence
from typing import NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from robustirl._runtime import short_repr
from robustirl.control.host_worlds import HostWorld
from robustirl.control.interface import World
from robustirl.control.policies import GaussianPolicy
from robustirl.errors import InvalidInputError
from robustirl.types import Tree


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


def refuse_world(world: object) -> NoReturn:
    """Say why this is no world that can be sampled, and what is one."""
    kind = type(world).__name__
    remedy = "see robustirl.control.World"
    if isinstance(world, str):
        kind, remedy = f"text ({short_repr(world)})", "make one with robustirl.envs.physics.make(name)"
    elif hasattr(world, "observation_space"):
        remedy = "make one with robustirl.envs.from_gymnasium_vector(name)"
    elif hasattr(world, "num_states") or hasattr(world, "mdp"):
        remedy = "worlds of numbered states are for robustirl.RobustIRL"
    elif isinstance(world, Sequence) and not world:
        kind = "empty list"
    article = "" if kind.startswith("text") else "an " if kind[0] in "AEIOUaeiou" or kind == "MDP" else "a "
    raise InvalidInputError(f"the world is {article}{kind}, which lacks some of what a sampled world offers; {remedy}.")


def list_worlds(world: object) -> list[World]:
    """Return a world, or several of one kind, as a list; refuse what cannot be sampled.

    Example:
        >>> from robustirl.envs import physics
        >>> len(list_worlds(physics.make("pendulum"))), len(list_worlds([physics.make("pendulum")] * 3))
        (1, 3)
    """
    worlds = list(world) if isinstance(world, list | tuple) else [world]
    found = [one for one in worlds if isinstance(one, World)]
    if len(found) < len(worlds) or not found:
        refuse_world(next((one for one in worlds if not isinstance(one, World)), worlds))
    require_one_kind(found)
    return found


def world_width(world: World | HostWorld) -> int:
    """Return how many numbers a world shows of a state."""
    if isinstance(world, HostWorld):
        return world.width
    if not isinstance(world, World):
        refuse_world(world)
    return jax.eval_shape(lambda: world.features(world.initial(key=jax.random.key(0)))).shape[-1]


def require_policy(world: World | HostWorld, policy: object) -> None:
    """Refuse a policy that sees or does other numbers than the world shows and takes."""
    if not isinstance(policy, GaussianPolicy):
        raise InvalidInputError(
            f"the policy is a {type(policy).__name__}, but a GaussianPolicy is needed, such as"
            " train_policy(...).policy."
        )
    sizes = world_width(world), world.action_size
    own = policy.weights[0].shape[0], policy.log_deviation.shape[-1]
    if own != sizes:
        raise InvalidInputError(
            f"the policy takes {own[0]} numbers of a state and gives {own[1]} of an action, but the world shows"
            f" {sizes[0]} and takes {sizes[1]}; give a policy that was trained in a world like it."
        )


def require_one_kind(trees: Sequence[Tree], what: str = "world") -> None:
    """Refuse worlds that differ in more than numbers.

    The worlds are to share a compiled program.

    Example:
        >>> require_one_kind([{"mass": 1.0}, {"mass": 2.0}])
    """
    first = jax.tree.structure(trees[0])
    for place, tree in enumerate(trees[1:], 1):
        if jax.tree.structure(tree) != first:
            raise InvalidInputError(
                f"{what} {place} is of another kind than {what} 0; give worlds that differ in the values of their"
                " parameters alone."
            )
