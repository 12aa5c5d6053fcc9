"""The continuous experiment as data: experts, runs, and what came of them (Section 6 and its appendix)."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from robustirl.control import EXPERT, PolicyGradientConfig
from robustirl.envs import GaussianGrid
from robustirl.envs.gaussian_grid import GAUSSIAN_NOISE_MODELS, PUBLISHED_SCALES, TOWARDS_ORIGIN
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER, RelativeEntropyConfig
from robustirl.mdp import as_alpha, as_count, as_seed
from robustirl.sweeps import Spec, require_runs

GAUSSIAN_GRID = "gaussian-grid"
CONTINUOUS_ALPHAS = (1.0, 0.99, 0.97, 0.95, 0.9, 0.85)
CONTINUOUS_LEARNER_NOISES = (0.0, 0.05, 0.1)
CONTINUOUS_EXPERT_NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)
ALGORITHMS = {
    "default": RelativeEntropyConfig(),
    "best-of-three": RelativeEntropyConfig(attempts=3),
    "discounted": RelativeEntropyConfig(summary="discounted", center="none", attempts=3),
    "discounted-once": RelativeEntropyConfig(summary="discounted", center="none"),
    "paper": PAPER,
}
"""By name: ours, by the mean and by the discounted sum of features, each once and best of three; and as printed."""
SCALES: dict[str, tuple[float, ...]] = {"published": PUBLISHED_SCALES, "printed": (1.0,) * 7}
"""By name: the factors on the features, as in the published policies or as in the text."""


@dataclasses.dataclass(frozen=True, order=True)
class ExpertSpec(Spec):
    """One expert, trained once and shared by all runs that learn from it.

    Attributes:
        noise: ε_E of its world.
        environment: Its name; there is one.
        noise_model: What noise does, `towards-origin` or `uniform-action`.
        scales: The factors on the features, `published` or `printed`.
        steps: Policy steps.
        attempts: Trainings, of which the best by measured return is kept.
        seed: Decides all draws.

    Example:
        >>> ExpertSpec(0.1).world().noise.item()
        0.1
    """

    noise: float
    environment: str = GAUSSIAN_GRID
    noise_model: str = TOWARDS_ORIGIN
    scales: str = "published"
    steps: int = EXPERT.steps
    attempts: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", float(self.noise))

    def world(self) -> GaussianGrid:
        """Return the expert's world M^E."""
        return make_world(self.environment, self.noise, self.noise_model, self.scales)

    @property
    def config(self) -> PolicyGradientConfig:
        """How it is trained."""
        return dataclasses.replace(EXPERT, steps=self.steps)

    def check(self) -> None:
        """Refuse an impossible expert before any work is done."""
        _check_world(self.environment, self.noise, self.noise_model, self.scales)
        as_count("the expert's steps", self.steps, 1)
        as_count("the expert's attempts", self.attempts, 1)
        as_seed("the expert's seed", self.seed)


@dataclasses.dataclass(frozen=True, order=True)
class ContinuousSpec(Spec):
    """One learner, one expert, one α, one seed: everything that determines a run's numbers.

    Attributes:
        learner_noise: ε_L.
        expert_noise: ε_E.
        alpha: α; one is standard RE IRL.
        seed: Decides the draws of demonstrations, learning and evaluation. Runs of one seed share them whatever their
            α and noises, so that learners do not differ by luck alone.
        environment: Its name; there is one.
        noise_model: What noise does, `towards-origin` as in the paper or `uniform-action`.
        scales: The factors on the features, `published` or `printed`.
        algorithm: How to learn, by name: see `ALGORITHMS`.
        rounds: Rounds of learning; none leaves it to the algorithm.
        demonstrations: How many episodes of the expert the learner has.
        expert_steps: See `ExpertSpec`.
        expert_attempts: See `ExpertSpec`.
        expert_seed: See `ExpertSpec`.

    Example:
        >>> spec = ContinuousSpec(learner_noise=0.0, expert_noise=0.2, alpha=0.9, rounds=50)
        >>> spec.expert == ExpertSpec(0.2), spec.config.rounds
        (True, 50)
    """

    learner_noise: float
    expert_noise: float
    alpha: float
    seed: int = 0
    environment: str = GAUSSIAN_GRID
    noise_model: str = TOWARDS_ORIGIN
    scales: str = "published"
    algorithm: str = "default"
    rounds: int | None = None
    demonstrations: int = 1000
    expert_steps: int = ExpertSpec.steps
    expert_attempts: int = ExpertSpec.attempts
    expert_seed: int = 0

    def __post_init__(self) -> None:
        # 1 and 1.0 are one number, and must be one spec by its content as well.
        for name in ("learner_noise", "expert_noise", "alpha"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def expert(self) -> ExpertSpec:
        """Whom it learns from."""
        return ExpertSpec(
            self.expert_noise,
            self.environment,
            self.noise_model,
            self.scales,
            self.expert_steps,
            self.expert_attempts,
            self.expert_seed,
        )

    @property
    def config(self) -> RelativeEntropyConfig:
        """How it learns."""
        config = ALGORITHMS[self.algorithm]
        return config if self.rounds is None else dataclasses.replace(config, rounds=self.rounds)

    def world(self) -> GaussianGrid:
        """Return the learner's world M^L."""
        return make_world(self.environment, self.learner_noise, self.noise_model, self.scales)

    def check(self) -> None:
        """Refuse an impossible run before any work is done."""
        self.expert.check()
        _check_world(self.environment, self.learner_noise, self.noise_model, self.scales)
        as_alpha(self.alpha)
        if self.algorithm not in ALGORITHMS:
            raise InvalidInputError(f"there is no algorithm {self.algorithm!r}; choose one of {', '.join(ALGORITHMS)}.")
        if self.rounds is not None:
            as_count("rounds", self.rounds, 1)
        as_count("the number of demonstrations", self.demonstrations, 1)
        as_seed("the seed", self.seed)


@dataclasses.dataclass(frozen=True)
class ExpertRecord:
    """An expert and how good it is in its own world, over 2000 fresh episodes of mean actions.

    Attributes:
        spec: What was trained.
        mean_return: The mean undiscounted return.
        median_return: The median over the episodes.
        goal_share: The share of episodes that reach the goal.
        verdict: `budget`, or `failed` where numbers were not finite.
        seconds: What it took.
    """

    spec: ExpertSpec
    mean_return: float
    median_return: float
    goal_share: float
    verdict: str
    seconds: float


@dataclasses.dataclass(frozen=True)
class ContinuousRecord:
    """A run and its outcome in the learner's world: 200 episodes of the player's mean actions.

    Attributes:
        spec: What was run.
        mean_return: The mean undiscounted return under the true reward.
        median_return: The median over the episodes.
        goal_share: The share of episodes that reach the goal.
        expert_return: The expert's mean return in its own world.
        feature_gap: ‖φ̄^mix - φ̄^E‖₁ at the end, on fresh episodes.
        first_gap: The same at the start.
        finished: The share of the mixture's episodes that ended before the horizon.
        effective: The smallest effective number of trajectories behind a step on θ.
        rounds: Rounds taken.
        verdict: How the fit ended.
        seconds: The run's share of its batch's time, without compilation.
    """

    spec: ContinuousSpec
    mean_return: float
    median_return: float
    goal_share: float
    expert_return: float
    feature_gap: float
    first_gap: float
    finished: float
    effective: float
    rounds: int
    verdict: str
    seconds: float


def continuous_grid(
    *,
    alphas: Sequence[float] = CONTINUOUS_ALPHAS,
    learner_noises: Sequence[float] = CONTINUOUS_LEARNER_NOISES,
    expert_noises: Sequence[float] = CONTINUOUS_EXPERT_NOISES,
    seeds: int = 20,
    **others: Any,
) -> tuple[ContinuousSpec, ...]:
    """Return the runs of the figure: each seed, learner noise, α, expert noise, in that order.

    Seeds come first, so that an unfinished sweep has whole figures of fewer seeds.

    Example:
        >>> len(continuous_grid(seeds=5))
        450
    """
    seeds = as_count("seeds", seeds, 1)
    named = {"alphas": alphas, "learner noises": learner_noises, "expert noises": expert_noises}
    require_runs({**{name: len(values) for name, values in named.items()}, "seeds": seeds})
    for name, values in named.items():
        if not values or len(set(values)) != len(values):
            raise InvalidInputError(f"the {name} are {tuple(values)}, but at least one is needed and none twice.")
    return tuple(
        ContinuousSpec(learner, expert, alpha, seed, **others)
        for seed in range(seeds)
        for learner in learner_noises
        for alpha in alphas
        for expert in expert_noises
    )


def with_experts(
    specs: Sequence[ContinuousSpec], *, include_learner_noise: bool = True
) -> tuple[ExpertSpec | ContinuousSpec, ...]:
    """Return the runs after the experts they need, each once.

    Args:
        specs: The runs.
        include_learner_noise: Also train experts at the learners' own noises; their returns are the goal there.

    Example:
        >>> runs = [ContinuousSpec(0.0, 0.1, 1.0), ContinuousSpec(0.0, 0.1, 0.9)]
        >>> [type(spec).__name__ for spec in with_experts(runs)]
        ['ExpertSpec', 'ExpertSpec', 'ContinuousSpec', 'ContinuousSpec']
    """
    wanted = [spec.expert for spec in specs]
    if include_learner_noise:
        wanted += [dataclasses.replace(spec.expert, noise=spec.learner_noise) for spec in specs]
    return (*sorted(set(wanted)), *specs)


def make_world(environment: str, noise: float, noise_model: str, scales: str) -> GaussianGrid:
    """Return the world of that name."""
    _check_world(environment, noise, noise_model, scales)
    return GaussianGrid(noise, noise_model=noise_model, scales=SCALES[scales])


def _check_world(environment: str, noise: float, noise_model: str, scales: str) -> None:
    if environment != GAUSSIAN_GRID:
        raise InvalidInputError(f"there is no continuous environment {environment!r}; choose {GAUSSIAN_GRID}.")
    if not 0 <= noise <= 1:
        raise InvalidInputError(f"the noise is {noise!r}, but a probability between 0 and 1 is needed.")
    if noise_model not in GAUSSIAN_NOISE_MODELS:
        raise InvalidInputError(
            f"{environment} has no noise model {noise_model!r}; choose one of {', '.join(GAUSSIAN_NOISE_MODELS)}."
        )
    if scales not in SCALES:
        raise InvalidInputError(f"there are no feature scales {scales!r}; choose one of {', '.join(SCALES)}.")
