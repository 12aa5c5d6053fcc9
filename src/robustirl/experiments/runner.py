"""Run specs in batches: every batch of like-shaped runs is one compiled call."""

import dataclasses
import functools
import itertools
import time
from collections.abc import Iterator, Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl import envs
from robustirl.experiments.specs import Record, RunSpec
from robustirl.irl import Fit, fit_many
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, state_occupancy, total_return
from robustirl.rewards import AbstractReward, LinearReward, TabularReward


class Laboratory:
    """The worlds, experts and optimal returns of one environment under one noise model, each made once."""

    def __init__(self, environment: envs.Environment, noise_model: str, expert: str = "soft"):
        self.environment = environment
        self.noise_model = noise_model
        self.expert = expert
        self.reward = jnp.asarray(environment.reward)

    @functools.cache  # noqa: B019
    def world(self, noise: float) -> MDP:
        """The world at this noise, for planning and demonstrations."""
        return self.environment.mdp(noise, self.noise_model)

    @functools.cache  # noqa: B019
    def evaluation_world(self, noise: float) -> MDP:
        """The world at this noise, for measuring returns."""
        return self.environment.evaluation_mdp(noise, self.noise_model)

    @functools.cache  # noqa: B019
    def expert_occupancy(self, noise: float) -> Float[Array, " S"]:
        """ρ of the expert in its own world."""
        world = self.world(noise)
        return state_occupancy(world, expert_policy(world, self.reward, kind=self.expert))

    @functools.cache  # noqa: B019
    def optimal_return(self, noise: float) -> float:
        """The return of the policy that is optimal for the true reward in the learner's world."""
        return self.measure(noise, expert_policy(self.world(noise), self.reward, kind="optimal"))

    def measure(self, noise: float, policy: Float[Array, "S A"]) -> float:
        """The undiscounted, capped return of a policy in the learner's world."""
        return float(total_return(self.evaluation_world(noise), policy, self.reward))

    def reward_model(self) -> AbstractReward:
        """The reward model the environment's features call for."""
        features = self.environment.features
        return TabularReward(len(self.reward)) if features is None else LinearReward(features)

    def fit(self, specs: Sequence[RunSpec], *, steps: int) -> list[Fit]:
        """The fits of some runs of this environment, in one compiled call."""
        return fit_many(
            [self.world(spec.learner_noise) for spec in specs],
            [self.expert_occupancy(spec.expert_noise) for spec in specs],
            [spec.alpha for spec in specs],
            rewards=self.reward_model(),
            steps=steps,
        )


@dataclasses.dataclass
class Timing:
    """Where the time of a sweep went, in seconds."""

    compilation: float = 0.0
    computation: float = 0.0


def run(specs: Sequence[RunSpec], timing: Timing | None = None) -> Iterator[list[Record]]:
    """Run the specs, yielding the records of a batch as soon as it is done.

    A batch is the runs that share everything but the expert's noise. The first batch of a size is run
    twice, once to compile, so that its records hold the time of a warm run.
    """
    timing = Timing() if timing is None else timing
    warm: set[object] = set()
    laboratory = functools.cache(lambda name, model, expert: Laboratory(envs.make(name), model, expert))
    for _, group in itertools.groupby(specs, lambda s: dataclasses.replace(s, expert_noise=0.0)):
        batch = list(group)
        first = batch[0]
        lab = laboratory(first.environment, first.noise_model, first.expert)
        size = (first.environment, first.steps, len(batch))
        if size not in warm:
            begin = time.perf_counter()
            lab.fit(batch, steps=first.steps)
            timing.compilation += time.perf_counter() - begin
            warm.add(size)
        begin = time.perf_counter()
        fits = lab.fit(batch, steps=first.steps)
        seconds = time.perf_counter() - begin
        timing.computation += seconds
        yield [
            Record(
                spec=spec,
                total_return=lab.measure(spec.learner_noise, result.player),
                optimal_return=lab.optimal_return(spec.learner_noise),
                occupancy_gap=float(result.verdict.occupancy_gap),
                steps=int(result.verdict.steps),
                seconds=seconds / len(batch),
                verdict=str(result.verdict.status),
            )
            for spec, result in zip(batch, fits, strict=True)
        ]
