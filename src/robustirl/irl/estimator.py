"""`RobustIRL`: robust maximum causal entropy IRL with the manners of scikit-learn's estimators.

What is chosen beforehand stands in the constructor, what was learned in attributes that end in an underscore. The
learner's world and the demonstrations are the data:

    RobustIRL().fit(world, demonstrations).predict(states)
"""

import importlib
import os
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, overload

import numpy as np
import optax
from jaxtyping import Float, Int

from robustirl._check import shape_of
from robustirl._progress import Callback, Interrupted
from robustirl._show import draw, html_table
from robustirl.demonstrations import Choices, Demonstrations, estimate_occupancy
from robustirl.demonstrations.episodes import as_whole_numbers
from robustirl.demonstrations.occupancy import OccupancyEstimate
from robustirl.errors import InvalidInputError
from robustirl.irl.acting import ActingPolicy, Parameters, draw_actions
from robustirl.irl.alpha import AlphaSelection, matched_occupancy, select_alpha
from robustirl.irl.checks import Checks, PolicyUse, check_fit, policy_uses
from robustirl.irl.fit import fit
from robustirl.irl.inference import Inference, infer
from robustirl.irl.inputs import as_demonstrations, from_episodes
from robustirl.irl.result import LIKELIHOOD, Fit, require_success
from robustirl.mdp import MDP, uniform_policy
from robustirl.mdp.mdp import absorbing_states, as_world
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward, TabularReward
from robustirl.types import AnyArray, ArrayLike, Objective

LARGEST_SCORED_ALPHA = 0.999
"""So that a move that the learner cannot make has a probability above zero."""


class RobustIRL(Parameters):
    """Learn a reward and a policy for the learner's world from demonstrations made in another.

    Args:
        alpha: α in (0, 1], the player's chance of control: 1 for standard MCE IRL, less for robustness against an
            expert whose world moves differently; or "auto", to fit several and take the one that the demonstrations
            support (`irl.select_alpha`). An occupancy alone cannot choose it. An array `[S]` or `[S, A]` gives α by
            state, or by state and action.
        reward: The reward model, of states or of states and actions; one parameter per state if omitted. If you know
            which states are alike, say it: `rewards.classes(labels)`.
        plan: Act with the plan for the mean reward of the open hypotheses; see `select_alpha`.
        objective: "occupancy" to match the expert's occupancy, or "likelihood" to make the recorded actions as
            probable as possible, which gives `standard_errors_`.
        penalty, optimizer, steps, tolerance, temperatures, initial_parameters, throw: See `fit`.
        tail: What follows the last state of a truncated episode; see `estimate_occupancy`.
        n_jobs: Spread the fits of the candidates for α over so many processes; see `fit_many`.
        progress: Show a bar with an estimate of the time left.

    Attributes:
        fit_: The `Fit`.
        policy_: `[S, A]`, the policy to act with.
        reward_: `[S]` or `[S, A]`, the learned reward.
        alpha_: The α that was used.
        alpha_selection_: How it was chosen; None if it was given.
        estimate_: The expert's occupancy with its error; None if it was given as exact.
        checks_: Named checks of the fit.
        inference_: The coefficients with standard errors.

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

    learned: ClassVar[tuple[str, ...]] = ("fit_", "estimate_", "checks_")

    def __init__(
        self,
        alpha: float | AnyArray | Literal["auto"] = "auto",
        *,
        reward: AbstractReward | None = None,
        plan: bool = False,
        objective: Objective = "occupancy",
        penalty: float = 0.0,
        optimizer: optax.GradientTransformation | None = None,
        steps: int | None = None,
        tolerance: float | None = None,
        tail: str = "chain",
        temperatures: Temperatures = Temperatures(),
        initial_parameters: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
        throw: bool = True,
    ):
        # As given: checks are made when they are used, so that copies hold the very same objects.
        self.alpha = alpha
        self.reward = reward
        self.plan = plan
        self.objective = objective
        self.penalty = penalty
        self.optimizer = optimizer
        self.steps = steps
        self.tolerance = tolerance
        self.tail = tail
        self.temperatures = temperatures
        self.initial_parameters = initial_parameters
        self.n_jobs = n_jobs
        self.progress = progress
        self.throw = throw

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
            callbacks: See `robustirl.irl.fit`. On Ctrl-C the estimator keeps what the last finished step had learned,
                and `Interrupted`, a KeyboardInterrupt, is raised.
        """
        world, given = as_world(_one_world(mdp)), as_demonstrations(demonstrations)
        shared: dict[str, Any] = {
            "optimizer": self.optimizer,
            "steps": self.steps,
            "tolerance": self.tolerance,
            "temperatures": self.temperatures,
        }
        shared = {name: value for name, value in shared.items() if value is not None}
        if self.objective == LIKELIHOOD:
            shared |= {"objective": LIKELIHOOD, "penalty": self.penalty}
        estimate, target = None, given
        if isinstance(given, Demonstrations) and self.objective != LIKELIHOOD:
            estimate = estimate_occupancy(given, world, tail=self.tail)
            target = matched_occupancy(given, world, self.reward, tail=self.tail)
        elif isinstance(given, OccupancyEstimate):
            estimate, target = given, given.occupancy
        selection, found = None, None
        try:
            if isinstance(self.alpha, str) and self.alpha == "auto" and isinstance(given, Demonstrations | Choices):
                selection = select_alpha(
                    world,
                    given,
                    reward=self.reward,
                    plan=self.plan,
                    n_jobs=self.n_jobs,
                    progress=self.progress,
                    **shared,
                )
                if self.initial_parameters is None and not callbacks:
                    found = require_success(selection.fit, self.tolerance) if self.throw else selection.fit
            if found is None:
                found = fit(
                    world,
                    target,
                    alpha=self.alpha if selection is None else selection.alpha,
                    reward=self.reward,
                    initial_parameters=self.initial_parameters,
                    callbacks=callbacks,
                    progress=self.progress,
                    throw=self.throw,
                    **shared,
                )
        except Interrupted as interrupt:
            kept = interrupt.fit[0] if isinstance(interrupt.fit, list) else interrupt.fit
            if kept is not None:
                self._keep(kept, world, given, estimate, None)
            raise Interrupted(kept) from None
        self._keep(
            found, world, given, estimate, selection
        )  # Only now, so that a fit which fails leaves an earlier one.
        return self

    def _keep(
        self, found: Fit, world: MDP, given: Any, estimate: OccupancyEstimate | None, selection: AlphaSelection | None
    ) -> None:
        """Keep what was learned, all of it at once."""
        for name in ("checks_", "inference_", "use_"):
            vars(self).pop(name, None)
        self.fit_, self.world_, self.estimate_, self.alpha_selection_ = found, world, estimate, selection
        self._given = given

    @property
    def policy_(self) -> Float[np.ndarray, "S A"]:
        """Return the policy to act with, `[S, A]`: the player, or the plan if it was asked for."""
        fit, selection = self._fitted(), vars(self).get("alpha_selection_")
        return np.asarray(selection.policy if self.plan and selection is not None else fit.player)

    @property
    def reward_(self) -> Float[np.ndarray, " S"] | Float[np.ndarray, "S A"]:
        """Return the learned reward, `[S]`, or `[S, A]` if the reward model is one of states and actions."""
        return np.asarray(self._fitted().reward)

    @property
    def alpha_(self) -> float | Float[np.ndarray, "S A"]:
        """Return the α that was used, by state and action if so given."""
        alpha = np.asarray(self._fitted().alpha)
        return alpha if alpha.ndim else float(alpha)

    @property
    def use_(self) -> PolicyUse:
        """Return the policy as `predict` uses it, greedy or sampled, with what it reaches."""
        if "checks_" in vars(self):
            return self.checks_.use  # pyright: ignore[reportReturnType]
        if "use_" not in vars(self):
            fit = self._fitted()
            vars(self)["use_"] = policy_uses(fit, self.world_, policy=self.policy_).use
        return vars(self)["use_"]

    @property
    def checks_(self) -> Checks:
        """Return named checks of the fit, made when they are asked for."""
        fit = self._fitted()
        if "checks_" not in vars(self):
            options = {"estimate": self.estimate_, "selection": self.alpha_selection_, "policy": self.policy_}
            vars(self)["checks_"] = check_fit(fit, self.world_, **options)
        return vars(self)["checks_"]

    @property
    def inference_(self) -> Inference:
        """Return the coefficients with their uncertainty, computed when they are asked for."""
        fit = self._fitted()
        if "inference_" not in vars(self):
            reward = TabularReward(self.world_.num_states) if self.reward is None else self.reward
            options = {"temperatures": self.temperatures, "penalty": self.penalty}
            vars(self)["inference_"] = infer(fit, self.world_, self._given, reward, **options)
        return vars(self)["inference_"]

    @property
    def standard_errors_(self) -> Float[np.ndarray, " d"]:
        """Return a standard error for every parameter; `inference_` has other kinds."""
        return self.inference_.standard_errors()

    @property
    def confidence_intervals_(self) -> Float[np.ndarray, "d 2"]:
        """Return a 95 % interval for every parameter."""
        return self.inference_.confidence_intervals()

    def predict_proba(self, states: ArrayLike) -> Float[np.ndarray, "*n A"]:
        """Return the policy's probabilities of actions for each of the states, or for one state."""
        policy = self.policy_
        single = shape_of("the array of states", states) == ()
        asked = as_whole_numbers("the array of states", np.atleast_1d(np.asarray(states)))
        if asked.size and asked.max() >= len(policy):
            raise InvalidInputError(
                f"state {int(asked.max())} was asked about, but there are {len(policy)} states, numbered from 0."
            )
        return policy[asked[0]] if single else policy[asked]

    @overload
    def predict(  # pyright: ignore[reportOverlappingOverload]
        self, states: int | np.integer, *, seed: int | np.random.Generator | None = None
    ) -> int: ...

    @overload
    def predict(self, states: ArrayLike, *, seed: int | np.random.Generator | None = None) -> Int[np.ndarray, " n"]: ...

    def predict(self, states: ArrayLike, *, seed: int | np.random.Generator | None = None) -> Any:
        """Return an action for each of the states, or for one.

        That is the most likely action if the policy loses nothing by it, and a drawn one otherwise: `use_.name` says
        which.

        Args:
            states: A state, or an array of them.
            seed: A seed, or a generator of NumPy, for drawn actions.
        """
        if self.use_.name == "sampled":
            return self.sample(states, seed=seed)
        actions = np.argmax(self.predict_proba(states), axis=-1)
        return int(actions) if np.ndim(actions) == 0 else actions

    def sample(self, states: ArrayLike, *, seed: int | np.random.Generator | None = None) -> Any:
        """Return an action drawn from the policy in each of the states, or in one.

        Example:
            >>> from robustirl.envs import ThreeState
            >>> from robustirl.irl import RobustIRL
            >>> model = RobustIRL(1.0).fit(ThreeState().mdp(), [0.1, 0.8, 0.1])
            >>> model.sample([0, 0, 0, 0], seed=1).tolist(), model.sample(0, seed=1)
            ([0, 1, 0, 1], 0)
        """
        return draw_actions(self.predict_proba(states), seed)

    def as_sb3(self, *, seed: int | None = None) -> ActingPolicy:
        """Return the policy with the `predict` of stable-baselines3, which returns action and state.

        Its tools then take it, such as `evaluate_policy(model.as_sb3(), env)`.
        """
        self._fitted()
        return ActingPolicy(
            lambda states, generator: self.predict(states, seed=generator),
            lambda states, generator: self.sample(states, seed=generator),
            seed,
        )

    def score(self, mdp: MDP | Sequence[MDP], demonstrations: Demonstrations | Sequence[Any]) -> float:
        """Return the mean log-probability of the expert's moves (states only) under what was learned.

        With probability α the player's move takes effect, otherwise a disturbance: in equal parts the opponent's move,
        a uniformly drawn one, and any state. Higher is better. Score episodes that `fit` has not seen, by hand or with
        scikit-learn: `GridSearchCV(RobustIRL(), {"alpha": [1, 0.9]}).fit([world] * len(demos), demos)`.

        Args:
            mdp: The learner's world, or the same world once for each episode.
            demonstrations: Episodes of the expert.
        """
        fit, world, walks = self._fitted(), as_world(_one_world(mdp)), from_episodes(demonstrations)
        walks.check_against(world)
        sources, targets = walks.states[walks.moves], walks.states[walks.moves + 1]
        leaves = ~np.asarray(absorbing_states(world))[sources]
        if not leaves.any():
            raise InvalidInputError(
                "the demonstrations hold no move out of a state that can be left; give longer ones."
            )
        alpha, player = np.minimum(np.asarray(fit.alpha), LARGEST_SCORED_ALPHA), np.asarray(fit.player)
        rest = ((1 - alpha) * player).sum(1, keepdims=True)  # The chance of a disturbance in every state.
        acting = alpha * player + rest * (np.asarray(fit.opponent) + np.asarray(uniform_policy(world.mask))) / 3
        rows = world.kernel.to_sparse().multiply(acting.reshape(-1, 1)).tocsr()
        # Most moves occur many times, so each different one is looked up once.
        pairs, counts = np.unique(np.stack([sources[leaves], targets[leaves]]), axis=1, return_counts=True)
        chances = rest[pairs[0], 0] / 3 / world.num_states
        for action in range(world.num_actions):
            chances += np.asarray(rows[pairs[0] * world.num_actions + action, pairs[1]]).ravel()
        return float(counts @ np.log(chances) / counts.sum())

    def report(self, **options: Any) -> Any:
        """Return the report of the fit: numbers and checks, with text, JSON and a web page as views.

        Args:
            **options: See `robustirl.report.report_fit`.
        """
        self._fitted()
        return importlib.import_module("robustirl.report").report_fit(self, **options)  # It is above in the layers.

    def summary(self) -> str:
        """Return what was learned from what, and how good it is, in plain words."""
        return str(self.report())

    def plot(self, world: Any = None, *, shape: tuple[int, int] | None = None) -> Any:
        """Return a figure of what was learned: reward, moves, occupancies and the gap over time.

        Args:
            world: The learner's environment or world; that of `fit` if omitted.
            shape: Rows and columns, if the first states are the cells of a grid.
        """
        fit = self._fitted()
        return draw("plot_fit", fit, vars(self).get("world_") if world is None else world, shape=shape)

    def _repr_html_(self) -> str:
        if "fit_" not in vars(self):
            return html_table(repr(self), [("fitted", "no; call fit(world, demonstrations)")])
        return self.report()._repr_html_()


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
