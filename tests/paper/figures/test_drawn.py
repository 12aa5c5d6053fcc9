"""The figures of invented runs show what they showed when somebody last looked at them.

`python -m tests.paper.figures.test_drawn` writes down anew what they show. How it looks is not compared.
"""

import functools
import gzip
import json
import math
import sys
from pathlib import Path

import pytest

from robustirl import envs
from robustirl.paper.figures import returns, studies, trajectories
from robustirl.paper.finite.specs import Record, RunSpec
from tests.drawn import alike, drawn

GOLDEN = Path(__file__).parents[2] / "golden" / "figures.json.gz"


def record(learner, expert, alpha, **options):
    """A run whose numbers follow from its spec, so that no two runs are alike."""
    spec = RunSpec("gridworld-1", "uniform-state", learner, expert, alpha, **options)
    wave = math.sin(
        7 * learner + 3 * expert + 11 * alpha + 1.37 * spec.seed + spec.draw + spec.expert_alpha + spec.steps / 900
    )
    moved = 0.0 if spec.train_noise is None else spec.train_noise
    return Record(
        spec,
        alpha_used=alpha - 0.01 * (spec.auto is not None),
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
def runs(**options):
    """A grid of runs."""
    return tuple(
        record(learner, expert, alpha, **options)
        for learner in (0.0, 0.1)
        for expert in (0.0, 0.1, 0.2)
        for alpha in (1.0, 0.9, 0.8)
    )


def of_one_learner(**options):
    return [one for one in runs(**options) if one.spec.learner_noise == 0.1]


def layouts():
    return [one for seed in range(4) for one in runs(seed=seed)]


GRID = envs.make("gridworld-1")
FIGURES = {
    "returns": lambda: returns.figure_returns(GRID, runs(), note="a kernel"),
    "returns, the best": lambda: returns.figure_returns(GRID, runs(), best_only=True),
    "returns of layouts": lambda: returns.figure_returns(GRID, layouts()),
    "alpha": lambda: returns.figure_alpha_study(GRID, runs()),
    "gap": lambda: returns.figure_gap(runs()),
    "transfer": lambda: studies.figure_transfer(
        [*of_one_learner(), *(one for noise in (0.0, 0.05, 0.1) for one in of_one_learner(train_noise=noise))]
    ),
    "robust experts": lambda: studies.figure_robust_experts(
        [one for strength in (1.0, 0.9) for one in of_one_learner(expert_alpha=strength)], "note"
    ),
    "sampled": lambda: studies.figure_sampled(of_one_learner(sampled=10)),
    "convergence": lambda: studies.figure_convergence([*runs(), *runs(steps=400)]),
    "layouts": lambda: studies.figure_layouts(layouts(), lambda one: one.total_return, "return", "title"),
    "trajectories": lambda: trajectories.figure_trajectories(
        [
            one
            for count in (10, 100)
            for draw in (0, 1)
            for auto in (None, "states", "actions")
            for one in of_one_learner(demonstrations=count, draw=draw, auto=auto)
        ]
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_what_it_showed(name):
    golden = json.loads(gzip.decompress(GOLDEN.read_bytes()))[name]
    now = json.loads(json.dumps(drawn(FIGURES[name]())))
    assert [
        (place, part)
        for place, (panel, before) in enumerate(zip(now, golden, strict=True))
        for part in before
        if not alike(panel[part], before[part])
    ] == []


def test_no_two_runs_are_alike():
    found = [one.total_return for one in layouts()]
    assert len(set(found)) == len(found)


if __name__ == "__main__":
    text = json.dumps({name: drawn(make()) for name, make in FIGURES.items()})
    GOLDEN.write_bytes(gzip.compress(text.encode(), mtime=0))
    sys.stdout.write(f"wrote {GOLDEN}\n")
