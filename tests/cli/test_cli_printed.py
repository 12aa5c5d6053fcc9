"""What commands print of invented results is what they printed when somebody last read it (`make goldens`)."""

import dataclasses
import math
import typing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.cli import compare, continuous, demos, doctor, explore, layouts, reproduce, theory
from robustirl.cli.console import console, errors, say_files, say_outcome, take_answers, text_width
from robustirl.cli.imitate import _last_return, _parameters
from robustirl.cli.log_options import LogOptions, parse_columns
from robustirl.cli.output_options import OutputOptions, _plain, split_options
from robustirl.cli.parsing import in_a_sentence
from robustirl.demonstrations import AlphaEstimate, Demonstrations
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec
from robustirl.paper.finite.comparison import Cell, Explanation
from robustirl.paper.finite.layouts import Interval, Shape
from robustirl.paper.published import PublishedReturn, published_returns
from robustirl.sweeps import Outcome
from robustirl.sweeps.batches import Timing
from tests.goldens import require_golden
from tests.invented_runs import layouts as runs_of_layouts
from tests.invented_runs import record, runs


def printed(call, *given, width=120):
    """What a function prints, to a terminal of so many columns."""
    widths = console.width, errors.width
    console.width = errors.width = width
    try:
        with console.capture() as out, errors.capture() as err:
            call(*given)
    finally:
        console.width, errors.width = widths
    said = err.get()
    return out.get() + (f"standard error:\n{said}" if said else "")


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


@pytest.mark.parametrize(("size", "shown"), [(999_499, "999 kB"), (1_000_000, "1.0 MB"), (1_550_000, "1.6 MB")])
def test_the_size_of_a_page_is_said_in_whole_units(tmp_path, size, shown):
    path = tmp_path / "p"
    path.write_bytes(bytes(size))
    assert printed(explore._say, path).endswith(f"({shown})\n")
    assert take_answers() == {"files": [str(path)]}


def test_a_long_line_is_left_to_the_terminal_and_a_table_is_not():
    assert printed(console.print, "word " * 60).count("\n") == 1
    assert printed(compare._print_explanations, explanations(), 7).count("\n") > 5


def test_tables_are_as_wide_as_the_terminal():
    streams = (None, SimpleNamespace(isatty=lambda: False), SimpleNamespace(isatty=lambda: True))
    assert [text_width(stream) for stream in streams] == [120, 120, None]


def test_experts_are_compared_by_the_end_of_their_training():
    assert _last_return([9.0] * 5 + [1.0] * 19 + [21.0]) == 2.0  # The last twenty.
    assert _last_return([9.0] * 5 + [np.nan] * 20) == -np.inf
    assert _last_return([np.nan, 4.0]) == 4.0


def test_parameters_are_names_and_numbers(refused):
    assert _parameters("--physics", ("mass=0.2", "length=-1e3")) == {"mass": 0.2, "length": -1000.0}
    for word in ("mass", "mass=x", "=1", "self=1", "discount=0.5"):
        with refused(f"--physics has {word!r}, but name=number is needed"):
            _parameters("--physics", (word,))


def test_options_of_all_commands_are_found_wherever_they_stand(refused):
    options, rest = split_options(["--json", "fit", "--no-cache", "--log-file=x", "--", "--quiet"])
    assert options == OutputOptions(json=True, log_file=Path("x"), cache=False)
    assert rest == ["fit", "--", "--quiet"]
    for words in (["--log-file"], ["--log-file="]):
        with refused("--log-file needs a file"):
            split_options(words)


def test_json_has_no_numbers_that_are_none():
    given = {1: (math.inf, -math.inf, math.nan, 1.5), "path": Path("x"), "none": None, "yes": True}
    assert _plain(given) == {"1": [None, None, None, 1.5], "path": "x", "none": None, "yes": True}


def test_columns_are_pairs_and_named_once(tmp_path, refused):
    assert parse_columns(None) is None
    for text in ("episode", "episode=", "=trip", "a=b,,"):
        with refused(f"--columns is {text!r}, but pairs"):
            parse_columns(text)
    with refused("names state more than once"):
        parse_columns("state=a,state=b")
    for option in ("first_state", "first_action"):  # What the command line takes for an answer.
        assert typing.get_args(typing.get_type_hints(LogOptions)[option]) == (0, 1)
    names = tmp_path / "names.txt"
    names.write_text("hall\n\n yard \n")
    assert LogOptions(state_names=names).table_options().state_names == ["hall", "yard"]
    for text, count in (("hall\nhall\n", 2), ("\n", 0)):
        names.write_text(text)
        with refused("must hold different names", f"it holds {count} lines"):
            LogOptions(state_names=names).table_options()


COMMANDS = ["fit", "theory", "demos"]
BOXES = {
    "no command": ("", [], "robustirl needs a command: fit, theory, demos."),
    "a missing option": (
        "│ Missing from robustirl fit: │\n│ --env STR │\n│ The world, as --noise says. │\n│ --out PATH │",
        ["fit"],
        "robustirl fit needs --env and --out; give them. See robustirl fit --help.",
    ),
    "one missing name": (
        "Missing from robustirl demos inspect:\nFILE\nThe file.",
        ["demos", "inspect"],
        "robustirl demos inspect needs FILE; give it. See robustirl demos inspect --help.",
    ),
    "three missing": (
        "Missing from robustirl fit:\n--env STR\n--demos PATH\n--out PATH",
        ["fit"],
        "robustirl fit needs --env, --demos and --out; give them. See robustirl fit --help.",
    ),
    "a word too many": (
        "Unrecognized options: maek\nAvailable subcommands: make, inspect\nFor full helptext, run x",
        ["demos", "maek"],
        "robustirl demos does not understand 'maek'; did you mean make? See robustirl demos --help.",
    ),
    "a value that cannot be read": (
        "Error parsing --noise: invalid float. Argument helptext: x",
        ["fit", "--noise", "much"],
        "--noise is 'much', which cannot be read (invalid float). See robustirl fit --help.",
    ),
    "a value that is not there": (
        "Error parsing --noise: invalid float.",
        ["fit", "--noise"],
        "--noise (invalid float). See robustirl fit --help.",
    ),
    "a choice": (
        "invalid choice 'both' for argument '--tail'. Expected one of ('None', 'hold', 'chain').",
        ["fit"],
        "--tail is 'both', but one of chain, hold is needed. See robustirl fit --help.",
    ),
    "an argument": (
        "Missing value for argument 'store'.",
        ["fit"],
        "robustirl fit needs STORE, which is not there. See robustirl fit --help.",
    ),
    "a subcommand": (
        "Missing subcommand. Expected one of {make,inspect}.",
        ["demos"],
        "robustirl demos needs one of make,inspect after it. See robustirl demos --help.",
    ),
    "something else": ("Odd things. For full helptext, run x", ["fit"], "Odd things. See robustirl fit --help."),
    "nothing": (
        "╭─────╮\n╰─────╯",
        ["fit"],
        "the command line cannot be understood. See robustirl fit --help.",
    ),
}


@pytest.mark.parametrize("name", BOXES)
def test_the_box_of_the_parser_becomes_a_sentence(name):
    box, words, sentence = BOXES[name]
    assert in_a_sentence(box, words, COMMANDS) == sentence
