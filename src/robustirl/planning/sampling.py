"""The paper's sampled evaluation, as a check on the exact one.

The paper averages one trajectory from every start state and repeats that 1000 times; its mean and its
standard deviation over the repetitions are the numbers and the bands of its figures.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._runtime import BoundedJit, require_memory, working_dtype, working_precision
from robustirl.mdp import MDP, as_count, as_policy, as_reward
from robustirl.planning.evaluation import require_sound
from robustirl.types import ArrayLike

NUMBERS = 4
"""Of a trajectory: its state, its total, a uniform number, and the next state."""


class SampledReturn(NamedTuple):
    """Mean and standard deviation over repetitions of the start-weighted return."""

    mean: Float[Array, ""]
    deviation: Float[Array, ""]


@working_precision
def sampled_total_return(
    mdp: MDP,
    policy: ArrayLike,
    reward: ArrayLike,
    *,
    key: PRNGKeyArray,
    repetitions: int = 1000,
    horizon: int = 1000,
) -> SampledReturn:
    """Estimate `total_return` from `repetitions` trajectories per start state.

    The trajectories are capped at `horizon` steps.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5)
        >>> estimate = sampled_total_return(world, [[1.0], [1.0]], [-1.0, 0.0], key=jax.random.key(0))
        >>> estimate.mean.item(), estimate.deviation.item()
        (-0.5, 0.0)
    """
    require_sound(mdp)
    horizon, repetitions = as_count("the horizon", horizon), as_count("repetitions", repetitions, 2)
    return _sampled(mdp, as_policy(policy, mdp), as_reward(reward, mdp), key, repetitions, horizon)


@BoundedJit
def _sampled(
    mdp: MDP,
    policy: Float[Array, "S A"],
    reward: Float[Array, " S"],
    key: PRNGKeyArray,
    repetitions: int,
    horizon: int,
) -> SampledReturn:
    chain = mdp.kernel.policy_matrix(policy)
    # After the matrix, which is refused first where it is what does not fit.
    needed = float(NUMBERS) * working_dtype().itemsize * repetitions * mdp.num_states
    require_memory(needed, f"{repetitions} repetitions from each of {mdp.num_states} states", "take fewer")
    cumulative = jnp.cumsum(chain, axis=-1)
    # A state that keeps itself and pays nothing ends the trajectory: nothing more can happen there.
    over = (jnp.diagonal(chain) >= 1) & (reward == 0)
    starts = jnp.broadcast_to(jnp.arange(mdp.num_states), (repetitions, mdp.num_states))

    def unfinished(state) -> jax.Array:
        _, states, _, steps = state
        return (steps < horizon) & ~jnp.all(over[states])

    def step(state):
        key, states, totals, steps = state
        key, draw = jax.random.split(key)
        states = _successors(cumulative, states, jax.random.uniform(draw, states.shape, cumulative.dtype))
        return key, states, totals + reward[states], steps + 1

    _, _, totals, _ = jax.lax.while_loop(unfinished, step, (key, starts, reward[starts], 0))
    means = totals @ mdp.initial
    return SampledReturn(means.mean(), means.std(ddof=1))


def _successors(
    cumulative: Float[Array, "S S"], states: Int[Array, "n S"], uniforms: Float[Array, "n S"]
) -> Int[Array, "n S"]:
    """Sample by inverse transform and bisection.

    The sample is the first successor whose cumulative probability exceeds u.
    """
    size = cumulative.shape[0]
    target = uniforms * cumulative[states, -1]  # The last entry is one up to rounding.

    def halve(_: Int[Array, ""], bounds: tuple[Int[Array, "n S"], Int[Array, "n S"]]):
        low, high = bounds
        middle = (low + high) // 2
        beyond = cumulative[states, middle] > target
        return jnp.where(beyond, low, middle + 1), jnp.where(beyond, middle, high)

    ends = (jnp.zeros_like(states), jnp.full_like(states, size - 1))
    return jax.lax.fori_loop(0, max(size - 1, 1).bit_length(), halve, ends)[0]
