"""Training in environments that step themselves: one call of the policies and one step of all of them at a time.

What is learned from a segment is the compiled code of every other world (`updates.learn`).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from robustirl._runtime import BoundedJit, in_working_precision, single_precision
from robustirl.control.host_worlds import HostWorld
from robustirl.control.networks import Scale
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo import create
from robustirl.control.segments import Segment, Walkers
from robustirl.control.updates import Judge, Progress, Run, Setting, learn
from robustirl.types import AnyArray, Tree

CHUNK = 25
"""Steps after which it is looked whether all environments have finished an episode."""
ALWAYS = np.ones((), np.float32)
"""The α of a player alone."""


def _act(
    players: Players, scale: Scale, alpha: AnyArray, seen: Float[Array, "N d"], mean_action: bool, key: PRNGKeyArray
) -> tuple[Float[Array, "N a"], Bool[Array, " N"], Float[Array, " N"]]:
    """Return the executed actions, whether they are the player's, and their log-densities."""
    hand, first, second = jax.random.split(key, 3)
    inputs, shape = scale(seen), (seen.shape[0], players.player.log_deviation.shape[-1])
    normals = [jax.random.normal(k, shape, dtype=float) * (not mean_action) for k in (first, second)]
    by_player = jax.random.uniform(hand, shape[:1], dtype=float) < alpha
    ours, theirs = players.player.act(inputs, normals[0]), players.opponent.act(inputs, normals[1])
    action = jnp.where(by_player[:, None], ours, theirs)
    densities = [side.log_density(inputs, action) for side in (players.player, players.opponent)]
    return action, by_player, jnp.where(by_player, *densities)


_choose = BoundedJit(_act)
_learn = BoundedJit(learn)
_create = BoundedJit(create)


def begin_host(setting: Setting, memory: Tree, keys: Key[Array, " runs"]) -> Run:
    """Return the beginning of a training, a batch of one."""
    first, rest = jax.random.split(keys[0])
    world, config = setting.field.world, setting.config  # pyright: ignore[reportAttributeAccessIssue]
    seen = jnp.asarray(world.reset(), dtype=float)
    agents = _create(config, world.width, world.action_size, first)
    agents = eqx.tree_at(lambda a: a.scale, agents, agents.scale.seen(seen))
    walkers = Walkers(seen, jnp.zeros(len(seen), int), jnp.zeros(len(seen), dtype=float))
    recent = jnp.broadcast_to(seen, (config.segment, *seen.shape))
    agents, walkers, recent, rest = jax.tree.map(lambda leaf: leaf[None], (agents, walkers, recent, rest))
    return Run(agents, walkers, memory, recent, rest)  # The memory of a judge is a batch of one already.


def take_host(setting: Setting, judge: Judge, run: Run, count: int) -> tuple[Run, Progress]:
    """Walk, judge and improve, so many times, for a batch of one."""
    setting_one, judge, run = jax.tree.map(lambda leaf: leaf[0], (setting, judge, run))
    world, config, logs = setting_one.field.world, setting_one.config, []
    for _ in range(count):
        rest, moves, judging, steps = jax.random.split(run.key, 4)
        agents = run.agents
        walkers, rows = collect_segment(
            world,
            agents.players,
            agents.scale,
            setting_one.alpha,
            run.walkers,
            config.segment,
            moves,
            units=1.0 if setting_one.units is None else np.asarray(setting_one.units),
        )
        segment = rows.as_segment()
        agents, memory, progress = _learn(
            agents, judge, run.memory, segment, setting_one.discount, config, setting_one.updates, judging, steps
        )
        run = Run(agents, walkers, memory, segment.features, rest)
        logs.append(progress)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves)[None], *logs)
    return jax.tree.map(lambda leaf: leaf[None], run), stacked


class Rows(NamedTuple):
    """A row of a segment, or several along a first axis, as NumPy arrays.

    The fields are those of `Segment`.
    """

    features: Float[np.ndarray, "*T N d"]
    next_features: Float[np.ndarray, "*T N d"]
    actions: Float[np.ndarray, "*T N a"]
    by_player: Bool[np.ndarray, "*T N"]
    log_densities: Float[np.ndarray, "*T N"]
    paid: Float[np.ndarray, "*T N"]
    terminated: Bool[np.ndarray, "*T N"]
    over: Bool[np.ndarray, "*T N"]
    returns: Float[np.ndarray, "*T N"]
    lengths: Int[np.ndarray, "*T N"]

    def as_segment(self) -> Segment:
        """Return the rows in working precision."""
        fields = (jnp.asarray(part, dtype=float if part.dtype.kind == "f" else None) for part in self)
        return Segment(*fields)

    def with_repeats(self, other: "Rows", kept: Bool[np.ndarray, " N"]) -> "Rows":
        """Return the row in which environments that are not kept repeat another row.

        These environments report no episode.
        """
        mix = lambda new, old: np.where(kept.reshape(-1, *[1] * (new.ndim - 1)), new, old)  # noqa: E731
        mixed = Rows(*map(mix, self, other))
        return mixed._replace(returns=np.where(kept, mixed.returns, np.nan), lengths=np.where(kept, mixed.lengths, 0))


def collect_segment(
    world: HostWorld,
    players: Players,
    scale: Scale,
    alpha: AnyArray,
    walkers: Walkers,
    steps: int,
    key: PRNGKeyArray,
    mean_action: bool = False,
    units: Float[np.ndarray, " a"] | float = 1.0,
) -> tuple[Walkers, Rows]:
    """Take some steps in all environments; policies act in `units`.

    An environment that begins anew takes no step meanwhile. Its row repeats the one before, the end of its episode (or
    the one after, at the start of a segment), so that all rows are steps that were taken.
    """
    seen, ages, totals = (np.asarray(part) for part in (walkers.states, walkers.ages, walkers.totals))
    rows: list[Rows] = []
    absent = np.zeros(len(seen), bool)
    for step_key in jax.random.split(key, steps):
        chosen = _choose(players, scale, alpha, jnp.asarray(seen, dtype=float), mean_action, step_key)
        action, by_player, density = (np.asarray(part) for part in chosen)
        found = world.advance(action * units)
        ages, totals = ages + found.counted, totals + found.paid * found.counted
        over = found.terminated | found.truncated
        row = Rows(
            features=np.asarray(seen),
            next_features=found.after,
            actions=action,
            by_player=by_player,
            log_densities=density,
            paid=found.paid,
            terminated=found.terminated,
            over=over,
            returns=np.where(over, totals, np.nan),
            lengths=np.where(over, ages, 0),
        )
        if not rows:
            absent = ~found.counted
        elif not found.counted.all():
            row = row.with_repeats(rows[-1], found.counted)
        rows.append(row)
        seen, ages, totals = found.onward, np.where(over, 0, ages), np.where(over, 0.0, totals)
    if absent.any() and len(rows) > 1:
        # As the end of an episode that did not end by itself, the repeated step has the advantage of one step.
        later = rows[1]._replace(over=np.ones_like(absent), terminated=np.zeros_like(absent))
        rows[0] = rows[0].with_repeats(later, ~absent)
    onward = Walkers(jnp.asarray(seen, dtype=float), jnp.asarray(ages), jnp.asarray(totals, dtype=float))
    return onward, Rows(*(np.stack(part) for part in zip(*rows, strict=True)))


def episodes_of(
    world: HostWorld, policy: GaussianPolicy, *, episodes: int, mean_action: bool, key: PRNGKeyArray
) -> list[Rows]:
    """Return whole episodes of a policy from their start.

    Each episode has arrays `[T, 1]` or `[T, 1, d]`. All environments begin anew, and each gives its first episode; more
    rounds follow if more episodes are asked for.
    """
    scale, alone = Scale.empty(world.width), Players(policy, policy)
    whole: list[Rows] = []
    while len(whole) < episodes:
        seen = jnp.asarray(world.reset(), dtype=float)
        count = len(seen)
        walkers = Walkers(seen, jnp.zeros(count, int), jnp.zeros(count, dtype=float))
        parts: list[Rows] = []
        while sum(len(part.over) for part in parts) < world.horizon:
            key, own = jax.random.split(key)
            walkers, part = collect_segment(world, alone, scale, ALWAYS, walkers, CHUNK, own, mean_action)
            parts.append(part)
            if np.concatenate([part.over for part in parts]).any(0).all():
                break
        rows = Rows(*(np.concatenate(part)[: world.horizon] for part in zip(*parts, strict=True)))
        for index in range(count):
            ends = np.flatnonzero(rows.over[:, index])
            length = int(ends[0]) + 1 if len(ends) else len(rows.over)
            whole.append(Rows(*(part[:length, index : index + 1] for part in rows)))
    return whole[:episodes]


def host_returns(
    world: HostWorld, policy: GaussianPolicy, episodes: int, key: PRNGKeyArray, mean_action: bool = True
) -> Float[Array, " E"]:
    """Return what a policy earns in each of some episodes, by its mean actions or by drawn ones."""
    with single_precision():
        policy = in_working_precision(policy)
        whole = episodes_of(world, policy, episodes=episodes, mean_action=mean_action, key=key)
        return jnp.asarray([float(one.paid.sum()) for one in whole], dtype=float)
