"""What commands print of invented results is what they printed when somebody last read it (`make goldens`)."""

import dataclasses
import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl.cli import compare, continuous, demos, doctor, layouts, reproduce, theory
from robustirl.cli.console import console, say_files, say_outcome, take_answers, text_width
from robustirl.demonstrations import AlphaEstimate, Demonstrations
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec
from robustirl.paper.finite.comparison import Cell, Explanation
from robustirl.paper.finite.layouts import Interval, Shape
from robustirl.paper.published import PublishedReturn, published_returns
from robustirl.sweeps import Outcome
from robustirl.sweeps.batches import Timing
from tests.cli.running import printed
from tests.goldens import require_golden
from tests.invented_runs import layouts as runs_of_layouts
from tests.invented_runs import record, runs


def explanations():
    cells = [Cell(record(0.1, 0.2, alpha), PublishedReturn(-95.0, 2.0)) for alpha in (1.0, 0.9)]
    return [Explanation(cells[0], -99.0, -91.0, -98.0), Explanation(cells[1], -140.0, -130.0, -95.5)]


def learners():
    return [
        ContinuousRecord(
            ContinuousSpec(learner, expert, alpha, seed),
            -400 - 30 * math.sin(5 * learner + 17 * alpha + 9 * expert + seed),
            *(-410.0, 1.0 if alpha < 1 else 0.25 + 0.125 * seed, -390.0, 0.1, 0.2, 0.9, 0.8),
            300,
            "budget",
            1.0,
        )
        for learner in (0.0, 0.1)
        for alpha in (1.0, 0.9)
        for expert in (0.0, 0.1)
        for seed in range(4)
        if (learner, expert) != (0.1, 0.1)
    ]


def shapes():
    fall, hold, more = Interval(-9.0, -12.0, -6.0, 8), Interval(-1.0, -3.0, 1.0, 8), Interval(8.0, 2.0, 14.0, 8)
    return [
        Shape(0.0, fall, hold, more, 0.9, True),
        Shape(0.05, fall, hold, more, 0.85, False),
        Shape(0.1, dataclasses.replace(fall, high=0.5), fall, dataclasses.replace(more, low=-1.0), 0.8, False),
    ]


def published_runs():
    """Runs of two panels, near to what was published."""
    keys = [(0.0, 0.0, 1.0), (0.0, 0.1, 0.9), (0.1, 0.0, 1.0), (0.1, 0.1, 0.9), (0.1, 0.1, 0.8)]
    known = published_returns()
    found = []
    for place, key in enumerate(keys):
        number = known["gridworld-1", *key].mean
        found.append(dataclasses.replace(record(*key), total_return=number * (1 + 0.02 * place)))
    return found


def learned(alpha, value, bound):
    certificate = SimpleNamespace(worst_return=-9.5, nominal_return=value, best_return=-4.25)
    return SimpleNamespace(
        alpha=alpha,
        certificate=certificate,
        gap=0.125,
        bound=SimpleNamespace(name="Theorem 1" if alpha == 1 else "Theorem 3", value=bound),
        infeasible=SimpleNamespace(name="the appendix's", value=200.0),
        fit=SimpleNamespace(verdict=SimpleNamespace(occupancy_gap=0.0123)),
    )


def matched(feasible):
    return SimpleNamespace(feasible=feasible, violation=0.0456), SimpleNamespace(gap=0.0789)


def pair(feasible):
    matching, closest = matched(feasible)
    return SimpleNamespace(
        learner=SimpleNamespace(num_states=36, num_actions=4, discount=0.9),
        distance=0.2345678,
        magnitude=100.0,
        kappa=1.23456,
        trivial=200.0,
        matching=matching,
        closest=closest,
        choice=SimpleNamespace(half_distance=0.88271, corollary=0.7654321),
        optimal_return=-3.5,
        standard=learned(1.0, -6.25, 199.0),
        robust=learned(0.8827, -5.75, 201.0),
    )


def evidence(verdict):
    matching, closest = matched(False)
    estimate = SimpleNamespace(confidence=0.95, discount=0.9, error=0.31, radius=0.25, bias=0.06)
    alpha = AlphaEstimate(0.91, 0.85, 0.97, True, "moves say so", "actions", 0.1, 200, 0.95)
    return SimpleNamespace(
        estimate=estimate,
        gap_interval=(0.1234, 0.5678),
        verdict=verdict,
        matching=matching,
        closest=closest,
        alpha=alpha,
    )


def outcome(count, *, complete=True, new=2, failed=0, notices=()):
    records = [SimpleNamespace(verdict="failed" if n < failed else "budget") for n in range(4)]
    files = [Path("out") / "figures" / f"{n}.png" for n in range(count)]
    return Outcome(records, complete, new, Timing(1.25, 2.5), files, notices)


def visits(states):
    return demos._visits(Demonstrations.from_arrays([[n % states, (3 * n) % states, 0] for n in range(20)]))


CHECKS = [doctor.Check(1.0, 0.8, 0.8, 3.6, 3.6), doctor.Check(0.9, 0.9, 0.8888889, 1.6, 1.6000011)]
PRINTED = {
    "agreement by panel": lambda: printed(compare._print_agreement_by_panel, published_runs()),
    "agreement": lambda: printed(reproduce.print_agreement, published_runs()),
    "no agreement": lambda: printed(reproduce.print_agreement, []),
    "explanations": lambda: printed(compare._print_explanations, explanations(), 7),
    "explanations, narrow": lambda: printed(compare._print_explanations, explanations(), 7, width=80),
    "shapes, narrow": lambda: printed(layouts._print_shapes, "a title", shapes(), width=70),
    "returns of one expert": lambda: printed(
        reproduce._print_returns, "gridworld-1", "a model", [one for one in runs() if one.spec.expert_noise == 0.1]
    ),
    "continuous": lambda: printed(continuous._print_cells, learners()),
    "shapes": lambda: printed(layouts._print_shapes, "a title", shapes()),
    "returns": lambda: printed(reproduce._print_returns, "gridworld-1", "a model", runs()),
    "returns of layouts": lambda: printed(reproduce._print_returns, "gridworld-1", "a model", runs_of_layouts(2)),
    "theory": lambda: printed(theory._print_report, "grid", pair(feasible=True)),
    "theory, not matched": lambda: printed(theory._print_report, "grid", pair(feasible=False)),
    "evidence against": lambda: printed(theory._print_evidence, evidence("no")),
    "open evidence": lambda: printed(theory._print_evidence, evidence("open")),
    "few files": lambda: printed(say_files, outcome(8).files),
    "many files": lambda: printed(say_files, outcome(9).files),
    "an outcome": lambda: printed(say_outcome, outcome(1, notices=("a batch was damaged",)), 4),
    "an outcome with failures": lambda: printed(say_outcome, outcome(0, new=4, failed=3), 4),
    "interrupted": lambda: printed(say_outcome, outcome(1, complete=False), 9),
    "interrupted, nothing kept": lambda: printed(say_outcome, outcome(0, complete=False), 9),
    "checks that fail": lambda: printed(doctor._print_checks, CHECKS, 1.26),
    "checks": lambda: printed(doctor._print_checks, CHECKS[:1], 1.24),
    "visits": lambda: printed(console.print, visits(10)),
    "visits of many": lambda: printed(console.print, visits(11)),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_command_prints_what_it_printed(name):
    require_golden(f"printed/{name.replace(', ', '-').replace(' ', '-')}.txt", PRINTED[name]())
    take_answers()


def test_a_long_line_is_left_to_the_terminal_and_a_table_is_not():
    assert printed(console.print, "word " * 60).count("\n") == 1
    assert printed(compare._print_explanations, explanations(), 7).count("\n") > 5


def test_tables_are_as_wide_as_the_terminal():
    streams = (None, SimpleNamespace(isatty=lambda: False), SimpleNamespace(isatty=lambda: True))
    assert [text_width(stream) for stream in streams] == [120, 120, None]
