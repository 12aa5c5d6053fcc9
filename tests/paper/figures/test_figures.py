"""The paper's figures, of invented runs, show what they showed when somebody last looked at them (`make goldens`)."""

import dataclasses
import math
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from robustirl import envs
from robustirl.errors import InvalidInputError
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.paper.continuous.statistics import CellStatistics, Estimate
from robustirl.paper.figures import landscape, returns, studies, trajectories
from robustirl.paper.figures.alpha import figure_alpha_rule
from robustirl.paper.figures.continuous import figure_continuous
from robustirl.paper.figures.guarantees import figure_guarantees
from robustirl.paper.figures.identification import figure_identification
from robustirl.paper.figures.landscape import figure_landscape
from robustirl.paper.figures.maps import figure_maps
from robustirl.paper.figures.physics import figure_physics
from robustirl.paper.figures.readme import figure_front
from robustirl.paper.figures.regimes import figure_regimes
from robustirl.paper.figures.transfer import figure_regrets
from robustirl.paper.finite.layouts import Interval
from robustirl.paper.published import PublishedContinuous, PublishedReturn
from robustirl.paper.studies.physics_runs import PhysicsRecord, PhysicsSpec
from robustirl.paper.studies.regime_results import ConditionResult
from robustirl.sweeps import RunResult
from tests import invented
from tests.drawn import text_of_figure
from tests.goldens import require_golden
from tests.invented_runs import layouts, of_one_learner, record, runs

GRID = envs.make("gridworld-1")
OBJECTS = envs.make("objectworld")


def published():
    """Returns of some of the runs, as if they had been published."""
    keys = [(GRID.name, 0.1, expert, alpha) for expert in (0.0, 0.1) for alpha in (1.0, 0.9)]
    return {key: PublishedReturn(-90.0 - 10 * place, 1.0) for place, key in enumerate(keys)}


def without_bounds(records):
    return [dataclasses.replace(one, bound=None) for one in records]


def moved():
    """Runs of one learner, beside rewards from four other worlds; one bound is missing, one gap is below zero."""
    found = [*of_one_learner(), *(one for noise in (0.0, 0.05, 0.1, 0.15) for one in of_one_learner(train_noise=noise))]
    changed = {0: {"bound": None}, 3: {"discounted_return": -30.0}}
    return [dataclasses.replace(one, **changed.get(place, {})) for place, one in enumerate(found)]


def sampled(deviation=1.0, **changes):
    return [
        dataclasses.replace(one, sampled_deviation=deviation * (one.sampled_deviation or 0.0), **changes)
        for one in of_one_learner(sampled=10)
    ]


def seven_pairs():
    """Runs of seven pairs of worlds, with five α; of the last pair there are more demonstrations."""
    found = [
        one
        for draw in (0, 1)
        for one in runs((0.0, 0.1, 0.2), (1.0, 0.9, 0.8, 0.7, 0.6), demonstrations=10, draw=draw)
        if one.spec.learner_noise < 0.2 or one.spec.expert_noise == 0.0
    ]
    counts = {0.2: 50}
    return [
        dataclasses.replace(
            one, spec=dataclasses.replace(one.spec, demonstrations=counts.get(one.spec.learner_noise, 10))
        )
        for one in found
    ]


def from_demonstrations(counts=(10, 100), draws=2, learner=0.1):
    return [
        one
        for count in counts
        for draw in range(draws)
        for auto in ("", "states")
        for one in runs(demonstrations=count, draw=draw, auto=auto)
        if one.spec.learner_noise in (learner, 0.0) and one.spec.alpha < 1 + (not auto)
    ]


def front(draws):
    """Runs as the README's picture has them: of one learner, with one number of demonstrations."""
    return [one for one in from_demonstrations((100,), draws) if one.spec.learner_noise == 0.0]


def cells(learners=(0.0, 0.1), alphas=(1.0, 0.9, 0.8), lost=0.0, spread=30):
    """Statistics of the continuous experiment."""
    found = []
    for learner in learners:
        for alpha in alphas:
            for expert in (0.0, 0.1, 0.2):
                wave = math.sin(5 * learner + 17 * alpha + 9 * expert)
                value = -400 - spread * wave - lost * (alpha == 1)
                low, high = (value - 9, value + 11) if expert < 0.2 else (-np.inf, np.inf)
                goal = Estimate(0.8 + 0.1 * wave, *((0.7, 0.95) if expert < 0.2 else (-np.inf, np.inf)))
                other = Estimate(value - 5, value - 20, value + 20)
                found.append(CellStatistics(learner, expert, alpha, 5, goal, other, other, Estimate(value, low, high)))
    return found


def experts():
    return [ExpertRecord(ExpertSpec(noise), -380.0 - 100 * noise, -379.0, 1.0, "trained", 1.0) for noise in (0.0, 0.2)]


def published_cells():
    keys = [(0.0, expert, alpha) for expert in (0.0, 0.1) for alpha in (1.0, 0.9)]
    median = {1.0: -300.0, 0.9: -250.0}
    return {key: PublishedContinuous(-420.0, 3.0, median[key[2]] - 7 * n, 0.9 - 0.1 * n) for n, key in enumerate(keys)}


def result_of(alpha, phase):
    """A run of the grid with its arrays."""
    states = 100
    arrays = {
        "reward": np.cos(np.arange(states) + phase),
        "player": invented.policy(states, 4, phase),
        "opponent": invented.policy(states, 4, phase + 1),
        "expert_occupancy": invented.shares(states),
        "player_occupancy": np.where(np.arange(states) == 7, 1e-7, invented.shares(states, phase)),
        "occupancy": invented.shares(states, phase + 0.5) * (np.arange(states) > 3),
    }
    return RunResult(record(0.1, 0.2, alpha), arrays)


def path_of(alpha, phase):
    """A run of the continuous experiment, with six paths."""
    steps = np.linspace(0, 1, 5)
    paths = np.stack([np.stack([-0.9 + steps * (1 + 0.1 * n), 0.9 - steps * (1.2 + phase)], -1) for n in range(6)])
    numbers = (-412.3, -410.0, 0.876, -390.0, 0.1, 0.2, 0.9, 0.8)
    spec = ContinuousSpec(0.05, 0.1, alpha)
    theta = np.asarray(spec.world().true_weights) + phase
    return RunResult(ContinuousRecord(spec, *numbers, 300, "budget", 1.0), {"parameters": theta, "paths": paths})


def guarantee_rows(pairs):
    return [
        SimpleNamespace(
            pair=f"pair {pair}",
            episodes=count,
            shortfall=50 / count**0.9 / (1 + pair + draw),
            attained=np.nan if draw else 20 / count / (1 + pair),
            truth=0.05 * (1 + draw),
            without_data=0.9 - 0.1 * draw,
        )
        for pair in range(pairs)
        for count in (100, 1000)
        for draw in (0, 1)
    ]


def conditions(means, alphas=(1.0, 0.9, 0.8)):
    """Results of some conditions with these mean returns; one robust α surely helps, the other may."""
    found = []
    for place, first in enumerate(means):
        for alpha in alphas:
            mean = first * (1 + (1 - alpha))
            more = -mean * (1 - alpha) if alpha < 1 else 90_000.0
            spread, gain = Interval(mean, mean - 2, mean + 3, 4), Interval(more, more - 1, more + 9 + place, 4)
            verdict = "pays" if alpha == 0.9 else "open"
            found.append(ConditionResult("group", f"wind {place}", alpha, spread, gain, 0.5, mean - 4, verdict))
    return found


def physics_records(episodes=(16,), factors=(1.0, 1.5)):
    fixed = {"untrained": (10, 10), "expert": (110, 0), "carried over": (20, 210), "cloned": (30, 40)}
    robust = {"randomized": (60, 110), "alpha=1": (50, 70), "alpha=0.9": (80, 90)}
    return [
        PhysicsRecord(
            PhysicsSpec("hopper", "mass", factor, method, count, seed, 1, 1),
            there + 3.0 * seed * factor * method.startswith("alpha"),
            back - 2.0 * seed,
            0.0,
            0.0,
        )
        for count in episodes
        for factor in factors
        for method, (there, back) in (fixed | robust).items()
        for seed in range(4)
    ]


def regrets(kinds):
    return {
        kind: {f"method {m}": [(s, 0.1 * m + 0.2 * s, 0.3 / (1 + m)) for s in (0.0, 0.5, 1.0)] for m in range(9)}
        for kind in kinds
    }


FIGURES = {
    "returns": lambda: returns.figure_returns(GRID, runs(), note="a kernel"),
    "returns, published": lambda: returns.figure_returns(GRID, of_one_learner(), published()),
    "returns, the best": lambda: returns.figure_returns(GRID, runs(), best_only=True),
    "returns of layouts": lambda: returns.figure_returns(GRID, layouts()),
    "returns of two layouts": lambda: returns.figure_returns(GRID, layouts(2)),
    "returns, one run": lambda: returns.figure_returns(GRID, of_one_learner()[:1], published()),
    "returns, no grid": lambda: returns.figure_returns(envs.make("three-state"), of_one_learner()),
    "alpha study": lambda: returns.figure_alpha_study(GRID, of_one_learner(), "note"),
    "alpha study, one run": lambda: returns.figure_alpha_study(GRID, of_one_learner()[:1]),
    "alpha study, one robust": lambda: returns.figure_alpha_study(GRID, runs((0.1,), (1.0, 0.95))),
    "gap": lambda: returns.figure_gap(runs()),
    "gap of many": lambda: returns.figure_gap(
        [
            dataclasses.replace(one, spec=dataclasses.replace(one.spec, environment=f"gridworld-{n}"))
            for n in (1, 2, 3, 4)
            for one in (runs() if n < 4 else runs()[::3])
        ],
        "note",
    ),
    "transfer": lambda: studies.figure_transfer(moved()),
    "transfer, no gain": lambda: studies.figure_transfer(
        [*of_one_learner(), *of_one_learner(train_noise=0.1), *of_one_learner(train_noise=0.0)]
    ),
    "transfer without bounds": lambda: studies.figure_transfer(without_bounds(moved()), "note"),
    "robust experts": lambda: studies.figure_robust_experts(
        [one for strength in (1.0, 0.9) for one in of_one_learner(expert_alpha=strength)], "note"
    ),
    "one robust expert": lambda: studies.figure_robust_experts(of_one_learner(expert_alpha=0.9)),
    "sampled": lambda: studies.figure_sampled(sampled(), "note"),
    "sampled, apart": lambda: studies.figure_sampled(sampled(0.3)),
    "sampled, far": lambda: studies.figure_sampled(sampled(1e-4)),
    "convergence": lambda: studies.figure_convergence([*runs(), *runs(steps=400)], "note"),
    "layouts": lambda: studies.figure_layouts(layouts(), lambda one: one.total_return, "return", "title"),
    "layouts, noted": lambda: studies.figure_layouts(runs(), lambda one: one.bound or 0.0, "bound", "title", "note"),
    "layouts, one learner": lambda: studies.figure_layouts(
        of_one_learner(), lambda one: one.total_return, "return", "title"
    ),
    "trajectories, one pair": lambda: trajectories.figure_trajectories(
        [one for one in from_demonstrations() if one.spec.learner_noise == one.spec.expert_noise == 0.1]
    ),
    "trajectories, seven pairs": lambda: trajectories.figure_trajectories(seven_pairs()),
    "trajectories": lambda: trajectories.figure_trajectories(from_demonstrations()),
    "rule for alpha": lambda: figure_alpha_rule(
        [("a", 0.2, 0.5), ("a", 0.1, -0.04), ("b", np.inf, -9.0), ("b", 1.1, 0.05), ("b", 2.6, -0.05)],
        [0.5, -3.0, 0.5, 0.02],
    ),
    "rule for alpha, no draws": lambda: figure_alpha_rule([("a", 0.2, 0.5)], []),
    "continuous": lambda: figure_continuous(cells(), experts(), published_cells(), "note"),
    "continuous, the best": lambda: figure_continuous(cells(), experts(), published_cells(), best_only=True),
    "continuous, close": lambda: figure_continuous(cells((0.1,), spread=3), []),
    "continuous, two": lambda: figure_continuous(cells(alphas=(1.0, 0.9), lost=5000.0), [], published_cells()),
    "continuous, standard": lambda: figure_continuous(cells((0.1,), (1.0,)), experts(), best_only=True),
    "guarantees": lambda: figure_guarantees(guarantee_rows(2)),
    "guarantees, many": lambda: figure_guarantees(guarantee_rows(4)),
    "guarantees, one": lambda: figure_guarantees(guarantee_rows(1)),
    "identification": lambda: figure_identification(
        {"grid": ([10, 3, 1], [20, 9, 4]), "buses": ([5, 2], [8, 5])},
        ["one", "two"],
        np.array([[0.0, 1e-12, 5e-4, 0.5], [0.0, 0.01, 0.3, 0.9]]),
        {"grid": {"a": 0.1, "b": 0.0}, "buses": {"c": 1e-4}},
        1e-3,
    ),
    "landscape": lambda: figure_landscape(path_of(1.0, 0.0), path_of(1.0, 0.1), path_of(0.9, 0.2), "note"),
    "maps": lambda: figure_maps(GRID, result_of(1.0, 0.2), result_of(0.9, 0.7), "note"),
    "maps of objects": lambda: figure_maps(OBJECTS, result_of(1.0, 0.2), result_of(0.9, 0.7)),
    "physics": lambda: figure_physics(physics_records()),
    "physics, two counts": lambda: figure_physics(physics_records((1, 16))),
    "physics, one level": lambda: figure_physics(physics_records(factors=(1.5,))),
    "front": lambda: figure_front(front(3)),
    "front, one draw": lambda: figure_front(front(1)),
    "regimes": lambda: figure_regimes(conditions((-30.0, -40.0, -50.0))),
    "regimes, two alphas": lambda: figure_regimes(conditions((-30.0, -40.0), (1.0, 0.9))),
    "regimes, standard": lambda: figure_regimes(conditions((-30.0,), (1.0,))),
    "regimes, wide": lambda: figure_regimes(conditions((-3.0, -4.0, -5.0, -6.0, -835.0))),
    "regimes, very wide": lambda: figure_regimes(conditions((-450.0, -500.0, -600.0, -700.0, -60_000.0))),
    "regimes, not wide": lambda: figure_regimes(conditions((-10.0, -10.5, -60.0, -300.0))),
    "regimes, one small": lambda: figure_regimes(conditions((-90.0, -1000.0, -1100.0, -90_000.0), (1.0,))),
    "regimes, widest": lambda: figure_regimes(conditions((-20.0, -150.0, -160.0, -170.0, -9_000.0))),
    "regrets": lambda: figure_regrets(regrets(["slip", "noise"])),
    "regrets, one": lambda: figure_regrets(regrets(["slip"])),
    "regrets, many": lambda: figure_regrets(regrets(["slip", "noise", "bus groups", "moved start"])),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_what_it_showed(name):
    figure = FIGURES[name]()
    require_golden(f"figures/paper/{name.replace(', ', '-').replace(' ', '-')}.txt", text_of_figure(figure))
    plt.close("all")


def test_a_single_alpha_stands_at_its_levels_and_no_run_is_cut_off():
    records = [one for one in physics_records() if one.spec.method != "alpha=0.9"]
    large = [one.spec.method == "alpha=1" and one.spec.seed == 3 for one in records]
    records = [
        dataclasses.replace(one, learner_return=400.0) if far else one for one, far in zip(records, large, strict=True)
    ]
    left, right = figure_physics(records).axes
    (drawn,) = [line for line in left.lines if line.get_label() == "α = 1"]
    assert list(drawn.get_xdata()) == [1.0, 1.5]
    highest = max(max(line.get_ydata()) for line in left.lines)
    assert highest > 3
    assert left.get_ylim()[1] == pytest.approx(highest + 0.05)
    assert right.get_ylim() == pytest.approx((-0.1, 1.15))
    plt.close("all")


@pytest.mark.parametrize(("levels", "ticks"), [(4, 4), (10, 5), (24, 6)])
def test_the_scale_of_a_landscape_has_about_five_ticks(monkeypatch, levels, ticks):
    monkeypatch.setattr(landscape, "LEVELS", levels)
    figure = plt.figure()
    landscape._contours(figure.subplots(), lambda state: state[0] + 0.1 * state[1])
    assert len(figure.axes[1].get_xticks()) == ticks
    plt.close(figure)


def test_no_results_are_no_figure():
    with pytest.raises(InvalidInputError, match="there are no results to draw"):
        figure_regimes([])


def test_no_two_runs_are_alike():
    found = [one.total_return for one in layouts()]
    assert len(set(found)) == len(found)
