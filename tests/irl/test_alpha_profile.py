"""The choice of α by likelihood, from made-up likelihoods."""

from types import SimpleNamespace

import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl.demonstrations import Choices
from robustirl.irl import alpha_profile
from robustirl.irl.alpha_profile import profile_alpha

ROWS = Choices([0] * 10, [0] * 10)


@pytest.fixture
def profile(monkeypatch):
    """A function of gains in log-likelihood over α = 1, for all ten choices; NaN stands for a fit that failed."""

    def choose(**gains):
        given = {1.0: 0.0} | {float(f"0.{name[1:]}"): gain for name, gain in gains.items()}

        def fit(world, rows, *, alpha, objective, throw, steps):
            assert (world, rows, objective, throw, steps) == ("world", ROWS, "likelihood", False, 7)
            dual = np.array([9.0, 0.5 - np.nan_to_num(given[alpha], nan=50.0) / 10])  # A loss a choice, at step 1.
            verdict = SimpleNamespace(best_step=1, valid=not np.isnan(given[alpha]))
            return SimpleNamespace(history=SimpleNamespace(dual=dual), verdict=verdict)

        monkeypatch.setattr(alpha_profile, "fit", fit)
        candidates = [alpha for alpha in given if alpha < 1]
        return profile_alpha("world", ROWS, candidates=candidates, steps=7, throw=True)

    return choose


def test_an_alpha_is_taken_if_its_gain_is_beyond_chance(profile):
    found, fits = profile(a9=2.0, a8=3.0, a7=1.0)
    assert len(fits) == 4
    assert (found.alpha, found.decisive, found.method, found.moves, found.confidence) == (
        0.8,
        True,
        "likelihood",
        10,
        0.95,
    )
    assert found.excess == pytest.approx(0.2)
    assert (found.low, found.high) == (0.8, 0.9)  # Within 1.355 of the best.
    assert found.note == snapshot("the choices are 3.00 more likely in log than at 1")
    assert profile(a9=1.36)[0].alpha == 0.9
    found, _ = profile(a9=1.35)
    assert (found.alpha, found.decisive, found.low, found.high) == (1.0, False, 0.9, 1.0)
    assert found.note == snapshot("no opponent makes the choices more likely by more than chance (at most 1.35 in log)")
    assert profile(a9=0.5)[0].note.endswith("(at most 0.50 in log)")


def test_one_is_a_finding_where_every_opponent_is_worse(profile):
    found, _ = profile(a9=-2.0, a8=-1.0)
    assert (found.alpha, found.decisive, found.low, found.high, found.excess) == (1.0, True, 0.8, 1.0, 0.0)
    # A fit that failed counts for nothing, however good it looks.
    found, _ = profile(a9=2.0, a8=np.nan)
    assert (found.alpha, found.low) == (0.9, 0.9)
