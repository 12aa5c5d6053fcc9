"""Cells that miss the published number: which are refitted, how, and how often; fits are stand-ins."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.envs.noise import PUBLISHED
from robustirl.paper.finite import comparison, reproduce
from robustirl.paper.finite.comparison import CPU_BATCH, Cell, Explanation, explain
from robustirl.paper.finite.specs import RunSpec
from robustirl.paper.published import PublishedReturn, published_returns
from tests.invented_runs import record, record_of

SPEC = RunSpec("gridworld-1", PUBLISHED, 0.0, 0.1, 0.9, steps=9)
CELL = Cell(record_of(SPEC), PublishedReturn(-100.0, 0.0))


@pytest.mark.parametrize(
    ("lowest", "highest", "halfway", "reason"),
    [
        (-100.0, -90.0, 0.0, "start noise"),
        (-110.0, -100.0, 0.0, "start noise"),
        (-99.0, -90.0, -100.0 * (1 + comparison.AGREEMENT_TOL), "fewer steps"),
        (-100.0 * (1 - comparison.AGREEMENT_TOL), -10.0, 0.0, "start noise, nearly"),
        (-300.0, -100.0 * (1 + comparison.AGREEMENT_TOL), 0.0, "start noise, nearly"),
        (-50.0, -10.0, -50.0, "not explained"),
    ],
)
def test_what_a_difference_comes_from(lowest, highest, halfway, reason):
    assert Explanation(CELL, lowest, highest, halfway).reason == reason


def test_runs_of_a_layout_that_nobody_has_are_not_compared():
    found = comparison.compare(
        [record_of(RunSpec(name, PUBLISHED, 0.0, 0.1, 0.9)) for name in ("gridworld-2", "objectworld", "three-state")]
    )
    assert [cell.record.spec.environment for cell in found] == ["gridworld-2"]
    assert found[0].published == published_returns()["gridworld-2", 0.0, 0.1, 0.9]


def test_a_cell_is_refitted_from_drawn_starts_and_with_half_the_steps(monkeypatch):
    count, asked = CPU_BATCH + 2, []
    counts = np.arange(2.0, count + 2)[:, None] * np.array([[1.0, 3.0]])

    class Lab:
        def __init__(self, environment, model, expert):
            assert (environment.name, model) == ("gridworld-1", PUBLISHED)

        def world(self, noise):
            return SimpleNamespace(kernel="kernel", discount=0.9, initial="initial", mask="mask")

        def expert_occupancy(self, noise):
            return f"occupancy at {noise}"

        def reward_model(self):
            return "model"

        def measure(self, noise, player):
            return -float(player)

        def fit(self, specs, *, steps, throw):
            assert (len(specs), steps, throw) == (CPU_BATCH, 4, False)
            return [SimpleNamespace(player=500), *[None] * (len(specs) - 1)]

    def fit_many(worlds, targets, alphas, *, steps, keep_last, throw, **options):
        asked.append((len(worlds), len(targets), set(alphas), steps, keep_last, throw))
        return [SimpleNamespace(player=100 * len(asked) + place) for place in range(len(worlds))]

    monkeypatch.setattr(comparison, "ExperimentContext", Lab)
    monkeypatch.setattr(comparison, "_draw_starts", lambda key, initial, draws: counts[:draws])
    monkeypatch.setattr(comparison, "MDP", lambda kernel, *, discount, initial, mask: initial.tolist())
    monkeypatch.setattr(comparison, "fit_many", fit_many)
    monkeypatch.setattr(comparison, "paper_optimizer", lambda model: model)
    found = explain(CELL, draws=count)
    assert asked == [(CPU_BATCH, CPU_BATCH, {0.9}, 9, True, False)] * 2
    # Of the second batch only two are of cells; what fills it up does not count.
    assert (found.lowest, found.highest, found.halfway) == (-201.0, -100.0, -500.0)
    assert found.cell is CELL


def test_only_misses_are_explained_the_worst_first_and_once(tmp_path, monkeypatch):
    """Errors of 4, 5, 6 and 20 percent: two are above the limit."""
    cells = [
        SimpleNamespace(relative_error=error, record=SimpleNamespace(spec=SimpleNamespace(identity=f"run {error}")))
        for error in (0.06, 0.04, 0.2, reproduce.MISS)
    ]
    asked, steps = [], []

    def stand_in(cell, *, draws):
        asked.append((cell.relative_error, draws))
        return Explanation(cell, 1.0, 2.0, cell.relative_error)

    monkeypatch.setattr(reproduce, "compare", lambda records: cells)
    monkeypatch.setattr(reproduce.catalog, "main_records", lambda *_: [])
    monkeypatch.setattr(reproduce, "explain", stand_in)
    plan = SimpleNamespace(explain=True, noise_models=(PUBLISHED,), grid=None)
    for _ in range(2):  # The second time they are in the file.
        found = reproduce._explanations(plan, [], tmp_path, lambda *step: steps.append(step))
        assert [one.halfway for one in found] == [0.2, 0.06]
    assert asked == [(0.2, 10), (0.06, 10)]
    assert steps[:3] == [("explaining", 0, 2), ("explaining", 1, 2), ("explaining", 2, 2)]
    text = (tmp_path / "explanations.json").read_text()
    assert json.loads(text) == {"run 0.2": [1.0, 2.0, 0.2], "run 0.06": [1.0, 2.0, 0.06]}
    assert text.endswith("}\n")
    for other in ({"explain": False}, {"noise_models": ("uniform-state",)}):
        assert reproduce._explanations(SimpleNamespace(**vars(plan) | other), [], tmp_path, print) == []


def test_reasons_for_a_difference_are_tried_in_order():
    def reason(lowest, highest, halfway):
        return Explanation(Cell(record(0.0, 0.1, 1.0), PublishedReturn(-100.0, 1.0)), lowest, highest, halfway).reason

    assert reason(-101.0, -100.0, -100.0) == "start noise"
    assert reason(-120.0, -110.0, -97.0) == "fewer steps"
    assert reason(-120.0, -103.0, -96.9) == "start noise, nearly"
    assert reason(-97.0, -90.0, -96.9) == "start noise, nearly"
    assert reason(-96.9, -90.0, -103.1) == "not explained"


def test_more_draws_than_memory_holds_are_refused_before_any_work(monkeypatch, refused):
    monkeypatch.setattr(comparison, "ExperimentContext", None)
    with refused("explaining a cell by 1000000000 draws needs about", "GiB", "take fewer"):
        explain(CELL, draws=10**9)
