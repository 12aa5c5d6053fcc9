"""`RobustIRL`: robust maximum causal entropy IRL with the manners of scikit-learn's estimators.

What is chosen beforehand stands in the constructor, what was learned in attributes that end in an underscore. The
learner's world and the demonstrations are the data:

    RobustIRL(alpha="auto").fit(world, demonstrations).predict(states)
"""

import functools
import os
import typing
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import jax
import numpy as np
import optax

from robustirl._runtime import html_table, short_traceback
from robustirl.demonstrations import Choices, Demonstrations, OccupancyEstimate
from robustirl.errors import InvalidInputError
from robustirl.irl._callbacks import Interrupted, see_every_step
from robustirl.irl._encoding import Unsaved
from robustirl.irl._learned import MOST_INFERRED
from robustirl.irl._parameters import NotFittedError as NotFittedError
from robustirl.irl._predictions import Predictions, one_world
from robustirl.irl._result import require_success
from robustirl.irl.alpha_selection import AlphaSelection
from robustirl.irl.evidence import Evidence, collect_choices, collect_with_selection
from robustirl.irl.inference import infer
from robustirl.irl.inputs import understand_demonstrations
from robustirl.irl.judgment import is_matched
from robustirl.irl.least_gap import with_least_gap
from robustirl.irl.mce.callbacks import Callback
from robustirl.irl.mce.evidence_checks import matched_occupancy
from robustirl.irl.mce.fit import PAPER_STEPS, fit
from robustirl.irl.mce.problem import LIKELIHOOD
from robustirl.irl.mce.result import Fit, found_maximum
from robustirl.irl.sampled import RelativeEntropyIRL, RobustImitation
from robustirl.irl.saving import load_estimator, save_estimator
from robustirl.irl.summary import summary_rows
from robustirl.mdp import MDP, as_world
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.types import AnyArray, ArrayLike, Objective


class RobustIRL(Predictions):
    """Learn a reward and a policy for the learner's world from demonstrations made in another.

    Args:
        alpha: α in (0, 1], the player's chance of control: 1 for standard MCE IRL, less for robustness against an
            expert whose world moves differently; or "auto", to fit 13 candidates and take the one that the
            demonstrations support (`robustirl.irl.select_alpha`), 1 in case of doubt. An occupancy alone has no
            support for any, and "auto" is 1 then. The default of `fit` and of `robustirl fit` is "auto", too. An array
            `[S]` or `[S, A]` gives α by state, or by state and action (`demonstrations.estimate_local_alpha`).
        algorithm: `mce` for worlds of finitely many states. For continuous ones `relative_entropy` makes a
            `RelativeEntropyIRL` and `adversarial` a `RobustImitation`, which have parameters of their own.
        reward: The reward model, of states or of states and actions; None or "tabular" for one parameter per state.
        objective: "occupancy" to match the expert's occupancy, or "likelihood" to make the recorded actions as
            probable as possible. The latter gives `standard_errors_`, and "auto" is then the α of largest likelihood.
        penalty: See `fit`.
        optimizer: See `fit`.
        steps: See `fit`.
        tolerance: See `fit`.
        tail: What follows the last state of a truncated episode; see `estimate_occupancy`.
        confidence: Of the error bound on the expert's occupancy, and of the interval for an estimated α.
        temperatures: See `fit`.
        planner_tolerance: See `fit`.
        initial_parameters: θ to start from; see `fit`.
        progress: Show a bar with an estimate of the time left.
        throw: Raise `ConvergenceError` if a planner fails, or if a tolerance was given and is not reached. Otherwise
            `converged_` and `summary()` say so.

    Example:
        >>> import jax
        >>> from robustirl import envs
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> from robustirl.planning import expert_policy
        >>> env = envs.make("gridworld-4")
        >>> world = env.mdp(noise=0.1)
        >>> expert = expert_policy(world, env.reward)
        >>> demos = sample_demonstrations(world, expert, episodes=200, horizon=200, key=jax.random.key(0))
        >>> model = RobustIRL(alpha=0.95, steps=50).fit(env.mdp(noise=0.0), demos)
        >>> model.predict([1, 6]).tolist(), model.policy_.shape  # Left and up, towards the goal.
        ([3, 0], (36, 4))
        >>> model
        RobustIRL(alpha=0.95, steps=50)
    """

    @overload
    def __new__(
        cls, alpha: Any = "auto", *, algorithm: Literal["relative_entropy"], **options: Any
    ) -> RelativeEntropyIRL: ...

    @overload
    def __new__(cls, alpha: Any = "auto", *, algorithm: Literal["adversarial"], **options: Any) -> RobustImitation: ...

    @overload
    def __new__(cls, alpha: Any = "auto", *, algorithm: Literal["mce"] = "mce", **options: Any) -> "RobustIRL": ...

    def __new__(cls, alpha: Any = "auto", *, algorithm: str = "mce", **options: Any) -> Any:
        if algorithm == "mce":
            return super().__new__(cls)
        if algorithm not in ALGORITHMS:
            known = ", ".join(["mce", *ALGORITHMS])
            raise InvalidInputError(f"the algorithm is {algorithm!r}, but one of {known} is needed.")
        # Features and observations alone do not tell α, as an occupancy does not.
        return ALGORITHMS[algorithm](1.0 if isinstance(alpha, str) and alpha == "auto" else alpha, **options)

    def __init__(
        self,
        alpha: float | AnyArray | Literal["auto"] = "auto",
        *,
        algorithm: Literal["mce"] = "mce",
        reward: AbstractReward | Literal["tabular"] | None = None,
        objective: Objective = "occupancy",
        penalty: float = 0.0,
        optimizer: optax.GradientTransformation | None = None,
        steps: int = PAPER_STEPS,
        tolerance: float | None = None,
        tail: str = "chain",
        confidence: float = 0.95,
        temperatures: Temperatures = Temperatures(),
        planner_tolerance: float | None = None,
        initial_parameters: Any = None,
        progress: bool = False,
        throw: bool = True,
    ):
        # As given: checks are made when they are used, so that copies hold the very same objects.
        self.alpha = alpha
        self.algorithm = algorithm
        self.reward = reward
        self.objective = objective
        self.penalty = penalty
        self.optimizer = optimizer
        self.steps = steps
        self.tolerance = tolerance
        self.tail = tail
        self.confidence = confidence
        self.temperatures = temperatures
        self.planner_tolerance = planner_tolerance
        self.initial_parameters = initial_parameters
        self.progress = progress
        self.throw = throw

    @short_traceback
    def fit(
        self,
        mdp: MDP | Sequence[MDP],
        demonstrations: Demonstrations
        | Choices
        | Sequence[Any]
        | OccupancyEstimate
        | ArrayLike
        | str
        | os.PathLike[str],
        *,
        callbacks: Sequence[Callback] = (),
    ) -> "RobustIRL":
        """Learn, and return the estimator itself.

        Args:
            mdp: The learner's world, or the same world once for each episode, as scikit-learn's searches pass it.
            demonstrations: What the expert did: `Demonstrations`, a file of them, a table (pandas, polars), or a list
                with the states of each episode, its states and actions, or imitation's trajectories. Or the expert's
                state occupancy ρ, estimated or exact, `[S]`.
            callbacks: See `robustirl.irl.fit`. On Ctrl-C the estimator keeps what the last finished step had learned
                (its verdict is `stopped`), and `Interrupted`, a KeyboardInterrupt, is raised all the same.
        """
        mdp = one_world(mdp)
        given = understand_demonstrations(demonstrations)
        reward, optimizer = self._chosen(as_world(mdp).num_states)
        options: dict[str, Any] = {
            "reward": reward,
            "optimizer": optimizer,
            "steps": self.steps,
            "tolerance": self.tolerance,
            "temperatures": self.temperatures,
            "planner_tolerance": self.planner_tolerance,
            "progress": self.progress,
        }
        selection = None
        if self.objective == LIKELIHOOD:
            options["penalty"] = self.penalty
            evidence, target = collect_choices(mdp, given, alpha=self.alpha, options=options), given
        else:
            evidence, selection = self._collect(mdp, given, options=options)
            target = _target(given, mdp, evidence, reward)
        try:
            if selection is not None and self.initial_parameters is None and not see_every_step(callbacks):
                # It was made with these very settings.
                found = require_success(selection.fit, self.tolerance) if self.throw else selection.fit
            else:
                found = fit(
                    mdp,
                    target,
                    alpha=evidence.alpha,
                    objective=self.objective,  # pyright: ignore[reportArgumentType]
                    initial_parameters=self.initial_parameters,
                    callbacks=callbacks,
                    throw=self.throw,
                    **options,
                )
        except Interrupted as interrupt:
            if interrupt.fit is not None:
                self._keep(interrupt.fit, evidence, mdp, given, reward, selection)
            raise
        if found.reward.ndim == 1 and self.objective != LIKELIHOOD and not is_matched(found):
            found = with_least_gap(found, mdp)
        # Only now, so that a fit which fails leaves an earlier one.
        self._keep(found, evidence, mdp, given, reward, selection)
        return self

    def _collect(self, mdp: MDP, given: Any, options: dict[str, Any]) -> tuple[Evidence, AlphaSelection | None]:
        """Return the evidence and the choice of α.

        On Ctrl-C keep the fit at α = 1 as far as it had come.
        """
        collect = functools.partial(collect_with_selection, mdp, given, tail=self.tail, confidence=self.confidence)
        try:
            return collect(alpha=self.alpha, options=options)
        except Interrupted as interrupt:
            if not interrupt.fit:
                raise
            self._remember(interrupt.fit[0], collect(alpha=1.0)[0], mdp)
            raise Interrupted(self.fit_) from None

    def _keep(
        self,
        found: Fit,
        evidence: Evidence,
        mdp: MDP,
        given: Any,
        reward: AbstractReward,
        selection: AlphaSelection | None,
    ) -> None:
        """Keep what was learned."""
        inference = None
        few = sum(np.size(leaf) for leaf in jax.tree.leaves(found.parameters)) <= MOST_INFERRED
        if self.objective == LIKELIHOOD and found_maximum(found) and few:
            options: dict[str, Any] = {"temperatures": self.temperatures, "penalty": self.penalty}
            inference = infer(found, mdp, given, reward, **options)
        # The curves alone: the fits of all candidates would make the estimator and its copies thirteen times as large.
        self._remember(found, evidence, mdp, inference, None if selection is None else selection.without_fits())

    def _chosen(self, size: int) -> tuple[AbstractReward, optax.GradientTransformation | None]:
        """Return the reward model and the optimizer, if both are at hand."""
        for value in (self.reward, self.optimizer):
            if isinstance(value, Unsaved):
                value.refuse()
        if self.reward is None or (isinstance(self.reward, str) and self.reward == "tabular"):
            return TabularReward(size), self.optimizer
        if not isinstance(self.reward, AbstractReward):
            raise InvalidInputError(
                f"the reward is {self.reward!r}, but 'tabular' or a reward model is needed, as LinearReward(features)."
            )
        return self.reward, self.optimizer

    @short_traceback
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator and what it has learned to an .npz file, without pickles.

        An optimizer or a reward model of one's own cannot be written as data: a warning says so, what was learned is
        saved all the same, and the loaded estimator asks for the missing part before it is fitted again.
        """
        self._fitted()
        save_estimator(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "RobustIRL":
        """Read what `save` wrote; no code is run by it."""
        return load_estimator(cls, typing.get_type_hints(RobustIRL.__init__), path)

    def _repr_html_(self) -> str:
        if "fit_" not in vars(self):
            return html_table(repr(self), [("fitted", "no; call fit(world, demonstrations)")])
        return html_table(repr(self), summary_rows(self._fitted(), self.evidence_, self.tolerance))

    def __sklearn_is_fitted__(self) -> bool:
        return "fit_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags  # pyright: ignore[reportMissingImports]

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


ALGORITHMS: dict[str, Callable[..., Any]] = {"relative_entropy": RelativeEntropyIRL, "adversarial": RobustImitation}
"""What `RobustIRL(algorithm=...)` makes, apart from itself."""


def _target(given: Any, mdp: MDP, evidence: Evidence, reward: AbstractReward) -> Any:
    """Return the occupancy to match: of states and actions if the reward is one of both."""
    estimate = evidence.occupancy_estimate
    if estimate is None:
        return given
    if not isinstance(given, Demonstrations):
        return estimate.occupancy
    return matched_occupancy(given, mdp, estimate.occupancy, reward)
