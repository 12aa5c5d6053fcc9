"""The runs of the study of physics: every method on one expert, several levels of a parameter and seeds, in one batch.

The spec stands in the file that registers the kind, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
import logging
import math
from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np

from robustirl._runtime import on_host
from robustirl.control import GaussianPolicy, measure_returns
from robustirl.demonstrations import Recordings, record
from robustirl.envs import physics
from robustirl.irl import ImitationConfig, ImitationStep, clone_behavior_many, fit_imitation_many
from robustirl.paper.studies.physics_experts import PhysicsExpertSpec, attempts_of, best_of, experts_of
from robustirl.paper.studies.physics_worlds import engine_of, make_world, scale_of
from robustirl.sweeps import Kind, RunResult, Spec, register

EXPERT, CARRIED, CLONED, RANDOMIZED, UNTRAINED = "expert", "carried over", "cloned", "randomized", "untrained"
CONTROLS = (EXPERT, CARRIED, CLONED, RANDOMIZED, UNTRAINED)
SPREAD = (0.5, 0.75, 1.0, 1.5, 2.0)
"""The factors over which domain randomization spreads its environments."""
MEASURED = 16
"""Episodes by which a policy is judged in a world: as many of mean actions, and as many of drawn ones."""
RECORDED = 16
"""Episodes that are recorded for a seed, of which a run with fewer demonstrations takes the first."""
SEED_BLOCK = 10
"""Seeds whose episodes are recorded in one call, so that they do not depend on which seeds a batch has."""
_LOG = logging.getLogger("robustirl")

Shown = tuple[int, int]
"""A seed and a number of episodes, which decide the demonstrations."""
Blocks = dict[tuple[int, int], Recordings]
"""By the number of a block of seeds and of the episodes of each: what was recorded."""


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
        expert_steps: Steps of PPO for an expert.
        steps: Steps of an imitation.
    """

    world: str
    parameter: str
    factor: float
    method: str
    episodes: int
    seed: int
    expert_steps: int
    steps: int

    def check(self) -> None:
        """Refuse a world or a parameter that is not there."""
        self.make_world(self.factor)

    def make_world(self, factor: float) -> physics.PhysicsWorld:
        """Return the world at a level of the parameter."""
        return make_world(self.world, **{self.parameter: factor})

    @property
    def local_experts(self) -> tuple[PhysicsExpertSpec, ...]:
        """The trainings of which the best is the expert of the learner's world."""
        return attempts_of(self.world, self.parameter, self.factor, self.expert_steps)

    @property
    def shown_experts(self) -> tuple[PhysicsExpertSpec, ...]:
        """The trainings of which the best is the expert that is imitated."""
        return attempts_of(self.world, self.parameter, 1.0, self.expert_steps)

    @property
    def alpha(self) -> float | None:
        """The α of an imitation; 1 for domain randomization, None for the other controls."""
        if self.method == RANDOMIZED:
            return 1.0
        return float(self.method.removeprefix("alpha=")) if self.method.startswith("alpha=") else None

    @property
    def training(self) -> tuple[object, ...]:
        """What decides the policy of an imitation in its batch.

        Domain randomization does not know the level, and where nothing differs the parameter does not matter.
        """
        parameter = "" if self.levels == (1.0,) else self.parameter
        return parameter, self.levels, self.method, self.episodes, self.seed

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of the learner's environments: its own, or those of domain randomization."""
        return SPREAD if self.method == RANDOMIZED else (self.factor,)


@dataclasses.dataclass(frozen=True)
class PhysicsRecord:
    """What a policy earned.

    Attributes:
        spec: The run.
        learner_return: The mean return of mean actions in the learner's world.
        expert_return: The same in the expert's world.
        gap: How far the player's states are from the expert's at the end; NaN for controls.
        seconds: Time of the run, its share of the batch.
        learner_sampled: The mean return of drawn actions in the learner's world; NaN if it was not measured. Imitators
            of Hopper were seen whose mean actions fall at the start (275), where drawn ones go on (2068).
        expert_sampled: The same in the expert's world.
        engine: What took the steps; see `engine_of`. Runs from before it was noted are of MJX.
    """

    spec: PhysicsSpec
    learner_return: float
    expert_return: float
    gap: float
    seconds: float
    learner_sampled: float = math.nan
    expert_sampled: float = math.nan
    engine: str = "mjx"


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
    scale = scale_of(world)
    lengths = expert_steps or scale.expert_steps, steps or scale.steps
    return tuple(
        PhysicsSpec(world, parameter, factor, method, episodes, seed, *lengths)
        for factor in factors
        for method in methods
        for seed in range(seeds)
    )


class PhysicsContext:
    """Train all imitations of a batch in lockstep, and judge every policy in both worlds."""

    def __init__(self, experts: Mapping[PhysicsExpertSpec, RunResult]):
        self._experts = experts
        self._blocks: dict[tuple[PhysicsExpertSpec, ...], Blocks] = {}

    def results(self, specs: Sequence[PhysicsSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Compute every run of a batch, which share a world."""
        first = specs[0]
        home = make_world(first.world)
        with on_host():
            levels = {(spec.parameter, spec.factor): spec for spec in specs}
            worlds = {level: spec.make_world(spec.factor) for level, spec in levels.items()}
        for (_, factor), world in worlds.items():
            if factor != 1:
                physics.require_difference(home, world)
        expert, _ = best_of(self._experts, first.shown_experts)
        known = self._blocks.setdefault(first.shown_experts, {})  # Batches with fewer demonstrations see the same.
        seen = _recorded(home, expert, sorted({(spec.seed, spec.episodes) for spec in specs}), known)
        policies, gaps = self._policies(specs, expert, seen)
        away = [worlds[spec.parameter, spec.factor] for spec in specs]
        keys = [jax.random.key(2000 + spec.seed) for spec in specs]
        places, options = [*away, *[home] * len(specs)], {"keys": keys * 2, "episodes": MEASURED}
        returns = [
            np.asarray(measure_returns(places, policies * 2, mean_action=mean, **options)).mean(-1).reshape(2, -1)
            for mean in (True, False)
        ]
        (there, back), (there_sampled, back_sampled) = (part.tolist() for part in returns)
        rows, engine = zip(specs, there, back, gaps, there_sampled, back_sampled, strict=True), engine_of(first.world)
        return [RunResult(PhysicsRecord(spec, a, b, gap, 0.0, c, d, engine), {}) for spec, a, b, gap, c, d in rows]

    def _policies(
        self, specs: Sequence[PhysicsSpec], expert: GaussianPolicy, seen: Mapping[Shown, Recordings]
    ) -> tuple[list[GaussianPolicy], list[float]]:
        """Return the policy of every run, and the gap of those that imitate."""
        found = _imitations(specs, seen)
        config = scale_of(specs[0].world).ppo
        copied = sorted({(spec.seed, spec.episodes) for spec in specs if spec.method == CLONED})
        clones = {}
        if copied:
            keys = [jax.random.key(seed) for seed, _ in copied]
            made = clone_behavior_many([seen[shown] for shown in copied], config=config, keys=keys)
            clones = dict(zip(copied, made, strict=True))
        still = jax.tree.map(lambda leaf: leaf * 0, expert)
        plain: dict[str, Callable[[PhysicsSpec], GaussianPolicy]] = {
            EXPERT: lambda spec: best_of(self._experts, spec.local_experts)[0],
            CARRIED: lambda _: expert,
            UNTRAINED: lambda _: still,
            CLONED: lambda spec: clones[spec.seed, spec.episodes],
        }
        with on_host():
            for spec in specs:
                if spec.method in plain:
                    found[spec] = (plain[spec.method](spec), float("nan"))
        return [found[spec][0] for spec in specs], [found[spec][1] for spec in specs]


def _recorded(
    home: physics.PhysicsWorld, expert: GaussianPolicy, asked: Sequence[Shown], blocks: Blocks
) -> dict[Shown, Recordings]:
    """Return the demonstrations of every seed; fewer are the first of more.

    The episodes of a whole block of seeds are recorded, whichever of them are asked for: the draws do not depend on how
    runs are cut into batches, and one compiled program serves all blocks. Blocks that are recorded are added to those
    that are known.
    """
    count = max(RECORDED, *(episodes for _, episodes in asked))
    for block in sorted({seed // SEED_BLOCK for seed, _ in asked}):
        if (block, count) not in blocks:
            key = jax.random.key(1000 + block)
            blocks[block, count] = record(home, expert, episodes=count * SEED_BLOCK, key=key)
    found = {}
    for seed, episodes in asked:
        whole, first = blocks[seed // SEED_BLOCK, count], seed % SEED_BLOCK * count
        assert whole.actions is not None
        own = slice(first, first + episodes)
        found[seed, episodes] = Recordings.from_arrays(
            whole.observations[own], whole.actions[own], terminated=whole.terminated[own]
        )
    return found


def _imitations(
    specs: Sequence[PhysicsSpec], seen: Mapping[Shown, Recordings]
) -> dict[PhysicsSpec, tuple[GaussianPolicy, float]]:
    """Return the player and the gap of every imitation of a batch."""
    scale, name = scale_of(specs[0].world), specs[0].world
    config = ImitationConfig(
        steps=specs[0].steps,
        reward=scale.reward,  # pyright: ignore[reportArgumentType]
        discriminator_steps=scale.discriminator_steps,
        ppo=scale.ppo,
    )
    asked = [spec for spec in specs if spec.alpha is not None]
    if not asked:
        return {}
    fitted = list({spec.training: spec for spec in reversed(asked)}.values())[::-1]  # The first of each.
    parameters = " and ".join(dict.fromkeys(spec.parameter for spec in specs))

    def say(step: ImitationStep) -> None:
        words = "%s, %s: %d imitations, %d of %d steps, %.0f %% told apart, episodes of %.0f steps"
        numbers = (len(fitted), step.steps, step.total, 100 * step.accuracy, step.episode_length)
        _LOG.info(words, name, parameters, *numbers)

    # Every environment has a world of its own, the same one for all but domain randomization: one program for all.
    with on_host():
        levels = {(spec.parameter, spec.levels): spec for spec in fitted}
        spread = {level: [spec.make_world(f) for f in spec.levels] for level, spec in levels.items()}
        keys = [jax.random.key(spec.seed) for spec in fitted]
    fits = fit_imitation_many(
        [spread[spec.parameter, spec.levels] for spec in fitted],
        [seen[spec.seed, spec.episodes].without_actions() for spec in fitted],
        [spec.alpha or 1.0 for spec in fitted],
        config=config,
        callbacks=[say],
        keys=keys,
        throw=False,
    )
    found = {spec.training: (fit.player, float(fit.verdict.gap)) for spec, fit in zip(fitted, fits, strict=True)}
    return {spec: found[spec.training] for spec in asked}


def batch_key(spec: PhysicsSpec) -> tuple[object, ...]:
    """Return what the runs of a batch share; an interruption costs the batch that it meets.

    On an accelerator some seeds of all methods, levels and parameters are a batch: it trains them in lockstep, and what
    is finished when time runs out is a whole study with fewer seeds. All such batches have one shape and share their
    compiled programs; `TrainingScale.seeds_at_once` says how many seeds they have.

    On a CPU all seeds of a method at a level are a batch, and every core works on one of its own. Methods that do not
    know the level learn once for all levels, and where nothing differs the parameter does not matter.
    """
    shared = spec.world, spec.expert_steps, spec.steps
    if jax.default_backend() != "cpu":
        return (*shared, spec.episodes, spec.seed // scale_of(spec.world).seeds_at_once)
    if spec.method in (RANDOMIZED, CLONED):
        return (*shared, spec.parameter, spec.method, spec.episodes)
    level = "" if spec.factor == 1 else spec.parameter, spec.factor
    return (*shared, *level, CONTROLS) if spec.method in CONTROLS else (*shared, *level, spec.method, spec.episodes)


PHYSICS = register(
    Kind(
        "physics",
        PhysicsSpec,
        PhysicsRecord,
        table="results",
        activity="policies",
        cpu_batch=10_000,
        gpu_batch=1000,
        min_batches_for_pool=4,
        warm_up=False,
        batch_key=batch_key,
        program_key=lambda spec: spec.world,
        context_key=lambda _: None,
        make_context=lambda _, experts: PhysicsContext(experts),
        load_dependencies=lambda find, specs: experts_of(
            find, (expert for spec in specs for expert in (*spec.local_experts, *spec.shown_experts))
        ),
    )
)
