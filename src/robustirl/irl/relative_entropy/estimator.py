"""`RobustIRL(algorithm="relative_entropy")`: relative-entropy IRL with the manners of `RobustIRL`."""

import os
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from robustirl._runtime import html_table, short_traceback, short_value, working_precision
from robustirl.control import Episodes, GaussianPolicy, Players, World
from robustirl.errors import InvalidInputError
from robustirl.irl._callbacks import Interrupted
from robustirl.irl._parameters import Parameters
from robustirl.irl.acting import ActingPolicy, as_generator
from robustirl.irl.relative_entropy.callbacks import RelativeEntropyCallback
from robustirl.irl.relative_entropy.config import RelativeEntropyConfig
from robustirl.irl.relative_entropy.fit import expert_features, fit_relative_entropy
from robustirl.irl.relative_entropy.result import RelativeEntropyFit
from robustirl.irl.saving import save_fit
from robustirl.mdp import as_floats, as_seed, require_shape
from robustirl.types import ArrayLike


class RelativeEntropyIRL(Parameters):
    """Learn a reward and a policy for a sampled, continuous world from an expert's episodes.

    Args:
        alpha: α in (0, 1], the player's chance of control; "auto" is 1, since features alone do not tell.
        config: How to learn; see `RelativeEntropyConfig`.
        tolerance: See `fit_relative_entropy`.
        start: Policies to start from; see `fit_relative_entropy`.
        seed: Decides all draws.
        progress: Show a bar with an estimate of the time left.
        throw: See `fit_relative_entropy`.

    Example:
        >>> from robustirl import RobustIRL
        >>> from robustirl.control import PolicyGradientConfig
        >>> from robustirl.envs import GaussianGrid
        >>> config = RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))
        >>> model = RobustIRL(0.9, algorithm="relative_entropy", config=config, seed=1)
        >>> _ = model.fit(GaussianGrid(), [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0])  # Or the expert's episodes.
        >>> model.predict([1.0, 1.0]).shape, model.reward_.shape
        ((2,), (7,))
    """

    fit_: RelativeEntropyFit
    world_: Any

    def __init__(
        self,
        alpha: float | Literal["auto"] = "auto",
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

    @short_traceback
    def fit(
        self, world: World, demonstrations: Episodes | ArrayLike, *, callbacks: Sequence[RelativeEntropyCallback] = ()
    ) -> "RelativeEntropyIRL":
        """Learn, and return the estimator itself.

        Args:
            world: The learner's world; a reward it may have is not used.
            demonstrations: The expert's episodes, or the mean of their features, `[d]`.
            callbacks: See `fit_relative_entropy`. On Ctrl-C the estimator keeps what was learned so far, and
                `Interrupted` is raised.
        """
        try:
            found = fit_relative_entropy(
                world,
                demonstrations,
                alpha=1.0 if isinstance(self.alpha, str) and self.alpha == "auto" else self.alpha,  # pyright: ignore[reportArgumentType]
                config=self.config,
                start=self.start,
                tolerance=self.tolerance,
                callbacks=callbacks,
                key=jax.random.key(as_seed("the seed", self.seed)),
                progress=self.progress,
                throw=self.throw,
            )
        except Interrupted as interrupt:
            if interrupt.fit is not None:
                self.fit_, self.world_ = interrupt.fit, world
            raise
        self.fit_, self.world_ = found, world
        return self

    @property
    def policy_(self) -> GaussianPolicy:
        """π_pl, the policy to act with."""
        return self._fitted().player

    @property
    def reward_(self) -> Any:
        """`[d]`, θ of the reward ⟨θ, φ(s)⟩."""
        return self._fitted().parameters

    @property
    def alpha_(self) -> float:
        """α that was used."""
        return float(self._fitted().alpha)

    @property
    def feature_gap_(self) -> float:
        """‖φ̄^mix - φ̄^E‖₁ at the end."""
        return float(self._fitted().verdict.feature_gap)

    @property
    def converged_(self) -> bool:
        """Whether the gap came within the tolerance."""
        return bool(self._fitted().verdict.converged)

    def summary(self) -> str:
        """Return what was learned, and how it ended, in plain words."""
        title = "Robust relative-entropy IRL" if self.alpha_ < 1 else "Relative-entropy IRL"
        return "\n".join([title, *(f"  {name:<14} {text}" for name, text in self._rows())])

    def _rows(self) -> list[tuple[str, str]]:
        """Return the lines of the summary, each with its name."""
        ended = str(self._fitted().verdict)
        return [("with", f"α = {self.alpha_:.4g}"), ("ended", ended), ("reward", short_value(self.reward_))]

    @short_traceback
    def predict(self, states: ArrayLike) -> Float[np.ndarray, "*n a"]:
        """Return the player's mean action in each state, `[n, k]`, or in one, `[k]`, within bounds."""
        return self._act(states, None)

    @short_traceback
    def sample(self, states: ArrayLike, *, seed: int | np.random.Generator | None = None) -> Float[np.ndarray, "*n a"]:
        """Return an action drawn from the player's policy in each of the states, or in one."""
        return self._act(states, as_generator(seed))

    def as_sb3(self, *, seed: int | None = None) -> ActingPolicy:
        """Return the player with the `predict` of stable-baselines3, which returns action and state."""
        return ActingPolicy(self.predict, lambda states, generator: self.sample(states, seed=generator), seed)

    def _act(self, states: ArrayLike, generator: np.random.Generator | None) -> np.ndarray:
        policy, given = self._fitted().player, as_floats("the array of states", states)
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

    @short_traceback
    def score(self, demonstrations: Episodes | ArrayLike) -> float:
        """Return minus the distance of the mixture's features to those of these episodes.

        Higher is better.
        """
        found = self._fitted()
        given: Any = demonstrations
        if isinstance(given, Episodes):
            given = expert_features(given, self.world_.discount, self.config)
        own, other = np.asarray(found.features), as_floats("the expert's features", given)
        require_shape("the array of the expert's features", other, own.shape, "features of the world")
        return -float(np.abs(own - other).sum())

    @short_traceback
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to an .npz file, which `robustirl.irl.load_fit` reads."""
        save_fit(self._fitted(), path)

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.get_params().items() if value != self._defaults()[name]}
        given = "".join(f", {name}={short_value(value)}" for name, value in changed.items() if name != "start")
        return f"RobustIRL(algorithm='relative_entropy'{given})"

    def _repr_html_(self) -> str:
        fitted = "fit_" in vars(self)
        return html_table(repr(self), self._rows() if fitted else [("fitted", "no; call fit(world, episodes)")])


@working_precision
def _actions(world: Any, policy: GaussianPolicy, states: np.ndarray, noise: np.ndarray) -> Any:
    """Return the actions that these normal numbers stand for, clipped as the world does."""
    features = jax.vmap(world.features)(jnp.asarray(states))
    low, high = world.bounds
    return jnp.clip(policy.act(features, jnp.asarray(noise)), low, high)
