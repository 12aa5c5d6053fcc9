"""The worlds and experts of one environment, and what is done with them in a run."""

import functools
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float

from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_alpha, estimate_occupancy, sample_demonstrations
from robustirl.irl import Fit, fit_many, paper_optimizer
from robustirl.mdp import MDP
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.planning import discounted_return, expert_policy, sampled_total_return, state_occupancy, total_return
from robustirl.rewards import AbstractReward, make_reward_model
from robustirl.sweeps import RunResult
from robustirl.theory import robust_bound, standard_bound, transfer_bound
from robustirl.types import AnyArray

MOST_RECENT = 4
LONGEST_DEMONSTRATION = 500  # Steps; at γ = 0.99 what comes later weighs 0.7 %.


def _remembered(method):
    """Compute a method once per instance and arguments.

    Unlike `functools.cache` it does not keep instances alive.
    """

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
        self,
        environment: envs.Environment,
        noise_model: str,
        expert: str = "soft",
        expert_alpha: float = 1.0,
    ):
        self.environment = environment
        self.noise_model = noise_model
        self.expert = expert
        self.expert_alpha = expert_alpha
        self.reward: jax.Array = jax.device_put(environment.reward)
        self._recent: dict[tuple[float, int, int], Demonstrations] = {}

    @classmethod
    def of(cls, spec: RunSpec) -> "ExperimentContext":
        """Return the context of a run."""
        return cls(spec.make_environment(), spec.noise_model, spec.expert, spec.expert_alpha)

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

    def demonstrations(self, noise: float, episodes: int, draw: int) -> Demonstrations:
        """Return trajectories of the expert in its own world.

        The last few are kept, since runs that share them are neighbors.
        """
        key = noise, episodes, draw
        if key not in self._recent:
            if len(self._recent) >= MOST_RECENT:
                del self._recent[next(iter(self._recent))]
            self._recent[key] = self._sample(noise, episodes, draw)
        return self._recent[key]

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
        """Return the fits of some runs of this environment, in one compiled call."""
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

    def results(self, specs: Sequence[RunSpec], size: int) -> list[RunResult]:
        """Return the results of some runs.

        On a CPU they are a batch of the usual size, since a smaller one would be compiled anew.
        """
        missing = size - len(specs) if jax.default_backend() == "cpu" else 0
        fits = self.fit([*specs, *[specs[-1]] * missing], steps=specs[0].steps, throw=False)
        return [self.result(spec, result, 0.0) for spec, result in zip(specs, fits, strict=False)]

    def result(self, spec: RunSpec, result: Fit, seconds: float) -> RunResult:
        """Return what a fit comes to in the learner's world."""
        noise = spec.learner_noise
        player = result.player if spec.train_noise is None else self._acting_on(result.reward, noise)
        sampled = None
        if spec.sampled:
            sampled = sampled_total_return(
                self.evaluation_world(noise),
                player,
                self.reward,
                key=jax.random.key(int(spec.identity[:8], 16)),  # Its own draws for every run.
                repetitions=spec.sampled,
            )
        gaps = np.asarray(result.history.occupancy_gap)
        record = Record(
            spec=spec,
            alpha_used=self.alpha(spec),
            total_return=self.measure(noise, player),
            optimal_return=self.optimal_return(noise),
            expert_return=self.expert_return(spec.expert_noise),
            discounted_return=self.measure_discounted(noise, player),
            optimal_discounted_return=self.optimal_discounted_return(noise),
            occupancy_gap=float(result.verdict.occupancy_gap),
            halfway_gap=float(gaps[(len(gaps) - 1) // 2]),
            largest_reward=float(np.abs(np.asarray(result.reward)).max()),
            bound=self._bound(spec, result),
            sampled_mean=None if sampled is None else float(sampled.mean),
            sampled_deviation=None if sampled is None else float(sampled.deviation),
            steps=int(result.verdict.steps),
            verdict=str(result.verdict.status),
            seconds=seconds,
        )
        arrays = {
            "reward": result.reward,
            "player": player,
            "opponent": result.opponent,
            "occupancy": result.occupancy,
            "expert_occupancy": result.expert_occupancy,
            "player_occupancy": state_occupancy(self.world(noise), player),
        }
        return RunResult(record, {name: np.asarray(array) for name, array in arrays.items()})

    def _acting_on(self, reward: Float[AnyArray, " S"], noise: float) -> Float[AnyArray, "S A"]:
        """π_4 of Section 3.3: soft-optimal in the learner's world for a reward learned elsewhere."""
        return expert_policy(self.world(noise), reward, kind="soft")

    def _bound(self, spec: RunSpec, result: Fit) -> float | None:
        """Return the paper's bound on the gap to the optimum; None if no theorem covers the run.

        None does if probability leaks, actions are paid for, or the expert is not optimal in its world.
        """
        learner, expert = self.world(spec.learner_noise), self.world(spec.expert_noise)
        if learner.kernel.leaky or self.reward.ndim > 1 or not spec.optimal_expert:
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
