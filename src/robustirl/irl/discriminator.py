r"""The discriminator of robust imitation: how much a step looks like one of the expert's.

Its logit x(φ(s), φ(s')) is trained to tell the expert's steps from those of the mixture in the learner's world, by the
logistic loss with a gradient penalty. Features are scaled by the expert's own mean and deviation. What is made of the
logit is a reward of transitions, which can be trained with in any world of these features.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_positive, concrete, require_kind
from robustirl._jax import PlainModule
from robustirl.control.policies import Network, Scale
from robustirl.control.policy_gradient import require_choices
from robustirl.control.ppo import Judge, Judged, PPOConfig, as_widths
from robustirl.control.rollouts import Segment
from robustirl.demonstrations import Recordings
from robustirl.types import AnyArray, Tree

FARTHEST = 10.0
"""Numbers beyond so many of the expert's deviations are cut."""
ROWS = 1 << 14
"""An expert's steps are padded to this number or the next power of two, so that one program serves many experts."""


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
        given: dict[str, Any] = {"hidden": as_widths(self.hidden)}  # Numbers of Python, as in PPOConfig.
        for name in ("steps", "discriminator_steps", "batch"):
            given[name] = as_count(name, getattr(self, name), 1)
        for name in ("learning_rate", "penalty"):
            given[name] = as_positive(name, getattr(self, name))
        for name, value in given.items():
            object.__setattr__(self, name, value)
        require_choices(self, "sees", "reward")
        require_kind("ppo", self.ppo, PPOConfig, "a PPOConfig")


def choose_reward(config: ImitationConfig, terminated: Sequence[bool]) -> ImitationConfig:
    """Return the settings with a form of the reward; `auto` is chosen by how the expert's episodes ended.

    Example:
        >>> [choose_reward(ImitationConfig(), ends).reward for ends in ([True, True, False], [True, False, False])]
        ['logit', 'positive']
    """
    if config.reward != "auto":
        return config
    return dataclasses.replace(config, reward="logit" if 2 * sum(terminated) > len(terminated) else "positive")


class LearnedReward(PlainModule):
    """A reward of transitions that a discriminator has learned.

    Outside of compiled programs it is computed by NumPy, which takes some 0.03 ms for a single step.

    Example:
        >>> network = Network.create(2, (4,), key=jax.random.key(0))
        >>> reward = LearnedReward(network, Scale.empty(1), "transitions", "positive")
        >>> bool(reward(np.zeros((3, 1)), np.ones((3, 1))).min() > 0)
        True
    """

    network: Network
    scale: Scale
    sees: Literal["transitions", "states"] = eqx.field(static=True)
    form: Literal["positive", "negative", "logit"] = eqx.field(static=True)

    def logit(self, features: Float[AnyArray, "*n d"], next_features: Float[AnyArray, "*n d"]) -> Float[AnyArray, "*n"]:
        """Return how much these steps look like the expert's; zero if one cannot tell."""
        if not concrete(self.scale.mean, features, next_features):
            return self.network(inputs_of(self.scale, self.sees, jnp.asarray(features), jnp.asarray(next_features)))
        mean, square = np.asarray(self.scale.mean), np.asarray(self.scale.square)
        deviation = np.sqrt(np.maximum(square, 1e-6))
        seen = (features, next_features) if self.sees == "transitions" else (next_features,)
        parts = [np.clip((np.asarray(part) - mean) / deviation, -FARTHEST, FARTHEST) for part in seen]
        hidden = np.concatenate(parts, -1)
        for place, layer in enumerate(self.network.layers):
            hidden = (np.tanh(hidden) if place else hidden) @ np.asarray(layer.weight).T + np.asarray(layer.bias)
        return hidden[..., 0]

    def __call__(
        self, features: Float[AnyArray, "*n d"], next_features: Float[AnyArray, "*n d"]
    ) -> Float[AnyArray, "*n"]:
        logit = self.logit(features, next_features)
        softplus = jax.nn.softplus if isinstance(logit, jax.Array) else lambda x: np.logaddexp(x, 0)
        match self.form:
            case "positive":
                return softplus(logit)
            case "negative":
                return -softplus(-logit)
            case _:
                return logit


def inputs_of(
    scale: Scale, sees: str, features: Float[Array, "*n d"], next_features: Float[Array, "*n d"]
) -> Float[Array, "*n i"]:
    """Return what the discriminator is given of a step."""
    after = jnp.clip(scale(next_features), -FARTHEST, FARTHEST)
    if sees == "states":
        return after
    return jnp.concatenate([jnp.clip(scale(features), -FARTHEST, FARTHEST), after], -1)


class Discriminator(Judge):
    """Judge segments by a discriminator that learns from each.

    Attributes:
        before: `[n, d]`, the observations that the expert's steps began from, padded.
        after: `[n, d]`, those that followed.
        count: How many steps there are.
        scale: The scale of the expert's features.
    """

    before: Float[Array, "*batch n d"]
    after: Float[Array, "*batch n d"]
    count: Int[Array, "*batch"]
    scale: Scale
    config: ImitationConfig = eqx.field(static=True)

    @classmethod
    def of(cls, expert: Recordings, config: ImitationConfig, most: int) -> "Discriminator":
        """Return the judge of an expert's recordings, padded as the longest of a batch needs, with `most` steps."""
        # Its program is for trainings of any length.
        config = dataclasses.replace(choose_reward(config, expert.terminated), steps=1)
        before, after = expert.pairs()
        scale = Scale.empty(expert.width).seen(jnp.asarray(after, dtype=float))
        size = max(ROWS, 1 << (most - 1).bit_length())
        padded = [np.pad(part, ((0, size - expert.steps), (0, 0))) for part in (before, after)]
        before, after = (jnp.asarray(part, dtype=float) for part in padded)
        return cls(before, after, jnp.asarray(expert.steps), scale, config)

    def create(self, key: PRNGKeyArray) -> Tree:
        """Return a network that has learned nothing, and the memory of its optimizer."""
        width = self.before.shape[-1] * (2 if self.config.sees == "transitions" else 1)
        network = Network.create(width, self.config.hidden, key=key)
        return network, self._rule().init(network)  # pyright: ignore[reportArgumentType]

    def _rule(self) -> optax.GradientTransformation:
        return optax.adam(self.config.learning_rate, b1=0.5)

    def judge(self, memory: Tree, segment: Segment, key: PRNGKeyArray) -> Judged:
        rule, config = self._rule(), self.config
        seen = inputs_of(self.scale, config.sees, segment.features, segment.next_features)
        seen = seen.reshape(-1, seen.shape[-1])

        def learn(carry: Tree, key: PRNGKeyArray) -> tuple[Tree, tuple[Array, Array]]:
            network, state = carry  # pyright: ignore
            first, second, third = jax.random.split(key, 3)
            chosen = jax.random.randint(first, (config.batch,), 0, self.count)
            expert = inputs_of(self.scale, config.sees, self.before[chosen], self.after[chosen])
            mixture = seen[jax.random.randint(second, (config.batch,), 0, seen.shape[0])]
            between = jax.random.uniform(third, (config.batch, 1), dtype=float)
            middle = between * expert + (1 - between) * mixture
            loss = jax.value_and_grad(_loss, has_aux=True)
            (value, right), gradient = loss(network, expert, mixture, middle, config.penalty)
            change, state = rule.update(gradient, state)
            return (optax.apply_updates(network, change), state), (value, right)

        memory, (loss, right) = jax.lax.scan(learn, memory, jax.random.split(key, config.discriminator_steps))
        reward = LearnedReward(memory[0], self.scale, config.sees, config.reward)  # pyright: ignore
        rewards: Any = reward(segment.features, segment.next_features)
        return memory, rewards, {"loss": loss[-1], "accuracy": right[-1]}


def _loss(
    network: Network,
    expert: Float[Array, "n i"],
    mixture: Float[Array, "n i"],
    middle: Float[Array, "n i"],
    penalty: float,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the logistic loss with its penalty, and the share of steps told apart."""
    real, made = network(expert), network(mixture)
    slopes = jax.vmap(jax.grad(network))(middle)
    smooth = ((jnp.sqrt((slopes**2).sum(-1) + 1e-12) - 1) ** 2).mean()
    loss = jax.nn.softplus(-real).mean() + jax.nn.softplus(made).mean() + penalty * smooth
    right = ((real > 0).mean(dtype=float) + (made < 0).mean(dtype=float)) / 2
    return loss, right
