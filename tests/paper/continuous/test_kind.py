"""Which runs of the continuous experiment share a batch, a program and a context."""

import dataclasses

from robustirl.paper.continuous.kind import CONTINUOUS, EXPERT
from robustirl.paper.continuous.specs import ContinuousSpec, ExpertSpec


def test_experts_of_all_noises_are_alike():
    alike = ExpertSpec(0.0, steps=5)
    for key in (EXPERT.batch_key, EXPERT.program_key, EXPERT.context_key):
        assert key(ExpertSpec(0.2, steps=5)) == key(alike) == alike
        assert key(ExpertSpec(0.0, steps=6)) != alike


def test_learners_of_all_noises_alphas_and_seeds_are_alike():
    alike = ContinuousSpec(0.0, 0.0, 1.0, 0, rounds=3)
    for key in (CONTINUOUS.batch_key, CONTINUOUS.program_key, CONTINUOUS.context_key):
        assert key(ContinuousSpec(0.1, 0.2, 0.9, 7, rounds=3)) == key(alike) == alike
        assert key(dataclasses.replace(alike, rounds=4)) != alike
