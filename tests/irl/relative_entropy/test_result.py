"""Verdicts and histories of sampled fits in words."""

import jax
import jax.numpy as jnp
import pytest

from robustirl.control import linear_policy
from robustirl.irl.relative_entropy.result import RelativeEntropyFit, RelativeEntropyHistory, RelativeEntropyVerdict
from tests.irl.saved import made


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


def test_the_names_of_version_01_are_kept_with_a_warning():
    with pytest.warns(DeprecationWarning, match="FitVerdict.planned is now FitVerdict.valid"):
        assert made().verdict.planned
    with pytest.warns(DeprecationWarning, match="is now RelativeEntropyVerdict.valid"):
        assert not verdict(valid=False).sound


def test_what_a_prompt_shows_of_sampled_fits_and_how_they_failed():
    def fit(alpha, theta, verdict):
        policy, numbers = linear_policy(2, 1), jnp.asarray(theta)
        history = RelativeEntropyHistory(*[jnp.asarray(alpha)] * 3, numbers)
        return RelativeEntropyFit(policy, policy, numbers, numbers, numbers, jnp.asarray(alpha), history, verdict)

    one = fit(0.9, [1.0, 2.0], verdict())
    assert repr(one) == (
        "RelativeEntropyFit(α = 0.9, ended budget after 9 rounds with a feature gap of 0.25, θ = [1, 2])"
    )
    both = jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), verdict())
    assert repr(fit([0.9, 0.8], [[1.0], [2.0]], both)) == (
        "RelativeEntropyFit(α = [0.9, 0.8], ended [False, False], θ = <2 × 1, from 1 to 2>)"
    )
    assert one.explain_failure(" of fit 3").startswith(
        "round 8 of fit 3 had numbers that were not finite, or weights on 5.00 trajectories in effect;"
    )
