r"""The policy gradient of a two-player game (Algorithm 4), and of one player, by the same code.

The player raises and the opponent lowers J = E[Σ_t γ^t R(s_{t+1})] of the game in which the player's action is
executed with probability α. The likelihood ratio gives

    ∇_pl J = E[ Σ_t γ^t ∇ log π_pl(a_t^pl|s_t) G_t ],        ∇_op (-J) = -E[ Σ_t γ^t ∇ log π_op(a_t^op|s_t) G_t ],

with the return to go G_t = Σ_{k>t} γ^{k-t-1} R(s_k), which counts from the next state on: the reward is one of states,
and the action at t cannot change s_t. A baseline that does not depend on the action leaves the mean of this estimate
alone and lowers its variance. With α = 1 only the player acts. If executed actions alone count, the opponent's gradient
is then exactly zero, and in no case does it reach the player.

Arrays of steps are `[T, N]` and masked: zero after an episode's end.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from robustirl._check import as_count, as_number_between, as_positive
from robustirl._jax import ScopedModule, jit, wait_interruptibly, working_precision
from robustirl.control.policies import GaussianPolicy, Players, initial_players
from robustirl.control.rollouts import Episodes, collect, evaluate
from robustirl.control.worlds import RewardedWorld, World, require_reward
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.types import Tree

REACH = 4.0
"""Up to how many times the bounds a mean action costs nothing. A policy that means to move at full speed in spite of
its own noise must aim beyond the bounds, so one would be too little."""
RIDGE = 1e-3
"""Of the mean square of the critic's features: enough to solve for features that are not independent."""


@dataclasses.dataclass(frozen=True)
class PolicyGradientConfig:
    """How a (two-player) policy gradient is estimated and followed.

    The defaults are Algorithm 4 with the variance reduction that makes it dependable; `PAPER` is Algorithm 4 itself.

    Args:
        steps: N^π, the updates of each player.
        episodes: N^traj, the episodes sampled for an update.
        horizon: T, after which an episode is cut off.
        learning_rate: Of Adam, for both sides.
        final_rate: What remains of the learning rate at the end, as a share; it falls linearly.
        baseline: What is subtracted from the return to go: nothing, the mean over the episodes at the same step, or
            a critic fitted to the batch, with GAE.
        normalize: Divide advantages by their deviation, so that the scale of the reward does not set the step.
        discounted: Weigh step t by γ^t, as in Algorithm 4.
        credit: Whose actions count: `all` drawn ones, as in Algorithm 4, or those `executed` alone. Actions that were
            not executed cannot have changed the return, so their terms are zero on average and are noise.
        excess: Cost, per step, of a mean action more than four times out of bounds: times its squared distance from
            there. Beyond the bounds all actions are clipped to the same one, and a policy that strays far has no
            gradient left to return by.
        deviations: The bounds within which σ is held, so that a policy neither stops exploring nor turns to noise.
        gae_decay: λ of GAE, for the critic.

    Example:
        >>> PolicyGradientConfig(steps=100, baseline="critic").episodes
        128
    """

    steps: int = 400
    episodes: int = 128
    horizon: int = 300
    learning_rate: float = 0.05
    final_rate: float = 0.1
    baseline: Literal["none", "per-step", "critic"] = "per-step"
    normalize: bool = True
    discounted: bool = False
    credit: Literal["all", "executed"] = "executed"
    excess: float = 0.0
    deviations: tuple[float, float] = (0.01, 1.0)
    gae_decay: float = 0.95

    def __post_init__(self) -> None:
        as_count("steps", self.steps)
        for name in ("episodes", "horizon"):
            as_count(name, getattr(self, name), 1)
        for name in ("learning_rate", "final_rate"):
            as_positive(name, getattr(self, name))
        require_choices(self, "baseline", "credit")
        as_number_between("excess", self.excess, 0, math.inf, open_high=True)
        as_number_between("gae_decay", self.gae_decay, 0, 1)
        require_rising("deviations", self.deviations)


def require_choices(config: object, *names: str) -> None:
    """Refuse settings that are none of the choices their types name."""
    types = {field.name: field.type for field in dataclasses.fields(config)}  # pyright: ignore[reportArgumentType]
    for name in names:
        choices, value = types[name].__args__, getattr(config, name)  # pyright: ignore[reportAttributeAccessIssue]
        if value not in choices:
            raise InvalidInputError(f"{name} is {value!r}, but one of {', '.join(choices)} is needed.")


def require_rising(name: str, limits: tuple[float, float]) -> None:
    """Refuse what is no pair of positive numbers of which the second is not the smaller one."""
    if len(limits) != 2 or not 0 < limits[0] <= limits[1] < math.inf:
        raise InvalidInputError(f"{name} is {limits!r}, but a smallest and a largest number above 0 are needed.")


PAPER = PolicyGradientConfig(baseline="none", normalize=False, discounted=True, credit="all", deviations=(1e-3, 50.0))
"""Algorithm 4 as printed; step sizes and counts are ours, since the paper gives none."""

EXPERT = PolicyGradientConfig(baseline="critic", gae_decay=1.0)
"""What trains experts well: a critic, and whole returns."""


def returns_to_go(rewards: Float[Array, "T N"], discount: Float[Array, ""] | float) -> Float[Array, "T N"]:
    """Return G_t = Σ_{k>t} γ^{k-t-1} R(s_k), for rewards that hold R(s_{t+1}) in row t.

    Example:
        >>> returns_to_go(jnp.array([[1.0], [2.0], [4.0]]), 0.5).ravel().tolist()
        [3.0, 4.0, 4.0]
    """

    def back(later: Float[Array, " N"], reward: Float[Array, " N"]):
        total = reward + discount * later
        return total, total

    return jax.lax.scan(back, jnp.zeros_like(rewards[0]), rewards, reverse=True)[1]


def critic_values(episodes: Episodes, returns: Float[Array, "T N"]) -> Float[Array, "T1 N"]:
    """Estimate V(s_t) by ridge regression of the returns to go.

    The regressors are the features, their squares and the time. Linear least squares need no learning rate of their own
    and no memory between batches. The value of a state that ended its episode is zero, that of a state at the horizon
    is the regression's.
    """
    horizon = returns.shape[0]
    time = jnp.linspace(0, 1, horizon + 1, dtype=returns.dtype)[:, None, None]
    clock = jnp.concatenate([jnp.ones_like(time), time, time**2], -1)
    clock = jnp.broadcast_to(clock, (horizon + 1, returns.shape[1], 3))
    inputs = jnp.concatenate([episodes.features, episodes.features**2, clock], -1)
    rows = jnp.where(episodes.active[..., None], inputs[:-1], 0).reshape(-1, inputs.shape[-1])
    gram = rows.T @ rows
    ridge = RIDGE * jnp.trace(gram) / gram.shape[0] * jnp.eye(gram.shape[0], dtype=gram.dtype)
    weights = jnp.linalg.solve(gram + ridge, rows.T @ episodes.masked(returns).ravel())
    stopped = jnp.concatenate([~episodes.active, jnp.ones_like(episodes.active[:1])])
    return jnp.where(stopped & episodes.terminated, 0, inputs @ weights)


def advantages(
    episodes: Episodes, rewards: Float[Array, "T N"], discount: Float[Array, ""], config: PolicyGradientConfig
) -> Float[Array, "T N"]:
    """Return what the gradient weighs log π(a_t|s_t) with: G_t, less a baseline, normalized, times γ^t, as configured.

    With a critic it is GAE, Σ_l (γλ)^l δ_{t+l} with δ_t = R(s_{t+1}) + γ V(s_{t+1}) - V(s_t). At λ = 1 that is
    G_t - V(s_t) for an episode that ended by itself, where V is zero at the end; for one cut off at the horizon T the
    value of its last state, γ^{T-t} V(s_T), stands for what would follow.
    """
    values = returns_to_go(rewards, discount)
    if config.baseline == "per-step":
        running = jnp.maximum(episodes.active.sum(1, keepdims=True), 1)
        values = values - episodes.masked(values).sum(1, keepdims=True) / running
    elif config.baseline == "critic":
        critic = critic_values(episodes, values)
        errors = episodes.masked(rewards + discount * critic[1:] - critic[:-1])
        values = returns_to_go(errors, discount * config.gae_decay)
    values = _normalized(episodes, values) if config.normalize else episodes.masked(values)
    if config.discounted:
        values = values * discount ** jnp.arange(values.shape[0])[:, None]
    return jax.lax.stop_gradient(values)


def _normalized(episodes: Episodes, values: Float[Array, "T N"]) -> Float[Array, "T N"]:
    """Return advantages of mean zero and deviation one over the steps taken."""
    count = jnp.maximum(episodes.active.sum(), 1)
    mean = episodes.masked(values).sum() / count
    centered = episodes.masked(values - mean)
    spread = jnp.sqrt((centered**2).sum() / count)
    # Equal advantages carry no news: they become zeros, not a division by nothing.
    return centered / jnp.where(spread > 0, spread, 1)


def surrogate(
    policy: GaussianPolicy, episodes: Episodes, actions: Float[Array, "T N a"], weights: Float[Array, "T N"]
) -> Float[Array, ""]:
    """Return (1/N) Σ_i Σ_t w_t log π(a_t|s_t), whose gradient in the policy is the estimate of Algorithm 4."""
    logs = policy.log_density(episodes.features[:-1], actions)
    return (weights * jnp.where(episodes.active, logs, 0)).sum() / weights.shape[1]


def game_gradient(
    players: Players,
    episodes: Episodes,
    rewards: Float[Array, "T N"],
    discount: Float[Array, ""],
    bounds: tuple[Float[Array, " a"], Float[Array, " a"]],
    config: PolicyGradientConfig,
) -> Players:
    """Return the ascent directions of both sides, estimated from these episodes (Algorithm 4)."""
    values = advantages(episodes, rewards, discount, config)
    ours, theirs = values, -values
    if config.credit == "executed":
        ours, theirs = jnp.where(episodes.by_player, values, 0), jnp.where(episodes.by_player, 0, -values)
    middle, half = (bounds[0] + bounds[1]) / 2, REACH * (bounds[1] - bounds[0]) / 2

    def excess(policy: GaussianPolicy) -> Float[Array, ""]:
        means = policy.mean(episodes.features[:-1])
        beyond = jnp.where(episodes.active[..., None], means - jnp.clip(means, middle - half, middle + half), 0)
        return (beyond**2).sum() / episodes.active.shape[1]

    def objective(players: Players) -> Float[Array, ""]:
        total = surrogate(players.player, episodes, episodes.player_actions, ours)
        total = total + surrogate(players.opponent, episodes, episodes.opponent_actions, theirs)
        if config.excess > 0:
            total = total - config.excess * (excess(players.player) + excess(players.opponent))
        return total

    return jax.grad(objective)(players)


class Ascent(eqx.Module):
    """Both sides' policies, and the memory of the optimizer."""

    players: Players
    memory: Tree


def _adam(config: PolicyGradientConfig, steps: int) -> optax.GradientTransformation:
    rate = config.learning_rate
    return optax.adam(optax.linear_schedule(rate, rate * config.final_rate, steps))


@working_precision
def begin(players: Players, config: PolicyGradientConfig) -> Ascent:
    """Return the state of an ascent at its start."""
    return Ascent(players, _adam(config, 1).init(players))  # pyright: ignore[reportArgumentType]


def ascend(
    state: Ascent,
    episodes: Episodes,
    rewards: Float[Array, "T N"],
    discount: Float[Array, ""],
    bounds: tuple[Float[Array, " a"], Float[Array, " a"]],
    config: PolicyGradientConfig,
    steps: int,
) -> tuple[Ascent, Bool[Array, ""]]:
    """Return the state after one of `steps` updates of both sides, and whether all is finite.

    If not, the state is as it was.
    """
    gradient = game_gradient(state.players, episodes, rewards, discount, bounds, config)
    descent: Any = jax.tree.map(jnp.negative, gradient)
    updates, memory = _adam(config, steps).update(descent, state.memory, state.players)  # pyright: ignore
    players: Any = optax.apply_updates(state.players, updates)  # pyright: ignore[reportArgumentType]
    low, high = (math.log(bound) for bound in config.deviations)
    held = tuple(jnp.clip(side.log_deviation, low, high) for side in (players.player, players.opponent))
    players = eqx.tree_at(lambda p: (p.player.log_deviation, p.opponent.log_deviation), players, held)
    after = Ascent(players, memory)
    valid = jnp.isfinite(rewards).all() & jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(after)]).all()
    return jax.tree.map(lambda new, old: jnp.where(valid, new, old), after, state), valid


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


class Training(ScopedModule):
    """The outcome of `solve_game` or `train_expert`: the last valid policies and the history.

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
        sides, episodes, horizon = state.players, config.episodes, config.horizon
        batch = collect(world, sides.player, sides.opponent, alpha, episodes=episodes, horizon=horizon, key=key)
        return update(state, batch)

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
        throw: Raise `ConvergenceError` if rewards or gradients were not finite; otherwise `valid` says so.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> result = solve_game(GaussianGrid(), config=PolicyGradientConfig(steps=2, episodes=8), key=jax.random.key(0))
        >>> result.valid.item(), result.history.mean_return.shape
        (True, (2,))
    """
    require_reward(world)
    start = initial_players(world) if start is None else start
    result = wait_interruptibly(_solve(world, jnp.asarray(alpha, dtype=float), start, config, key))
    return _require_valid(result) if throw else result


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

    A policy gradient may settle where waiting looks better than crossing (in GaussianGrid with much noise, one attempt
    in five does), or on a long way round. Attempts differ in their draws alone, and are compared by their measured mean
    return: at a noise of 0.15 the best of three has -226 and the best of eight -217.

    Example:
        >>> from robustirl.envs import GaussianGrid
        >>> quick = PolicyGradientConfig(steps=2, episodes=8)
        >>> expert = train_expert(GaussianGrid(), config=quick, attempts=1, key=jax.random.key(0))
        >>> expert.player.weights[0].shape
        (7, 2)
    """
    require_reward(world)
    attempts = as_count("attempts", attempts, 1)
    first = initial_players(world) if start is None else Players(start, start)
    train_key, check_key = jax.random.split(key)
    keys = jax.random.split(train_key, attempts)
    runs = [wait_interruptibly(_solve(world, jnp.asarray(1.0, dtype=float), first, config, k)) for k in keys]

    def merit(run: Training) -> tuple[bool, float]:
        """Rank valid policies before others, then by return from the same draws; no number comes last."""
        measured = float(evaluate(world, run.player, key=check_key).mean_return)
        return bool(run.valid), measured if math.isfinite(measured) else -math.inf

    best = max(runs, key=merit) if attempts > 1 else runs[0]
    return _require_valid(best) if throw else best


def _require_valid(result: Training) -> Training:
    """Return a training, or raise if one of its steps had numbers that were not finite."""
    if not bool(result.valid):
        step = int(jnp.argmin(result.history.valid))
        raise ConvergenceError(
            f"rewards or gradients were not finite at policy step {step}, so training stood still from there;"
            " check the reward for NaN or lower the learning rate; throw=False keeps the last valid policies."
        )
    return result


@jit
def _solve(
    world: RewardedWorld, alpha: Float[Array, ""], start: Players, config: PolicyGradientConfig, key: PRNGKeyArray
) -> Training:
    steps, score = config.steps, lambda episodes: episodes.rewards(world.reward)
    state, history = game_steps(world, begin(start, config), alpha, score, config, steps=steps, total=steps, key=key)
    return Training(state.players.player, state.players.opponent, history)
