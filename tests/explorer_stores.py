"""Stores with made-up numbers, all of them different: what a page shows can be told apart, and nothing need be run."""

import dataclasses
from pathlib import Path

import numpy as np

from robustirl.paper.continuous.specs import (
    ContinuousRecord,
    ContinuousSpec,
    ExpertRecord,
    ExpertSpec,
    continuous_grid,
    with_experts,
)
from robustirl.paper.finite import Record, RunSpec, grid_of_specs
from robustirl.sweeps import RunResult, Store

CELLS = {"alphas": (1.0, 0.9, 0.8), "learner_noises": (0.0, 0.1), "expert_noises": (0.0, 0.2)}
FINITE = (
    *grid_of_specs("gridworld-4", "uniform-state", **CELLS),
    *grid_of_specs("gridworld-4", "published", **CELLS),
    *grid_of_specs("gridworld-4", "uniform-state", **CELLS, start="fixed"),
    *grid_of_specs("three-state", "slip", alphas=(1.0, 0.9), learner_noises=(0.0,), expert_noises=(0.1,)),
    *grid_of_specs("frozen-lake", "slip", alphas=(1.0, 0.9), learner_noises=(0.0,), expert_noises=(0.1,)),
    *grid_of_specs("objectworld", alphas=(1.0,), learner_noises=(0.0,), expert_noises=(0.1,), seeds=(3, 7)),
)  # fmt: skip
CONTINUOUS = continuous_grid(alphas=(1.0, 0.9), learner_noises=(0.0,), expert_noises=(0.0, 0.2), seeds=2, rounds=5)


def finite_store(folder: Path, specs: tuple[RunSpec, ...] = FINITE, *, finished: int | None = None) -> Store:
    """A store of finite runs, the first `finished` of them done."""
    with Store.open(folder, specs) as store:
        for index, spec in enumerate(specs[:finished]):
            store.append([_finite(spec, np.random.default_rng(index))])
    return Store.read(folder)


def continuous_store(folder: Path) -> Store:
    """A store of continuous runs and their experts."""
    specs = with_experts(CONTINUOUS)
    with Store.open(folder, specs) as store:
        for index, spec in enumerate(specs):
            store.append([_continuous(spec, np.random.default_rng(index))])
    return Store.read(folder)


def _finite(spec: RunSpec, generator: np.random.Generator) -> RunResult:
    mask = np.asarray(spec.make_environment().mdp(0.0).mask)
    values = dict(zip(_floats(Record), (-generator.uniform(1, 900, 20)).tolist(), strict=False))
    # A kernel that leaks has no bound, and no return was sampled.
    values |= {
        "alpha_used": spec.alpha,
        "bound": None if spec.noise_model == "published" else generator.uniform(0, 1e6),
    }
    values |= {"sampled_mean": None, "sampled_deviation": None}
    record = Record(spec=spec, **values, steps=int(generator.integers(1, 999)), verdict="budget")

    def policy() -> np.ndarray:
        drawn = np.where(mask, generator.exponential(size=mask.shape), 0)
        return drawn / np.maximum(drawn.sum(-1, keepdims=True), 1e-300)

    def occupancy() -> np.ndarray:
        drawn = generator.exponential(size=len(mask)) ** 4
        return drawn / drawn.sum()

    arrays = {name: occupancy() for name in ("occupancy", "expert_occupancy", "player_occupancy")}
    arrays |= {"reward": generator.normal(0, 30, len(mask)), "player": policy(), "opponent": policy()}
    return RunResult(record, arrays)


def _continuous(spec: ExpertSpec | ContinuousSpec, generator: np.random.Generator) -> RunResult:
    kind = ExpertRecord if isinstance(spec, ExpertSpec) else ContinuousRecord
    values = dict(zip(_floats(kind), (-generator.uniform(1, 900, 20)).tolist(), strict=False))
    values |= {"goal_share": generator.uniform()}
    steps = np.linspace((-1.0, 1.0), (1.0, -1.0), 151)
    paths = np.clip(steps + 0.1 * generator.normal(size=(6, 151, 2)), -1, 1).astype(np.float32)
    if isinstance(spec, ExpertSpec):
        return RunResult(ExpertRecord(spec=spec, **values, verdict="budget"), {"paths": paths})
    record = ContinuousRecord(spec=spec, **values, rounds=int(generator.integers(1, 999)), verdict="converged")
    return RunResult(record, {"parameters": generator.normal(size=7), "paths": paths})


def _floats(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.type in (float, float | None)]
