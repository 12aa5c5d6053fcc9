"""Where continuous runs take place: experts are trained, learners learn from them, and both are measured.

Whole batches are single compiled calls. On a CPU their members go one after the other, which gives the numbers of
single runs to the bit; on accelerators they advance in lockstep.
"""

from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from robustirl.control import Evaluation, GaussianPolicy, PolicyGradientConfig, collect, solve_game
from robustirl.envs import GaussianGrid
from robustirl.irl import Status, expert_features, fit_relative_entropy_many
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.sweeps import RunResult
from robustirl.types import Tree

MEASURED = 200  # Episodes of mean actions, of at most so many steps, as the published policies were measured.
LONGEST = 1000
JUDGED = 2000  # For experts, of which there are few: 200 returns at much noise leave their mean uncertain by 6.
PATHS, PATH_STEPS = 6, 150  # What is kept of the measured episodes, to be drawn.


class ExpertContext:
    """Trains experts, several attempts each, and keeps the best by measured return."""

    def results(self, specs: Sequence[ExpertSpec], size: int = 1) -> list[RunResult]:
        """Return the experts of some specs that differ in their noise alone."""
        del size  # A batch of another size is compiled anew; there is but one on an accelerator.
        spec = specs[0]
        keys = [jax.random.split(jax.random.key(spec.seed), 3)] * len(specs)
        worlds = _stacked([spec.world() for spec in specs])
        training, judging, measuring = (jnp.stack([key[i] for key in keys]) for i in range(3))
        attempts = jax.vmap(lambda key: jax.random.split(key, spec.attempts))(training)
        policies, valid = _train(worlds, attempts, judging, spec.config)
        measured, paths = _measure(worlds, policies, measuring, JUDGED)
        found = []
        for i, own in enumerate(specs):
            evaluation = jax.tree.map(lambda leaf, i=i: leaf[i], measured)
            record = ExpertRecord(
                spec=own,
                mean_return=float(evaluation.mean_return),
                median_return=float(evaluation.median_return),
                goal_share=float(evaluation.goal_share),
                verdict=str(Status.MAX_STEPS if valid[i] else Status.FAILED),
                seconds=0.0,
            )
            policy = jax.tree.map(lambda leaf, i=i: leaf[i], policies)
            found.append(RunResult(record, {**_as_arrays("expert", policy), "paths": np.asarray(paths[i])}))
        return found


class ContinuousContext:
    """Runs of (robust) relative-entropy IRL, from experts trained before.

    An expert that is missing is trained here.
    """

    def __init__(self, experts: Mapping[ExpertSpec, RunResult] | None = None):
        self._experts = dict(experts or {})
        self._features: dict[tuple[ExpertSpec, int, int, str], Float[Array, " d"]] = {}

    def expert(self, spec: ExpertSpec) -> RunResult:
        """Return an expert."""
        if spec not in self._experts:
            (self._experts[spec],) = ExpertContext().results([spec])
        return self._experts[spec]

    def expert_features(self, spec: ContinuousSpec) -> Float[Array, " d"]:
        """φ̄^E of the demonstrations of a run; those of one seed serve all α and all learners."""
        key = spec.expert, spec.demonstrations, spec.seed, spec.algorithm
        if key not in self._features:
            policy = policy_from("expert", self.expert(spec.expert).arrays)
            world = spec.expert.world()
            demos = collect(world, policy, episodes=spec.demonstrations, horizon=LONGEST, key=_keys(spec.seed)[0])
            self._features[key] = expert_features(demos, world.discount, spec.config)
        return self._features[key]

    def results(self, specs: Sequence[ContinuousSpec], size: int = 1) -> list[RunResult]:
        """Return what comes of some runs that differ in their noises, α and seed alone."""
        padded = [*specs, *[specs[-1]] * (size - len(specs))]  # A smaller batch would be compiled anew.
        worlds = [spec.world() for spec in padded]
        fits = fit_relative_entropy_many(
            worlds,
            [self.expert_features(spec) for spec in padded],
            [spec.alpha for spec in padded],
            config=specs[0].config,
            keys=[_keys(spec.seed)[1] for spec in padded],
            throw=False,
        )
        players = _stacked([fit.player for fit in fits])
        keys = jnp.stack([_keys(spec.seed)[2] for spec in padded])
        measured, paths = _measure(_stacked(worlds), players, keys, MEASURED)
        found = []
        for i, (spec, fit) in enumerate(zip(specs, fits, strict=False)):
            evaluation = jax.tree.map(lambda leaf, i=i: leaf[i], measured)
            record = ContinuousRecord(
                spec=spec,
                mean_return=float(evaluation.mean_return),
                median_return=float(evaluation.median_return),
                goal_share=float(evaluation.goal_share),
                expert_return=self.expert(spec.expert).record.mean_return,
                feature_gap=float(fit.verdict.feature_gap),
                first_gap=float(fit.history.feature_gap[0]),
                finished=float(fit.verdict.finished),
                effective=float(fit.verdict.effective),
                rounds=int(fit.verdict.rounds),
                verdict=str(fit.verdict.status),
                seconds=0.0,
            )
            arrays = {
                "parameters": np.asarray(fit.parameters),
                "features": np.asarray(fit.features),
                "expert_features": np.asarray(fit.expert_features),
                **_as_arrays("player", fit.player),
                **_as_arrays("opponent", fit.opponent),
                "paths": np.asarray(paths[i]),
            }
            found.append(RunResult(record, arrays))
        return found


def experts_of(find: Callable[[ExpertSpec], RunResult], specs: Sequence[ContinuousSpec]) -> dict[ExpertSpec, RunResult]:
    """Return the experts that some runs need, looked up."""
    return {expert: find(expert) for expert in dict.fromkeys(spec.expert for spec in specs)}


def policy_from(name: str, arrays: Mapping[str, np.ndarray]) -> GaussianPolicy:
    """Return the linear policy kept under that name in a result's arrays."""
    return GaussianPolicy((jnp.asarray(arrays[f"{name}_weights"]),), (), jnp.asarray(arrays[f"{name}_log_deviation"]))


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
