"""`RobustIRL`: robust maximum causal entropy IRL with the manners of scikit-learn's estimators.

What is chosen beforehand stands in the constructor, what was learned in attributes that end in an underscore. The
learner's world and the demonstrations are the data:

    RobustIRL(alpha="auto").fit(world, demonstrations).predict(states)
"""

import functools
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, overload

import jax
import numpy as np
import optax
from jaxtyping import Float, Int

from robustirl._runtime import draw, html_table, short_traceback
from robustirl.demonstrations import (
    AlphaEstimate,
    Choices,
    Demonstrations,
    Episode,
    OccupancyEstimate,
    as_whole_numbers,
)
from robustirl.errors import InvalidInputError
from robustirl.irl._callbacks import Interrupted
from robustirl.irl._encoding import NAMED_OPTIMIZERS, Unsaved
from robustirl.irl._parameters import NotFittedError as NotFittedError
from robustirl.irl._parameters import Parameters
from robustirl.irl._result import require_success
from robustirl.irl.acting import ActingPolicy, draw_actions
from robustirl.irl.adversarial.estimator import RobustImitation
from robustirl.irl.alpha_selection import AlphaSelection
from robustirl.irl.evidence import Evidence, collect_choices, collect_with_selection
from robustirl.irl.inference import Inference, infer
from robustirl.irl.inputs import from_episodes, understand_demonstrations
from robustirl.irl.judgment import Judgment, is_matched, judge
from robustirl.irl.least_gap import with_least_gap
from robustirl.irl.likelihood import move_log_likelihoods
from robustirl.irl.mce.callbacks import Callback
from robustirl.irl.mce.fit import PAPER_STEPS, fit
from robustirl.irl.mce.problem import LIKELIHOOD, matched_occupancy
from robustirl.irl.mce.result import Fit, found_maximum
from robustirl.irl.optimizers import rate_of_adam
from robustirl.irl.relative_entropy.estimator import RelativeEntropyIRL
from robustirl.irl.saving import load_estimator, save_estimator
from robustirl.irl.summary import summarize, summary_rows, warnings_of
from robustirl.mdp import MDP, as_world, checks
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.types import AnyArray, ArrayLike

MOST_INFERRED = 200  # Parameters up to which standard errors are computed with every fit by likelihood.


class RobustIRL(Parameters):
    """Learn a reward and a policy for the learner's world from demonstrations made in another one.

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

    fit_: Fit
    evidence_: Evidence
    world_: MDP
    inference_: Inference | None
    alpha_selection_: AlphaSelection | None

    @overload
    def __new__(
        cls, alpha: Any = "auto", *, algorithm: Literal["relative_entropy"], **options: Any
    ) -> RelativeEntropyIRL: ...

    @overload
    def __new__(cls, alpha: Any = "auto", *, algorithm: Literal["adversarial"], **options: Any) -> RobustImitation: ...

    @overload
    def __new__(cls, alpha: Any = "auto", *, algorithm: Literal["mce"] = "mce", **options: Any) -> Self: ...

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
        objective: Literal["occupancy", "likelihood"] = "occupancy",
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
        mdp = _one_world(mdp)
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
            if selection is not None and self.initial_parameters is None and not callbacks:
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
        """Return the evidence and the choice of α; on Ctrl-C keep the fit at α = 1 as far as it had come."""
        collect = functools.partial(collect_with_selection, mdp, given, tail=self.tail, confidence=self.confidence)
        try:
            return collect(alpha=self.alpha, options=options)
        except Interrupted as interrupt:
            if not interrupt.fit:
                raise
            self.fit_, self.evidence_, self.world_ = interrupt.fit[0], collect(alpha=1.0)[0], mdp
            self.inference_, self.alpha_selection_ = None, None
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
        self.fit_, self.evidence_, self.world_, self.inference_ = found, evidence, mdp, inference
        # The curves alone: the fits of all candidates would make the estimator and its copies thirteen times as large.
        self.alpha_selection_ = None if selection is None else selection.without_fits()

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

    def _fitted(self) -> Fit:
        if "fit_" not in vars(self):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet; call fit first.")
        return self.fit_

    @property
    def reward_(self) -> Float[AnyArray, " S"]:
        """`[S]`, the learned reward."""
        return self._fitted().reward

    @property
    def parameters_(self) -> Any:
        """The learned θ, as the reward model arranges it."""
        return self._fitted().parameters

    @property
    def log_likelihood_(self) -> float:
        """The log-probability of all recorded choices, and of their outcomes where dynamics were learned, too."""
        return self._inferred().log_likelihood

    @property
    def standard_errors_(self) -> Float[np.ndarray, " d"]:
        """A standard error for every parameter, from the Hessian; `inference_` has others (sandwich, by episode)."""
        return self._inferred().standard_errors()

    @property
    def confidence_intervals_(self) -> Float[np.ndarray, "d 2"]:
        """An interval for every parameter, at `confidence`."""
        return self._inferred().confidence_intervals(self.confidence)

    def _inferred(self) -> Inference:
        self._fitted()
        found = vars(self).get("inference_")
        if found is None:
            raise InvalidInputError(
                "there are no standard errors: they come with objective='likelihood', a maximum that was found, and at"
                f" most {MOST_INFERRED} parameters."
            )
        return found

    @property
    def policy_(self) -> Float[AnyArray, "S A"]:
        """`[S, A]`, π_pl: the policy to act with."""
        return self._fitted().player

    @property
    def opponent_(self) -> Float[AnyArray, "S A"]:
        """`[S, A]`, π_op."""
        return self._fitted().opponent

    @property
    def occupancy_(self) -> Float[AnyArray, " S"]:
        """`[S]`, ρ of the mixture α π_pl + (1-α) π_op, which learning has brought close to the expert's."""
        return self._fitted().occupancy

    @property
    def expert_occupancy_(self) -> Float[AnyArray, " S"]:
        """`[S]`, ρ of the expert as estimated or given; `occupancy_estimate_` has its error, if it was estimated."""
        return self._fitted().expert_occupancy

    @property
    def alpha_(self) -> float | Float[AnyArray, "S A"]:
        """α that was used, by state and action if so given; `alpha_estimate_` says where an estimate came from."""
        alpha = self._fitted().alpha
        return alpha if np.ndim(alpha) else float(alpha)

    @property
    def alpha_estimate_(self) -> AlphaEstimate | None:
        """The `AlphaEstimate` behind `alpha_`; None where α was given."""
        self._fitted()
        return self.evidence_.alpha_estimate

    @property
    def occupancy_estimate_(self) -> OccupancyEstimate | None:
        """The expert's occupancy with its error; None where it was given as exact."""
        self._fitted()
        return self.evidence_.occupancy_estimate

    @property
    def occupancy_gap_(self) -> float:
        """‖ρ_mix - ρ‖₁ at the end."""
        return float(self._fitted().verdict.occupancy_gap)

    @property
    def converged_(self) -> bool:
        """Whether the gap came within the tolerance; `fit_.verdict.status` says how the fit ended otherwise."""
        return bool(self._fitted().verdict.converged)

    @property
    def warnings_(self) -> list[str]:
        """What is doubtful about the data, α or the fit, a sentence each."""
        return warnings_of(self._fitted(), self.evidence_, self.tolerance)

    @property
    def judgment_(self) -> Judgment:
        """Whether to use what was learned: trust, doubt or do not use, with the reason and what to try."""
        evidence = self.evidence_
        return judge(self._fitted(), evidence.occupancy_estimate, alpha_estimate=evidence.alpha_estimate)

    def summary(self) -> str:
        """Return what was learned from what, and how good it is, in plain words."""
        text = summarize(self._fitted(), self.evidence_, self.tolerance)
        found = vars(self).get("inference_")
        if found is None:
            return text
        free = found.unidentified
        note = f"\n\nnot identified by these choices: {', '.join(free[:10])}" if free else ""
        return f"{text}\n\n{found.summary(self.confidence)}{note}"

    @short_traceback
    def plot(self, world: Any = None, *, shape: tuple[int, int] | None = None) -> Any:
        """Return a figure of what was learned: reward, moves, occupancies and the gap over time.

        Args:
            world: The learner's environment or world; that of `fit` if omitted. See `Fit.plot`.
            shape: Rows and columns, if the first states are the cells of a grid.
        """
        found = self._fitted()
        world = vars(self).get("world_") if world is None else world
        return draw("plot_fit", found, world, shape=shape, title=f"{self!r}: {self.judgment_.trust}")

    @short_traceback
    def predict_proba(self, states: ArrayLike) -> Float[np.ndarray, "*n A"]:
        """Return π_pl(·|s) for each of the states, or for one state."""
        policy = np.asarray(self._fitted().player)
        single = np.ndim(states) == 0  # pyright: ignore[reportArgumentType]
        asked = as_whole_numbers("the array of states", np.asarray(states)[None] if single else states)
        if asked.size and asked.max() >= len(policy):
            raise InvalidInputError(
                f"state {int(asked.max())} was asked about, but there are {len(policy)} states, numbered from 0."
            )
        return policy[asked[0]] if single else policy[asked]

    @overload
    def predict(self, states: int | np.integer) -> int: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def predict(self, states: ArrayLike) -> Int[np.ndarray, " n"]: ...

    def predict(self, states: ArrayLike) -> Int[np.ndarray, " n"] | int:
        """Return the most likely action in each of the states, or in one; the first of those equally likely."""
        actions = np.argmax(self.predict_proba(states), axis=-1)
        return int(actions) if np.ndim(actions) == 0 else actions

    @short_traceback
    def sample(self, states: ArrayLike, *, seed: int | np.random.Generator | None = None) -> Any:
        """Return an action drawn from π_pl in each of the states, or in one.

        Args:
            states: A state, or an array of them.
            seed: A seed, or a generator of NumPy.

        Example:
            >>> from robustirl.envs import ThreeState
            >>> model = RobustIRL(1.0).fit(ThreeState().mdp(), [0.1, 0.8, 0.1])
            >>> model.sample([0, 0, 0, 0], seed=1).tolist(), model.sample(0, seed=1)
            ([0, 1, 0, 1], 0)
        """
        return draw_actions(self.predict_proba(states), seed)

    def as_sb3(self, *, seed: int | None = None) -> ActingPolicy:
        """Return the player with the `predict` of stable-baselines3, which returns an action and a state.

        Its tools then take it, such as `evaluate_policy(model.as_sb3(), env)`.
        """
        self._fitted()
        return ActingPolicy(self.predict, lambda states, generator: self.sample(states, seed=generator), seed)

    @short_traceback
    def score(
        self,
        mdp: MDP | Sequence[MDP] | Demonstrations | OccupancyEstimate | ArrayLike,
        demonstrations: Demonstrations | Sequence[Episode] | None = None,
    ) -> float:
        """Return the mean log-probability of the expert's moves under what was learned; higher is better.

        The model is the mixture: with probability α the player's move, otherwise a disturbance (see
        `robustirl.irl.likelihood`). Only states are used. Score episodes that `fit` has not seen: then scores of
        different α can be compared, by hand or with scikit-learn:

            GridSearchCV(RobustIRL(), {"alpha": [1, 0.95, 0.9]}).fit([world] * len(demonstrations), demonstrations)

        Args:
            mdp: The learner's world, or the same world once for each episode. If omitted, the world of `fit` is used,
                and the demonstrations are the only argument.
            demonstrations: Episodes of the expert.
        """
        found = self._fitted()
        if demonstrations is None:
            given, world = mdp, vars(self).get("world_")
        else:
            given, world = demonstrations, _one_world(mdp)
        if not isinstance(given, Demonstrations | list | tuple) or (given and not isinstance(given[0], Episode)):
            return self._occupancy_score(given)
        if world is None:
            raise InvalidInputError(
                "this estimator was read from a file, which holds no world; call score(world, demonstrations)."
            )
        walks = from_episodes(given)
        if (found.player.shape) != (world.num_states, world.num_actions):
            raise InvalidInputError(
                f"the world has {world.num_states} states and {world.num_actions} actions, but the fit has"
                f" {found.player.shape[0]} and {found.player.shape[1]}; give the world it was made in."
            )
        walks.check_against(world)
        chances, _ = move_log_likelihoods(world, found, walks)
        if not chances.size:
            raise InvalidInputError(
                "the demonstrations hold no move out of a state that can be left, so there is nothing to score;"
                " give longer episodes."
            )
        return float(chances.mean())

    def _occupancy_score(self, given: Any) -> float:
        """Return minus the distance of an occupancy, as version 0.1 did; it cannot compare different α."""
        warnings.warn(
            "the score of an occupancy is minus its l1 distance, which prefers α = 1; score demonstrations instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        found = self._fitted()
        held_out: Any = given.occupancy if isinstance(given, OccupancyEstimate) else given
        checks.require_shape("the occupancy", held_out, (found.player.shape[0],), "states")
        return -float(np.abs(np.asarray(found.occupancy) - np.asarray(held_out)).sum())

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
        return load_estimator(cls, path)

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.get_params().items() if not _same(value, self._defaults()[name])}
        return f"{type(self).__name__}({', '.join(f'{name}={_shown(value)}' for name, value in changed.items())})"

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


def _one_world(mdp: Any) -> MDP:
    """Return a world as it is, or the one that a sequence repeats."""
    if isinstance(mdp, list | tuple):
        if not mdp or any(other is not mdp[0] for other in mdp):
            raise InvalidInputError(
                f"{len(mdp)} worlds were given that are not one and the same; give the learner's world, alone or"
                " repeated for each episode."
            )
        return mdp[0]
    return mdp


def _shown(value: Any) -> str:
    """Return a parameter in a word or two."""
    for name, known in NAMED_OPTIMIZERS.items():
        if value is known:
            return name
    if (rate := rate_of_adam(value)) is not None:
        return f"adam({rate:g})"
    if isinstance(value, AbstractReward | optax.GradientTransformation):
        return type(value).__name__
    return "..." if isinstance(value, tuple | list | dict | np.ndarray) or hasattr(value, "dtype") else repr(value)


def _same(value: Any, default: Any) -> bool:
    return value is default or (
        isinstance(value, str | float | int | tuple) and type(value) is type(default) and value == default
    )
