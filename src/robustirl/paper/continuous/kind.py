"""Continuous runs and their experts as kinds of runs."""

import dataclasses
from collections.abc import Hashable

from robustirl.paper.continuous.context import ContinuousContext, ExpertContext, experts_of
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.sweeps import Kind, register


def _alike(spec: ContinuousSpec) -> Hashable:
    """Return all but the noises, α and the seed."""
    return dataclasses.replace(spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, seed=0)


def _noiseless(spec: ExpertSpec) -> Hashable:
    return dataclasses.replace(spec, noise=0.0)


EXPERT = register(
    Kind(
        "expert",
        ExpertSpec,
        ExpertRecord,
        table="experts",
        activity="training experts",
        cpu_batch=1,
        gpu_batch=64,
        min_batches_for_pool=3,
        warm_up=False,
        batch_key=_noiseless,
        program_key=_noiseless,
        context_key=_noiseless,
        make_context=lambda *_: ExpertContext(),
        axes={"paths": "n t x"},
    )
)
CONTINUOUS = register(
    Kind(
        "continuous",
        ContinuousSpec,
        ContinuousRecord,
        table="results",
        activity="learning",
        cpu_batch=1,  # A run takes seconds, so each is worth saving, and a larger batch would gain nothing.
        gpu_batch=300,
        min_batches_for_pool=6,
        warm_up=False,
        batch_key=_alike,
        program_key=_alike,
        context_key=_alike,
        make_context=lambda _, experts: ContinuousContext(experts),
        load_dependencies=experts_of,
        axes={"paths": "n t x"} | dict.fromkeys(("parameters", "features", "expert_features"), "d"),
    )
)
