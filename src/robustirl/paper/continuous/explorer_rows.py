"""What the explorer shows of continuous runs: numbers, rewards as weights, and sample paths."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robustirl.envs.gaussian_grid import GOAL, START, TRUE_WEIGHTS
from robustirl.explorer import Pool, RowMaker, RunView, register_view
from robustirl.paper.continuous.specs import SCALES, ContinuousSpec, ExpertSpec
from robustirl.sweeps import RunResult, Store

PATHS = 4  # As in the figures: more would hide each other.
SHOWN = (
    "mean_return", "median_return", "goal_share", "expert_return", "feature_gap", "first_gap", "finished", "effective",
    "rounds", "verdict",
)  # fmt: skip

WORLD: dict[str, list[float] | float] = {"weights": list(TRUE_WEIGHTS), "start": list(START), "goal": GOAL}
"""The true reward R(s) = ⟨w, φ(s)⟩ with the features as printed, where paths start, and where the goal begins."""


def continuous_row(result: RunResult, experts: Mapping[ExpertSpec, RunResult], pool: Pool) -> dict[str, Any]:
    """Return one run: where it belongs, its numbers, its reward, and its paths.

    The reward is given as weights of the printed features.
    """
    record, spec = result.record, result.record.spec
    expert = experts.get(spec.expert)
    learner_expert = next((e for e in experts.values() if e.record.spec == _learner_expert_spec(spec)), None)
    return {
        "environment": spec.environment,
        "kernel": spec.noise_model,
        "setting": continuous_setting(spec),
        "seed": f"{spec.seed}",
        "learner": spec.learner_noise,
        "expert": spec.expert_noise,
        "alpha": spec.alpha,
        "run": spec.identity,
        **{name: getattr(record, name) for name in SHOWN},
        "optimal_return": None if learner_expert is None else learner_expert.record.mean_return,
        "weights": (np.asarray(result.arrays["parameters"]) * np.asarray(SCALES[spec.scales])).tolist(),
        "paths": _paths(result, pool),
        "expert_paths": None if expert is None else _paths(expert, pool),
    }


def continuous_setting(spec: ContinuousSpec) -> str:
    """Return what else decides a run, in words.

    Example:
        >>> continuous_setting(ContinuousSpec(0.0, 0.1, 0.9, rounds=50))
        'default algorithm, 50 rounds, 1000 demonstrations, published scales'
    """
    words = [f"{spec.algorithm} algorithm", f"{spec.config.rounds} rounds", f"{spec.demonstrations} demonstrations"]
    words.append(f"{spec.scales} scales")
    if (spec.expert_steps, spec.expert_attempts) != (ExpertSpec.steps, ExpertSpec.attempts):
        words.append(f"experts of {spec.expert_steps} steps, {spec.expert_attempts} attempts")
    if spec.expert_seed:
        words.append(f"experts' seed {spec.expert_seed}")
    return ", ".join(words)


def _learner_expert_spec(spec: ContinuousSpec) -> ExpertSpec:
    """Return the expert of the learner's own world, whose return is the mark to reach there."""
    expert = spec.expert
    return ExpertSpec(
        spec.learner_noise, expert.environment, expert.noise_model, expert.scales, expert.steps, expert.attempts,
        expert.seed,
    )  # fmt: skip


def _paths(result: RunResult, pool: Pool) -> dict[str, Any]:
    paths = np.asarray(result.arrays["paths"])[:PATHS]
    return {"at": pool.places(paths), "shape": paths.shape[:2]}


def _make_rows(pool: Pool, certificates: bool, store: Store) -> RowMaker:
    del certificates
    experts = {result.record.spec: result for result in store.results("expert")}
    return lambda result: continuous_row(result, experts, pool)


register_view(RunView("continuous", _make_rows, lambda _: {"continuous": WORLD}))
