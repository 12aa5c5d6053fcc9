"""One update of a training: a judge gives the steps of a segment rewards, and the policies improve by PPO.

`WorldReward` gives the world's own reward, `Learned` a reward of features that was learned before, and the
discriminator of `robustirl.irl.adversarial` one that it improves at every update.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray

from robustirl.control.ppo import Agents, PPOConfig, RewardFunction, improve
from robustirl.control.segments import Segment, Walkers
from robustirl.types import Tree


class Judge(eqx.Module):
    """Give every step of a segment a reward, and learn from it if need be."""

    @abc.abstractmethod
    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
        """Return what to remember, the rewards, and what to report."""


class WorldReward(Judge):
    """Give the world's own reward."""

    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
        del key
        return memory, segment.paid, {}


class Learned(Judge):
    """A reward of φ(s) and φ(s') that was learned elsewhere."""

    reward: RewardFunction

    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
        del key
        return memory, self.reward(segment.features, segment.next_features), {}


class Setting(eqx.Module):
    """What does not change during a training.

    Policies act in `units` of the world's actions, if there are some. The number of updates is data: trainings of any
    length share a program.
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


class Progress(eqx.Module):
    """One entry an update: the means over its segment.

    Attributes:
        reward: Of the judge's rewards.
        episode_return: Of what the world paid the episodes that ended; NaN if none did.
        episode_length: Of their lengths; NaN if none did.
        report: What the judge reports.
    """

    reward: Float[Array, "*batch"]
    episode_return: Float[Array, "*batch"]
    episode_length: Float[Array, "*batch"]
    report: dict[str, Float[Array, "*batch"]]


def learn(
    agents: Agents,
    judge: Judge,
    memory: Tree,
    segment: Segment,
    discount: Float[Array, ""],
    config: PPOConfig,
    updates: Int[Array, ""],
    judging: PRNGKeyArray,
    steps: PRNGKeyArray,
) -> tuple[Agents, Tree, Progress]:
    """Judge a segment and improve the policies, once.

    Return the agents, the judge's memory, and means to log.
    """
    memory, rewards, report = judge.judge(memory, segment, judging)
    agents = improve(agents, segment, rewards, discount, config, updates, steps)
    ended = (segment.lengths > 0).sum()
    length = jnp.where(ended > 0, segment.lengths.sum() / jnp.maximum(ended, 1), jnp.nan)
    return agents, memory, Progress(rewards.mean(), jnp.nanmean(segment.returns), length, report)
