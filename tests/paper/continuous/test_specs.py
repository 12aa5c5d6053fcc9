"""Runs of the continuous experiment that cannot be: what is just within is accepted, and what is beyond refused."""

import dataclasses

import pytest

from robustirl.paper.continuous.specs import ContinuousSpec, ExpertSpec, continuous_grid

SPEC = ContinuousSpec(0.0, 0.1, 0.9, 0)


@pytest.mark.parametrize(
    ("within", "beyond", "words"),
    [
        ({"rounds": 1}, {"rounds": 0}, "rounds is 0"),
        ({"rounds": None}, {"rounds": 1.5}, "rounds is 1.5"),
        ({"demonstrations": 1}, {"demonstrations": 0}, "the number of demonstrations is 0"),
        ({"seed": 0}, {"seed": -1}, "the seed is -1"),
        ({"expert_steps": 1}, {"expert_steps": 0}, "the expert's steps is 0"),
        ({"expert_attempts": 1}, {"expert_attempts": 0}, "the expert's attempts is 0"),
        ({"expert_seed": 0}, {"expert_seed": -1}, "the expert's seed is -1"),
        ({"alpha": 1}, {"alpha": 0}, "alpha is 0.0"),
        ({"learner_noise": 0}, {"learner_noise": -0.1}, "noise"),
        ({"expert_noise": 0}, {"expert_noise": -0.1}, "noise"),
    ],
)
@pytest.mark.usefixtures("mistyped")
def test_runs_at_the_limit_are_accepted_and_beyond_it_refused(within, beyond, words, refused):
    dataclasses.replace(SPEC, **within).check()
    with refused(words):
        dataclasses.replace(SPEC, **beyond).check()


def test_whole_numbers_and_others_are_one_spec():
    assert ExpertSpec(0).noise.hex() == ExpertSpec(0.0).noise.hex()
    assert repr(ContinuousSpec(0, 0, 1, 0)) == repr(ContinuousSpec(0.0, 0.0, 1.0, 0))


def test_more_seeds_than_a_sweep_takes_are_refused_before_runs_are_listed(refused):
    with refused("there are 90000000000 runs", "1000000000 seeds", "at most 1000000"):
        continuous_grid(seeds=10**9)
