"""The worlds of MuJoCo beside MuJoCo's own engine, and the pages of what was measured."""

import importlib
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
installed = importlib.util.find_spec("mujoco") is not None and importlib.util.find_spec("mujoco.mjx") is not None
needs_mujoco = pytest.mark.skipif(not installed, reason="mujoco and mujoco-mjx are not installed")


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


def test_the_tables_say_what_was_measured(load):
    lines = [
        {"part": "solver", "world": "hopper", "iterations": 1, "steps": 9, "mean": 0.0312, "worst": 0.41},
        {"part": "solver", "world": "hopper", "iterations": 3, "steps": 9, "mean": 2e-6, "worst": 0.00034},
        {"part": "gymnasium", "world": "walker-2d", "steps": 300, "ends": 14, "seen": 4.8e-7, "paid": 1.8e-6},
        {"part": "experts", "world": "hopper", "parameter": "mass", "factor": 1.0, "study": 2679.2, "engine": 2605.4}
        | {"gymnasium": 2518.0},
        {"part": "experts", "world": "hopper", "parameter": "mass", "factor": 2.0, "study": 1146, "engine": 1172}
        | {"carried": 388.1},
    ]
    rows = [line for line in load("contacts_page").page_of(lines).splitlines() if line.startswith("| ")]
    assert [row for row in rows if "---" not in row] == [
        "| world | 1 step | 3 steps |",
        "| hopper | 3 % (41 %) | < 0.01 % (0.03 %) |",
        "| world | steps | seen | paid | episodes ended | moved by MJX |",
        "| walker-2d | 300 | 5e-07 | 2e-06 | 14 |  |",
        "| world | parameter | factor | study | MuJoCo | Gymnasium | carried over |",
        "| hopper | mass | 1.0 | 2679 | 2605 | 2518 |  |",
        "| hopper | mass | 2.0 | 1146 | 1172 |  | 388 |",
    ]


def test_the_table_of_vector_environments(load):
    seeds = ((0, -136.4, -189.1, "trust"), (1, -132.0, -730.0, "do not use"))
    lines = [
        {"world": "Pendulum-v1", "expert": "trained", "seed": seed, "expert_return": best, "return": own}
        | {"expert_cpu": 20.0 + seed, "imitator_cpu": 30.0, "judged": judged}
        for seed, best, own, judged in seeds
    ]
    last = load("vector_worlds").page_of(lines).splitlines()[-1]
    assert last == "| Pendulum-v1 | trained | -136, -132 | -189, -730 | trust, do not use | 20 and 30 |"


@pytest.mark.parametrize(("module", "name"), [("contacts_page", "contacts"), ("vector_worlds", "vector-worlds")])
def test_the_pages_are_those_of_the_data(load, module, name):
    data = ROOT / "docs" / "data" / f"{name}.jsonl"
    if not data.exists():
        pytest.skip("nothing was measured")
    lines = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    assert (ROOT / "docs" / "data" / f"{name}.md").read_text("utf-8") == load(module).page_of(lines)


@needs_mujoco
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_two_steps_of_the_solver_are_enough_for_a_pendulum(load):
    first, second = load("contacts").solver_rows("inverted-pendulum", (1, 2), episodes=2, steps=20)
    assert first["steps"] == 40
    assert 1e-5 < first["mean"] < 1e-3
    assert second["mean"] < first["mean"] / 10
