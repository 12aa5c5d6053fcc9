"""How good a policy is in a world: returns, lengths, and the share of episodes that reach the goal."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import ScopedModule, working_precision
from robustirl.control.interface import RewardedWorld
from robustirl.control.policies import GaussianPolicy
from robustirl.control.rollouts import collect
from robustirl.errors import InvalidInputError


class Evaluation(ScopedModule):
    """What the episodes of a policy brought.

    Attributes:
        returns: `[N]`, the undiscounted return of each, the rewards of all states but the start.
        reached: `[N]`, whether the episode ended by itself: in GaussianGrid, at the goal.
        lengths: `[N]`, steps taken.
    """

    returns: Float[Array, "*batch N"]
    reached: Bool[Array, "*batch N"]
    lengths: Int[Array, "*batch N"]

    @property
    def mean_return(self) -> Float[Array, "*batch"]:
        """The mean over episodes."""
        return self.returns.mean(-1)

    @property
    def median_return(self) -> Float[Array, "*batch"]:
        """The median over episodes."""
        return jnp.median(self.returns, -1)

    @property
    def goal_share(self) -> Float[Array, "*batch"]:
        """The share of episodes that reached the goal."""
        return self.reached.mean(-1, dtype=float)


@working_precision
def evaluate(
    world: RewardedWorld,
    policy: GaussianPolicy,
    *,
    episodes: int = 200,
    horizon: int = 1000,
    mean_action: bool = True,
    key: PRNGKeyArray,
) -> Evaluation:
    """Measure a policy under the true reward.

    The defaults are as published: 200 episodes of at most 1000 mean actions.

    Example:
        >>> import jax
        >>> from robustirl.control import linear_policy
        >>> from robustirl.envs import GaussianGrid
        >>> still = evaluate(GaussianGrid(), linear_policy(7, 2), episodes=3, horizon=10, key=jax.random.key(0))
        >>> still.goal_share.item(), round(still.mean_return.item(), 3), still.lengths.tolist()
        (0.0, -80.0, [10, 10, 10])
    """
    require_reward(world)
    sampled = collect(world, policy, episodes=episodes, horizon=horizon, mean_action=mean_action, key=key)
    return Evaluation(sampled.rewards(world.reward).sum(0), sampled.terminated, sampled.lengths)


def require_reward(world: object) -> None:
    """Refuse what is no world, or has no reward to measure by."""
    if not isinstance(world, RewardedWorld):
        raise InvalidInputError(
            f"the world is a {type(world).__name__}, which lacks some of what a world with a reward offers;"
            " see robustirl.control.RewardedWorld."
        )
