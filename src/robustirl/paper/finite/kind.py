"""Finite runs as a kind of run: how they are batched and where they are computed."""

import dataclasses
import functools
from collections.abc import Hashable

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.sweeps import Kind, register

CPU_BATCH = 5  # Small, so that work is saved often and shared evenly between the cores.
GPU_BATCH = 500


def _batch_key(spec: RunSpec) -> Hashable:
    """Return all but the noises, α, and how the outcome is measured."""
    same = dataclasses.replace(
        spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, sampled=0, demonstrations=0, draw=0, auto=""
    )
    return dataclasses.replace(same, train_noise=None if spec.train_noise is None else 0.0)


def _program_key(spec: RunSpec) -> Hashable:
    return _grid(spec.environment), spec.noise_model == PUBLISHED, spec.steps, bool(spec.sampled)


@functools.cache
def _grid(name: str) -> Hashable:
    """Return what decides the program: grids of one size and one kind of reward share theirs."""
    environment = envs.make(name)
    if not isinstance(environment, envs.GridWorld):
        return name
    return environment.shape, environment.reward_model


def _context_key(spec: RunSpec) -> Hashable:
    return dataclasses.replace(
        spec,
        learner_noise=0.0,
        expert_noise=0.0,
        alpha=1.0,
        steps=0,
        train_noise=None,
        sampled=0,
        demonstrations=0,
        draw=0,
        auto="",
    )


FINITE = register(
    Kind(
        "finite",
        RunSpec,
        Record,
        table="results",
        activity="learning",
        cpu_batch=CPU_BATCH,
        gpu_batch=GPU_BATCH,
        min_batches_for_pool=12,  # Fewer batches are done here before a second process has even started.
        warm_up=True,
        batch_key=_batch_key,
        program_key=_program_key,
        context_key=_context_key,
        make_context=lambda spec, _: ExperimentContext.of(spec),
        renamed={"total_return": "return", "steps": "steps_taken"},  # Names of the columns since version 0.1.
        axes={"player": "S A", "opponent": "S A"}
        | dict.fromkeys(("reward", "occupancy", "expert_occupancy", "player_occupancy"), "S"),
    )
)
