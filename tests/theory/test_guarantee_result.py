"""A guarantee in words, and how many episodes would be needed."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.theory.certificate import Certificate, _radius
from robustirl.theory.existence import default_tolerance, rank_test, rank_test_counterexample
from robustirl.theory.guarantee import _episodes_needed
from robustirl.theory.guarantee_program import ExpertRegion
from robustirl.theory.guarantee_result import Guarantee

EXACT = Guarantee(
    shortfall=0.225,
    attained=None,
    without_data=0.9,
    vacuous=False,
    episodes_needed=None,
    obstacle=None,
    return_bound=None,
    reward=np.zeros(3),
    occupancy_error=0.0,
    mismatch=0.0,
    radius=0.0,
    confidence=1.0,
    episodes=None,
    suboptimality=0.0,
    expert_return=None,
)


def test_a_guarantee_in_words():
    assert EXACT.summary() == (
        "the policy earns at least what the expert earns, less 0.225 (returns from 0 to 1), in the learner's world,"
        " under every reward in [0,1] that explains the expert.\n"
        "It rests on an exact occupancy (the expert's occupancy is known within 0 in l1) and on an expert who is"
        " optimal in the learner's world."
    )
    found = dataclasses.replace(
        EXACT, confidence=0.95, episodes=12, radius=0.2, mismatch=0.125, suboptimality=0.01, occupancy_error=0.5
    )
    found = dataclasses.replace(found, return_bound=0.25, expert_return=0.75, attained=0.1)
    assert found.summary().splitlines() == [
        "with 95 % confidence the policy earns at least what the expert earns, less 0.225 (returns from 0 to 1), in"
        " every world within 0.2 of the learner's, under every reward in [0,1] that explains the expert within 0.01.",
        "If the expert earns at least 0.75, the policy earns 0.25.",
        "A shortfall of 0.1 does occur for one such reward.",
        "It rests on 12 independent episodes (the expert's occupancy is known within 0.5 in l1) and on an expert who is"
        " optimal within 0.01 in some world within the radius. The radius moves occupancies by up to 0.125.",
    ]


def test_a_vacuous_guarantee_says_what_would_help():
    needed = dataclasses.replace(EXACT, vacuous=True, episodes_needed=70)
    assert needed.summary().splitlines()[2:] == [
        "It is vacuous, since 0.9 holds without demonstrations: after about 70 episodes like these it would not be."
    ]
    never = dataclasses.replace(needed, obstacle="it is dark", return_bound=0.0, expert_return=0.5)
    assert never.summary().splitlines()[3:] == [
        "It is vacuous: no number of episodes would change that, because it is dark."
    ]


REGION = ExpertRegion(np.array([0.5, 0.5]), np.array([0.25, 0.0]), np.array([0.75, 1.0]), 0.4)


def test_episodes_that_would_be_needed_by_hand():
    """An error of a quarter of the present one is useful; errors fall with the root of the number of episodes."""

    def needed(useful=0.1, region=REGION, **given):
        known = {"episodes": 100, "radius": 0.4, "bias": 0.0} | given
        return _episodes_needed(region, tuple(known.values()), lambda place: place.error <= useful)

    count, why = needed()
    assert why is None
    assert count is not None
    assert 1600 <= count <= 1608  # (0.4 / 0.1)² as many, up to the steps of the search.
    count, _ = needed(bias=0.05, radius=0.35)
    assert count is not None
    assert 4900 <= count <= 4950  # (0.35 / 0.05)².
    truncated = "the expert's occupancy stays open where episodes were truncated; record longer ones"
    assert needed(bias=0.1) == (None, truncated)
    assert needed(radius=1e5, episodes=10**4) == (None, "more than 1e+12 would be needed")
    assert needed(radius=0.99e4, episodes=100)[1] is None  # 100 · (0.99e5)², just below.
    exact = "it would be so with the expert's exact occupancy, for this policy and radius"
    assert needed(useful=1e-6) == (None, exact)
    assert needed(region=dataclasses.replace(REGION, error=0.0)) == (None, exact)
    assert _episodes_needed(REGION, None, lambda _: True) == (None, exact)


def test_what_a_certificate_shows():
    verdicts = {
        "worst_verdict": SimpleNamespace(error_bound=1e-9, converged=True),
        "best_verdict": SimpleNamespace(error_bound=2e-9, converged=True),
    }
    certificate = SimpleNamespace(
        worst_return=np.float64(1.0),
        nominal_return=np.float64(2.0),
        best_return=np.float64(3.0),
        uncertainty=SimpleNamespace(strength=np.array([[0.25, 0.25]])),
        **verdicts,
    )
    rows = dict(Certificate._rows(certificate))  # pyright: ignore[reportArgumentType]
    assert list(rows.values()) == ["1", "2", "3", "SimpleNamespace of ℓ1 radius 0.5", "True, error at most 2e-09"]
    for name in verdicts:
        doubted = SimpleNamespace(**vars(certificate) | {name: SimpleNamespace(error_bound=0.5, converged=False)})
        rows = dict(Certificate._rows(doubted))  # pyright: ignore[reportArgumentType]
        assert rows["converged"] == "False, error at most 0.5"
    assert _radius(np.array([[0.0, 0.25], [0.125, 0.0625]])) == "0 to 0.5"


def test_tolerances_are_those_of_the_precision():
    single, double = (SimpleNamespace(initial=np.zeros(1, kind)) for kind in (np.float32, np.float64))
    assert (default_tolerance(single), default_tolerance(double)) == (1e-5, 1e-9)
    found = rank_test(*rank_test_counterexample())
    # Of six rows and seven columns.
    assert found.tolerance == pytest.approx(float(found.augmented_singular_values[0]) * 7 * np.finfo(float).eps)
