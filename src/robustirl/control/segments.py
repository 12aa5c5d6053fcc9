"""Rollouts in segments: many episodes side by side that continue from one segment to the next and restart at their end.

`rollouts` samples whole episodes from their start, which is right for short ones. Long episodes are learned from while
they run: a segment is some steps of each, with a flag for every step whether the episode terminated there or was
truncated at the horizon.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from robustirl.control.networks import Scale
from robustirl.control.policy_gradient import Players


class Walkers(eqx.Module):
    """Episodes under way.

    Attributes:
        states: `[N, n]`, where they are.
        ages: `[N]`, steps since their start.
        totals: `[N]`, what the world has paid since then.
    """

    states: Float[Array, "*batch N n"]
    ages: Int[Array, "*batch N"]
    totals: Float[Array, "*batch N"]


class Segment(eqx.Module):
    """Some steps of all episodes; one step alone has no axis T, and a batch has one before it.

    Attributes:
        features: `[T, N, d]`, φ(s_t).
        next_features: `[T, N, d]`, φ(s_{t+1}), before an episode that ended there begins anew.
        actions: `[T, N, a]`, those executed, before clipping and in units of the policies.
        by_player: `[T, N]`, whose they were.
        log_densities: `[T, N]`, of these actions under the policy of the side that acted.
        paid: `[T, N]`, what the world paid, for training experts and measuring returns; no imitator reads it.
        terminated: `[T, N]`, whether the episode ended by itself with this step.
        over: `[T, N]`, whether it ended with this step, by itself or at the horizon.
        returns: `[T, N]`, what an episode that is over has been paid in all; NaN elsewhere.
        lengths: `[T, N]`, how many steps it took; zero elsewhere.
    """

    features: Float[Array, "*T N d"]
    next_features: Float[Array, "*T N d"]
    actions: Float[Array, "*T N a"]
    by_player: Bool[Array, "*T N"]
    log_densities: Float[Array, "*T N"]
    paid: Float[Array, "*T N"]
    terminated: Bool[Array, "*T N"]
    over: Bool[Array, "*T N"]
    returns: Float[Array, "*T N"]
    lengths: Int[Array, "*T N"]


class Field(eqx.Module):
    """N copies of a world side by side.

    All are alike, or each has parameters of its own (domain randomization).
    """

    world: Any
    each: bool = eqx.field(static=True)

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


def start(field: Field, count: int, horizon: int, key: PRNGKeyArray) -> Walkers:
    """Begin N episodes at ages spread over the first half of the horizon.

    They are then not all cut off in the same segment.
    """
    states = field.initial(jax.random.split(key, count))
    ages = jnp.arange(count) * (horizon // 2) // max(count, 1)
    return Walkers(states, ages, jnp.zeros(count, dtype=float))


def walk(
    field: Field,
    players: Players,
    scale: Scale,
    alpha: Float[Array, ""],
    walkers: Walkers,
    *,
    steps: int,
    horizon: int,
    units: Float[Array, " a"] | None = None,
    mean_action: bool | Bool[Array, ""] = False,
    key: PRNGKeyArray,
) -> tuple[Walkers, Segment]:
    """Take some steps of the game of player and opponent in all episodes.

    Policies see scaled features, and act in `units`, those of the world if omitted.
    """
    count, size = walkers.ages.shape[0], players.player.log_deviation.shape[-1]
    draw_size, drawn = field.world.draw_size, jnp.logical_not(mean_action)

    def step(walkers: Walkers, key: PRNGKeyArray) -> tuple[Walkers, Segment]:
        hand, noise, first, second, anew = jax.random.split(key, 5)
        seen = field.features(walkers.states)
        inputs = scale(seen)
        by_player = jax.random.uniform(hand, (count,), dtype=float) < alpha
        normals = [jax.random.normal(k, (count, size), dtype=float) * drawn for k in (first, second)]
        ours, theirs = players.player.act(inputs, normals[0]), players.opponent.act(inputs, normals[1])
        action = jnp.where(by_player[:, None], ours, theirs)
        densities = [side.log_density(inputs, action) for side in (players.player, players.opponent)]
        draws = jax.random.uniform(noise, (count, draw_size), dtype=float)
        executed = action if units is None else action * units
        after = field.step(walkers.states, executed, draws)
        ended = field.terminal(after)
        # A simulation that has blown up ends its episode, and what it shows is not learned from.
        after = jnp.where(jnp.isfinite(after).all(-1, keepdims=True), after, walkers.states)
        paid = field.paid(after)
        ages, totals = walkers.ages + 1, walkers.totals + paid
        over = ended | (ages >= horizon)
        fresh = field.initial(jax.random.split(anew, count))
        onwards = Walkers(jnp.where(over[:, None], fresh, after), jnp.where(over, 0, ages), jnp.where(over, 0, totals))
        taken = Segment(
            features=seen,
            next_features=field.features(after),
            actions=action,
            by_player=by_player,
            log_densities=jnp.where(by_player, *densities),
            paid=paid,
            terminated=ended,
            over=over,
            returns=jnp.where(over, totals, jnp.nan),
            lengths=jnp.where(over, ages, 0),
        )
        return onwards, taken

    return jax.lax.scan(step, walkers, jax.random.split(key, steps))
