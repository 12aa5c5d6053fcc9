"""Verdicts in a word, and histories as long as the fit was."""

import itertools

import equinox as eqx
import jax.numpy as jnp
import pytest

from robustirl.irl import Status
from robustirl.irl.relative_entropy.result import RelativeEntropyVerdict
from tests.irl.test_saving import made


@pytest.mark.parametrize(("sound", "converged", "stopped"), list(itertools.product([True, False], repeat=3)))
def test_the_word_for_an_ending(sound, converged, stopped):
    expected = (
        Status.FAILED if not sound else Status.CONVERGED if converged else Status.STOPPED if stopped else Status.BUDGET
    )
    assert Status.of(sound=sound, converged=converged, stopped=stopped) == expected


def test_a_history_is_cut_to_the_start_and_the_steps():
    fit = made()
    assert fit.trimmed().history.dual.shape == (2,)
    begun = eqx.tree_at(lambda f: f.verdict.steps, fit, jnp.asarray(0)).trimmed()
    assert begun.history.dual.tolist() == fit.history.dual[:1].tolist()
    assert jnp.allclose(fit.mixture, 0.9 * fit.player + 0.1 * fit.opponent, atol=1e-15)


def verdict(gap=0.25, first=1.0, finished=0.5, sound=True):
    return RelativeEntropyVerdict(
        converged=jnp.asarray(False),
        sound=jnp.asarray(sound),
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
        ({"first": 0.25, "sound": False}, "failed after 9 rounds with a feature gap of 0.25."),
        (
            {"gap": 0.75, "first": 0.25, "finished": 0.0},
            f"budget after 9 rounds with a feature gap of 0.75{ENDLESS}{NOTHING}.",
        ),
    ],
)
def test_the_sentence_of_a_sampled_fit(options, text):
    assert str(verdict(**options)) == text
