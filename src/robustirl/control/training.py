"""Solving a game, or training one player, by policy gradient: the loop around `policy_gradient`, with a verdict."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._runtime import BoundedJit, ScopedModule, warn_renamed, working_precision
from robustirl.control.config import EXPERT, PolicyGradientConfig
from robustirl.control.evaluation import evaluate, require_reward
from robustirl.control.interface import RewardedWorld, World
from robustirl.control.memory import require_history
from robustirl.control.policies import GaussianPolicy, linear_policy
from robustirl.control.policy_gradient import Ascent, Players, ascend, begin
from robustirl.control.rollouts import Episodes, collect
from robustirl.errors import ConvergenceError
from robustirl.mdp import as_count

HISTORY_NUMBERS = 3


class TrainingHistory(ScopedModule):
    """One entry a policy step (the last axis), of the episodes sampled for it.

    Attributes:
        mean_return: The mean undiscounted return.
        finished: The share of episodes that ended before the horizon.
        valid: Whether all numbers were finite; a step with others is not taken.
    """

    mean_return: Float[Array, "*batch"]
    finished: Float[Array, "*batch"]
    valid: Bool[Array, "*batch"]

    @property
    def sound(self) -> Bool[Array, "*batch"]:
        """The old name of `valid`."""
        warn_renamed("TrainingHistory.sound")
        return self.valid


class Training(ScopedModule):
    """The outcome of `train` or `solve_game`: the last valid policies and the history.

    The property `valid` says whether all steps were valid.

    Attributes:
        player: π_pl.
        opponent: π_op; at α = 1 it is what it was at the start.
        history: How training went.
    """

    player: GaussianPolicy
    opponent: GaussianPolicy
    history: TrainingHistory

    @property
    def valid(self) -> Bool[Array, "*batch"]:
        """Return whether every step had finite numbers.

        Policy gradients have no other certificate. Returns are measured.
        """
        return self.history.valid.all(-1)

    @property
    def sound(self) -> Bool[Array, "*batch"]:
        """The old name of `valid`."""
        warn_renamed("Training.sound")
        return self.valid


@working_precision
def game_steps(
    world: World,
    state: Ascent,
    alpha: Float[Array, ""],
    score: Callable[[Episodes], Float[Array, "T N"]],
    config: PolicyGradientConfig,
    *,
    steps: int,
    total: int,
    first: Episodes | None = None,
    key: PRNGKeyArray,
) -> tuple[Ascent, TrainingHistory]:
    """Make `steps` updates of both sides, for use inside compiled code (Algorithm 4).

    Args:
        world: The learner's world.
        state: Policies and optimizer memory to go on from.
        alpha: α.
        score: The rewards of sampled episodes, such as `lambda e: e.linear_rewards(theta)`.
        config: How the gradient is estimated; its own `steps` is not read.
        steps: N^π.
        total: All steps that will ever be taken, over which the learning rate falls.
        first: Episodes of these very policies for the first update, where there are some already.
        key: Decides all draws.
    """

    def update(state: Ascent, episodes: Episodes) -> tuple[Ascent, TrainingHistory]:
        rewards = score(episodes)
        after, valid = ascend(state, episodes, rewards, world.discount, world.bounds, config, total)
        return after, TrainingHistory(rewards.sum(0).mean(), episodes.terminated.mean(dtype=float), valid)

    def step(state: Ascent, key: PRNGKeyArray) -> tuple[Ascent, TrainingHistory]:
        players = state.players
        return update(
            state,
            collect(
                world,
                players.player,
                players.opponent,
                alpha,
                episodes=config.episodes,
                horizon=config.horizon,
                key=key,
            ),
        )

    if first is None or steps == 0:
        return jax.lax.scan(step, state, jax.random.split(key, steps))
    state, begun = update(state, first)
    if steps == 1:
        return state, jax.tree.map(lambda leaf: leaf[None], begun)
    state, rest = jax.lax.scan(step, state, jax.random.split(key, steps - 1))
    return state, jax.tree.map(lambda one, more: jnp.concatenate([one[None], more]), begun, rest)


@working_precision
def solve_game(
    world: RewardedWorld,
    alpha: float | Float[Array, ""] = 1.0,
    *,
    start: Players | None = None,
    config: PolicyGradientConfig = PolicyGradientConfig(),
    key: PRNGKeyArray,
    throw: bool = True,
) -> Training:
    """Solve a world's game with its true reward: max over the player, min over the opponent.

    Args:
        world: The world, with a reward.
        alpha: α; at one there is no opponent.
        start: Policies to start from; linear ones of zero mean by default.
        config: How to train.
        key: Decides all draws.
        throw: Raise `ConvergenceError` if rewards or gradients were not finite; otherwise the verdict says so.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> result = solve_game(GaussianGrid(), config=PolicyGradientConfig(steps=2, episodes=8), key=jax.random.key(0))
        >>> result.valid.item(), result.history.mean_return.shape
        (True, (2,))
    """
    require_reward(world)
    require_history("steps", config.steps, HISTORY_NUMBERS)
    start = initial_players(world) if start is None else start
    out = _solve(world, jnp.asarray(alpha, dtype=float), start, config, key)
    if throw:
        require_valid(out)
    return out


@working_precision
def train_expert(
    world: RewardedWorld,
    *,
    config: PolicyGradientConfig = EXPERT,
    start: GaussianPolicy | None = None,
    attempts: int = 8,
    key: PRNGKeyArray,
    throw: bool = True,
) -> Training:
    """Return an expert for a world: the best of several attempts at `solve_game` with α = 1.

    This is the single-player case. A policy gradient may settle where waiting looks better than crossing (in
    GaussianGrid with much noise, one attempt in five does), or on a long way round. Attempts differ in their draws
    alone, and are compared by their measured mean return: at a noise of 0.15 the best of three has -226 and the best of
    eight -217.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> quick = PolicyGradientConfig(steps=2, episodes=8)
        >>> expert = train_expert(GaussianGrid(), config=quick, attempts=1, key=jax.random.key(0))
        >>> expert.player.weights[0].shape
        (7, 2)
    """
    require_reward(world)
    attempts = as_count("attempts", attempts, 1)
    require_history("steps", config.steps, HISTORY_NUMBERS)
    require_history("attempts", attempts, HISTORY_NUMBERS * max(config.steps, 1))
    first = initial_players(world) if start is None else Players(start, start)
    train_key, check_key = jax.random.split(key)
    keys = jax.random.split(train_key, attempts)
    runs = [_solve(world, jnp.asarray(1.0, dtype=float), first, config, k) for k in keys]

    def merit(run: Training) -> tuple[bool, float]:
        """Rank policies, valid before invalid, then by return.

        The same draws for all, and a return that is no number comes last.
        """
        measured = float(evaluate(world, run.player, key=check_key).mean_return)
        return bool(run.valid), measured if math.isfinite(measured) else -math.inf

    best = max(runs, key=merit) if attempts > 1 else runs[0]
    if throw:
        require_valid(best)
    return best


@working_precision
def initial_players(world: World, deviation: float = 0.5) -> Players:
    """Return two linear policies of zero mean, sized for the world."""
    size = jax.eval_shape(lambda: world.features(world.initial(key=jax.random.key(0)))).shape[0]
    return Players(*(linear_policy(size, world.action_size, deviation=deviation) for _ in range(2)))


def require_valid(result: Training) -> None:
    """Raise if a step had numbers that were not finite."""
    if not bool(result.valid):
        step = int(jnp.argmin(result.history.valid))
        raise ConvergenceError(
            f"rewards or gradients were not finite at policy step {step}, so training stood still from there;"
            " check the reward for NaN or lower the learning rate; throw=False keeps the last valid policies."
        )


@BoundedJit
def _solve(
    world: RewardedWorld, alpha: Float[Array, ""], start: Players, config: PolicyGradientConfig, key: PRNGKeyArray
) -> Training:
    steps = config.steps
    state, history = game_steps(
        world, begin(start, config), alpha, lambda e: e.rewards(world.reward), config, steps=steps, total=steps, key=key
    )
    return Training(state.players.player, state.players.opponent, history)
