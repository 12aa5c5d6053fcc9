r"""Thousands of episodes at once, of one player or of two.

In the two-player game the player's action is executed with probability α and the opponent's otherwise (the kernel
T^{two,L,α} of the paper), so the episode is one of the mixture α π_pl + (1-α) π_op. At α = 1 the opponent's action is
drawn and not used: the player's numbers come from their own stream and do not depend on the opponent.

Time is the first axis: `[T, N]` for T steps of N episodes. An episode that has ended stays where it ended, masked.
Steps are taken in stretches, each with a key of its own; once all episodes have ended, the remaining stretches are
skipped, draws and all.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import BoundedJit, ScopedModule, working_precision
from robustirl.control.checks import as_key
from robustirl.control.interface import World
from robustirl.control.memory import require_episodes
from robustirl.control.policies import GaussianPolicy
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count, as_floats, concrete

STRETCH = 25


class Episodes(ScopedModule):
    """A batch of N episodes of at most T steps; T1 is short for T + 1.

    Attributes:
        states: `[T+1, N, n]`, s_0 to s_T.
        features: `[T+1, N, d]`, φ(s_t).
        player_actions: `[T, N, a]`, before clipping.
        opponent_actions: `[T, N, a]`, before clipping; drawn even where they were not executed.
        by_player: `[T, N]`, whether the player's action was the one executed.
        active: `[T, N]`, whether the episode was still running when step t was taken.
        terminated: `[N]`, whether the episode ended by itself rather than at the horizon.
        observed_rewards: `[T, N]`, what a foreign environment paid (`collect_vector`); our own worlds have none.
    """

    states: Float[Array, "*batch T1 N n"]
    features: Float[Array, "*batch T1 N d"]
    player_actions: Float[Array, "*batch T N a"]
    opponent_actions: Float[Array, "*batch T N a"]
    by_player: Bool[Array, "*batch T N"]
    active: Bool[Array, "*batch T N"]
    terminated: Bool[Array, "*batch N"]
    observed_rewards: Float[Array, "*batch T N"] | None = None

    @property
    def lengths(self) -> Int[Array, " N"]:
        """Steps taken by each episode."""
        return self.active.sum(0)

    @property
    def visited(self) -> Bool[Array, "T1 N"]:
        """Whether s_t was visited while the episode ran, the start and the last state included."""
        return jnp.concatenate([jnp.ones_like(self.active[:1]), self.active])

    @property
    def executed(self) -> Float[Array, "T N a"]:
        """The actions executed, before clipping."""
        return jnp.where(self.by_player[..., None], self.player_actions, self.opponent_actions)

    def rewards(self, reward: Callable[[Float[Array, " n"]], Float[Array, ""]]) -> Float[Array, "T N"]:
        """R(s_{t+1}) of every step taken, zero after the end."""
        return self.masked(jax.vmap(jax.vmap(reward))(self.states[1:]))

    def linear_rewards(self, weights: Float[Array, " d"]) -> Float[Array, "T N"]:
        """⟨θ, φ(s_{t+1})⟩ of every step taken, zero after the end."""
        return self.masked(self.features[1:] @ weights)

    def masked(self, values: Float[Array, "T N"]) -> Float[Array, "T N"]:
        """Return `values` where a step was taken and zero elsewhere."""
        return jnp.where(self.active, values, 0)


@working_precision
def collect(
    world: World,
    player: GaussianPolicy,
    opponent: GaussianPolicy | None = None,
    alpha: float | Float[Array, ""] = 1.0,
    *,
    episodes: int = 128,
    horizon: int = 200,
    mean_action: bool = False,
    key: PRNGKeyArray,
) -> Episodes:
    """Sample episodes of the player alone, or of the game of player and opponent.

    Args:
        world: Where to act.
        player: π_pl.
        opponent: π_op; without one the player acts alone, whatever α.
        alpha: α, the probability that the player's action is executed.
        episodes: N.
        horizon: T, after which an episode is cut off. There is no way to sample without one.
        mean_action: Take the mean actions instead of drawing from the policies.
        key: Decides all draws.

    Example:
        >>> from robustirl.control import linear_policy
        >>> from robustirl.envs import GaussianGrid
        >>> policy, key = linear_policy(7, 2), jax.random.key(0)
        >>> batch = collect(GaussianGrid(0.1), policy, episodes=3, horizon=10, mean_action=True, key=key)
        >>> batch.states.shape, batch.lengths.tolist(), batch.terminated.any().item()
        ((11, 3, 2), [10, 10, 10], False)
    """
    episodes, horizon = as_count("episodes", episodes, 1), as_count("the horizon", horizon, 1)
    require_episodes(world, episodes, horizon)
    return _collect(world, player, opponent, as_chance(alpha), episodes, horizon, mean_action, as_key(key))


def as_chance(alpha: object) -> Float[Array, ""]:
    """Return `alpha` as an array, or refuse what is no probability."""
    if concrete(alpha):
        array = as_floats("alpha", alpha)
        if array.ndim or not 0 <= array <= 1:
            raise InvalidInputError(f"alpha is {alpha!r}, but a probability between 0 and 1 is needed.")
    return jnp.asarray(alpha, dtype=float)  # pyright: ignore[reportArgumentType]


@working_precision
def normals(uniforms: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Return standard normal numbers from uniform ones in [0, 1).

    They are computed by the inverse distribution function.

    Example:
        >>> from robustirl._runtime import as_float
        >>> [round(x, 1) for x in normals(as_float([0.5, 0.0])).tolist()]
        [0.0, -8.2]
    """
    inside = 1 - jnp.finfo(uniforms.dtype).eps  # Zero would stand for minus infinity.
    return math.sqrt(2) * jax.lax.erf_inv(jnp.clip(2 * uniforms - 1, -inside, inside))


@BoundedJit
def _collect(
    world: World,
    player: GaussianPolicy,
    opponent: GaussianPolicy | None,
    alpha: Float[Array, ""],
    episodes: int,
    horizon: int,
    mean_action: bool,
    key: PRNGKeyArray,
) -> Episodes:
    length, size = min(STRETCH, horizon), world.action_size
    starts, moves = jax.random.split(key)
    states = jax.vmap(lambda k: world.initial(key=k))(jax.random.split(starts, episodes))
    looks, ends, steps = jax.vmap(world.features), jax.vmap(world.terminal), jax.vmap(world.step)

    def draw(key: PRNGKeyArray):
        """Return the noise of a stretch, who acts in it, and what their actions are drawn from."""
        # One block of uniform numbers for everything (a separate call each would take several times as long to
        # compile), laid out alike with and without an opponent: the player's numbers do not depend on there being one.
        uniforms = jax.random.uniform(key, (length, episodes, world.draw_size + 1 + 2 * size), dtype=float)
        noise, hands, first, second = jnp.split(uniforms, np.cumsum([world.draw_size, 1, size]), axis=-1)
        by_player = jnp.ones_like(hands[..., 0], bool) if opponent is None else hands[..., 0] < alpha
        ours, theirs = (jnp.zeros_like(u) if mean_action else normals(u) for u in (first, second))
        return noise, by_player, ours, theirs

    def step(carry, drawn):
        states, features, over = carry
        noise, by_player, ours, theirs = drawn
        action = player.act(features, ours)
        other = action if opponent is None else opponent.act(features, theirs)
        moved = steps(states, jnp.where(by_player[:, None], action, other), noise)
        after = jnp.where(over[:, None], states, moved)
        seen = looks(after)
        return (after, seen, over | ends(after)), (after, seen, action, other, by_player, ~over)

    def stretch(carry, key: PRNGKeyArray):
        def stay():
            states, features, over = carry
            blank = jnp.zeros((episodes, size), dtype=float)
            held = (states, features, blank, blank, jnp.ones_like(over), jnp.zeros_like(over))
            return carry, jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (length, *leaf.shape)), held)

        return jax.lax.cond(carry[2].all(), stay, lambda: jax.lax.scan(step, carry, draw(key)))

    carry = (states, looks(states), ends(states))
    _, logs = jax.lax.scan(stretch, carry, jax.random.split(moves, -(-horizon // STRETCH)))
    after, seen, actions, others, by_player, active = (log.reshape(-1, *log.shape[2:])[:horizon] for log in logs)
    return Episodes(
        states=jnp.concatenate([states[None], after]),
        features=jnp.concatenate([carry[1][None], seen]),
        player_actions=actions,
        opponent_actions=others,
        by_player=by_player,
        active=active,
        terminated=ends(after[-1]),
    )
