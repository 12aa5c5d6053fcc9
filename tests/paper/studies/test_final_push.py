"""Where a push is final, waiting is not to be had; where it is not, it teaches caution."""

import pytest

from robustirl.paper.studies.final_push import cliff_walking, frozen_lake


def test_a_strong_opponent_leaves_no_time_to_wait():
    standard, mild, strong = frozen_lake(0.2, (1.0, 0.95, 0.9))
    assert mild["return"] > standard["return"] > 0.8
    assert strong["return"] < 1e-6
    assert strong["longest wait"] < strong["expert waits"] < mild["longest wait"]
    for row in (standard, mild, strong):  # The fit reaches what is possible, and no more.
        assert row["smallest gap"] - 1e-9 <= row["gap"] <= row["smallest gap"] + 0.01


def test_an_opponent_keeps_one_off_the_edge():
    standard, robust = cliff_walking(0.1, (1.0, 0.8))
    assert robust["falls"] < standard["falls"] / 5
    assert robust["return"] == pytest.approx(-29.5, abs=0.1)
