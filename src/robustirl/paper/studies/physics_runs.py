"""The runs of the study of physics: every method on one expert, several levels of a parameter and seeds, in one batch.

The spec stands in the file that registers the kind, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from robustirl.control import GaussianPolicy, PolicyTraining, PPOConfig, measure_returns, train_policies
from robustirl.demonstrations import Recordings, record
from robustirl.envs import physics
from robustirl.errors import InvalidInputError
from robustirl.irl import ImitationConfig, clone_behavior, fit_imitation_many
from robustirl.sweeps import Kind, RunResult, Spec, register

EXPERT, CARRIED, CLONED, RANDOMIZED, UNTRAINED = "expert", "carried over", "cloned", "randomized", "untrained"
CONTROLS = (EXPERT, CARRIED, CLONED, RANDOMIZED, UNTRAINED)
LAST = 20
"""The updates at the end of training over which experts are compared."""
SPREAD = (0.5, 0.75, 1.0, 1.5, 2.0)
"""The factors over which domain randomization spreads its environments."""


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much is trained in a world.

    Attributes:
        expert_steps: Steps of PPO for an expert.
        steps: Steps of an imitation.
        ppo: How policies are trained.
        reward: The form of the imitator's reward; see `ImitationConfig`.
        attempts: Experts trained for each level, of which the best is taken.
    """

    expert_steps: int
    steps: int
    ppo: PPOConfig
    reward: str = "positive"
    attempts: int = 2


_WIDE = PPOConfig(environments=128, segment=32, minibatches=8, learning_rate=1e-3, hidden=(64, 64))
SCALES = {
    "cart-pole-swing-up": Scale(600_000, 1_000_000, PPOConfig()),
    "double-pendulum": Scale(1_500_000, 1_500_000, PPOConfig()),
    "inverted-double-pendulum": Scale(3_000_000, 2_000_000, _WIDE),
    "hopper": Scale(8_000_000, 2_000_000, _WIDE),
    "half-cheetah": Scale(8_000_000, 2_000_000, _WIDE),
    "walker-2d": Scale(8_000_000, 2_000_000, _WIDE),
}
"""The worlds of the study; those of MuJoCo take Euler's steps and four steps of the contact solver."""


@dataclasses.dataclass(frozen=True)
class PhysicsSpec(Spec):
    """One imitation, or one control.

    Attributes:
        world: The world.
        parameter: What differs between the expert's world and the learner's.
        factor: The learner's value, as a multiple of the expert's.
        method: `alpha=0.95` and the like for imitations, else one of `CONTROLS`.
        episodes: Demonstrations.
        seed: Decides all draws.
        expert_steps: Steps of PPO for an expert; those of `SCALES` if None.
        steps: Steps of an imitation; those of `SCALES` if None.
    """

    world: str
    parameter: str
    factor: float
    method: str
    episodes: int
    seed: int
    expert_steps: int | None = None
    steps: int | None = None

    def check(self) -> None:
        """Refuse a world or a parameter that is not there."""
        make_world(self.world, **{self.parameter: self.factor})


@dataclasses.dataclass(frozen=True)
class PhysicsRecord:
    """What a policy earned.

    Attributes:
        spec: The run.
        learner_return: The mean return of mean actions in the learner's world.
        expert_return: The same in the expert's world.
        gap: How far the mixture's states are from the expert's at the end; NaN for controls.
        seconds: Time of the run, its share of the batch.
    """

    spec: PhysicsSpec
    learner_return: float
    expert_return: float
    gap: float
    seconds: float


def specs_of(
    world: str,
    parameter: str,
    factors: Sequence[float],
    alphas: Sequence[float],
    episodes: int,
    seeds: int,
    expert_steps: int | None = None,
    steps: int | None = None,
) -> tuple[PhysicsSpec, ...]:
    """Return the runs of a world: imitations and controls at every level and seed.

    Example:
        >>> len(specs_of("hopper", "mass", [0.5, 2.0], [1.0, 0.95], 16, 3))
        42
    """
    methods = [*(f"alpha={alpha:g}" for alpha in alphas), *CONTROLS]
    return tuple(
        PhysicsSpec(world, parameter, factor, method, episodes, seed, expert_steps, steps)
        for factor in factors
        for method in methods
        for seed in range(seeds)
    )


def make_world(name: str, **factors: float) -> physics.PhysicsWorld:
    """Return a world of the study, its parameters as multiples of the usual ones."""
    if name not in SCALES:
        raise InvalidInputError(f"there is no world {name!r} in this study; choose one of {', '.join(SCALES)}.")
    if name in physics.names():
        usual = physics.make(name)
        return usual.changed(**{key: factor * float(usual.parameters[key]) for key, factor in factors.items()})
    return physics.mujoco_world(name, fast=True, **factors)


def _worlds(spec: PhysicsSpec) -> list[physics.PhysicsWorld]:
    """Return what the environments of a learner are: its world, or those of domain randomization."""
    factors = SPREAD if spec.method == RANDOMIZED else (spec.factor,)
    return [make_world(spec.world, **{spec.parameter: factor}) for factor in factors]


class PhysicsContext:
    """Train experts once, then all imitations of a batch in lockstep."""

    def results(self, specs: Sequence[PhysicsSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Compute every run of a batch, which share a world, a parameter and the number of episodes."""
        began = time.monotonic()
        first = specs[0]
        usual = SCALES[first.world]
        scale = dataclasses.replace(
            usual, expert_steps=first.expert_steps or usual.expert_steps, steps=first.steps or usual.steps
        )
        home = make_world(first.world)
        factors = sorted({spec.factor for spec in specs})
        for factor in {factors[0], factors[-1]} - {1.0}:
            physics.require_difference(home, make_world(first.world, **{first.parameter: factor}))
        expert, local = self._experts(first, factors, scale)
        seeds = sorted({spec.seed for spec in specs})
        seen = {s: record(home, expert, episodes=first.episodes, key=jax.random.key(1000 + s)) for s in seeds}
        policies, gaps = self._policies(specs, scale, expert, local, seen)
        away = [make_world(spec.world, **{spec.parameter: spec.factor}) for spec in specs]
        keys = [jax.random.key(2000 + spec.seed) for spec in specs]
        there = np.asarray(measure_returns(away, policies, keys=keys, episodes=8)).mean(-1)
        back = np.asarray(measure_returns([home] * len(specs), policies, keys=keys, episodes=8)).mean(-1)
        each = (time.monotonic() - began) / len(specs)
        return [
            RunResult(PhysicsRecord(spec, float(a), float(b), gap, each), {})
            for spec, a, b, gap in zip(specs, there, back, gaps, strict=True)
        ]

    def _experts(
        self, first: PhysicsSpec, factors: Sequence[float], scale: Scale
    ) -> tuple[GaussianPolicy, dict[float, GaussianPolicy]]:
        """Return the expert of the expert's world, and that of the learner's world at every level."""
        levels = sorted({1.0, *factors})
        worlds = [make_world(first.world, **{first.parameter: f}) for f in levels for _ in range(scale.attempts)]
        keys = list(jax.random.split(jax.random.key(7), len(worlds)))
        trained: list[PolicyTraining] = train_policies(worlds, steps=scale.expert_steps, config=scale.ppo, keys=keys)
        # The world's own reward at the end of training tells which attempt was best.
        returns = [np.nanmean(np.asarray(one.progress.episode_return)[-LAST:]) for one in trained]
        best = {}
        for place, level in enumerate(levels):
            rows = range(place * scale.attempts, (place + 1) * scale.attempts)
            best[level] = trained[max(rows, key=lambda row: returns[row])].policy
        return best[1.0], best

    def _policies(
        self,
        specs: Sequence[PhysicsSpec],
        scale: Scale,
        expert: GaussianPolicy,
        local: dict[float, GaussianPolicy],
        seen: dict[int, Recordings],
    ) -> tuple[list[GaussianPolicy], list[float]]:
        """Return the policy of every run, and the gap of those that imitate."""
        config = ImitationConfig(steps=scale.steps, reward=scale.reward, ppo=scale.ppo)  # pyright: ignore
        imitations = [spec for spec in specs if spec.method.startswith("alpha=") or spec.method == RANDOMIZED]
        # Every environment has a world of its own, the same one for all but domain randomization: one program for all.
        fits = fit_imitation_many(
            [_worlds(spec) for spec in imitations],
            [seen[spec.seed].without_actions() for spec in imitations],
            [float(spec.method.removeprefix("alpha=")) if spec.method != RANDOMIZED else 1.0 for spec in imitations],
            config=config,
            keys=[jax.random.key(spec.seed) for spec in imitations],
            throw=False,
        )
        found: dict[PhysicsSpec, Any] = {
            spec: (fit.player, float(fit.verdict.gap)) for spec, fit in zip(imitations, fits, strict=True)
        }
        clones = {
            seed: clone_behavior(seen[seed], config=scale.ppo, key=jax.random.key(seed))
            for seed in sorted({spec.seed for spec in specs if spec.method == CLONED})
        }
        still = jax.tree.map(lambda leaf: leaf * 0, expert)
        plain = {EXPERT: lambda s: local[s.factor], CARRIED: lambda _: expert, UNTRAINED: lambda _: still}
        plain[CLONED] = lambda s: clones[s.seed]
        for spec in specs:
            if spec.method in plain:
                found[spec] = (plain[spec.method](spec), float("nan"))
        return [found[spec][0] for spec in specs], [found[spec][1] for spec in specs]


PHYSICS = register(
    Kind(
        "physics",
        PhysicsSpec,
        PhysicsRecord,
        table="results",
        activity="policies",
        cpu_batch=10_000,  # All methods of a world share its experts, and one compiled program.
        gpu_batch=10_000,
        min_batches_for_pool=1000,
        warm_up=False,
        batch_key=lambda spec: (spec.world, spec.parameter, spec.episodes, spec.expert_steps, spec.steps),
        program_key=lambda spec: spec.world,
        context_key=lambda _: None,
        make_context=lambda *_: PhysicsContext(),
    )
)
