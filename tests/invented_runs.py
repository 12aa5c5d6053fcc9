"""Runs of the paper's finite experiments whose numbers follow from their specs, so that no two are alike."""

import functools
import math

from robustirl.paper.finite.specs import Record, RunSpec


def record(learner, expert, alpha, **options):
    """A run of gridworld-1."""
    return record_of(RunSpec("gridworld-1", "uniform-state", learner, expert, alpha, **options))


def record_of(spec):
    """A run whose numbers follow from its spec, so that no two runs are alike."""
    learner, expert, alpha = spec.learner_noise, spec.expert_noise, spec.alpha
    place = sum(map(ord, spec.environment + spec.noise_model)) % 7 / 9
    wave = math.sin(
        7 * learner
        + 3 * expert
        + 11 * alpha
        + 1.37 * spec.seed
        + spec.draw
        + spec.expert_alpha
        + spec.steps / 900
        + place
    )
    moved = 0.0 if spec.train_noise is None else spec.train_noise
    return Record(
        spec,
        alpha_used=alpha - 0.01 * bool(spec.auto),
        total_return=-100 - 40 * wave - 20 * moved,
        optimal_return=-60 - 10 * learner,
        expert_return=-70 - 20 * expert,
        discounted_return=-50 - 5 * wave,
        optimal_discounted_return=-40.0,
        occupancy_gap=0.1 + 0.05 * wave,
        halfway_gap=0.2 + 0.05 * wave,
        largest_reward=5 + wave,
        bound=300 + 30 * wave + 10 * moved,
        sampled_mean=-101 - 40 * wave if spec.sampled else None,
        sampled_deviation=2 + wave if spec.sampled else None,
        steps=spec.steps,
        verdict="budget",
        seconds=1.0,
    )


@functools.cache
def runs(learners=(0.0, 0.1), alphas=(1.0, 0.9, 0.8), **options):
    """A grid of runs."""
    return tuple(
        record(learner, expert, alpha, **options)
        for learner in learners
        for expert in (0.0, 0.1, 0.2)
        for alpha in alphas
    )


def of_one_learner(**options):
    return [one for one in runs(**options) if one.spec.learner_noise == 0.1]


def layouts(count=4):
    return [one for seed in range(count) for one in runs(seed=seed)]
