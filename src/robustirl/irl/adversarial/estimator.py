"""`RobustImitation`: robust imitation from observation with the manners of scikit-learn's estimators."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import short_traceback
from robustirl.control import GaussianPolicy, HostWorld, World
from robustirl.demonstrations import RecordingsLike, as_recordings
from robustirl.errors import InvalidInputError
from robustirl.irl._callbacks import Interrupted
from robustirl.irl._parameters import Parameters
from robustirl.irl.adversarial.config import ImitationConfig
from robustirl.irl.adversarial.fit import fit_imitation
from robustirl.irl.adversarial.result import ImitationFit, ImitationStep
from robustirl.irl.judgment import Judgment
from robustirl.irl.saving import load_imitation, save_imitation
from robustirl.mdp import as_floats, as_seed, require_finite


class RobustImitation(Parameters):
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
        judgment_: Whether to use it.

    Example:
        >>> from robustirl.control import PPOConfig
        >>> from robustirl.demonstrations import Recordings
        >>> from robustirl.envs import physics
        >>> seen = Recordings.from_arrays([np.tile([1.0, 0.0, 0.0], (20, 1))] * 2)
        >>> small = ImitationConfig(steps=256, ppo=PPOConfig(environments=8, segment=16, hidden=(8,)))
        >>> model = RobustImitation(alpha=0.9, config=small).fit(physics.make("pendulum"), seen)
        >>> model.predict([1.0, 0.0, 0.0]).shape
        (1,)
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

    @short_traceback
    def fit(
        self,
        world: World | HostWorld | Sequence[World],
        demonstrations: RecordingsLike,
        *,
        callbacks: Sequence[Callable[[ImitationStep], object]] = (),
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
                as_recordings(demonstrations),
                alpha=self.alpha,
                config=ImitationConfig() if self.config is None else self.config,
                horizon=self.horizon,
                attempts=self.attempts,
                callbacks=callbacks,
                key=jax.random.key(seed),
                progress=self.progress,
            )
        except Interrupted as interrupted:
            if interrupted.fit:
                self.fit_ = interrupted.fit[0]
            raise
        return self

    @property
    def policy_(self) -> GaussianPolicy:
        """The player's policy."""
        return self._fitted().player

    @property
    def judgment_(self) -> Judgment:
        """Whether to use it."""
        return self._fitted().judgment

    def predict(self, observations: Any) -> np.ndarray:
        """Return the player's mean action for an observation, or for each row of several."""
        policy = self.policy_
        seen, width = as_floats("the observations", observations), policy.weights[0].shape[0]
        require_finite("the array of observations", seen, ("row", "number")[2 - seen.ndim :])
        if seen.shape[-1:] != (width,):
            raise InvalidInputError(
                f"the observations have the shape {seen.shape}, but {width} numbers an observation are needed, as in"
                " the demonstrations."
            )
        return np.asarray(policy.mean(jnp.asarray(seen, dtype=float)))

    def summary(self) -> str:
        """Return what was learned, how it ended, and whether to use it, in plain words.

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
        rows = (("with", f"α = {float(fit.alpha):.4g}"), ("ended", str(fit.verdict)), ("use", str(fit.judgment)))
        return "\n".join([title, *(f"  {name:<14} {text}" for name, text in rows)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator and its fit to an .npz file.

        `robustirl.irl.load_fit` reads the fit alone.
        """
        self._fitted()
        save_imitation(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "RobustImitation":
        """Read what `save` wrote; no code is run by it."""
        return load_imitation(cls, path)

    def __repr__(self) -> str:
        given = {
            name: value
            for name, value in self.get_params().items()
            if value is not None and name not in ("seed", "attempts", "progress")
        }
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"
