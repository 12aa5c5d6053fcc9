r"""The discriminator: how much a step looks like one of the expert's.

Its logit x(φ(s), φ(s')) is trained to tell the expert's steps from the mixture's in the learner's world, by the
logistic loss with a gradient penalty. Features are scaled by the expert's own mean and deviation.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._runtime import ScopedModule
from robustirl.control import Judge, Network, Scale, Segment
from robustirl.irl.adversarial.config import ImitationConfig
from robustirl.types import AnyArray, Tree


class LearnedReward(ScopedModule):
    """A reward of transitions that a discriminator has learned.

    It can be trained with in any world of these features.

    Example:
        >>> network = Network.create(2, (4,), key=jax.random.key(0))
        >>> reward = LearnedReward(network, Scale.empty(1), "transitions", "positive")
        >>> bool(reward(jnp.zeros((3, 1)), jnp.ones((3, 1))).min() > 0)
        True
    """

    network: Network
    scale: Scale
    sees: Literal["transitions", "states"] = eqx.field(static=True)
    form: Literal["positive", "negative", "logit"] = eqx.field(static=True)

    def logit(self, features: Float[AnyArray, "*n d"], next_features: Float[AnyArray, "*n d"]) -> Float[Array, "*n"]:
        """Return how much these steps look like the expert's; zero if one cannot tell."""
        before, after = jnp.asarray(features), jnp.asarray(next_features)
        return self.network(inputs_of(self.scale, self.sees, before, after))

    def __call__(self, features: Float[AnyArray, "*n d"], next_features: Float[AnyArray, "*n d"]) -> Float[Array, "*n"]:
        logit = self.logit(features, next_features)
        match self.form:
            case "positive":
                return jax.nn.softplus(logit)
            case "negative":
                return -jax.nn.softplus(-logit)
            case _:
                return logit


def inputs_of(
    scale: Scale, sees: str, features: Float[Array, "*n d"], next_features: Float[Array, "*n d"]
) -> Float[Array, "*n i"]:
    """Return what the discriminator is given of a step.

    Numbers beyond ten of the expert's deviations are cut.
    """
    after = jnp.clip(scale(next_features), -10, 10)
    if sees == "states":
        return after
    return jnp.concatenate([jnp.clip(scale(features), -10, 10), after], -1)


class Discriminator(Judge):
    """Judge segments by a discriminator that learns from each.

    Attributes:
        before, after: `[n, d]`, the expert's steps, padded.
        count: How many of them there are.
        scale: The scale of the expert's features.
    """

    before: Float[Array, "*batch n d"]
    after: Float[Array, "*batch n d"]
    count: Int[Array, "*batch"]
    scale: Scale
    config: ImitationConfig = eqx.field(static=True)

    def __check_init__(self) -> None:
        assert self.config.reward != "auto", "choose_reward comes first"

    def create(self, key: PRNGKeyArray) -> Tree:
        """Return a network that has learned nothing, and the memory of its optimizer."""
        width = self.before.shape[-1] * (2 if self.config.sees == "transitions" else 1)
        network = Network.create(width, self.config.hidden, key=key)
        return network, self._rule().init(network)  # pyright: ignore[reportArgumentType]

    def _rule(self) -> optax.GradientTransformation:
        return optax.adam(self.config.learning_rate, b1=0.5)

    def reward(self, memory: Tree) -> LearnedReward:
        """Return the reward as it is now."""
        return LearnedReward(memory[0], self.scale, self.config.sees, self.config.reward)  # pyright: ignore

    def judge(
        self, memory: Tree, segment: Segment, key: PRNGKeyArray
    ) -> tuple[Tree, Float[Array, "T N"], dict[str, Float[Array, ""]]]:
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
            (loss, right), gradient = jax.value_and_grad(_loss, has_aux=True)(
                network, expert, mixture, middle, config.penalty
            )
            change, state = rule.update(gradient, state)
            return (optax.apply_updates(network, change), state), (loss, right)

        memory, (loss, right) = jax.lax.scan(learn, memory, jax.random.split(key, config.discriminator_steps))
        rewards = self.reward(memory)(segment.features, segment.next_features)
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
