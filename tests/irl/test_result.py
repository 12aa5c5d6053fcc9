"""Verdicts in a word, and histories as long as the fit was."""

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.errors import ConvergenceError
from robustirl.irl import Status
from robustirl.irl._result import require_success
from robustirl.irl.relative_entropy.result import RelativeEntropyVerdict
from tests.irl.test_saving import made


@pytest.mark.parametrize(("valid", "converged", "stopped"), list(itertools.product([True, False], repeat=3)))
def test_the_word_for_an_ending(valid, converged, stopped):
    expected = (
        Status.FAILED if not valid else Status.CONVERGED if converged else Status.STOPPED if stopped else Status.BUDGET
    )
    assert Status.of(valid=valid, converged=converged, stopped=stopped) == expected


def test_a_history_is_cut_to_the_start_and_the_steps():
    fit = made()
    assert fit.trimmed().history.dual.shape == (2,)
    begun = eqx.tree_at(lambda f: f.verdict.steps, fit, jnp.asarray(0)).trimmed()
    assert begun.history.dual.tolist() == fit.history.dual[:1].tolist()
    assert jnp.allclose(fit.mixture, 0.9 * fit.player + 0.1 * fit.opponent, atol=1e-15)


def verdict(gap=0.25, first=1.0, finished=0.5, valid=True):
    return RelativeEntropyVerdict(
        converged=jnp.asarray(False),
        valid=jnp.asarray(valid),
        stopped=jnp.asarray(False),
        rounds=jnp.asarray(9),
        feature_gap=jnp.asarray(gap),
        first_gap=jnp.asarray(first),
        finished=jnp.asarray(finished),
        effective=jnp.asarray(5.0),
    )


ENDLESS = "; no episode ended before the horizon, so the world does not end or the opponent is too strong"
NOTHING = "; before learning it was 0.25, so nothing was matched: the opponent is too strong, or the rates are too high"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "budget after 9 rounds with a feature gap of 0.25."),
        ({"finished": 0.0}, f"budget after 9 rounds with a feature gap of 0.25{ENDLESS}."),
        ({"first": 0.25}, f"budget after 9 rounds with a feature gap of 0.25{NOTHING}."),
        ({"first": 0.25, "valid": False}, "failed after 9 rounds with a feature gap of 0.25."),
        (
            {"gap": 0.75, "first": 0.25, "finished": 0.0},
            f"budget after 9 rounds with a feature gap of 0.75{ENDLESS}{NOTHING}.",
        ),
    ],
)
def test_the_sentence_of_a_sampled_fit(options, text):
    assert str(verdict(**options)) == text


def ended(**changes):
    fit = made()
    parts = {"valid": True, "converged": False, "stopped": False, "steps": 12, "occupancy_gap": 0.5} | changes
    for name, value in parts.items():
        fit = eqx.tree_at(lambda f, name=name: getattr(f.verdict, name), fit, jnp.asarray(value))
    return fit


def test_who_failed_and_who_missed_the_tolerance_is_told_in_a_sentence():
    assert require_success(ended(), None, "") is not None
    assert require_success(ended(stopped=True), 1e-3, "") is not None
    assert require_success(ended(converged=True), 1e-3, "") is not None
    with pytest.raises(ConvergenceError) as caught:
        require_success(ended(), 1e-3, " (fit 1 of 2)")
    assert str(caught.value).startswith(
        "the gap is 3.000e-01 after 12 steps (fit 1 of 2), above the tolerance 1.000e-03, and the steps have run out;"
    )
    with pytest.raises(ConvergenceError) as caught:
        require_success(ended(valid=False), None, " (fit 1 of 2)")
    largest = float(np.abs(made().reward).max())
    assert str(caught.value).startswith(
        "the planner did not reach its accuracy in float64 after 12 steps of the fit (fit 1 of 2), where the largest"
        f" reward was {largest:.1e}; take"
    )


def test_the_names_of_version_01_are_kept_with_a_warning():
    with pytest.warns(DeprecationWarning, match="FitVerdict.planned is now FitVerdict.valid"):
        assert made().verdict.planned
    with pytest.warns(DeprecationWarning, match="is now RelativeEntropyVerdict.valid"):
        assert not verdict(valid=False).sound
