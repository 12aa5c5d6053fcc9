r"""From rewards to the weights of a policy gradient: returns to go, baselines, and GAE.

The return to go of Algorithm 4 counts from the next state on, G_t = Σ_{k>t} γ^{k-t-1} R(s_k), for the reward is one of
states and the action at t cannot change s_t. A baseline that does not depend on the action leaves the gradient's mean
alone and lowers its variance. All arrays are `[T, N]`, and masked: zero after an episode's end.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl.control.rollouts import Episodes

RIDGE = 1e-3  # Of the mean square of the critic's features: enough to solve for features that are not independent.


def returns_to_go(rewards: Float[Array, "T N"], discount: Float[Array, ""] | float) -> Float[Array, "T N"]:
    """G_t = Σ_{k>t} γ^{k-t-1} R(s_k), for rewards that hold R(s_{t+1}) in row t.

    Example:
        >>> returns_to_go(jnp.array([[1.0], [2.0], [4.0]]), 0.5).ravel().tolist()
        [3.0, 4.0, 4.0]
    """

    def back(later: Float[Array, " N"], reward: Float[Array, " N"]):
        total = reward + discount * later
        return total, total

    return jax.lax.scan(back, jnp.zeros_like(rewards[0]), rewards, reverse=True)[1]


def per_step_baseline(episodes: Episodes, returns: Float[Array, "T N"]) -> Float[Array, "T 1"]:
    """Return the mean return to go of the episodes still running at step t."""
    running = episodes.active.sum(1, keepdims=True)
    return episodes.masked(returns).sum(1, keepdims=True) / jnp.maximum(running, 1)


def critic_values(episodes: Episodes, returns: Float[Array, "T N"]) -> Float[Array, "T1 N"]:
    """Estimate V(s_t) by ridge regression of the returns to go.

    The regressors are the features, their squares and the time. Linear least squares need no learning rate of their own
    and no memory between batches. The value of a state that ended its episode is zero, that of a state at the horizon
    is the regression's.
    """
    horizon = returns.shape[0]
    time = jnp.linspace(0, 1, horizon + 1, dtype=returns.dtype)[:, None, None]
    clock = jnp.broadcast_to(
        jnp.concatenate([jnp.ones_like(time), time, time**2], -1), (horizon + 1, returns.shape[1], 3)
    )
    inputs = jnp.concatenate([episodes.features, episodes.features**2, clock], -1)
    rows = jnp.where(episodes.active[..., None], inputs[:-1], 0).reshape(-1, inputs.shape[-1])
    gram = rows.T @ rows
    ridge = RIDGE * jnp.trace(gram) / gram.shape[0] * jnp.eye(gram.shape[0], dtype=gram.dtype)
    weights = jnp.linalg.solve(gram + ridge, rows.T @ episodes.masked(returns).ravel())
    # The value after the end of a terminated episode is zero; for a truncated one it is the prediction.
    stopped = jnp.concatenate([~episodes.active, jnp.ones_like(episodes.active[:1])])
    ended = stopped & episodes.terminated
    return jnp.where(ended, 0, inputs @ weights)


def generalized_advantages(
    episodes: Episodes,
    rewards: Float[Array, "T N"],
    values: Float[Array, "T1 N"],
    discount: Float[Array, ""] | float,
    decay: float,
) -> Float[Array, "T N"]:
    """Return GAE, Σ_l (γλ)^l δ_{t+l} with δ_t = R(s_{t+1}) + γ V(s_{t+1}) - V(s_t).

    At λ = 1 it is G_t - V(s_t) for an episode that ended by itself, where V is zero at the end. For an episode cut off
    at the horizon T it is G_t + γ^{T-t} V(s_T) - V(s_t): the value of the last state stands for what would follow.
    """
    errors = episodes.masked(rewards + discount * values[1:] - values[:-1])
    return returns_to_go(errors, discount * decay)


def normalized(episodes: Episodes, advantages: Float[Array, "T N"]) -> Float[Array, "T N"]:
    """Return advantages of mean zero and deviation one over the steps taken."""
    count = jnp.maximum(episodes.active.sum(), 1)
    mean = episodes.masked(advantages).sum() / count
    centered = episodes.masked(advantages - mean)
    spread = jnp.sqrt((centered**2).sum() / count)
    # Equal advantages carry no news: they become zeros, not a division by nothing.
    return centered / jnp.where(spread > 0, spread, 1)
