"""Train policies by PPO, for the world's own reward or for a learned one, in many worlds at once, and measure them.

Trainings of a batch advance in lockstep in one compiled program, in single precision. The numbers of updates, of a
stretch and of all, are data: one program serves trainings of any length. Environments that step themselves are walked
in Python, one training at a time; what is learned from a segment is the same code.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray

from robustirl._check import as_count, as_list, one_line, require_kind, require_memory
from robustirl._jax import in_working_precision, jit, on_host, single_precision
from robustirl._progress import Callback, require_callbacks, run_in_stretches
from robustirl.control.policies import GaussianPolicy, Players, Scale, folded, require_policy
from robustirl.control.ppo import (
    Agents,
    Judge,
    Learned,
    PPOConfig,
    Progress,
    RewardFunction,
    WorldReward,
    create,
    learn,
)
from robustirl.control.rollouts import Segment, Walkers, episodes_of, walk, walk_on_host
from robustirl.control.worlds import (
    Field,
    HostField,
    HostWorld,
    World,
    action_units,
    as_keys,
    list_worlds,
    require_one_kind,
    require_reward,
    usual_horizon,
    world_width,
)
from robustirl.errors import InvalidInputError
from robustirl.types import Tree

STRETCHES = 20
"""How many times a training returns to Python, to report and to be interrupted."""
ROOM = 128
"""The most updates of a stretch: the compiled program has room for so many entries of the log."""


class Setting(eqx.Module):
    """What does not change during a training.

    Policies act in `units` of the world's actions, if there are some.
    """

    field: Any
    units: Float[Array, "*batch a"] | None
    alpha: Float[Array, "*batch"]
    discount: Float[Array, "*batch"]
    updates: Int[Array, "*batch"]
    config: PPOConfig = eqx.field(static=True)
    horizon: int = eqx.field(static=True)


class Run(eqx.Module):
    """Where a training is; `recent` are the features of its last segment, `[T, N, d]`."""

    agents: Agents
    walkers: Walkers
    memory: Tree
    recent: Float[Array, "*batch T N d"]
    key: Key[Array, "*batch"]


def training_setting(
    world: World | HostWorld | Sequence[World], alpha: float, steps: int, config: PPOConfig, horizon: int | None
) -> Setting:
    """Return the checked setting of a training; to be called in single precision."""
    require_kind("config", config, PPOConfig, "a PPOConfig")
    if isinstance(world, HostWorld):
        if horizon is not None:
            raise InvalidInputError(
                f"horizon is {horizon}, but environments that step themselves end their own episodes; omit it, and make"
                " them with max_episode_steps."
            )
        first, config = world, dataclasses.replace(config, environments=world.environments)
        field, horizon = HostField(world), world.horizon
    else:
        worlds: list[Any] = [in_working_precision(one) for one in list_worlds(world)]  # pyright: ignore
        first, horizon = worlds[0], usual_horizon(worlds, horizon)
        field = Field.of(worlds if isinstance(world, list | tuple) else first, config.environments)
    steps, units = as_count("steps", steps, config.batch), action_units(first)
    updates = steps // config.batch
    size = max(1, updates // STRETCHES)
    layers = 4.0 * config.batch * (world_width(first) + max(config.hidden)) + 36.0 * float(np.prod(config.hidden))
    asked = f"a training with environments={config.environments}, segment={config.segment}, hidden={config.hidden}"
    require_memory(layers, asked, "use smaller ones")
    return Setting(
        field,
        None if units is None else jnp.asarray(units, dtype=float),
        jnp.asarray(alpha, dtype=float),
        jnp.asarray(first.discount, dtype=float),
        jnp.asarray(-(-updates // size) * size),  # Stretches are equal, so that a program with one count takes all.
        config,
        horizon,
    )


def stacked(*columns: Sequence[Tree]) -> tuple[Any, ...]:
    """Return each list of trees as one, along a new first axis, on the device."""
    together = lambda *leaves: jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))  # noqa: E731
    return tuple(jax.tree.map(together, *column) for column in columns)


def unstacked(tree: Tree, count: int) -> list[Any]:
    """Return the entries of a stack, sliced on the host: on a device every slice would be a transfer."""
    keys = lambda leaf: isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)  # noqa: E731
    held = jax.tree.map(lambda leaf: leaf if keys(leaf) else np.asarray(leaf), tree)
    return [jax.tree.map(lambda leaf, i=index: leaf[i], held) for index in range(count)]


def _begin(setting: Setting, memory: Tree, key: PRNGKeyArray) -> Run:
    """Return the beginning of a training.

    The ages of its episodes are spread over the first half of the horizon, so that they are not all cut off in the same
    segment.
    """
    first, second, rest = jax.random.split(key, 3)
    count = setting.config.environments
    states = setting.field.initial(jax.random.split(second, count))
    ages = jnp.arange(count) * (setting.horizon // 2) // count
    walkers = eqx.tree_at(lambda w: w.ages, Walkers.at(states), ages)
    features = setting.field.features(walkers.states)
    agents = create(setting.config, features.shape[-1], setting.field.world.action_size, first)
    return _with_features(agents, walkers, memory, features, rest, setting.config)


def _with_features(
    agents: Agents, walkers: Walkers, memory: Tree, seen: Float[Array, "N d"], key: PRNGKeyArray, config: PPOConfig
) -> Run:
    recent = jnp.broadcast_to(seen, (config.segment, *seen.shape))
    return Run(eqx.tree_at(lambda a: a.scale, agents, agents.scale.seen(seen)), walkers, memory, recent, key)


def _take(setting: Setting, judge: Judge, run: Run, count: Int[Array, ""]) -> tuple[Run, Progress]:
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


_begin_batch = jit(lambda setting, memory, keys: jax.vmap(_begin)(setting, memory, keys))
_take_batch = jit(
    lambda setting, judge, run, count: jax.vmap(_take, in_axes=(0, 0, 0, None))(setting, judge, run, count)
)
_create, _learn = jit(create), jit(learn)


def _begin_on_host(setting: Setting, memory: Tree, keys: Key[Array, " runs"]) -> Run:
    """Return the beginning of a training in environments that step themselves, a batch of one."""
    first, rest = jax.random.split(keys[0])
    world = setting.field.world
    seen = jnp.asarray(world.reset(), dtype=float)
    agents = _create(setting.config, world.width, world.action_size, first)
    run = _with_features(agents, Walkers.at(seen), (), seen, rest, setting.config)
    # The memory of a judge is a batch of one already.
    return eqx.tree_at(lambda r: r.memory, jax.tree.map(lambda leaf: leaf[None], run), memory)


def _take_on_host(setting: Setting, judge: Judge, run: Run, count: int) -> tuple[Run, Progress]:
    """Walk, judge and improve, so many times, for a batch of one."""
    one, judge, run = jax.tree.map(lambda leaf: leaf[0], (setting, judge, run))
    units, logs = 1.0 if one.units is None else np.asarray(one.units), []
    for _ in range(count):
        rest, moves, judging, steps = jax.random.split(run.key, 4)
        agents = run.agents
        walkers, rows = walk_on_host(
            one.field.world,
            agents.players,
            agents.scale,
            one.alpha,
            run.walkers,
            steps=one.config.segment,
            units=units,
            key=moves,
        )
        walkers, segment = jax.tree.map(
            lambda part: jnp.asarray(part, dtype=float if part.dtype.kind == "f" else None), (walkers, rows)
        )
        agents, memory, progress = _learn(
            agents, judge, run.memory, segment, one.discount, one.config, one.updates, judging, steps
        )
        run = Run(agents, walkers, memory, segment.features, rest)
        logs.append(progress)
    log = jax.tree.map(lambda *leaves: jnp.stack(leaves)[None], *logs)
    return jax.tree.map(lambda leaf: leaf[None], run), log


State = tuple[Run, tuple[Progress, ...]]
"""Where a batch of trainings is, and the logs of its stretches."""


class Lockstep:
    """A batch of trainings that advance together, a stretch of updates at a time.

    Args:
        settings: What does not change, for each training.
        judges: What gives rewards in each.
        memories: What each judge remembers at the start.
        keys: One key a training.
    """

    def __init__(
        self, settings: Sequence[Setting], judges: Sequence[Judge], memories: Sequence[Tree], keys: Key[Array, " runs"]
    ):
        require_one_kind([setting.field for setting in settings])
        self.setting, self.judge, memory = stacked(settings, judges, memories)
        self.updates, self.batch = int(settings[0].updates), settings[0].config.batch
        most = min(max(1, self.updates // STRETCHES), ROOM)
        self.stretch = next(size for size in range(most, 0, -1) if self.updates % size == 0)
        self.on_host = isinstance(self.setting.field, HostField)
        begin = _begin_on_host if self.on_host else _begin_batch
        self.start: State = (begin(self.setting, memory, keys), ())

    def run(
        self, view: Callable[[State], Any], finish: Callable[[State], Any], callbacks: Sequence[Callback]
    ) -> tuple[State, bool]:
        """Take all updates; see `robustirl._progress.run_in_stretches`."""
        return run_in_stretches(
            self.start,
            self._advance,
            is_over=lambda state: self.taken(state) >= self.updates,
            view=view,
            finish=finish,
            callbacks=callbacks,
        )

    def taken(self, state: State) -> int:
        """Return how many updates were taken."""
        return self.stretch * len(state[1])

    def log(self, state: State) -> Progress:
        """Return the logs of all stretches as one, on the host."""
        return jax.tree.map(lambda *parts: np.concatenate([np.asarray(part) for part in parts], axis=1), *state[1])

    def _advance(self, state: State) -> State:
        run, logs = state
        if self.on_host:
            run, log = _take_on_host(self.setting, self.judge, run, self.stretch)
        else:
            run, log = _take_batch(self.setting, self.judge, run, jnp.asarray(self.stretch, jnp.int32))
        # On the host: a device would compile a program for every length.
        return run, (*logs, jax.tree.map(lambda leaf: np.asarray(leaf)[:, : self.stretch], log))


@dataclasses.dataclass(frozen=True)
class TrainingStep:
    """What callbacks are given from time to time.

    Attributes:
        steps: Steps in the world so far.
        total: Steps to take.
        episode_return: The mean return of the episodes that ended in the last update; NaN if none did.
    """

    steps: int
    total: int
    episode_return: float


class PolicyTraining(eqx.Module):
    """A policy that PPO has trained.

    Attributes:
        policy: It, as a function of the world's features.
        progress: How training went, one entry an update.
    """

    policy: GaussianPolicy
    progress: Progress


def train_policy(
    world: World | HostWorld | Sequence[World],
    *,
    steps: int = 500_000,
    reward: RewardFunction | None = None,
    config: PPOConfig = PPOConfig(),
    horizon: int | None = None,
    callbacks: Sequence[Callback] = (),
    key: PRNGKeyArray,
) -> PolicyTraining:
    """Train a policy by PPO, in single precision.

    Args:
        world: The world; or several of one kind that differ in their parameters, over which the environments are spread
            (domain randomization).
        steps: Steps in the world, of all environments together.
        reward: A reward of φ(s) and φ(s'), such as that of a robust imitation; the world's own if None.
        config: How to train.
        horizon: After how many steps an episode is cut off; the world's own if it has one, else 200.
        callbacks: Called with a `TrainingStep` from time to time; one that answers False ends the training. Ctrl-C
            raises `Interrupted` with the training so far.
        key: Decides all draws.

    Example:
        >>> from robustirl.envs import physics
        >>> config = PPOConfig(environments=8, segment=16, hidden=(8,))
        >>> result = train_policy(physics.make("pendulum"), steps=256, config=config, key=jax.random.key(0))
        >>> result.policy.weights[0].shape, result.progress.reward.shape
        ((3, 8), (2,))
    """
    options = {"steps": steps, "reward": reward, "config": config, "horizon": horizon, "callbacks": callbacks}
    return train_policies([world], **options, keys=[key])[0]


def train_policies(
    worlds: Sequence[World | HostWorld | Sequence[World]],
    *,
    steps: int = 500_000,
    reward: RewardFunction | None = None,
    config: PPOConfig = PPOConfig(),
    horizon: int | None = None,
    callbacks: Sequence[Callback] = (),
    keys: Sequence[PRNGKeyArray],
) -> list[PolicyTraining]:
    """Train a policy in each of several worlds of one kind, in lockstep; see `train_policy`."""
    worlds = as_list("worlds", worlds, "a sequence of worlds")
    keys = as_keys(len(worlds), keys)
    require_callbacks(callbacks)
    if len(worlds) > 1 and any(isinstance(world, HostWorld) for world in worlds):
        options = {"steps": steps, "reward": reward, "config": config, "horizon": horizon, "callbacks": callbacks}
        return [train_policy(world, **options, key=key) for world, key in zip(worlds, keys, strict=True)]
    with single_precision():
        for world in worlds:
            first = world if isinstance(world, HostWorld) else list_worlds(world)[0]
            if reward is not None:
                _require_fitting(reward, first)
            elif not isinstance(first, HostWorld):
                require_reward(first)
        judge = WorldReward() if reward is None else Learned(reward)
        with on_host():
            settings = [training_setting(world, 1.0, steps, config, horizon) for world in worlds]
        lockstep = Lockstep(settings, [judge] * len(worlds), [()] * len(worlds), jnp.stack(keys))
        batch, updates = lockstep.batch, lockstep.updates

        def view(state: State) -> TrainingStep:
            last = np.asarray(state[1][-1].episode_return)[:, -1]
            mean = float(np.nanmean(last)) if np.isfinite(last).any() else float("nan")
            return TrainingStep(lockstep.taken(state) * batch, updates * batch, mean)

        def finish(state: State) -> list[PolicyTraining]:
            parts = unstacked((state[0].agents, lockstep.log(state)), len(worlds))
            with on_host():
                parts = [jax.tree.map(jnp.asarray, part) for part in parts]
                return [
                    PolicyTraining(folded(agents.players.player, agents.scale, setting.units), log)
                    for (agents, log), setting in zip(parts, settings, strict=True)
                ]

        return finish(lockstep.run(view, finish, callbacks)[0])


def _require_fitting(reward: RewardFunction, world: World | HostWorld) -> None:
    """Refuse a reward that cannot be computed from what the world shows."""
    width = world_width(world)
    seen = jax.ShapeDtypeStruct((1, 1, width), np.float32)  # Policies are trained in single precision.
    try:
        jax.eval_shape(reward, seen, seen)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"the reward does not take what the world shows, {width} numbers a state ({one_line(error)}); train in a"
            " world with the observations that the reward was learned from."
        ) from None


def walk_from_start(
    field: Field,
    player: GaussianPolicy,
    scale: Scale,
    *,
    episodes: int,
    horizon: int,
    units: Float[Array, " a"] | None = None,
    mean_action: bool | Bool[Array, ""] = False,
    key: PRNGKeyArray,
) -> Segment:
    """Return what a player alone meets from the start to the horizon, at which all episodes are over.

    For use inside compiled code. An episode that ends earlier is followed by others.
    """
    first, second = jax.random.split(key)
    walkers = Walkers.at(field.initial(jax.random.split(first, episodes)))
    return walk(
        field,
        Players(player, player),
        scale,
        jnp.ones((), dtype=float),
        walkers,
        steps=horizon,
        horizon=horizon,
        units=units,
        mean_action=mean_action,
        key=second,
    )[1]


@jit
def _measure(
    fields: Field,
    policies: GaussianPolicy,
    keys: Key[Array, " fits"],
    episodes: int,
    horizon: int,
    mean_action: Bool[Array, ""],
) -> Float[Array, "fits N"]:
    def one(field: Field, policy: GaussianPolicy, key: PRNGKeyArray) -> Float[Array, " N"]:
        scale = Scale.empty(policy.weights[0].shape[0])
        segment = walk_from_start(
            field, policy, scale, episodes=episodes, horizon=horizon, mean_action=mean_action, key=key
        )
        # Every episode that began at the start: the first end of each column.
        return segment.returns[jnp.argmax(segment.over, axis=0), jnp.arange(episodes)]

    return jax.vmap(one)(fields, policies, keys)


def measure_returns(
    worlds: Sequence[World | HostWorld],
    policies: Sequence[GaussianPolicy],
    *,
    episodes: int = 32,
    horizon: int | None = None,
    mean_action: bool = True,
    keys: Sequence[PRNGKeyArray],
) -> Float[Array, "fits episodes"]:
    """Return what each policy earns in its world, in single precision and in one batch.

    By default it takes mean actions. With `mean_action=False` actions are drawn, as in training.

    Example:
        >>> from robustirl.control.policies import network_policy
        >>> from robustirl.envs import physics
        >>> key, world = jax.random.key(0), physics.make("cart-pole")
        >>> policy = network_policy(4, 1, hidden=(4,), key=key)  # It does not push.
        >>> measure_returns([world], [policy], episodes=3, horizon=5, keys=[key]).tolist()
        [[5.0, 5.0, 5.0]]
    """
    worlds = as_list("worlds", worlds, "a sequence of worlds")
    policies = as_list("policies", policies, "a sequence of policies")
    keys = as_keys(len(worlds), as_list("keys", keys, "a sequence of keys"), policies=policies)
    episodes = as_count("episodes", episodes, 1)
    for world, policy in zip(worlds, policies, strict=True):
        require_policy(world, policy)
    with single_precision():
        with on_host():
            held = [in_working_precision(policy) for policy in policies]
        if any(isinstance(world, HostWorld) for world in worlds):
            options = {"episodes": episodes, "mean_action": mean_action}
            whole = [episodes_of(w, p, **options, key=k) for w, p, k in zip(worlds, held, keys, strict=True)]
            return jnp.asarray([[float(one.paid.sum()) for one in row] for row in whole], dtype=float)
        for world in worlds:
            require_reward(world)
        require_one_kind(worlds)
        steps = usual_horizon(worlds, horizon)
        with on_host():
            fields = [Field(in_working_precision(world), each=False) for world in worlds]
        field, policy = stacked(fields, held)
        mean = jnp.asarray(mean_action)  # One program serves mean and drawn actions.
        return _measure(field, policy, jnp.stack(keys), episodes, steps, mean)
