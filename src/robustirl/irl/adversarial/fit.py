r"""Robust imitation from observation: adversarial state matching in the learner's world, against an opponent.

A discriminator learns to tell the expert's transitions from those of the mixture of two policies in the learner's
world: in every step the player's action is executed with probability α, else the opponent's. The player is paid for
looking like the expert, the opponent for spoiling that. At α = 1 the opponent never acts, and this is GAIfO (Torabi et
al., 2018); with `sees="states"` it matches states alone. The two-player form is that of Viano et al. (2022).

No action of the expert, no reward and nothing of the expert's world is used. All fits of a batch advance in lockstep in
one compiled program, in single precision.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from robustirl._runtime import on_host, progress_bar, short_repr, single_precision
from robustirl.control import (
    HostWorld,
    Progress,
    Scale,
    Setting,
    World,
    as_key,
    begin_batch,
    folded,
    join_logs,
    list_worlds,
    require_one_kind,
    stacked,
    stretch_of,
    take_batch,
    training_setting,
    usual_horizon,
    world_width,
)
from robustirl.demonstrations import Recordings, RecordingsLike, as_trainable
from robustirl.errors import InvalidInputError
from robustirl.irl._batch import one_for_each
from robustirl.irl._callbacks import Loop, require_callbacks, run_with_callbacks
from robustirl.irl._result import require_success
from robustirl.irl.adversarial.alone import Alone, visit_alone
from robustirl.irl.adversarial.config import ImitationConfig, choose_reward
from robustirl.irl.adversarial.discriminator import Discriminator, LearnedReward
from robustirl.irl.adversarial.memory import padded_rows, require_attempts, require_imitation
from robustirl.irl.adversarial.result import (
    ImitationFit,
    ImitationHistory,
    ImitationStep,
    ImitationVerdict,
    states_gap,
)
from robustirl.mdp import as_count, as_number

SAMPLE = 2000
"""The most states of each side that the gap is computed from."""


def fit_imitation(
    world: World | HostWorld | Sequence[World],
    demonstrations: RecordingsLike,
    *,
    alpha: float = 1.0,
    config: ImitationConfig = ImitationConfig(),
    horizon: int | None = None,
    attempts: int = 1,
    callbacks: Sequence[Callable[[ImitationStep], object]] = (),
    key: PRNGKeyArray,
    progress: bool = False,
    throw: bool = True,
) -> ImitationFit:
    """Learn a policy for the learner's world that goes where the expert went.

    Args:
        world: The learner's world; its reward is not used. Several worlds of one kind are spread over the environments
            (domain randomization).
        demonstrations: What was seen of the expert, in the features of the world: recordings, a list of arrays
            `[T+1, d]`, a path that `Recordings.save` wrote to, or `minari:ID`. Actions are not used.
        alpha: α in (0, 1]: 1 for GAIfO, less for an opponent who acts with probability 1-α.
        config: How to train.
        horizon: After how many steps an episode is cut off; the world's own if it has one, else 200.
        attempts: Fits from different draws, trained in lockstep, of which the one whose player is closest to the
            expert is returned. Training is not convex, and some draws end far away.
        callbacks: Called with an `ImitationStep` from time to time; one that answers False ends the fit. Ctrl-C then
            raises `Interrupted` with the fit so far.
        key: Decides all draws.
        progress: Show a bar with an estimate of the time left.
        throw: Raise `ConvergenceError` if numbers that are not finite come up.

    Example:
        >>> from robustirl.control import PPOConfig
        >>> from robustirl.envs import physics
        >>> seen = Recordings.from_arrays([np.tile([1.0, 0.0, 0.0], (20, 1))] * 2)  # A pendulum that stands.
        >>> small = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))
        >>> fit = fit_imitation(physics.make("pendulum"), seen, alpha=0.9, config=small, key=jax.random.key(0))
        >>> fit.verdict.status.value, fit.player.weights[0].shape
        ('budget', (3, 8))
    """
    count = as_count("attempts", attempts, 1)
    require_attempts(count)
    demonstrations = as_trainable(demonstrations)  # Once, for all attempts.
    fits = fit_imitation_many(
        [world] * count,
        [demonstrations] * count,
        [alpha] * count,
        config=config,
        horizon=horizon,
        callbacks=callbacks,
        keys=[as_key(key)] if count == 1 else list(jax.random.split(as_key(key), count)),
        progress=progress,
        throw=throw,
    )
    return closest(fits)


def closest(fits: Sequence[ImitationFit]) -> ImitationFit:
    """Return the fit whose player's states are closest to the expert's.

    The choice uses only what the learner can see.
    """
    return min(fits, key=lambda fit: float(fit.verdict.gap) if bool(fit.verdict.valid) else float("inf"))


def fit_imitation_many(
    worlds: Sequence[World | HostWorld | Sequence[World]],
    demonstrations: Sequence[RecordingsLike],
    alphas: float | Sequence[float] = 1.0,
    *,
    config: ImitationConfig = ImitationConfig(),
    horizon: int | None = None,
    callbacks: Sequence[Callable[[ImitationStep], object]] = (),
    keys: Sequence[PRNGKeyArray],
    progress: bool = False,
    throw: bool = True,
) -> list[ImitationFit]:
    """Train many fits in lockstep: seeds, α, worlds and experts are entries of one batch.

    Args:
        worlds: The learner's world of each, all of one kind.
        demonstrations: The expert of each.
        alphas: One α for all, or one for each.
        config: See `fit_imitation`.
        horizon: See `fit_imitation`.
        callbacks: See `fit_imitation`; reports are means over the batch.
        keys: One key a fit.
        progress: See `fit_imitation`.
        throw: See `fit_imitation`.
    """
    alphas = one_for_each(alphas, len(worlds))
    if not len(worlds) == len(demonstrations) == len(alphas) == len(keys) > 0:
        raise InvalidInputError(
            f"{len(worlds)} worlds, {len(demonstrations)} demonstrations, {len(alphas)} alphas and {len(keys)} keys"
            " were given, but one of each per fit is needed, and at least one."
        )
    if not isinstance(config, ImitationConfig):
        raise InvalidInputError(f"config is {config!r}, but an ImitationConfig is needed.")
    require_callbacks(callbacks, ImitationStep)
    keys, demonstrations = [as_key(key) for key in keys], [as_trainable(seen) for seen in demonstrations]
    # Environments that step themselves serve one fit at a time.
    size = 1 if any(isinstance(world, HostWorld) for world in worlds) else len(worlds)
    fits: list[ImitationFit] = []
    with single_precision(), progress_bar("learning", 1.0, show=progress) as report:

        def show(step: ImitationStep) -> None:
            done = (len(fits) + size * step.steps / step.total) / len(worlds)
            report(done, f"{step.accuracy:.0%} of the steps told apart")

        asked = [*callbacks, show] if progress else callbacks
        for start in range(0, len(worlds), size):
            own = slice(start, start + size)
            chosen = [_as_alpha(alpha) for alpha in alphas[own]]
            problem = _Problem(worlds[own], demonstrations[own], chosen, config, horizon, keys[own])
            found, stopped = run_with_callbacks(
                problem, (problem.begin(), ()), asked, more_to_come=own.stop < len(worlds), before=fits or None
            )
            fits += found
            if stopped:
                break
    if throw:
        for index, fit in enumerate(fits):
            require_success(fit, None, f" of fit {index}" if len(fits) > 1 else "")
    return fits


class _Problem(Loop[Any, list[ImitationFit]]):
    """A batch of fits. A state is where the training is, and the logs of its stretches."""

    def __init__(
        self,
        worlds: Sequence[World | HostWorld | Sequence[World]],
        demonstrations: Sequence[Recordings],
        alphas: Sequence[float],
        config: ImitationConfig,
        horizon: int | None,
        keys: Sequence[PRNGKeyArray],
    ):
        config = choose_reward(config, [end for seen in demonstrations for end in seen.terminated])
        # Attempts share world and expert, which are looked at once.
        pairs = {(id(world), id(seen)): (world, seen) for world, seen in zip(worlds, demonstrations, strict=True)}
        for world, seen in pairs.values():
            _require_recordings(seen, world if isinstance(world, HostWorld) else list_worlds(world)[0])
        longest, width = max(seen.steps for seen in demonstrations), demonstrations[0].width
        episode = usual_horizon(worlds[0], horizon)
        require_imitation(worlds[0], config, width=width, steps=longest, horizon=episode, fits=len(worlds))
        size = padded_rows(longest)
        with on_host():
            settings = _settings(worlds, alphas, config, horizon)
        self.config, self.alphas, self.updates = config, alphas, int(settings[0].updates)
        self.demonstrations = list(demonstrations)
        self.stretch = stretch_of(self.updates)
        with on_host():
            judges = [_discriminator(seen, config, size) for seen in demonstrations]
            split = [jax.random.split(key) for key in keys]
            memories = [judge.create(first) for judge, (first, _) in zip(judges, split, strict=True)]
        self.setting, self.judge, self.memory = stacked(settings, judges, memories)
        self.scales = jax.tree.map(np.asarray, self.judge.scale)
        self.units = [setting.units for setting in settings]
        self.keys = jnp.stack([second for _, second in split])

    def begin(self) -> Any:
        return begin_batch(self.setting, self.memory, self.keys)

    def advance(self, state: Any) -> Any:
        run, logs = state
        run, progress = take_batch(self.setting, self.judge, run, self.stretch)
        return run, (*logs, progress)

    def is_over(self, state: Any) -> bool:
        return len(state[1]) * self.stretch >= self.updates

    def report(self, state: Any) -> ImitationStep:
        batch, last = self.config.ppo.batch, state[1][-1]
        taken = len(state[1]) * self.stretch
        accuracy, length = (np.asarray(part)[:, -1] for part in (last.report["accuracy"], last.episode_length))
        shown = float(np.nanmean(length)) if np.isfinite(length).any() else float("nan")
        return ImitationStep(taken * batch, self.updates * batch, float(accuracy.mean()), shown)

    def finish(self, state: Any, stopped: bool) -> list[ImitationFit]:
        run, logs = state
        progress = join_logs(logs)
        run = jax.tree.map(lambda leaf: leaf if _is_key(leaf) else np.asarray(leaf), run)
        alone = visit_alone(self.setting, run.agents, self.keys)
        with on_host():
            return [self._one(index, run, progress, one, stopped) for index, one in enumerate(alone)]

    def _one(self, index: int, run: Any, progress: Progress, alone: Alone, stopped: bool) -> ImitationFit:
        # On the host: slices of a device's arrays would be a transfer each.
        agents, memory, scale, log = jax.tree.map(
            lambda leaf: leaf[index], (run.agents, run.memory, self.scales, progress)
        )
        units = self.units[index]
        players = [folded(side, agents.scale, units) for side in (agents.players.player, agents.players.opponent)]
        seen = self.demonstrations[index]
        mixed = np.asarray(run.recent[index]).reshape(-1, seen.width)
        expert = _sample(np.concatenate(seen.observations))
        halves = [np.concatenate(part) for part in (seen.observations[::2], seen.observations[1::2]) if part]
        own = states_gap(_sample(halves[0]), _sample(halves[1])) if len(halves) == 2 else float("nan")
        finite = all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves((agents.players, memory)))
        verdict = ImitationVerdict(
            converged=jnp.asarray(False),
            valid=jnp.asarray(finite),
            stopped=jnp.asarray(stopped),
            updates=jnp.asarray(log.reward.shape[0]),
            gap=jnp.asarray(states_gap(expert, _sample(alone.states.reshape(-1, seen.width))), dtype=float),
            mixture_gap=jnp.asarray(states_gap(expert, _sample(mixed)), dtype=float),
            expert_gap=jnp.asarray(own, dtype=float),
            accuracy=jnp.asarray(log.report["accuracy"][-1]),
            length=jnp.asarray(alone.length, dtype=float),
            expert_length=jnp.asarray(seen.steps / len(seen), dtype=float),
            expert_ended=jnp.asarray(np.mean(seen.terminated), dtype=float),
        )
        history = ImitationHistory(log.reward, log.episode_length, log.report["accuracy"])
        return ImitationFit(
            player=players[0],
            opponent=players[1],
            reward=LearnedReward(memory[0], scale, self.config.sees, self.config.reward),  # pyright: ignore
            alpha=jnp.asarray(self.alphas[index]),
            history=history,
            verdict=verdict,
        )


def _settings(
    worlds: Sequence[World | HostWorld | Sequence[World]],
    alphas: Sequence[float],
    config: ImitationConfig,
    horizon: int | None,
) -> list[Setting]:
    """Return the setting of every fit.

    Fits that share the object of their world share its arrays.
    """
    known: dict[int, Setting] = {}
    for world in worlds:
        if id(world) not in known:
            known[id(world)] = training_setting(world, 1.0, config.steps, config.ppo, horizon)
    require_one_kind([setting.field for setting in known.values()])
    return [
        eqx.tree_at(lambda s: s.alpha, known[id(world)], jnp.asarray(alpha, dtype=float))
        for world, alpha in zip(worlds, alphas, strict=True)
    ]


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _discriminator(seen: Recordings, config: ImitationConfig, size: int) -> Discriminator:
    # Its program is for trainings of any length.
    config = dataclasses.replace(choose_reward(config, seen.terminated), steps=1)
    before, after = seen.pairs()
    scale = Scale.empty(seen.width).seen(jnp.asarray(after, dtype=float))
    padded = [np.pad(part, ((0, size - seen.steps), (0, 0))) for part in (before, after)]
    before, after = (jnp.asarray(part, dtype=float) for part in padded)
    return Discriminator(before, after, jnp.asarray(seen.steps), scale, config)


def _sample(rows: np.ndarray) -> np.ndarray:
    return rows[np.random.default_rng(0).permutation(len(rows))[:SAMPLE]]


def _require_recordings(seen: Recordings, world: Any) -> None:
    if (width := world_width(world)) != seen.width:
        raise InvalidInputError(
            f"the demonstrations have {seen.width} numbers an observation, but the world shows {width};"
            " record what the learner's world shows of a state."
        )


def _as_alpha(alpha: object) -> float:
    number = as_number("alpha", alpha)
    if not 0 < number <= 1:
        raise InvalidInputError(
            f"alpha is {short_repr(alpha)}, but a number above 0 and up to 1 is needed; states alone do not choose it."
        )
    return number
