"""Callbacks and files of relative-entropy fits: what is seen, what is stopped, and what comes back."""

import contextlib
import dataclasses
import inspect
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl import Interrupted, RelativeEntropyFit, Status, load_fit, save_fit
from robustirl.irl.relative_entropy import fit as module
from robustirl.irl.relative_entropy.callbacks import learn_with_callbacks
from robustirl.irl.relative_entropy.fit import fit_relative_entropy
from tests.control.worlds import fast_key
from tests.irl.relative_entropy.test_fit import LINE, QUICK, demonstrations

CONFIG = dataclasses.replace(QUICK, rounds=7, attempts=2)
EXPERT = jnp.asarray([0.1, 0.1, 0.3, 0.3, 0.2])


def fit(callbacks=(), config=CONFIG, **options):
    return fit_relative_entropy(
        LINE, EXPERT, alpha=0.9, config=config, callbacks=callbacks, every=3, key=fast_key(0), **options
    )


def same(one, two, **tolerance):
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(a, b, **tolerance)


@pytest.mark.slow
def test_watching_changes_nothing():
    same(fit([print]), fit(), rtol=1e-9, atol=1e-12)


def test_every_stretch_is_seen():
    seen = []
    watched = fit([seen.append])
    assert [(step.attempt, step.round) for step in seen] == [(0, 3), (0, 6), (0, 7), (1, 3), (1, 6), (1, 7)]
    assert len(set(seen)) == 6  # Steps are told apart as objects, not by comparing arrays.
    best = [step for step in seen if np.array_equal(step.parameters, watched.parameters)]
    assert [step.round for step in best] == [7]
    assert best[0].feature_gap == watched.history.feature_gap[-1]
    assert (best[0].rounds, best[0].attempts) == (7, 2)
    assert watched.verdict.status == Status.MAX_STEPS


def test_false_ends_the_fit_and_all_callbacks_are_asked():
    seen = []
    stopped = fit([lambda step: step.round < 6, seen.append])
    assert [(step.attempt, step.round) for step in seen] == [(0, 3), (0, 6)]
    assert stopped.verdict.status == Status.STOPPED
    assert int(stopped.verdict.rounds) == 6
    assert stopped.history.feature_gap.shape == (6,)
    assert str(stopped.verdict).startswith("stopped after 6 rounds")


def test_at_the_very_end_there_is_nothing_left_to_stop():
    last = fit([lambda step: (step.attempt, step.round) != (1, 7)])
    assert last.verdict.status == Status.MAX_STEPS
    first = fit([lambda step: (step.attempt, step.round) != (0, 7)])
    assert first.verdict.status == Status.STOPPED


def test_an_interrupt_hands_over_what_there_is():
    def interrupt(step):
        if step.round == 6:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        fit([interrupt])
    assert caught.value.fit.verdict.status == Status.STOPPED
    assert caught.value.fit.history.feature_gap.shape == (6,)
    np.testing.assert_array_equal(caught.value.fit.alpha, 0.9)


def test_bad_callbacks_are_refused(refused):
    with refused("'draw'", "RelativeEntropyStep"):
        inspect.unwrap(learn_with_callbacks)(None, [], ["draw"], 3)
    with refused("every", "0"):
        fit_relative_entropy(LINE, EXPERT, callbacks=[print], every=0, config=CONFIG, key=fast_key(0))


def test_a_fit_comes_back_from_its_file_to_the_bit(tmp_path):
    found = fit_relative_entropy(LINE, EXPERT, config=QUICK, key=fast_key(0))
    save_fit(found, tmp_path / "fit.npz")
    again = load_fit(tmp_path / "fit.npz")
    assert isinstance(again, RelativeEntropyFit)
    same(again, found, rtol=0)
    features = demonstrations().features[0]
    assert np.asarray(again.player.mean(features)).tobytes() == np.asarray(found.player.mean(features)).tobytes()
    assert again.verdict.status == found.verdict.status


def test_the_bar_counts_the_rounds_of_all_attempts(monkeypatch):
    seen = []

    @contextlib.contextmanager
    def progress_bar(name, total, *, show):
        seen.append((name, total, show))
        yield lambda done, text: seen.append((done, text))

    def learn(problem, keys, callbacks, every):
        callbacks[-1](SimpleNamespace(attempt=1, rounds=7, round=3, feature_gap=0.25))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "progress_bar", progress_bar)
    monkeypatch.setattr(module, "learn_with_callbacks", learn)
    with pytest.raises(KeyboardInterrupt):
        fit(progress=True)
    # Two attempts of seven rounds, and the third round of the second of them.
    assert seen == [("learning", 14, True), (10, "feature gap 0.25")]
