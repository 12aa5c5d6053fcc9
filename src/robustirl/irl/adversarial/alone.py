"""What the player shows without the opponent, which is how it will act: states, and lengths of episodes."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from robustirl._runtime import BoundedJit
from robustirl.control import Agents, HostField, Players, Setting, Walkers, episodes_of, folded, walk

ALONE = 16
"""The most episodes of the player alone that the gap is computed from."""


class Alone(NamedTuple):
    """What episodes of a player alone show, and their mean number of steps from their start."""

    states: np.ndarray
    length: float


def _walk_alone(
    setting: Setting, agents: Agents, keys: Key[Array, " fits"]
) -> tuple[Float[Array, "fits T N d"], Float[Array, " fits"]]:
    """Return what episodes of each player alone show from their start, and their mean length."""

    def one(setting: Setting, agents: Agents, key: PRNGKeyArray) -> tuple[Float[Array, "T N d"], Float[Array, ""]]:
        first, second = jax.random.split(key)
        count = min(setting.config.environments, ALONE)
        field = setting.field.take(count)
        states = field.initial(jax.random.split(first, count))
        walkers = Walkers(states, jnp.zeros(count, int), jnp.zeros(count, dtype=float))
        alone = Players(agents.players.player, agents.players.player)
        alpha, horizon = jnp.ones((), dtype=float), setting.horizon
        _, segment = walk(
            field,
            alone,
            agents.scale,
            alpha,
            walkers,
            steps=horizon,
            horizon=horizon,
            units=setting.units,
            key=second,
        )
        # All episodes are over at the horizon.
        return segment.features, (jnp.argmax(segment.over, axis=0) + 1).mean(dtype=float)

    return jax.vmap(one)(setting, agents, keys)


_player_states = BoundedJit(_walk_alone)


def visit_alone(setting: Setting, agents: Agents, keys: Key[Array, " fits"]) -> list[Alone]:
    """Return what episodes of each player alone show."""
    if not isinstance(setting.field, HostField):
        states, lengths = (np.asarray(part) for part in _player_states(setting, agents, keys))
        return [Alone(*one) for one in zip(states, lengths.tolist(), strict=True)]
    own: Agents = jax.tree.map(lambda leaf: leaf[0], agents)
    policy = folded(own.players.player, own.scale, None if setting.units is None else setting.units[0])
    whole = episodes_of(setting.field.world, policy, episodes=ALONE, mean_action=False, key=keys[0])
    states = np.concatenate([one.features[:, 0] for one in whole])
    return [Alone(states, len(states) / len(whole))]
