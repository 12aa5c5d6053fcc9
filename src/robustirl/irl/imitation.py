r"""Robust imitation from observation: adversarial state matching in the learner's world, against an opponent.

A discriminator learns to tell the expert's transitions from those of the mixture of two policies in the learner's
world: in every step the player's action is executed with probability α, else the opponent's. The player is paid for
looking like the expert, the opponent for spoiling that. At α = 1 the opponent never acts, and this is GAIfO (Torabi et
al., 2018); with `sees="states"` it matches states alone. The two-player form is that of Viano et al. (2022).

No action of the expert, no reward and nothing of the expert's world is used. All fits of a batch advance in lockstep in
one compiled program, in single precision.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_number_between, require_kind
from robustirl._jax import jit, on_host, single_precision
from robustirl._progress import Callback, Interrupted, progress_bar, require_callbacks
from robustirl.control.policies import GaussianPolicy, folded
from robustirl.control.ppo import Agents
from robustirl.control.rollouts import episodes_of
from robustirl.control.training import Lockstep, Setting, State, training_setting, unstacked, walk_from_start
from robustirl.control.worlds import HostWorld, World, as_key, as_keys, list_worlds, world_width
from robustirl.demonstrations import Recordings
from robustirl.demonstrations.recordings import RecordingsLike, as_trainable
from robustirl.errors import InvalidInputError
from robustirl.irl.discriminator import Discriminator, ImitationConfig, LearnedReward, choose_reward
from robustirl.irl.result import AbstractFit, AbstractVerdict, require_success
from robustirl.types import AnyArray

ALONE = 16
"""The most episodes of the player alone that the gap is computed from."""
SAMPLE = 2000
"""The most states of each side that the gap is computed from."""
DIRECTIONS = 64
"""The directions along which samples of states are compared."""


class ImitationVerdict(AbstractVerdict):
    """How a fit ended.

    Attributes:
        converged: False: there is no tolerance to reach.
        valid: Whether all numbers are finite.
        stopped: Whether a callback or an interrupt ended the fit early.
        updates: Updates of the policies.
        gap: How far the states of the player alone are from the expert's: the mean distance of their quantiles along
            random directions, in deviations of the expert's.
        mixture_gap: That distance for player and opponent together, in their last segment.
        expert_gap: That distance between two halves of the expert's episodes: what cannot be told apart. NaN for a
            single episode.
        accuracy: The share of steps that the discriminator tells apart at the end; 0.5 is chance.
        length: The mean number of steps of an episode of the player alone.
        expert_length: That of the expert's episodes, as they were recorded.
        expert_ended: The share of the expert's episodes that ended by themselves.
    """

    converged: Bool[Array, "*batch"]
    valid: Bool[Array, "*batch"]
    stopped: Bool[Array, "*batch"]
    updates: Int[Array, "*batch"]
    gap: Float[Array, "*batch"]
    mixture_gap: Float[Array, "*batch"]
    expert_gap: Float[Array, "*batch"]
    accuracy: Float[Array, "*batch"]
    length: Float[Array, "*batch"]
    expert_length: Float[Array, "*batch"]
    expert_ended: Float[Array, "*batch"]

    def history_length(self) -> int:
        return int(self.updates)

    def __str__(self) -> str:
        return (
            f"{self.status.value} after {int(self.updates)} updates; the player's states are"
            f" {float(self.gap):.2f} deviations from the expert's (its own halves: {float(self.expert_gap):.2f}), its"
            f" episodes take {float(self.length):.0f} steps (the expert's: {float(self.expert_length):.0f}), and"
            f" {float(self.accuracy):.0%} of the steps can be told apart."
        )


class ImitationHistory(eqx.Module):
    """One entry an update.

    Attributes:
        reward: The mean reward that the discriminator gave.
        episode_length: The mean length of the episodes that ended; NaN if none did.
        accuracy: The share of steps that the discriminator told apart.
    """

    reward: Float[AnyArray, "*batch"]
    episode_length: Float[AnyArray, "*batch"]
    accuracy: Float[AnyArray, "*batch"]


class ImitationFit(AbstractFit):
    """The outcome of robust imitation from observation.

    Attributes:
        player: π_pl, the policy to act with.
        opponent: π_op.
        reward: What the discriminator learned, as a reward of transitions.
        alpha: α.
        bounds: The lowest and the highest action of the learner's world, infinite where there is none.
        discrete: Whether the world takes the number of the largest of some numbers.
        history: How training went.
        verdict: How it ended.
    """

    player: GaussianPolicy
    opponent: GaussianPolicy
    reward: LearnedReward
    alpha: Float[Array, "*batch"]
    bounds: Float[Array, "*batch 2 a"]
    discrete: Bool[Array, "*batch"]
    history: ImitationHistory
    verdict: ImitationVerdict

    def explain_failure(self, which: str) -> str:
        return (
            f"numbers that are not finite came up in training{which}; lower the learning rates, check the world's"
            " features, or pass throw=False to keep what there is."
        )

    def explain_gap(self, tolerance: float, which: str) -> str:
        return f"the gap{which} is {float(self.verdict.gap):.3g}, above {tolerance:.3g}; raise steps."

    def __repr__(self) -> str:
        return f"ImitationFit(alpha={float(self.alpha):g}, {self.verdict})"


def states_gap(first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "m d"], seed: int = 0) -> float:
    """Return the sliced Wasserstein distance of two samples, in deviations of the first.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> a, b = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) + [1.0, 0.0]
        >>> round(states_gap(a, a), 6), 0.5 < states_gap(a, b) < 0.75  # The mean of |cos| is 2/π.
        (0.0, True)
    """
    mean, deviation = first.mean(0), np.maximum(first.std(0), 1e-3)
    directions = np.random.default_rng(seed).normal(size=(first.shape[1], DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    levels = (np.arange(200) + 0.5) / 200
    sides = [np.quantile(((part - mean) / deviation) @ directions, levels, axis=0) for part in (first, second)]
    return float(np.abs(sides[0] - sides[1]).mean())


@dataclasses.dataclass(frozen=True)
class ImitationStep:
    """What callbacks are given from time to time.

    Attributes:
        steps: Steps in the world so far.
        total: Steps to take.
        accuracy: The share of steps that the discriminator tells apart.
        episode_length: The mean length of the episodes that ended; NaN if none did.
    """

    steps: int
    total: int
    accuracy: float
    episode_length: float


def fit_imitation(
    world: World | HostWorld | Sequence[World],
    demonstrations: RecordingsLike,
    *,
    alpha: float = 1.0,
    config: ImitationConfig = ImitationConfig(),
    horizon: int | None = None,
    attempts: int = 1,
    callbacks: Sequence[Callback] = (),
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
        callbacks: Called with an `ImitationStep` from time to time; one that answers False ends the fit. Ctrl-C
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
    try:
        fits = fit_imitation_many(
            [world] * count,
            [as_trainable(demonstrations)] * count,  # Read once, for all attempts.
            [alpha] * count,
            config=config,
            horizon=horizon,
            callbacks=callbacks,
            keys=[as_key(key)] if count == 1 else list(jax.random.split(as_key(key), count)),
            progress=progress,
            throw=throw,
        )
    except Interrupted as interrupted:
        raise Interrupted(interrupted.fit and closest(interrupted.fit)) from None
    return closest(fits)


def closest(fits: Sequence[ImitationFit]) -> ImitationFit:
    """Return the valid fit whose player's states are closest to the expert's: what the learner can see."""
    return min(fits, key=lambda fit: float(fit.verdict.gap) if bool(fit.verdict.valid) else float("inf"))


def fit_imitation_many(
    worlds: Sequence[World | HostWorld | Sequence[World]],
    demonstrations: Sequence[RecordingsLike],
    alphas: float | Sequence[float] = 1.0,
    *,
    config: ImitationConfig = ImitationConfig(),
    horizon: int | None = None,
    callbacks: Sequence[Callback] = (),
    keys: Sequence[PRNGKeyArray],
    progress: bool = False,
    throw: bool = True,
) -> list[ImitationFit]:
    """Train many fits in lockstep: seeds, α, worlds and experts are entries of one batch.

    Environments that step themselves serve one fit after the other.

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
    given = [alphas] * len(worlds) if np.ndim(alphas) == 0 else list(alphas)  # pyright: ignore[reportArgumentType]
    keys = as_keys(len(worlds), keys, demonstrations=demonstrations, alphas=given)
    chances = [as_number_between("alpha", alpha, 0, 1, open_low=True) for alpha in given]
    require_kind("config", config, ImitationConfig, "an ImitationConfig")
    require_callbacks(callbacks)
    experts = [as_trainable(one) for one in demonstrations]
    size = 1 if any(isinstance(world, HostWorld) for world in worlds) else len(worlds)
    fits: list[ImitationFit] = []
    with single_precision(), progress_bar("learning", 1.0, show=progress) as report:

        def show(step: ImitationStep) -> None:
            done = (len(fits) + size * step.steps / step.total) / len(worlds)
            report(done, f"{step.accuracy:.0%} of the steps told apart")

        for begun in range(0, len(worlds), size):
            own = slice(begun, begun + size)
            batch = _Batch(worlds[own], experts[own], chances[own], config, horizon, keys[own])
            try:
                made, stopped = batch.run([*callbacks, show] if progress else callbacks)
            except Interrupted as interrupted:
                raise Interrupted([*fits, *(interrupted.fit or [])] or None) from None
            fits += made
            if stopped:
                break
    if throw:
        for index, fit in enumerate(fits):
            require_success(fit, None, f" of fit {index}" if len(fits) > 1 else "")
    return fits


class _Batch:
    """Fits that are trained in lockstep."""

    def __init__(
        self,
        worlds: Sequence[World | HostWorld | Sequence[World]],
        experts: Sequence[Recordings],
        alphas: Sequence[float],
        config: ImitationConfig,
        horizon: int | None,
        keys: Sequence[PRNGKeyArray],
    ):
        self.config = choose_reward(config, [end for seen in experts for end in seen.terminated])
        self.experts, self.alphas = experts, alphas
        # Attempts share world and expert, which are looked at once.
        with on_host():
            known = {id(world): training_setting(world, 1.0, config.steps, config.ppo, horizon) for world in worlds}
            for world, seen in {(id(w), id(s)): (w, s) for w, s in zip(worlds, experts, strict=True)}.values():
                _require_width(seen, world)
            self.settings = [
                eqx.tree_at(lambda s: s.alpha, known[id(world)], jnp.asarray(alpha, dtype=float))
                for world, alpha in zip(worlds, alphas, strict=True)
            ]
            most = max(seen.steps for seen in experts)
            judges = [Discriminator.of(seen, self.config, most) for seen in experts]
            split = [jax.random.split(key) for key in keys]
            memories = [judge.create(first) for judge, (first, _) in zip(judges, split, strict=True)]
        self.keys = jnp.stack([second for _, second in split])
        self.lockstep = Lockstep(self.settings, judges, memories, self.keys)
        self.actions = [_actions_of(world) for world in worlds]

    def run(self, callbacks: Sequence[Callback]) -> tuple[list[ImitationFit], bool]:
        """Return the fits, and whether a callback stopped them."""
        state, stopped = self.lockstep.run(self._view, lambda state: self._finish(state, True), callbacks)
        return self._finish(state, stopped), stopped

    def _view(self, state: State) -> ImitationStep:
        last, batch = state[1][-1], self.lockstep.batch
        accuracy, lengths = last.report["accuracy"][:, -1], last.episode_length[:, -1]
        length = float(np.nanmean(lengths)) if np.isfinite(lengths).any() else float("nan")
        taken, updates = self.lockstep.taken(state), self.lockstep.updates
        return ImitationStep(taken * batch, updates * batch, float(accuracy.mean()), length)

    def _finish(self, state: State, stopped: bool) -> list[ImitationFit]:
        count, run = len(self.settings), state[0]
        if self.lockstep.on_host:
            alone = [self._alone_on_host(run.agents)]
        else:
            states, lengths = _walk_alone(self.lockstep.setting, run.agents, self.keys)
            alone = list(zip(np.asarray(states), np.asarray(lengths).tolist(), strict=True))
        parts = unstacked((run, self.lockstep.log(state), self.lockstep.judge.scale), count)
        with on_host():
            return [self._fit(place, part, alone[place], stopped) for place, part in enumerate(parts)]

    def _alone_on_host(self, agents: Agents) -> tuple[np.ndarray, float]:
        own: Agents = jax.tree.map(lambda leaf: leaf[0], agents)
        policy = folded(own.players.player, own.scale, self.settings[0].units)
        world = self.settings[0].field.world
        whole = episodes_of(world, policy, episodes=ALONE, mean_action=False, key=self.keys[0])
        states = np.concatenate([one.features[:, 0] for one in whole])
        return states, len(states) / len(whole)

    def _fit(self, place: int, part: Any, alone: tuple[np.ndarray, float], stopped: bool) -> ImitationFit:
        (run, log, scale), (states, length) = part, alone
        agents, units, seen = run.agents, self.settings[place].units, self.experts[place]
        players = [folded(side, agents.scale, units) for side in (agents.players.player, agents.players.opponent)]
        expert = _sample(np.concatenate(seen.observations))
        halves = [np.concatenate(part) for part in (seen.observations[::2], seen.observations[1::2]) if part]
        own = states_gap(_sample(halves[0]), _sample(halves[1])) if len(halves) == 2 else float("nan")
        finite = all(bool(np.isfinite(leaf).all()) for leaf in jax.tree.leaves((agents.players, run.memory)))
        bounds, discrete = self.actions[place]
        verdict = ImitationVerdict(
            converged=jnp.asarray(False),
            valid=jnp.asarray(finite),
            stopped=jnp.asarray(stopped),
            updates=jnp.asarray(log.reward.shape[0]),
            gap=jnp.asarray(states_gap(expert, _sample(states.reshape(-1, seen.width))), dtype=float),
            mixture_gap=jnp.asarray(states_gap(expert, _sample(run.recent.reshape(-1, seen.width))), dtype=float),
            expert_gap=jnp.asarray(own, dtype=float),
            accuracy=jnp.asarray(log.report["accuracy"][-1]),
            length=jnp.asarray(length, dtype=float),
            expert_length=jnp.asarray(seen.steps / len(seen), dtype=float),
            expert_ended=jnp.asarray(np.mean(seen.terminated), dtype=float),
        )
        return ImitationFit(
            player=players[0],
            opponent=players[1],
            reward=LearnedReward(run.memory[0], scale, self.config.sees, self.config.reward),  # pyright: ignore
            alpha=jnp.asarray(self.alphas[place]),
            bounds=jnp.asarray(bounds, dtype=float),
            discrete=jnp.asarray(discrete),
            history=ImitationHistory(log.reward, log.episode_length, log.report["accuracy"]),
            verdict=verdict,
        )


@jit
def _walk_alone(
    settings: Setting, agents: Agents, keys: PRNGKeyArray
) -> tuple[Float[Array, "fits T N d"], Float[Array, " fits"]]:
    """Return what episodes of each player alone show from their start, and their mean length."""

    def one(setting: Setting, agents: Agents, key: PRNGKeyArray) -> tuple[Float[Array, "T N d"], Float[Array, ""]]:
        count = min(setting.config.environments, ALONE)
        segment = walk_from_start(
            setting.field.take(count),
            agents.players.player,
            agents.scale,
            episodes=count,
            horizon=setting.horizon,
            units=setting.units,
            key=key,
        )
        return segment.features, (jnp.argmax(segment.over, axis=0) + 1).mean(dtype=float)

    return jax.vmap(one)(settings, agents, keys)


def _sample(rows: np.ndarray) -> np.ndarray:
    return rows[np.random.default_rng(0).permutation(len(rows))[:SAMPLE]]


def _require_width(seen: Recordings, world: Any) -> None:
    width = world_width(world if isinstance(world, HostWorld) else list_worlds(world)[0])
    if width != seen.width:
        raise InvalidInputError(
            f"the demonstrations have {seen.width} numbers an observation, but the world shows {width};"
            " record what the learner's world shows of a state."
        )


def _actions_of(world: Any) -> tuple[Float[np.ndarray, "2 a"], bool]:
    """Return the bounds of a world's actions, infinite where it has none, and whether they are numbers of choices."""
    first = world[0] if isinstance(world, list | tuple) else world
    limits = np.full(first.action_size, np.inf)
    bounds = getattr(first, "bounds", (-limits, limits))
    return np.stack([np.asarray(bound) for bound in bounds or (-limits, limits)]), bounds is None
