"""Episodes much longer or shorter than the expert's are told, however close the states are."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.adversarial.result import ImitationVerdict, judge_imitation, length_ratio


def _verdict(length, expert, ended, gap=0.1):
    given = (False, True, False, 1, gap, gap, 0.05, 0.6, float(length), float(expert), ended)
    return ImitationVerdict(*(jnp.asarray(x) for x in given))


@pytest.mark.parametrize(
    ("length", "expert", "ended", "ratio"),
    [
        (480, 80, 1.0, 6.0),  # It stays near the goal.
        (480, 80, 0.5, 6.0),
        (480, 80, 0.4, 1.0),  # Most recordings stopped before the episodes did.
        (100, 500, 0.0, 5.0),  # It falls where the expert did not.
        (100, 500, 1.0, 5.0),
        (np.nan, 500, 1.0, 1.0),  # Of a file in which lengths are not known.
        (100, 100, 1.0, 1.0),
    ],
)
def test_how_many_times_longer_or_shorter_episodes_are(length, expert, ended, ratio):
    assert length_ratio(_verdict(length, expert, ended)) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("length", "gap", "trust"),
    [
        (160, 0.1, "trust"),
        (170, 0.1, "doubt"),
        (320, 0.1, "doubt"),
        (330, 0.1, "do not use"),
        (330, 0.5, "do not use"),
        (80, 0.5, "doubt"),
        (80, 0.7, "do not use"),
    ],
)
def test_lengths_are_judged_beside_states(length, gap, trust):
    found = judge_imitation(_verdict(length, 80, 1.0, gap))
    assert str(found.trust) == trust
    told = f"its episodes take {length} steps and the expert's 80, although the states are {gap:.2f} deviations"
    assert str(found).startswith(f"{trust}: {told}") == (length > 160)
