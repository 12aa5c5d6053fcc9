"""The settings of robust imitation from observation, in one frozen dataclass."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from robustirl.control import PPOConfig, require_choice
from robustirl.mdp import as_count, as_list, as_positive, require_kind


@dataclasses.dataclass(frozen=True)
class ImitationConfig:
    """How the discriminator and the policies are trained.

    Args:
        steps: Steps in the learner's world, of all environments together.
        sees: What the discriminator compares: `transitions` (φ(s), φ(s')), as in GAIfO, or `states` φ(s') alone, which
            matches what the expert's states are and not how they follow each other.
        reward: What is made of its logit x, large where a step looks like the expert's. `positive` is log(1 + eˣ):
            every step is worth something, which suits worlds where to end is to fail. `negative` is -log(1 + e⁻ˣ):
            every step costs, which suits worlds with a goal. `logit` is x itself. `auto` is `logit` if most of the
            expert's episodes ended by themselves, else `positive`: with `positive`, imitators of experts that reach a
            goal stay near it, because to arrive is to be paid no more.
        hidden: Widths of the discriminator's hidden layers.
        learning_rate: Of its Adam. With a discriminator that learns much more slowly than the policies some draws stay
            at a bad policy: in the swing-up 7 of 16 at 3e-4, none at 1e-3.
        discriminator_steps: Its gradient steps for each segment.
        batch: Steps of the expert and of the learner in each of them.
        penalty: Weight of (‖∇x‖ - 1)² between both samples (Gulrajani et al., 2017), which keeps it smooth.
        ppo: How the policies are trained.

    Example:
        >>> ImitationConfig(steps=100_000).sees
        'transitions'
    """

    steps: int = 600_000
    sees: Literal["transitions", "states"] = "transitions"
    reward: Literal["auto", "positive", "negative", "logit"] = "auto"
    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 1e-3
    discriminator_steps: int = 4
    batch: int = 512
    penalty: float = 1.0
    ppo: PPOConfig = dataclasses.field(default_factory=PPOConfig)

    def __post_init__(self) -> None:
        found: dict[str, Any] = {}  # Numbers of Python, as in PPOConfig.
        for name in ("steps", "discriminator_steps", "batch"):
            found[name] = as_count(name, getattr(self, name), 1)
        for name in ("learning_rate", "penalty"):
            found[name] = as_positive(name, getattr(self, name))
        for name in ("sees", "reward"):
            require_choice(self, name)
        widths = as_list("hidden", self.hidden, "a sequence of widths")
        found["hidden"] = tuple(as_count("the width of a hidden layer", width, 1) for width in widths)
        for name, value in found.items():
            object.__setattr__(self, name, value)
        require_kind("ppo", self.ppo, PPOConfig, "a PPOConfig")


def choose_reward(config: ImitationConfig, terminated: Sequence[bool]) -> ImitationConfig:
    """Return the settings with a form of the reward.

    If it is `auto`, the form is chosen by how the expert's episodes ended.

    Example:
        >>> [choose_reward(ImitationConfig(), ends).reward for ends in ([True, True, False], [True, False, False])]
        ['logit', 'positive']
    """
    if config.reward != "auto":
        return config
    return dataclasses.replace(config, reward="logit" if 2 * sum(terminated) > len(terminated) else "positive")
