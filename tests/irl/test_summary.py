"""The summary of a fit, word for word: made-up numbers, so that every branch can be had for nothing."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.demonstrations import OccupancyEstimate
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.irl.evidence import Evidence
from robustirl.irl.summary import summarize, warnings_of
from tests.irl.saved import made


def fit(gap=0.3, first=2.0, steps=12, alpha=0.9, converged=False, valid=True, stopped=False, settled=False):
    verdict = (jnp.asarray(converged), jnp.asarray(valid), jnp.asarray(stopped), jnp.asarray(steps), jnp.asarray(gap))
    return eqx.tree_at(
        lambda f: (
            *(f.verdict.converged, f.verdict.valid, f.verdict.stopped, f.verdict.steps, f.verdict.occupancy_gap),
            *(f.history.occupancy_gap, f.alpha, f.reward, f.verdict.settled),
        ),
        made(),
        (*verdict, jnp.array([first, gap]), jnp.asarray(alpha), jnp.array([-12.0, 0.5, 3.25]), jnp.asarray(settled)),
    )


def estimate(error=0.1, bias=0.0):
    rho = np.full(3, 1 / 3)
    return OccupancyEstimate(rho, rho, rho, rho > 0, error, bias, 7, 0.9, "hold", 0.95)


def evidence(occupancy=None, alpha=None, episodes=None, transitions=None, actions=False, cautions=()):
    return Evidence(0.9, episodes, transitions, actions, 0.9, cautions, alpha, occupancy)


def chosen(decisive=True):
    return AlphaEstimate(0.9, 0.85, 0.956789, decisive, "a tenth is noise.", "actions", 0.1, 12, 0.9)


def line(text, name):
    found = [row[17:] for row in text.splitlines() if row.startswith(f"  {name:<14} ")]
    assert len(found) == 1, text
    return found[0]


def test_the_whole_text():
    assert summarize(fit(), evidence(estimate(), episodes=7, transitions=12, cautions=("take care.",)), None) == (
        "Robust maximum causal entropy IRL\n"
        "  learned from   7 episodes, 12 transitions, states only\n"
        "  in a world of  3 states and 2 actions, γ = 0.9\n"
        "  with           α = 0.9, as given\n"
        "  ended          after all 12 steps (the best was 1)\n"
        "  occupancy gap  0.3 in l1, down from 2; more than the error of the demonstrations explains"
        " (up to 0.1 at 95 %)\n"
        "  reward         from -12 to 3.25\n"
        "  warning        take care.\n"
        "  verdict        doubt: the occupancy gap is 0.3 without the opponent (0.3 with it). Test the policy before"
        ' relying on it. Compare with alpha="auto", which lowers alpha only as far as the data support it.'
    )


def test_without_an_opponent_it_is_not_called_robust():
    assert summarize(fit(alpha=1.0), evidence(), None).startswith("Maximum causal entropy IRL\n")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "an occupancy given as exact"),
        ({"episodes": 7}, "an occupancy estimated from 7 episodes"),
        ({"episodes": 7, "transitions": 12, "actions": True}, "7 episodes, 12 transitions, with actions"),
    ],
)
def test_what_it_was_learned_from(options, text):
    assert line(summarize(fit(), evidence(**options), None), "learned from") == text


@pytest.mark.parametrize(
    ("options", "tolerance", "text"),
    [
        ({"converged": True}, 0.5, "converged after 12 steps, within the tolerance 0.5"),
        ({}, 0.01, "after all 12 steps (the best was 1)"),
        ({"settled": True}, None, "settled after 12 steps, since no further step lowers the gap (the best was 1)"),
        ({"stopped": True}, None, "stopped by a callback or an interrupt after 12 steps (the best was 1)"),
        ({"valid": False}, None, "failed after 12 steps"),
    ],
)
def test_how_it_ended(options, tolerance, text):
    assert line(summarize(fit(**options), evidence(), tolerance), "ended") == text


@pytest.mark.parametrize(
    ("gap", "first", "error", "text"),
    [
        (0.3, 2.0, None, "0.3 in l1, down from 2"),
        (0.3, 0.3, None, "0.3 in l1, from 0.3"),
        (
            0.3,
            2.0,
            0.3,
            "0.3 in l1, down from 2; the demonstrations cannot tell gaps below 0.3 apart (at 95 %)",
        ),
    ],
)
def test_how_close_it_came(gap, first, error, text):
    given = evidence(None if error is None else estimate(error))
    assert line(summarize(fit(gap=gap, first=first), given, None), "occupancy gap") == text


def test_where_alpha_came_from():
    said = line(summarize(fit(), evidence(alpha=chosen()), None), "with")
    assert said == "α = 0.9, estimated from the actions (90 % interval 0.85 to 0.957): a tenth is noise."
    assert line(summarize(fit(), evidence(alpha=chosen(False)), None), "with") == "α = 0.9, by default"


def test_doubts():
    assert warnings_of(fit(), evidence(estimate(0.99, 0.39), chosen()), None) == []
    few = (
        "the demonstrations are few or short for a world of this size: the expert's occupancy may be up to {} from the"
        " estimate in l1, where 2 is the most possible ({})."
    )
    assert warnings_of(fit(), evidence(estimate(1.0, 0.4)), None) == [
        few.format(1, "about 28 episodes would halve that")
    ]
    assert warnings_of(fit(), evidence(estimate(1.1, 1.7)), None) == [
        few.format(1.1, "longer episodes would help more than further ones")
    ]
    assert warnings_of(fit(), evidence(alpha=chosen(False)), None) == ["the data do not settle α: a tenth is noise."]
    assert warnings_of(fit(), evidence(), 0.01) == ["the tolerance 0.01 was not reached."]
    assert warnings_of(fit(converged=True), evidence(), 0.01) == []
    assert warnings_of(fit(valid=False), evidence(), 0.01) == [
        "the planner did not reach its accuracy after 12 steps, where the largest reward was 1.2e+01."
    ]


def test_huge_rewards_of_estimated_occupancies_are_named():
    huge = eqx.tree_at(lambda f: (f.reward, f.diagnosis.least_gap), fit(), (np.array([-9e4, 0.0, 1.0]), 0.01))
    (text,) = warnings_of(huge, evidence(estimate()), None)
    assert text.startswith(
        "the learned rewards reach 9.0e+04, because no policy matches the estimated occupancy exactly"
    )
    assert not warnings_of(huge, evidence(), None)  # An exact occupancy has no error to fit.
    possible = eqx.tree_at(lambda f: f.diagnosis.least_gap, huge, 0.0)
    assert not warnings_of(possible, evidence(estimate()), None)


def test_the_fit_of_a_likelihood_and_what_it_was_fitted_with():
    found = dataclasses.replace(fit(), objective="likelihood")
    found = eqx.tree_at(lambda f: f.history.dual, found, jnp.array([9.0, 0.25]))  # The best step is the second.
    text = summarize(found, evidence(episodes=7, transitions=12), None)
    assert line(text, "log-likelihood") == "-3.000, -0.2500 a choice (priors included)"
    text = summarize(found, evidence(), None)
    assert line(text, "log-likelihood") == "-0.250, -0.2500 a choice (priors included)"
    assert line(summarize(fit(alpha=1.0), evidence(), None), "with") == "α = 1, no opponent"
    local = fit(alpha=np.array([[0.9, 0.8], [0.75, 0.7], [0.95, 0.9]]))
    assert line(summarize(local, evidence(), None), "with") == "α from 0.7 to 0.95 by state and action, as given"
