"""The continuous experiment (Section 6 and its appendix): experts, learners, and what came of them.

Experts are trained, learners learn from them by (robust) relative-entropy IRL, and both are measured. Whole batches are
single compiled calls. On a CPU their members go one after the other, which gives the numbers of single runs to the bit;
on accelerators they advance in lockstep.
"""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from experiments import runner
from experiments.runner import Outcome, Result, Where
from robustirl.control import EXPERT, GaussianPolicy, PolicyGradientConfig, collect, solve_game
from robustirl.control.rollouts import Evaluation
from robustirl.envs import GaussianGrid
from robustirl.envs.gaussian_grid import GAUSSIAN_NOISE_MODELS, PUBLISHED_SCALES, TOWARDS_ORIGIN
from robustirl.errors import InvalidInputError
from robustirl.irl import RelativeEntropyConfig
from robustirl.irl.relative_entropy import PAPER, expert_features, fit_relative_entropy_many
from robustirl.irl.result import Status
from robustirl.types import Tree

MEASURED = 200  # Episodes of mean actions, of at most so many steps, as the published policies were measured.
LONGEST = 1000
JUDGED = 2000  # For experts, of which there are few: 200 returns at much noise leave their mean uncertain by 6.
PATHS, PATH_STEPS = 6, 150  # What is kept of the measured episodes, to be drawn.
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
class ExpertSpec:
    """One expert, trained once and shared by all runs that learn from it.

    Attributes:
        noise: ε_E of its world.
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
    noise_model: str = TOWARDS_ORIGIN
    scales: str = "published"
    steps: int = EXPERT.steps
    attempts: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", float(self.noise))

    def world(self) -> GaussianGrid:
        """Return the expert's world M^E."""
        return make_world(self.noise, self.noise_model, self.scales)

    @property
    def config(self) -> PolicyGradientConfig:
        """How it is trained."""
        return dataclasses.replace(EXPERT, steps=self.steps)


@dataclasses.dataclass(frozen=True, order=True)
class ContinuousSpec:
    """One learner, one expert, one α, one seed: everything that determines a run's numbers.

    Attributes:
        learner_noise: ε_L.
        expert_noise: ε_E.
        alpha: α; one is standard RE IRL.
        seed: Decides the draws of demonstrations, learning and evaluation. Runs of one seed share them whatever their
            α and noises, so that learners do not differ by luck alone.
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
        return make_world(self.learner_noise, self.noise_model, self.scales)

    def check(self) -> None:
        """Refuse an impossible run before any work is done."""
        self.world()
        self.expert.world()
        if not 0 < self.alpha <= 1:
            raise InvalidInputError(f"α is {self.alpha}, but a number above 0 and up to 1 is needed.")
        if self.algorithm not in ALGORITHMS:
            raise InvalidInputError(f"there is no algorithm {self.algorithm!r}; choose one of {', '.join(ALGORITHMS)}.")


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
        arrays: Its policy, and paths in its world.
    """

    spec: ExpertSpec
    mean_return: float
    median_return: float
    goal_share: float
    verdict: str
    seconds: float
    arrays: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False, default_factory=dict)


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
        seconds: The run's share of its batch's time.
        arrays: The reward's parameters, player and opponent, and paths of the player.
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
    arrays: dict[str, np.ndarray] = dataclasses.field(repr=False, compare=False, default_factory=dict)


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
    named = {"alphas": alphas, "learner noises": learner_noises, "expert noises": expert_noises}
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


def make_world(noise: float, noise_model: str, scales: str) -> GaussianGrid:
    """Return GaussianGrid at a noise."""
    if noise_model not in GAUSSIAN_NOISE_MODELS:
        known = ", ".join(GAUSSIAN_NOISE_MODELS)
        raise InvalidInputError(f"gaussian-grid has no noise model {noise_model!r}; choose one of {known}.")
    if scales not in SCALES:
        raise InvalidInputError(f"there are no feature scales {scales!r}; choose one of {', '.join(SCALES)}.")
    return GaussianGrid(noise, noise_model=noise_model, scales=SCALES[scales])


def run(
    specs: Sequence[ContinuousSpec], out: Path, where: Where | None = None
) -> tuple[list[ExpertRecord], list[ContinuousRecord]]:
    """Return experts and runs, after computing those that the folder lacks.

    Experts at the learners' own noises are trained, too: their returns are the goal there.
    """
    for spec in specs:
        spec.check()
    own = [dataclasses.replace(spec.expert, noise=spec.learner_noise) for spec in specs]
    wanted = sorted({*(spec.expert for spec in specs), *own})
    batch: dict[str, Any] = {"size": 1, "where": where}
    experts = runner.run(
        wanted, train_experts, out, key=_noiseless, title="training experts", accelerator_size=64, **batch
    )
    learn = functools.partial(learn_from, {result.spec: result for result in experts})
    learned = runner.run(specs, learn, out, key=_alike, title="learning", accelerator_size=300, **batch)
    return (
        [ExpertRecord(r.spec, **r.row, arrays=r.arrays) for r in experts],
        [ContinuousRecord(r.spec, **r.row, arrays=r.arrays) for r in learned],
    )


def _noiseless(spec: ExpertSpec) -> Hashable:
    return dataclasses.replace(spec, noise=0.0)


def _alike(spec: ContinuousSpec) -> Hashable:
    """Return all but the noises, α and the seed."""
    return dataclasses.replace(spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, seed=0)


def train_experts(specs: Sequence[ExpertSpec]) -> list[Outcome]:
    """Train experts that differ in their noise alone, several attempts each, and keep the best by measured return."""
    spec = specs[0]
    keys = [jax.random.split(jax.random.key(spec.seed), 3)] * len(specs)
    worlds = _stacked([spec.world() for spec in specs])
    training, judging, measuring = (jnp.stack([key[i] for key in keys]) for i in range(3))
    attempts = jax.vmap(lambda key: jax.random.split(key, spec.attempts))(training)
    policies, valid = _train(worlds, attempts, judging, spec.config)
    measured, paths = _measure(worlds, policies, measuring, JUDGED)
    outcomes: list[Outcome] = []
    for i in range(len(specs)):
        evaluation, policy = (jax.tree.map(lambda leaf, i=i: leaf[i], tree) for tree in (measured, policies))
        verdict = str(Status.MAX_STEPS if valid[i] else Status.FAILED)
        arrays = {**_as_arrays("expert", policy), "paths": np.asarray(paths[i])}
        outcomes.append((_returns(evaluation) | {"verdict": verdict}, arrays))
    return outcomes


def _returns(evaluation: Evaluation) -> dict[str, Any]:
    names = ("mean_return", "median_return", "goal_share")
    return {name: float(getattr(evaluation, name)) for name in names}


def learn_from(experts: Mapping[ExpertSpec, Result], specs: Sequence[ContinuousSpec]) -> list[Outcome]:
    """Compute runs that differ in their noises, α and seed alone."""
    worlds = [spec.world() for spec in specs]
    fits = fit_relative_entropy_many(
        worlds,
        [_features(experts[spec.expert], spec) for spec in specs],
        [spec.alpha for spec in specs],
        config=specs[0].config,
        keys=[_keys(spec.seed)[1] for spec in specs],
        throw=False,
    )
    players = _stacked([fit.player for fit in fits])
    keys = jnp.stack([_keys(spec.seed)[2] for spec in specs])
    measured, paths = _measure(_stacked(worlds), players, keys, MEASURED)
    outcomes: list[Outcome] = []
    for i, (spec, fit) in enumerate(zip(specs, fits, strict=True)):
        row = _returns(jax.tree.map(lambda leaf, i=i: leaf[i], measured)) | {
            "expert_return": experts[spec.expert].row["mean_return"],
            "feature_gap": float(fit.verdict.feature_gap),
            "first_gap": float(fit.history.feature_gap[0]),
            "finished": float(fit.verdict.finished),
            "effective": float(fit.verdict.effective),
            "rounds": int(fit.verdict.rounds),
            "verdict": str(fit.verdict.status),
        }
        arrays = {
            "parameters": np.asarray(fit.parameters),
            **_as_arrays("player", fit.player),
            **_as_arrays("opponent", fit.opponent),
            "paths": np.asarray(paths[i]),
        }
        outcomes.append((row, arrays))
    return outcomes


def _features(expert: Result, spec: ContinuousSpec) -> Float[Array, " d"]:
    """φ̄^E of the demonstrations of a run; those of one seed serve all α and all learners."""
    key = expert.spec, spec.demonstrations, spec.seed, spec.algorithm
    if key not in _known_features:
        policy = GaussianPolicy(
            (jnp.asarray(expert.arrays["expert_weights"]),), (), jnp.asarray(expert.arrays["expert_log_deviation"])
        )
        world = spec.expert.world()
        demos = collect(world, policy, episodes=spec.demonstrations, horizon=LONGEST, key=_keys(spec.seed)[0])
        _known_features[key] = expert_features(demos, world.discount, spec.config)
    return _known_features[key]


_known_features: dict[Hashable, Float[Array, " d"]] = {}


def _as_arrays(name: str, policy: GaussianPolicy) -> dict[str, np.ndarray]:
    (weights,) = policy.weights
    return {f"{name}_weights": np.asarray(weights), f"{name}_log_deviation": np.asarray(policy.log_deviation)}


def _keys(seed: int) -> Key[Array, "3"]:
    """Return keys for demonstrations, learning and evaluation."""
    return jax.random.split(jax.random.key(seed), 3)


def _stacked(trees: Sequence[Tree]) -> Tree:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _over(function: Callable, *items: Tree) -> Tree:
    """Return the function over the members of a batch, as suits the device."""
    if jax.default_backend() == "cpu":
        return jax.lax.map(lambda item: function(*item), items)
    return jax.vmap(function)(*items)


@eqx.filter_jit
def _train(
    worlds: GaussianGrid, keys: Key[Array, "N attempts"], judging: Key[Array, " N"], config: PolicyGradientConfig
):
    def attempt(world: GaussianGrid, key: Key[Array, ""], judge: Key[Array, ""]):
        trained = solve_game(world, config=config, key=key, throw=False)
        found, _ = _evaluation(world, trained.player, JUDGED, judge)
        # A return that is no number loses against any other, and so does a training that was not valid.
        score = jnp.where(trained.valid & jnp.isfinite(found.mean_return), found.mean_return, -jnp.inf)
        return trained.player, trained.valid, score

    def expert(world: GaussianGrid, keys: Key[Array, " attempts"], judge: Key[Array, ""]):
        players, valid, scores = _over(lambda key: attempt(world, key, judge), keys)
        best = jnp.argmax(scores)
        return jax.tree.map(lambda leaf: leaf[best], (players, valid))

    return _over(expert, worlds, keys, judging)


@eqx.filter_jit
def _measure(worlds: GaussianGrid, policies: GaussianPolicy, keys: Key[Array, " N"], episodes: int):
    return _over(lambda world, policy, key: _evaluation(world, policy, episodes, key), worlds, policies, keys)


def _evaluation(
    world: GaussianGrid, policy: GaussianPolicy, episodes: int, key: Key[Array, ""]
) -> tuple[Evaluation, Float[Array, "paths steps 2"]]:
    """Return what a policy's mean actions bring, and the first few paths, to be drawn.

    The paths are in single precision.
    """
    sampled = collect(world, policy, episodes=episodes, horizon=LONGEST, mean_action=True, key=key)
    paths = sampled.states[: PATH_STEPS + 1, :PATHS].swapaxes(0, 1).astype(jnp.float32)
    return Evaluation(sampled.rewards(world.reward).sum(0), sampled.terminated, sampled.lengths), paths
