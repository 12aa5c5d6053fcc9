"""The collector of `rollouts`, over `gymnasium.vector`: anyone else's environments, the same batch of episodes.

Every sub-environment gives one episode a call. The environments do their own stepping and their own randomness
(`seed`); actions and who executes them come from the key, as in `collect`. Gymnasium itself is not needed to import
this file: a vector environment is recognized by what it can do.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from robustirl._runtime import as_float, working_precision
from robustirl.control.checks import as_key
from robustirl.control.memory import require_history
from robustirl.control.policies import GaussianPolicy
from robustirl.control.rollouts import Episodes, as_chance
from robustirl.errors import InvalidInputError
from robustirl.mdp import as_count


@working_precision
def collect_vector(
    environments: Any,
    player: GaussianPolicy,
    opponent: GaussianPolicy | None = None,
    alpha: float = 1.0,
    *,
    features: Callable[[Float[Array, " n"]], Float[Array, " d"]] | None = None,
    horizon: int = 200,
    mean_action: bool = False,
    seed: int | None = None,
    key: PRNGKeyArray,
) -> Episodes:
    """Sample one episode from every environment of a `gymnasium.vector.VectorEnv`.

    Args:
        environments: Sub-environments with flat real observations and flat real actions, in any autoreset mode.
        player: π_pl.
        opponent: π_op; without one the player acts alone.
        alpha: α, the probability that the player's action is executed.
        features: φ of an observation, traceable by JAX; the observation itself by default.
        horizon: T, after which an episode is cut off.
        mean_action: Take mean actions.
        seed: Of the environments, passed to their `reset`.
        key: Decides actions, and whose are executed.

    Returns:
        Episodes with the rewards the environments paid in `observed_rewards`.

    Example:
        >>> import gymnasium
        >>> from robustirl.control import linear_policy
        >>> envs = gymnasium.make_vec("Pendulum-v1", num_envs=3, vectorization_mode="sync")
        >>> batch = collect_vector(envs, linear_policy(3, 1), horizon=5, seed=0, key=jax.random.key(0))
        >>> batch.states.shape, batch.observed_rewards.shape, batch.lengths.tolist()
        ((6, 3, 3), (5, 3), [5, 5, 5])
    """
    horizon, chance = as_count("the horizon", horizon, 1), float(as_chance(alpha))
    key = as_key(key)
    count, low, high = _inspect(environments)
    # All steps up to the horizon are held, also those after the end of an episode.
    numbers = 2 * int(environments.single_observation_space.shape[0]) + 2 * low.size + 3
    require_history("steps", horizon, count * numbers)
    look = _features(features)
    choose = _chooser(player, opponent, chance, mean_action)
    observations = np.asarray(environments.reset(seed=seed)[0])
    over, finished = np.zeros(count, bool), np.zeros(count, bool)
    states, seen = [observations], [look(observations)]
    ours, theirs, hands, active, paid = [], [], [], [], []
    for step_key in jax.random.split(key, horizon):
        action, other, by_player = (np.asarray(x) for x in choose(seen[-1], step_key))
        executed = np.where(by_player[:, None], action, other)
        reset = over if _autoreset(environments) == "Disabled" else np.zeros(count, bool)
        if reset.any():
            environments.reset(options={"reset_mask": reset})
        after, rewards, terminated, truncated, infos = environments.step(np.clip(executed, low, high).astype(low.dtype))
        after = np.where(over[:, None], states[-1], _last_observations(after, infos))
        active.append(~over)
        paid.append(np.where(over, 0.0, rewards))
        finished |= ~over & terminated
        over = over | terminated | truncated
        for log, entry in zip((states, ours, theirs, hands), (after, action, other, by_player), strict=True):
            log.append(entry)
        seen.append(look(after))
        if over.all():
            break
    # Blank steps after the end of all episodes, so that batches of one horizon have one shape.
    missing = horizon - len(active)
    blank = np.zeros_like(ours[0])
    return Episodes(
        states=as_float(np.stack(states + [states[-1]] * missing)),
        features=jnp.stack(seen + [seen[-1]] * missing),
        player_actions=as_float(np.stack(ours + [blank] * missing)),
        opponent_actions=as_float(np.stack(theirs + [blank] * missing)),
        by_player=jnp.asarray(np.stack(hands + [hands[-1]] * missing)),
        active=jnp.asarray(np.stack(active + [np.zeros(count, bool)] * missing)),
        terminated=jnp.asarray(finished),
        observed_rewards=as_float(np.stack(paid + [np.zeros(count)] * missing)),
    )


def _inspect(environments: Any) -> tuple[int, np.ndarray, np.ndarray]:
    """Return how many there are, and the bounds of their actions."""
    space = getattr(environments, "single_action_space", None)
    if space is None or not hasattr(environments, "num_envs"):
        raise InvalidInputError(
            f"{type(environments).__name__} is not a vector environment; make one with gymnasium.make_vec."
        )
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if low is None or high is None or np.ndim(low) != 1 or np.asarray(low).dtype.kind != "f":
        raise InvalidInputError(f"the action space is {space}, but a Box of real numbers with one axis is needed.")
    shape = getattr(environments.single_observation_space, "shape", None)
    if shape is None or len(shape) != 1:
        raise InvalidInputError(
            f"the observation space is {environments.single_observation_space}, but one flat array is needed;"
            " wrap the environments in gymnasium.wrappers.vector.FlattenObservation."
        )
    return int(environments.num_envs), np.asarray(low), np.asarray(high)


def _features(features: Callable | None) -> Callable[[np.ndarray], Float[Array, "N d"]]:
    if features is None:
        return as_float
    compiled = eqx.filter_jit(lambda observations: jax.vmap(features)(observations))
    return lambda observations: compiled(as_float(observations))


def _chooser(player: GaussianPolicy, opponent: GaussianPolicy | None, alpha: float, mean_action: bool) -> Callable:
    """Return both sides' actions for a batch of features, and whose is executed."""

    @eqx.filter_jit
    def choose(features: Float[Array, "N d"], key: PRNGKeyArray):
        hand, first, second = jax.random.split(key, 3)
        shape = (features.shape[0], player.log_deviation.shape[-1])
        blank = jnp.zeros(shape, dtype=float)
        ours, theirs = (blank if mean_action else jax.random.normal(k, shape, dtype=float) for k in (first, second))
        action = player.act(features, ours)
        if opponent is None:
            return action, action, jnp.ones(shape[0], bool)
        return action, opponent.act(features, theirs), jax.random.uniform(hand, shape[:1], dtype=float) < alpha

    return choose


def _autoreset(environments: Any) -> str:
    mode = getattr(environments, "metadata", {}).get("autoreset_mode", "NextStep")
    return getattr(mode, "value", str(mode))


def _last_observations(observations: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
    """Return what was seen before a reset within the same step, where there was one."""
    if "final_obs" not in infos:
        return observations
    mask = np.asarray(infos.get("_final_obs", [x is not None for x in infos["final_obs"]]))
    out = np.array(observations)
    for index in np.flatnonzero(mask):
        out[index] = infos["final_obs"][index]
    return out
