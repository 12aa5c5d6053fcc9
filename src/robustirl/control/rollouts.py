r"""Sample episodes: whole ones from their start, or segments of episodes that go on from one segment to the next.

In the two-player game the player's action is executed with probability α and the opponent's otherwise (the kernel
T^{two,L,α} of the paper), so an episode is one of the mixture α π_pl + (1-α) π_op.

`collect` samples thousands of whole episodes at once. At α = 1 the opponent's action is drawn and not used: the
player's numbers come from their own stream and do not depend on the opponent. An episode that has ended stays where it
ended, masked. Steps are taken in stretches, each with a key of its own; once all episodes have ended, the remaining
stretches are skipped, draws and all.

Long episodes are learned from while they run: a `Segment` is some steps of each, with a flag for every step whether the
episode terminated there or was cut off at the horizon. `walk` takes them in a world that JAX traces, `walk_on_host` in
environments that step themselves, one call of the policies and one step of all environments at a time.

Time is the first axis: `[T, N]` for T steps of N episodes.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_number_within, require_memory
from robustirl._jax import ScopedModule, jit, working_precision
from robustirl.control.policies import GaussianPolicy, Players, Scale
from robustirl.control.worlds import Field, HostWorld, RewardedWorld, World, as_key, require_reward
from robustirl.types import AnyArray

if TYPE_CHECKING:
    Leaf: TypeAlias = Any  # JAX's arrays, or NumPy's of environments that step themselves.
else:
    Leaf = AnyArray
STRETCH = 25
"""Steps of whole episodes after which it is looked whether all have ended."""


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
    """

    states: Float[Array, "*batch T1 N n"]
    features: Float[Array, "*batch T1 N d"]
    player_actions: Float[Array, "*batch T N a"]
    opponent_actions: Float[Array, "*batch T N a"]
    by_player: Bool[Array, "*batch T N"]
    active: Bool[Array, "*batch T N"]
    terminated: Bool[Array, "*batch N"]

    @property
    def lengths(self) -> Int[Array, " N"]:
        """Return the steps taken by each episode."""
        return self.active.sum(0)

    @property
    def visited(self) -> Bool[Array, "T1 N"]:
        """Return whether s_t was visited while the episode ran, the start and the last state included."""
        return jnp.concatenate([jnp.ones_like(self.active[:1]), self.active])

    @property
    def executed(self) -> Float[Array, "T N a"]:
        """Return the actions executed, before clipping."""
        return jnp.where(self.by_player[..., None], self.player_actions, self.opponent_actions)

    def rewards(self, reward: Callable[[Float[Array, " n"]], Float[Array, ""]]) -> Float[Array, "T N"]:
        """Return R(s_{t+1}) of every step taken, zero after the end."""
        return self.masked(jax.vmap(jax.vmap(reward))(self.states[1:]))

    def linear_rewards(self, weights: Float[Array, " d"]) -> Float[Array, "T N"]:
        """Return ⟨θ, φ(s_{t+1})⟩ of every step taken, zero after the end."""
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
        >>> from robustirl.control.policies import linear_policy
        >>> from robustirl.envs import GaussianGrid
        >>> policy, key = linear_policy(7, 2), jax.random.key(0)
        >>> batch = collect(GaussianGrid(0.1), policy, episodes=3, horizon=10, mean_action=True, key=key)
        >>> batch.states.shape, batch.lengths.tolist(), batch.terminated.any().item()
        ((11, 3, 2), [10, 10, 10], False)
    """
    episodes, horizon = as_count("episodes", episodes, 1), as_count("the horizon", horizon, 1)
    numbers = 4 + 2 * world.action_size  # The least that is kept of a step.
    asked = f"sampling {episodes} episodes of {horizon} steps"
    require_memory(4.0 * numbers * episodes * horizon, asked, "take fewer, or a shorter horizon")
    chance = as_number_within("alpha", alpha, "0 <= α <= 1", lambda number: 0 <= number <= 1)
    return _collect(world, player, opponent, chance, episodes, horizon, mean_action, as_key(key))


def _normals(uniforms: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Return standard normal numbers from uniform ones in [0, 1), by the inverse distribution function."""
    inside = 1 - jnp.finfo(uniforms.dtype).eps  # Zero would stand for minus infinity.
    return math.sqrt(2) * jax.lax.erf_inv(jnp.clip(2 * uniforms - 1, -inside, inside))


@jit
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
        ours, theirs = (jnp.zeros_like(u) if mean_action else _normals(u) for u in (first, second))
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


class Evaluation(ScopedModule):
    """What the episodes of a policy brought.

    Attributes:
        returns: `[N]`, the undiscounted return of each, the rewards of all states but the start.
        reached: `[N]`, whether the episode ended by itself: in GaussianGrid, at the goal.
        lengths: `[N]`, steps taken.
    """

    returns: Float[Array, "*batch N"]
    reached: Bool[Array, "*batch N"]
    lengths: Int[Array, "*batch N"]

    @property
    def mean_return(self) -> Float[Array, "*batch"]:
        """Return the mean over episodes."""
        return self.returns.mean(-1)

    @property
    def median_return(self) -> Float[Array, "*batch"]:
        """Return the median over episodes."""
        return jnp.median(self.returns, -1)

    @property
    def goal_share(self) -> Float[Array, "*batch"]:
        """Return the share of episodes that reached the goal."""
        return self.reached.mean(-1, dtype=float)


@working_precision
def evaluate(
    world: RewardedWorld,
    policy: GaussianPolicy,
    *,
    episodes: int = 200,
    horizon: int = 1000,
    mean_action: bool = True,
    key: PRNGKeyArray,
) -> Evaluation:
    """Measure a policy under the true reward.

    The defaults are as published: 200 episodes of at most 1000 mean actions.

    Example:
        >>> from robustirl.control.policies import linear_policy
        >>> from robustirl.envs import GaussianGrid
        >>> still = evaluate(GaussianGrid(), linear_policy(7, 2), episodes=3, horizon=10, key=jax.random.key(0))
        >>> still.goal_share.item(), round(still.mean_return.item(), 3), still.lengths.tolist()
        (0.0, -80.0, [10, 10, 10])
    """
    require_reward(world)
    sampled = collect(world, policy, episodes=episodes, horizon=horizon, mean_action=mean_action, key=key)
    return Evaluation(sampled.rewards(world.reward).sum(0), sampled.terminated, sampled.lengths)


class Walkers(eqx.Module):
    """Episodes under way.

    Attributes:
        states: `[N, n]`, where they are.
        ages: `[N]`, steps since their start.
        totals: `[N]`, what the world has paid since then.
    """

    states: Float[Leaf, "*batch N n"]
    ages: Int[Leaf, "*batch N"]
    totals: Float[Leaf, "*batch N"]

    @classmethod
    def at(cls, states: Float[Array, "N n"]) -> "Walkers":
        """Return episodes that begin in these states."""
        return cls(states, jnp.zeros(len(states), int), jnp.zeros(len(states), dtype=float))


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

    features: Float[Leaf, "*T N d"]
    next_features: Float[Leaf, "*T N d"]
    actions: Float[Leaf, "*T N a"]
    by_player: Bool[Leaf, "*T N"]
    log_densities: Float[Leaf, "*T N"]
    paid: Float[Leaf, "*T N"]
    terminated: Bool[Leaf, "*T N"]
    over: Bool[Leaf, "*T N"]
    returns: Float[Leaf, "*T N"]
    lengths: Int[Leaf, "*T N"]


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
    """Take some steps of the game of player and opponent in all episodes, for use inside compiled code.

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
        action, density = _act(players, inputs, by_player, normals)
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
            log_densities=density,
            paid=paid,
            terminated=ended,
            over=over,
            returns=jnp.where(over, totals, jnp.nan),
            lengths=jnp.where(over, ages, 0),
        )
        return onwards, taken

    return jax.lax.scan(step, walkers, jax.random.split(key, steps))


def _act(
    players: Players, inputs: Float[Array, "N d"], by_player: Bool[Array, " N"], normals: list[Float[Array, "N a"]]
) -> tuple[Float[Array, "N a"], Float[Array, " N"]]:
    """Return the executed actions and their log-densities."""
    ours, theirs = players.player.act(inputs, normals[0]), players.opponent.act(inputs, normals[1])
    action = jnp.where(by_player[:, None], ours, theirs)
    densities = [side.log_density(inputs, action) for side in (players.player, players.opponent)]
    return action, jnp.where(by_player, *densities)


@jit
def _choose(
    players: Players, scale: Scale, alpha: AnyArray, seen: Float[Array, "N d"], mean_action: bool, key: PRNGKeyArray
) -> tuple[Float[Array, "N a"], Bool[Array, " N"], Float[Array, " N"]]:
    """Return the executed actions, whether they are the player's, and their log-densities."""
    hand, first, second = jax.random.split(key, 3)
    shape = (seen.shape[0], players.player.log_deviation.shape[-1])
    normals = [jax.random.normal(k, shape, dtype=float) * (not mean_action) for k in (first, second)]
    by_player = jax.random.uniform(hand, shape[:1], dtype=float) < alpha
    action, density = _act(players, scale(seen), by_player, normals)
    return action, by_player, density


def walk_on_host(
    world: HostWorld,
    players: Players,
    scale: Scale,
    alpha: AnyArray,
    walkers: Walkers,
    *,
    steps: int,
    units: Float[np.ndarray, " a"] | float = 1.0,
    mean_action: bool = False,
    key: PRNGKeyArray,
) -> tuple[Walkers, Segment]:
    """Take some steps in environments that step themselves; the segment holds NumPy arrays.

    An environment that begins anew takes no step meanwhile. Its row repeats the one before, the end of its episode (or
    the one after, at the start of a segment), so that all rows are steps that were taken.
    """
    seen, ages, totals = (np.asarray(part) for part in (walkers.states, walkers.ages, walkers.totals))
    rows: list[Segment] = []
    absent = np.zeros(len(seen), bool)
    for step_key in jax.random.split(key, steps):
        chosen = _choose(players, scale, alpha, jnp.asarray(seen, dtype=float), mean_action, step_key)
        action, by_player, density = (np.asarray(part) for part in chosen)
        taken = world.advance(action * units)
        ages, totals = ages + taken.counted, totals + taken.paid * taken.counted
        over = taken.terminated | taken.truncated
        row = Segment(
            features=seen,
            next_features=taken.after,
            actions=action,
            by_player=by_player,
            log_densities=density,
            paid=taken.paid,
            terminated=taken.terminated,
            over=over,
            returns=np.where(over, totals, np.nan),
            lengths=np.where(over, ages, 0),
        )
        if not rows:
            absent = ~taken.counted
        elif not taken.counted.all():
            row = _with_repeats(row, rows[-1], taken.counted)
        rows.append(row)
        seen, ages, totals = taken.onward, np.where(over, 0, ages), np.where(over, 0.0, totals)
    if absent.any() and len(rows) > 1:
        # As the end of an episode that did not end by itself, the repeated step has the advantage of one step.
        later = eqx.tree_at(lambda s: (s.over, s.terminated), rows[1], (np.ones_like(absent), np.zeros_like(absent)))
        rows[0] = _with_repeats(rows[0], later, ~absent)
    return Walkers(seen, ages, totals), jax.tree.map(lambda *parts: np.stack(parts), *rows)


def _with_repeats(row: Segment, other: Segment, kept: Bool[np.ndarray, " N"]) -> Segment:
    """Return the row in which environments that are not kept repeat another row, without reporting an episode."""
    mixed = jax.tree.map(lambda new, old: np.where(kept.reshape(-1, *[1] * (new.ndim - 1)), new, old), row, other)
    ends = np.where(kept, mixed.returns, np.nan), np.where(kept, mixed.lengths, 0)
    return eqx.tree_at(lambda segment: (segment.returns, segment.lengths), mixed, ends)


def episodes_of(
    world: HostWorld, policy: GaussianPolicy, *, episodes: int, mean_action: bool, key: PRNGKeyArray
) -> list[Segment]:
    """Return whole episodes of a policy from their start, each with arrays `[T, 1]` or `[T, 1, d]`.

    All environments begin anew, and each gives its first episode; more rounds follow if more episodes are asked for.
    """
    scale, alone, alpha = Scale.empty(world.width), Players(policy, policy), np.ones((), np.float32)
    whole: list[Segment] = []
    while len(whole) < episodes:
        walkers, parts = Walkers.at(jnp.asarray(world.reset(), dtype=float)), []
        while sum(len(part.over) for part in parts) < world.horizon:
            key, own = jax.random.split(key)
            walkers, part = walk_on_host(
                world, alone, scale, alpha, walkers, steps=STRETCH, mean_action=mean_action, key=own
            )
            parts.append(part)
            if np.concatenate([part.over for part in parts]).any(0).all():
                break
        rows = jax.tree.map(lambda *found: np.concatenate(found)[: world.horizon], *parts)
        for place in range(rows.over.shape[1]):
            length = int(np.argmax(rows.over[:, place])) + 1 if rows.over[:, place].any() else len(rows.over)
            whole.append(jax.tree.map(lambda leaf, n=length, i=place: leaf[:n, i : i + 1], rows))
    return whole[:episodes]
