"""How fits are put into batches and judged in the end, with stand-ins for the learning."""

from types import SimpleNamespace
from typing import Any

import pytest

from robustirl.irl.mce import fit as module
from robustirl.irl.mce.problem import LIKELIHOOD, LIKELIHOOD_TOLERANCE, OCCUPANCY

WORLDS: Any = [SimpleNamespace(num_states=3, name=name) for name in "abcd"]
ALPHAS = [0.9, 1.0, 0.8, "auto"]


@pytest.fixture
def learning(monkeypatch):
    """What was prepared, a row a batch, and what was asked of the fits in the end."""
    told = SimpleNamespace(batches=[], judged=[])

    def prepare(mdps, occupancies, alphas, rewards, starts, settings, uncertainty=None):
        told.batches.append(("".join(world.name for world in mdps), occupancies, alphas, rewards, starts))
        told.settings, told.uncertainty = settings, uncertainty
        return Prepared([world.name for world in mdps], [None] * len(mdps))

    class Prepared(tuple):
        steps = 5

        def __new__(cls, *parts):
            return super().__new__(cls, parts)

    def judged(result, tolerance, which=""):
        told.judged.append((result, tolerance, which))
        return result

    monkeypatch.setattr(module, "prepare", prepare)
    monkeypatch.setattr(module, "ONE_BY_ONE_STATES", 3)
    monkeypatch.setattr(module, "learn_one_by_one", lambda prepared, _: [f"fit {name}" for name in prepared[0]])
    monkeypatch.setattr(module, "learn_one", lambda problem, *_: f"fit {problem}")
    monkeypatch.setattr(module, "require_success", judged)
    return told


def many(**options):
    return module.fit_many(WORLDS, [1, 2, 3, 4], ALPHAS, **options)


def test_standard_and_robust_fits_are_batches_of_their_own_by_default(learning):
    found = many(rewards=["r", "s", "t", "u"], initial_parameters=[5, 6, 7, 8], throw=False)
    assert found == ["fit a", "fit b", "fit c", "fit d"]
    assert learning.batches == [
        ("bd", [2, 4], [1.0, 1.0], ["s", "u"], [6, 8]),
        ("ac", [1, 3], [0.9, 0.8], ["r", "t"], [5, 7]),
    ]
    learning.batches.clear()
    shared = object()
    many(rewards=shared)
    assert [batch[3:] for batch in learning.batches] == [(shared, None)] * 2
    assert learning.judged[0] == ("fit b", None, " (fit 0 of 2)")


@pytest.mark.parametrize(
    "options", [{"optimizer": "given"}, {"tolerance": 0.5}, {"rewards": ["r"]}, {"initial_parameters": [5, 6]}]
)
def test_with_an_optimizer_a_tolerance_or_lists_that_differ_all_are_one_batch(learning, options):
    many(**options, steps=9, throw=True)
    assert [batch[0] for batch in learning.batches] == ["abcd"]
    assert learning.settings.steps == 9
    assert [which for *_, which in learning.judged] == [f" (fit {place} of 4)" for place in range(4)]
    assert {tolerance for _, tolerance, _ in learning.judged} == {options.get("tolerance")}


def test_alike_fits_are_one_batch_and_a_single_one_is_not_numbered(learning):
    module.fit_many(WORLDS, [1, 2, 3, 4], "auto")
    module.fit_many(WORLDS[:2], [1, 2], 0.5, throw=False)
    assert [batch[2] for batch in learning.batches] == [[1.0] * 4, [0.5] * 2]
    learning.judged.clear()
    module.fit_many(WORLDS[:1], [1], [0.5])
    assert learning.judged == [("fit a", None, "")]


@pytest.mark.parametrize(
    ("objective", "given", "keep_last", "maximum", "judged_by"),
    [
        (LIKELIHOOD, None, False, False, LIKELIHOOD_TOLERANCE),  # A maximum that was not found is not an estimate.
        (LIKELIHOOD, None, False, True, None),
        (LIKELIHOOD, None, True, False, None),
        (LIKELIHOOD, 0.5, False, False, 0.5),
        (OCCUPANCY, None, False, False, None),
    ],
)
def test_a_likelihood_without_a_maximum_is_no_success(
    learning, monkeypatch, objective, given, keep_last, maximum, judged_by
):
    monkeypatch.setattr(module, "found_maximum", lambda _: maximum)
    options: Any = {"objective": objective, "tolerance": given, "keep_last": keep_last, "alpha": "auto"}
    assert module.fit(WORLDS[0], [0.5, 0.5], initial_parameters=7, **options) == "fit a"
    assert learning.judged == [("fit a", judged_by, "")]
    assert learning.batches == [("a", [[0.5, 0.5]], [1.0], None, [7])]
    assert module.fit(WORLDS[0], [0.5, 0.5], throw=False, **options) == "fit a"
    assert len(learning.judged) == 1
    assert learning.batches[1][-1] is None
