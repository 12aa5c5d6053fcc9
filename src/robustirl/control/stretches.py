"""Trainings in stretches: between two of them Python reports and can be interrupted.

The numbers of updates, of a stretch and of all, are data. One compiled program serves trainings of any length.
"""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PRNGKeyArray

from robustirl._runtime import BoundedJit
from robustirl.control.host_training import begin_host, take_host
from robustirl.control.host_worlds import HostField
from robustirl.control.ppo import create
from robustirl.control.segments import start, walk
from robustirl.control.updates import Judge, Progress, Run, Setting, learn
from robustirl.types import Tree

STRETCHES = 20
"""How many times a training returns to Python, to report and to be interrupted."""
ROOM = 128
"""The most updates that a call of the compiled program takes. The program has room for so many entries of the log."""


def begin_run(setting: Setting, memory: Tree, key: PRNGKeyArray) -> Run:
    """Return the beginning of a training."""
    first, second, rest = jax.random.split(key, 3)
    walkers = start(setting.field, setting.config.environments, setting.horizon, second)
    features = setting.field.features(walkers.states)
    agents = create(setting.config, features.shape[-1], setting.field.world.action_size, first)
    recent = jnp.broadcast_to(features, (setting.config.segment, *features.shape))
    return Run(eqx.tree_at(lambda a: a.scale, agents, agents.scale.seen(features)), walkers, memory, recent, rest)


def take_updates(setting: Setting, judge: Judge, run: Run, count: Int[Array, ""]) -> tuple[Run, Progress]:
    """Walk, judge and improve, so many times.

    The log has `ROOM` entries, of which the first `count` are filled.
    """

    def update(run: Run) -> tuple[Run, Progress]:
        rest, moves, judging, steps = jax.random.split(run.key, 4)
        config, agents = setting.config, run.agents
        walkers, segment = walk(
            setting.field,
            agents.players,
            agents.scale,
            setting.alpha,
            run.walkers,
            steps=config.segment,
            horizon=setting.horizon,
            units=setting.units,
            key=moves,
        )
        learned = learn(agents, judge, run.memory, segment, setting.discount, config, setting.updates, judging, steps)
        agents, memory, progress = learned
        return Run(agents, walkers, memory, segment.features, rest), progress

    def write(index: Int[Array, ""], carry: tuple[Run, Progress]) -> tuple[Run, Progress]:
        run, progress = update(carry[0])
        return run, jax.tree.map(lambda log, entry: log.at[index].set(entry), carry[1], progress)

    entry = jax.eval_shape(update, run)[1]
    blank = jax.tree.map(lambda leaf: jnp.zeros((ROOM, *leaf.shape), leaf.dtype), entry)
    return jax.lax.fori_loop(0, count, write, (run, blank))


def _take_batch(setting: Setting, judge: Judge, run: Run, count: Int[Array, ""]) -> tuple[Run, Progress]:
    return jax.vmap(lambda s, j, r: take_updates(s, j, r, count))(setting, judge, run)


def _begin_batch(setting: Setting, memory: Tree, keys: Key[Array, " runs"]) -> Run:
    return jax.vmap(begin_run)(setting, memory, keys)


_take_compiled: BoundedJit[[Setting, Judge, Run, Int[Array, ""]], tuple[Run, Progress]] = BoundedJit(_take_batch)
_begin_compiled: BoundedJit[[Setting, Tree, Key[Array, " runs"]], Run] = BoundedJit(_begin_batch)


def begin_batch(setting: Setting, memory: Tree, keys: Key[Array, " runs"]) -> Run:
    """Return the beginning of a batch of trainings."""
    begin = begin_host if isinstance(setting.field, HostField) else _begin_compiled
    return begin(setting, memory, keys)


def take_batch(setting: Setting, judge: Judge, run: Run, count: int) -> tuple[Run, Progress]:
    """Take so many updates of a batch of trainings; return their log on the host."""
    if isinstance(setting.field, HostField):
        return take_host(setting, judge, run, count)
    logs: list[Progress] = []
    for begun in range(0, count, ROOM):
        now = min(ROOM, count - begun)
        run, log = jax.block_until_ready(_take_compiled(setting, judge, run, jnp.asarray(now, jnp.int32)))
        # On the host: a device would compile a program for every length.
        logs.append(jax.tree.map(lambda leaf, now=now: np.asarray(leaf)[:, :now], log))
    return run, join_logs(logs)


def join_logs(logs: Sequence[Progress]) -> Progress:
    """Return the logs of stretches as one, on the host."""
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves], axis=1), *logs)


def in_stretches(updates: int) -> int:
    """Return a number of updates that consists of equal stretches.

    One program then takes them all.

    Example:
        >>> in_stretches(3), in_stretches(146)
        (3, 147)
    """
    size = max(1, updates // STRETCHES)
    return -(-updates // size) * size


def stretch_of(updates: int) -> int:
    """Return how many updates a stretch has, given a number that `in_stretches` returned.

    The result divides that number.

    Example:
        >>> stretch_of(3), stretch_of(147), stretch_of(756)
        (1, 7, 36)
    """
    return next(size for size in range(max(1, updates // STRETCHES), 0, -1) if updates % size == 0)


def take_in_stretches(
    setting: Setting, judge: Judge, run: Run, updates: int, callback: Callable[[int, int], object] | None
) -> tuple[Run, Progress]:
    """Take all updates of a batch of trainings, a stretch at a time."""
    size, logs, taken = stretch_of(updates), [], 0
    batch = setting.config.batch
    while taken < updates:
        run, progress = take_batch(setting, judge, run, size)
        logs.append(progress)
        taken += size
        if callback is not None:
            callback(taken * batch, updates * batch)
    return run, join_logs(logs)
