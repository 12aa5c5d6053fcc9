"""Verdicts in a word, and histories as long as the fit was."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.errors import ConvergenceError
from robustirl.irl import Status
from robustirl.irl._result import require_success
from tests.irl.saved import made


@pytest.mark.parametrize(("valid", "converged", "stopped"), list(itertools.product([True, False], repeat=3)))
def test_the_word_for_an_ending(valid, converged, stopped):
    unless_failed = Status.CONVERGED if converged else Status.STOPPED if stopped else Status.MAX_STEPS
    expected = unless_failed if valid else Status.FAILED
    assert Status.of(valid=valid, converged=converged, stopped=stopped) == expected


def test_a_history_is_cut_to_the_start_and_the_steps():
    fit = made()
    assert isinstance(fit.trimmed().history.dual, jax.Array)
    on_the_host = jax.tree.map(np.asarray, fit)
    assert type(on_the_host.trimmed().history.dual) is np.ndarray
    assert fit.trimmed().history.dual.shape == (2,)
    begun = eqx.tree_at(lambda f: f.verdict.steps, fit, jnp.asarray(0)).trimmed()
    assert begun.history.dual.tolist() == fit.history.dual[:1].tolist()
    assert jnp.allclose(fit.mixture, 0.9 * fit.player + 0.1 * fit.opponent, atol=1e-15)


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


@pytest.mark.parametrize(
    ("size", "bound", "largest", "single", "text"),
    [
        (100.0, 1.01e-4, 0.0, False, "error bound of 1.0e-04 in float64, {}; use a smaller discount,"),
        (100.0, 1.01e-4, 2.0, False, "{}; use a smaller discount or a smaller initial reward, or"),
        (100.0, 1.0, 2.0, True, "{}; use double precision or a smaller discount or a smaller initial reward, or"),
        (0.5, 1.1e-6, 0.0, False, "{}; use a smaller discount, or"),
        (100.0, 0.99e-4, 2.0, False, "after 0 steps of the fit, where the largest reward was 2.0e+00; take smaller or"),
        (0.5, 0.9e-6, 0.0, False, "after 0 steps of the fit, where the largest reward was 0.0e+00; take smaller"),
        # Of the bound more than a half is rounding: 4 · 2⁻²³ · 100 / 0.1 is 4.8e-4, and 4 · 2⁻⁵² · 1e10 / 0.1 8.9e-5.
        (100.0, 9.4e-4, 0.0, True, "float32 can certify values of size 1.0e+02 to no better than 4.8e-04, {}; use"),
        (100.0, 9.6e-4, 0.0, True, "error bound of 9.6e-04 in float32"),
        (1e10, 1.7e-4, 0.0, False, "float64 can certify values of size 1.0e+10 to no better than 8.9e-05, {}; use"),
        (1e10, np.inf, 0.0, False, "error bound of inf in float64"),
    ],
)
def test_a_fit_that_failed_before_its_first_step_names_the_cause(size, bound, largest, single, text):
    dtype = np.float32 if single else np.float64
    parts = (np.array([-size, 0.0, 0.0], dtype), np.array([0.0, -largest, 0.0]), np.asarray(bound), np.asarray(0))
    found = eqx.tree_at(lambda f: (f.value, f.reward, f.verdict.error_bound, f.verdict.steps), made(), parts)
    assert text.format("which is too coarse for a fit") in found.explain_failure("")
