"""Finite runs: one learner, one expert, one α as data, how they are computed, and what came of them."""

import dataclasses
import functools
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from experiments import runner, tables
from experiments.paper.optimizers import paper_optimizer
from experiments.runner import Outcome, Where
from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.demonstrations.alpha import estimate_alpha
from robustirl.envs import GridWorld
from robustirl.errors import InvalidInputError
from robustirl.irl import Fit, fit_many
from robustirl.irl.fit import PAPER_STEPS
from robustirl.mdp import MDP
from robustirl.planning import discounted_return, expert_policy, sampled_total_return, state_occupancy, total_return
from robustirl.rewards import AbstractReward, make_reward_model
from robustirl.theory import robust_bound, standard_bound, transfer_bound
from robustirl.types import AnyArray

PAPER_ENVIRONMENTS = ("gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4", "gridworld-l", "objectworld")
PAPER_ALPHAS = (1.0, 0.95, 0.9, 0.85, 0.8)
PAPER_LEARNER_NOISES = (0.0, 0.05, 0.1)
PAPER_EXPERT_NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)
BATCH = 5
LONGEST_DEMONSTRATION = 500  # Steps; at γ = 0.99 what comes later weighs 0.7 %.


@dataclasses.dataclass(frozen=True, order=True)
class RunSpec:
    """One learner, one expert, one α: everything that determines a run's numbers.

    Attributes:
        environment: Its registered name.
        noise_model: Which kernel the noise means.
        learner_noise: ε_L.
        expert_noise: ε_E.
        alpha: α; one is standard MCE IRL.
        seed: The layout, where the environment has several; it also draws a network's first weights and the
            trajectories of a sampled evaluation. Nothing else in a finite run is random.
        steps: Parameter updates.
        expert: The kind of expert, `soft` or `optimal`.
        expert_alpha: α_E; below one the expert is the player of a game of its own.
        start: P₀, `uniform` or `fixed` in the cell farthest from the goal.
        train_noise: Where given, the reward is learned in the world of this noise, M^train, and then acted upon in the
            learner's (Section 3.3); otherwise it is learned in the learner's world.
        sampled: How many trajectories per start state to measure the return with besides; none is exact only.
        demonstrations: How many trajectories of the expert the learner has; none stands for its exact occupancy.
        draw: The seed of those trajectories.
        auto: Where given, α is estimated from them, from `states` alone or with `actions`, and `alpha` is not used.
    """

    environment: str
    noise_model: str
    learner_noise: float
    expert_noise: float
    alpha: float
    seed: int = 0
    steps: int = PAPER_STEPS
    expert: str = "soft"
    expert_alpha: float = 1.0
    start: str = "uniform"
    train_noise: float | None = None
    sampled: int = 0
    demonstrations: int = 0
    draw: int = 0
    auto: str = ""

    def __post_init__(self) -> None:
        # 1 and 1.0 are one number, and must be one spec by its content as well.
        for name in ("learner_noise", "expert_noise", "alpha", "expert_alpha", "train_noise"):
            if isinstance(value := getattr(self, name), int):
                object.__setattr__(self, name, float(value))

    def make_environment(self) -> envs.Environment:
        """Return the environment, in the layout and with the start distribution of this run."""
        environment = envs.make(self.environment)
        options: dict[str, object] = {}
        if environment.layout != self.seed:
            options["seed"] = self.seed
        if self.start == "fixed":
            if not isinstance(environment, GridWorld):
                raise InvalidInputError(f"{self.environment} is not a grid, so it has no fixed start; use uniform.")
            options["initial"] = envs.make(self.environment, **options).fixed_start()  # pyright: ignore
        return envs.make(self.environment, **options) if options else environment

    def check(self) -> None:
        """Refuse an impossible run before any work is done."""
        environment = self.make_environment()
        for noise in (self.learner_noise, self.expert_noise, self.train_noise):
            if noise is not None:
                environment.choose_noise_model(noise, self.noise_model)
        for alpha in (self.alpha, self.expert_alpha):
            if not 0 < alpha <= 1:
                raise InvalidInputError(f"α is {alpha}, but a number above 0 and up to 1 is needed.")
        if self.steps < 0:
            raise InvalidInputError(f"--steps is {self.steps}, but a whole number of at least 0 is needed.")


@dataclasses.dataclass(frozen=True)
class Record:
    """A run and its outcome.

    Attributes:
        spec: What was run.
        alpha_used: α, as given or as estimated.
        total_return: The learned player's return in the learner's world, undiscounted and capped, as in the paper's
            figures.
        optimal_return: That of the policy which is optimal there for the true reward.
        expert_return: The expert's, in its own world.
        discounted_return: V of the player in the learner's world, normalized by nothing: E[Σ γ^t R].
        optimal_discounted_return: The largest there is.
        occupancy_gap: ‖ρ_mix - ρ‖₁ at the end.
        halfway_gap: The same after half of the steps.
        largest_reward: max |R_θ| at the end.
        bound: The paper's bound on the gap |V^{π_1} - V| for this way of learning (Theorem 1, Theorem 3, or that of
            reward transfer), for optimal experts and kernels that do not leak.
        sampled_mean: The sampled return, where asked for.
        sampled_deviation: Its standard deviation over repetitions.
        steps: Parameter updates taken.
        verdict: How the fit ended.
        seconds: The run's share of its batch's time, with the compilation of the first batch of a shape.
        arrays: `reward`, `occupancy`, `expert_occupancy`, `player_occupancy` `[S]`, `player`, `opponent` `[S, A]`.
    """

    spec: RunSpec
    alpha_used: float
    total_return: float
    optimal_return: float
    expert_return: float
    discounted_return: float
    optimal_discounted_return: float
    occupancy_gap: float
    halfway_gap: float
    largest_reward: float
    bound: float | None
    sampled_mean: float | None
    sampled_deviation: float | None
    steps: int
    verdict: str
    seconds: float
    arrays: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False, default_factory=dict)


def grid_of_specs(
    environment: str,
    noise_model: str | None = None,
    *,
    alphas: Sequence[float] = PAPER_ALPHAS,
    learner_noises: Sequence[float] = PAPER_LEARNER_NOISES,
    expert_noises: Sequence[float] = PAPER_EXPERT_NOISES,
    seeds: Sequence[int] | None = None,
    steps: int = PAPER_STEPS,
    expert: str | None = None,
    **others: Any,
) -> tuple[RunSpec, ...]:
    """Return the cells of one figure: each seed, learner noise, α, expert noise, in that order.

    Noise model, expert and layout are the environment's own if omitted.

    Example:
        >>> len(grid_of_specs("gridworld-1", "published"))
        75
    """
    made = envs.make(environment)
    seeds = (made.layout,) if seeds is None else seeds
    model = made.noise_models[0] if noise_model is None else noise_model
    kind = made.expert if expert is None else expert
    named = {"alphas": alphas, "learner noises": learner_noises, "expert noises": expert_noises, "seeds": seeds}
    for name, values in named.items():
        if not values or len(set(values)) != len(values):
            raise InvalidInputError(f"the {name} are {tuple(values)}, but at least one is needed and none twice.")
    return tuple(
        RunSpec(environment, model, learner, noise, alpha, seed=seed, steps=steps, expert=kind, **others)
        for seed in seeds
        for learner in learner_noises
        for alpha in alphas
        for noise in expert_noises
    )


def batch_key(spec: RunSpec) -> Hashable:
    """Return what the runs of a batch share: all but the noises, α, and how the outcome is measured."""
    same = dataclasses.replace(
        spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, sampled=0, demonstrations=0, draw=0, auto=""
    )
    return dataclasses.replace(same, train_noise=None if spec.train_noise is None else 0.0)


def run(specs: Sequence[RunSpec], out: Path, where: Where | None = None, title: str = "learning") -> list[Record]:
    """Return the records of some runs, after computing those that the folder lacks."""
    known = {
        (s.environment, s.noise_model, s.seed, s.start, s.alpha, s.learner_noise, s.expert_noise): s for s in specs
    }
    for spec in known.values():
        spec.check()
    results = runner.run(specs, work, out, key=batch_key, size=BATCH, where=where, title=title)
    return [Record(result.spec, **result.row, arrays=result.arrays) for result in results]


def work(specs: Sequence[RunSpec]) -> list[Outcome]:
    """Compute a batch of runs that share all but their noises, α and measures."""
    spec = specs[0]
    lab = context(spec.environment, spec.noise_model, spec.expert, spec.expert_alpha, spec.seed, spec.start)
    return lab.outcomes(specs)


@functools.lru_cache(maxsize=16)
def context(
    environment: str, noise_model: str, expert: str, expert_alpha: float = 1.0, seed: int = 0, start: str = "uniform"
) -> "ExperimentContext":
    """Return the context of some runs; the last few are kept with all that was planned in them."""
    spec = RunSpec(environment, noise_model, 0.0, 0.0, 1.0, seed=seed, start=start)
    return ExperimentContext(spec.make_environment(), noise_model, expert, expert_alpha)


def _remembered(method):
    """Compute a method once per instance and arguments; unlike `functools.cache` it keeps no instance alive."""

    @functools.wraps(method)
    def wrapper(self, *arguments):
        memory = self.__dict__.setdefault("_memory", {})
        key = method.__name__, *arguments
        if key not in memory:
            memory[key] = method(self, *arguments)
        return memory[key]

    return wrapper


class ExperimentContext:
    """Worlds, experts and optimal returns of one environment and noise model, each made once."""

    def __init__(
        self, environment: envs.Environment, noise_model: str, expert: str = "soft", expert_alpha: float = 1.0
    ):
        self.environment = environment
        self.noise_model = noise_model
        self.expert = expert
        self.expert_alpha = expert_alpha
        self.reward: jax.Array = jax.device_put(environment.reward)
        # The last few, since runs that share demonstrations are neighbors.
        self.demonstrations = functools.lru_cache(maxsize=4)(self._sample)

    @_remembered
    def world(self, noise: float) -> MDP:
        """Return the world at this noise, for planning and demonstrations."""
        return self.environment.mdp(noise, self.noise_model)

    @_remembered
    def evaluation_world(self, noise: float) -> MDP:
        """Return the world at this noise, for measuring returns."""
        return self.environment.evaluation_mdp(noise, self.noise_model)

    @_remembered
    def expert_policy(self, noise: float) -> Float[AnyArray, "S A"]:
        """Return the expert's policy in its own world."""
        return expert_policy(self.world(noise), self.reward, kind=self.expert, alpha=self.expert_alpha)

    @_remembered
    def expert_occupancy(self, noise: float) -> Float[AnyArray, " S"]:
        """ρ of the expert in its own world."""
        return state_occupancy(self.world(noise), self.expert_policy(noise))

    @_remembered
    def expert_return(self, noise: float) -> float:
        """Return the expert's return in its own world."""
        return self.measure(noise, self.expert_policy(noise))

    @_remembered
    def optimal_policy(self, noise: float) -> Float[AnyArray, "S A"]:
        """Return the policy that is optimal for the true reward in the learner's world."""
        return expert_policy(self.world(noise), self.reward, kind="optimal")

    @_remembered
    def optimal_return(self, noise: float) -> float:
        """Return what that policy earns, undiscounted and capped."""
        return self.measure(noise, self.optimal_policy(noise))

    @_remembered
    def optimal_discounted_return(self, noise: float) -> float:
        """Return the discounted return of that policy: the largest there is."""
        return self.measure_discounted(noise, self.optimal_policy(noise))

    def measure(self, noise: float, policy: Float[AnyArray, "S A"]) -> float:
        """Return the undiscounted, capped return of a policy in the learner's world."""
        return float(total_return(self.evaluation_world(noise), policy, self.reward))

    def measure_discounted(self, noise: float, policy: Float[AnyArray, "S A"]) -> float:
        """Return the discounted return of a policy in the learner's world."""
        return float(discounted_return(self.evaluation_world(noise), policy, self.reward))

    def reward_model(self, seed: int = 0) -> AbstractReward:
        """Return the environment's reward model; the seed draws a network's first weights."""
        environment = self.environment
        return make_reward_model(environment.reward_model, len(self.reward), environment.features, seed=seed)

    def _sample(self, noise: float, episodes: int, draw: int) -> Demonstrations:
        return sample_demonstrations(
            self.world(noise),
            self.expert_policy(noise),
            episodes=episodes,
            horizon=LONGEST_DEMONSTRATION,
            key=jax.random.key(draw),
        )

    def target(self, spec: RunSpec) -> Float[AnyArray, " S"]:
        """Return the occupancy to match: the expert's own, or its estimate from demonstrations."""
        if not spec.demonstrations:
            return self.expert_occupancy(spec.expert_noise)
        world = self.world(spec.expert_noise)
        demos = self.demonstrations(spec.expert_noise, spec.demonstrations, spec.draw)
        estimate = estimate_occupancy(demos, world, tail="renormalize")
        return estimate.occupancy

    @_remembered
    def alpha(self, spec: RunSpec) -> float:
        """α as the run says, or as its demonstrations do."""
        if not spec.auto:
            return spec.alpha
        demos = self.demonstrations(spec.expert_noise, spec.demonstrations, spec.draw)
        return estimate_alpha(self.world(spec.learner_noise), demos, actions=spec.auto == "actions").alpha

    def fit(self, specs: Sequence[RunSpec], *, steps: int, throw: bool = True) -> list[Fit]:
        """Return the fits of some runs of this environment."""
        worlds = [self.world(spec.learner_noise if spec.train_noise is None else spec.train_noise) for spec in specs]
        model = self.reward_model(specs[0].seed)
        return fit_many(
            worlds,
            [self.target(spec) for spec in specs],
            [self.alpha(spec) for spec in specs],
            rewards=model,
            optimizer=paper_optimizer(model),
            steps=steps,
            keep_last=True,
            throw=throw,
        )

    def outcomes(self, specs: Sequence[RunSpec]) -> list[Outcome]:
        """Return the outcomes of some runs."""
        fits = self.fit(specs, steps=specs[0].steps, throw=False)
        return [self._outcome(spec, fit) for spec, fit in zip(specs, fits, strict=True)]

    def _outcome(self, spec: RunSpec, result: Fit) -> Outcome:
        """Return what a fit comes to in the learner's world."""
        noise = spec.learner_noise
        player = result.player if spec.train_noise is None else self._acting_on(result.reward, noise)
        sampled = None
        if spec.sampled:
            sampled = sampled_total_return(
                self.evaluation_world(noise),
                player,
                self.reward,
                key=jax.random.key(int(runner.identity(spec)[:8], 16)),  # Its own draws for every run.
                repetitions=spec.sampled,
            )
        gaps = np.asarray(result.history.occupancy_gap)
        row = {
            "alpha_used": self.alpha(spec),
            "total_return": self.measure(noise, player),
            "optimal_return": self.optimal_return(noise),
            "expert_return": self.expert_return(spec.expert_noise),
            "discounted_return": self.measure_discounted(noise, player),
            "optimal_discounted_return": self.optimal_discounted_return(noise),
            "occupancy_gap": float(result.verdict.occupancy_gap),
            "halfway_gap": float(gaps[(len(gaps) - 1) // 2]),
            "largest_reward": float(np.abs(np.asarray(result.reward)).max()),
            "bound": self._bound(spec, result),
            "sampled_mean": None if sampled is None else float(sampled.mean),
            "sampled_deviation": None if sampled is None else float(sampled.deviation),
            "steps": int(result.verdict.steps),
            "verdict": str(result.verdict.status),
        }
        arrays = {
            "reward": result.reward,
            "player": player,
            "opponent": result.opponent,
            "occupancy": result.occupancy,
            "expert_occupancy": result.expert_occupancy,
            "player_occupancy": state_occupancy(self.world(noise), player),
        }
        return row, {name: np.asarray(array) for name, array in arrays.items()}

    def _acting_on(self, reward: Float[AnyArray, " S"], noise: float) -> Float[AnyArray, "S A"]:
        """π_4 of Section 3.3: soft-optimal in the learner's world for a reward learned elsewhere."""
        return expert_policy(self.world(noise), reward, kind="soft")

    def _bound(self, spec: RunSpec, result: Fit) -> float | None:
        """Return the paper's bound on the gap to the optimum; None if no theorem covers the run.

        None does if probability leaks, actions are paid for, or the expert is not optimal in its world.
        """
        learner, expert = self.world(spec.learner_noise), self.world(spec.expert_noise)
        if learner.kernel.leaky or self.reward.ndim > 1 or (spec.expert, spec.expert_alpha) != ("optimal", 1):
            return None
        if spec.train_noise is not None:
            return transfer_bound(learner, expert, self.world(spec.train_noise), self.reward, result.reward).value
        if self.alpha(spec) == 1:
            return self._standard_bound(spec.learner_noise, spec.expert_noise)
        return self._robust_bound(spec.learner_noise, spec.expert_noise, self.alpha(spec))

    @_remembered
    def _standard_bound(self, learner: float, expert: float) -> float:
        return standard_bound(self.world(learner), self.world(expert), self.reward).value

    @_remembered
    def _robust_bound(self, learner: float, expert: float, alpha: float) -> float:
        return robust_bound(self.world(learner), self.world(expert), self.reward, alpha).value


COLUMNS = {"total_return": "return", "steps": "steps_taken"}
"""Columns of `results.csv` whose names differ from the fields of a record."""


def results_csv(records: Sequence[Record]) -> str:
    """Return the records as a table, a row a run, numbers in full precision."""
    made_under = {
        name: value for name, value in runner.configuration().items() if name in ("robustirl", "jax", "dtype", "device")
    }
    lines = []
    for record in records:
        outcome = {name: value for name, value in vars(record).items() if name not in ("spec", "arrays")}
        outcome["seconds"] = f"{record.seconds:.6f}"
        lines.append(dataclasses.asdict(record.spec) | {COLUMNS.get(n, n): v for n, v in outcome.items()} | made_under)
    return tables.as_csv(lines)
