"""Estimators for sampled worlds, with the manners of scikit-learn: `RelativeEntropyIRL` and `RobustImitation`."""

import abc
import os
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._check import as_floats, as_seed, require_finite, require_shape
from robustirl._jax import working_precision
from robustirl._progress import Callback, Interrupted
from robustirl._show import short_value
from robustirl.control.policies import GaussianPolicy, Players
from robustirl.control.rollouts import Episodes
from robustirl.control.worlds import HostWorld, World
from robustirl.demonstrations.recordings import RecordingsLike
from robustirl.errors import InvalidInputError
from robustirl.irl.acting import ActingPolicy, Parameters, as_generator
from robustirl.irl.discriminator import ImitationConfig, LearnedReward
from robustirl.irl.imitation import ImitationFit, fit_imitation
from robustirl.irl.relative_entropy import (
    RelativeEntropyConfig,
    RelativeEntropyFit,
    expert_features,
    fit_relative_entropy,
)
from robustirl.types import ArrayLike


class _SampledEstimator(Parameters):
    """The part that both estimators share: they act by the Gaussian policy that was learned."""

    fit_: Any

    @property
    def policy_(self) -> GaussianPolicy:
        """Return π_pl, the policy to act with."""
        return self._fitted().player

    @property
    def alpha_(self) -> float:
        """Return the α that was used."""
        return float(self._fitted().alpha)

    def predict(self, observations: ArrayLike) -> np.ndarray:
        """Return the player's mean action for an observation, or for each row of several.

        It is one that the environment takes: within bounds, or the number of a choice.
        """
        return self._act(observations, None)

    def sample(self, observations: ArrayLike, *, seed: int | np.random.Generator | None = None) -> np.ndarray:
        """Return an action drawn from the player's policy for an observation, or for each row of several."""
        return self._act(observations, as_generator(seed))

    def as_sb3(self, *, seed: int | None = None) -> ActingPolicy:
        """Return the player with the `predict` of stable-baselines3, which returns action and state."""
        return ActingPolicy(
            lambda seen, _: self.predict(seen), lambda seen, generator: self.sample(seen, seed=generator), seed
        )

    @abc.abstractmethod
    def _act(self, observations: ArrayLike, generator: np.random.Generator | None) -> np.ndarray:
        """Return mean actions, or drawn ones if there is a generator."""


class RelativeEntropyIRL(_SampledEstimator):
    """Learn a reward and a policy for a sampled, continuous world from an expert's episodes.

    Args:
        alpha: α in (0, 1], the player's chance of control. Features alone do not tell it.
        config: How to learn; see `RelativeEntropyConfig`.
        tolerance: See `fit_relative_entropy`.
        start: Policies to start from; see `fit_relative_entropy`.
        seed: Decides all draws.
        progress: Show a bar with an estimate of the time left.
        throw: See `fit_relative_entropy`.

    Attributes:
        fit_: The fit: policies, parameters, history, verdict.
        policy_: The player's policy, a function of features.
        reward_: `[d]`, θ of the reward ⟨θ, φ(s)⟩.
        world_: The learner's world.

    Example:
        >>> from robustirl.control import PolicyGradientConfig
        >>> from robustirl.envs import GaussianGrid
        >>> config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
        >>> model = RelativeEntropyIRL(0.9, config=config, seed=1)
        >>> _ = model.fit(GaussianGrid(), [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0])  # Or the expert's episodes.
        >>> model.predict([1.0, 1.0]).shape, model.reward_.shape
        ((2,), (7,))
    """

    fit_: RelativeEntropyFit
    world_: Any

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        config: RelativeEntropyConfig = RelativeEntropyConfig(),
        tolerance: float | None = None,
        start: Players | None = None,
        seed: int = 0,
        progress: bool = False,
        throw: bool = True,
    ):
        self.alpha = alpha
        self.config = config
        self.tolerance = tolerance
        self.start = start
        self.seed = seed
        self.progress = progress
        self.throw = throw

    def fit(
        self, world: World, demonstrations: Episodes | ArrayLike, *, callbacks: Sequence[Callback] = ()
    ) -> "RelativeEntropyIRL":
        """Learn, and return the estimator itself.

        Args:
            world: The learner's world; a reward it may have is not used.
            demonstrations: The expert's episodes, or the mean of their features, `[d]`.
            callbacks: See `fit_relative_entropy`. On Ctrl-C the estimator keeps what was learned so far, and
                `Interrupted` is raised.
        """
        seed = as_seed("the seed", self.seed)
        try:
            fit = fit_relative_entropy(
                world,
                demonstrations,
                alpha=self.alpha,
                config=self.config,
                start=self.start,
                tolerance=self.tolerance,
                callbacks=callbacks,
                key=jax.random.key(seed),
                progress=self.progress,
                throw=self.throw,
            )
        except Interrupted as interrupted:
            if interrupted.fit is not None:
                self.fit_, self.world_ = interrupted.fit, world
            raise
        self.fit_, self.world_ = fit, world
        return self

    @property
    def reward_(self) -> Any:
        """Return θ of the reward ⟨θ, φ(s)⟩, `[d]`."""
        return self._fitted().parameters

    def summary(self) -> str:
        """Return what was learned, and how it ended, in plain words."""
        fit = self._fitted()
        title = "Robust relative-entropy IRL" if self.alpha_ < 1 else "Relative-entropy IRL"
        rows = (("with", f"α = {self.alpha_:.4g}"), ("ended", fit.verdict), ("reward", short_value(self.reward_)))
        return "\n".join([title, *(f"  {name:<14} {text}" for name, text in rows)])

    def score(self, demonstrations: Episodes | ArrayLike) -> float:
        """Return minus the distance of the mixture's features to those of these episodes.

        Higher is better.
        """
        fit: RelativeEntropyFit = self._fitted()
        given: Any = demonstrations
        if isinstance(given, Episodes):
            given = expert_features(given, self.world_.discount, self.config)
        own, other = np.asarray(fit.features), as_floats("the expert's features", given)
        require_shape("the array of the expert's features", other, own.shape, "features of the world")
        return -float(np.abs(own - other).sum())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to an .npz file, which `robustirl.irl.load_fit` reads."""
        from robustirl.irl.saving import save_fit

        save_fit(self._fitted(), path)

    def _act(self, observations: ArrayLike, generator: np.random.Generator | None) -> np.ndarray:
        policy, given = self.policy_, as_floats("the array of states", observations)
        if given.ndim not in (1, 2):
            raise InvalidInputError(
                f"the states have shape {given.shape}, but one state, [k], or several, [n, k], are needed."
            )
        rows = np.atleast_2d(given)
        noise = np.zeros((len(rows), self.world_.action_size))
        if generator is not None:
            noise = generator.standard_normal(noise.shape)
        acted = np.asarray(_actions(self.world_, policy, rows, noise))
        return acted[0] if given.ndim == 1 else acted


@working_precision
def _actions(world: Any, policy: GaussianPolicy, states: np.ndarray, noise: np.ndarray) -> Any:
    """Return the actions that these normal numbers stand for, clipped as the world does."""
    features = jax.vmap(world.features)(jnp.asarray(states))
    return jnp.clip(policy.act(features, jnp.asarray(noise)), *world.bounds)


class RobustImitation(_SampledEstimator):
    """Learn to go where an expert went, in a world that moves differently.

    Args:
        alpha: α in (0, 1]: 1 for GAIfO, less for an opponent who acts with probability 1-α.
        config: How to train; `ImitationConfig()` if None.
        horizon: After how many steps an episode is cut off; the world's own if None.
        attempts: Fits from different draws, of which the closest to the expert is kept; see `fit_imitation`.
        seed: Decides all draws.
        progress: Show a bar with an estimate of the time left.

    Attributes:
        fit_: The fit: policies, reward, history, verdict.
        policy_: The player's policy, a function of observations.
        reward_: What was learned, a reward of an observation and the next one.

    Example:
        >>> from robustirl.control import PPOConfig
        >>> from robustirl.demonstrations import Recordings
        >>> from robustirl.envs import physics
        >>> seen = Recordings.from_arrays([np.tile([1.0, 0.0, 0.0], (20, 1))] * 2)
        >>> small = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))
        >>> model = RobustImitation(alpha=0.9, config=small).fit(physics.make("pendulum"), seen)
        >>> model.predict([1.0, 0.0, 0.0]).shape, model.reward_([1.0, 0.0, 0.0], [1.0, 0.0, 0.0]).shape
        ((1,), ())
    """

    fit_: ImitationFit

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        config: ImitationConfig | None = None,
        horizon: int | None = None,
        attempts: int = 1,
        seed: int = 0,
        progress: bool = False,
    ):
        self.alpha = alpha
        self.config = config
        self.horizon = horizon
        self.attempts = attempts
        self.seed = seed
        self.progress = progress

    def fit(
        self,
        world: World | HostWorld | Sequence[World],
        demonstrations: RecordingsLike,
        *,
        callbacks: Sequence[Callback] = (),
    ) -> "RobustImitation":
        """Learn, and return the estimator.

        Args:
            world: The learner's world; several of one kind are domain randomization.
            demonstrations: What was seen of the expert: recordings, a list with an array of observations for each
                episode, a file of recordings, or `minari:ID`.
            callbacks: See `fit_imitation`. On Ctrl-C the estimator keeps what was learned so far, and `Interrupted` is
                raised.
        """
        seed = as_seed("seed", self.seed)
        try:
            self.fit_ = fit_imitation(
                world,
                demonstrations,
                alpha=self.alpha,
                config=ImitationConfig() if self.config is None else self.config,
                horizon=self.horizon,
                attempts=self.attempts,
                callbacks=callbacks,
                key=jax.random.key(seed),
                progress=self.progress,
            )
        except Interrupted as interrupted:
            if interrupted.fit is not None:
                self.fit_ = interrupted.fit
            raise
        return self

    @property
    def reward_(self) -> LearnedReward:
        """Return the learned reward, a function of an observation and the next one, or of rows of them."""
        return self._fitted().reward

    def summary(self) -> str:
        """Return what was learned and how it ended, in plain words.

        Example:
            >>> from robustirl.control import PPOConfig
            >>> from robustirl.envs import physics
            >>> small = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))
            >>> standing = [np.tile([1.0, 0.0, 0.0], (20, 1))] * 2
            >>> model = RobustImitation(alpha=0.9, config=small).fit(physics.make("pendulum"), standing)
            >>> print(model.summary().splitlines()[1])
              with           α = 0.9
        """
        fit = self._fitted()
        title = "Robust imitation from observation" if float(fit.alpha) < 1 else "Imitation from observation (GAIfO)"
        return f"{title}\n  with           α = {float(fit.alpha):.4g}\n  ended          {fit.verdict}"

    def _act(self, observations: Any, generator: np.random.Generator | None) -> np.ndarray:
        fit, seen = self._fitted(), as_floats("the observations", observations)
        *hidden, last = (np.asarray(weight) for weight in fit.player.weights)
        width = (hidden or [last])[0].shape[0]
        require_finite("the array of observations", seen, ("row", "number")[2 - seen.ndim :])
        if seen.shape[-1:] != (width,):
            raise InvalidInputError(
                f"the observations have the shape {seen.shape}, but {width} numbers an observation are needed, as in"
                " the demonstrations."
            )
        for weight, bias in zip(hidden, fit.player.biases, strict=True):  # By NumPy, which is faster for few rows.
            seen = np.tanh(seen @ weight + np.asarray(bias))
        action = seen @ last
        if generator is not None:
            action = action + np.asarray(fit.player.deviation) * generator.standard_normal(action.shape)
        if bool(fit.discrete):
            return action.argmax(-1)
        return np.clip(action, *np.asarray(fit.bounds)).astype(np.float32)
