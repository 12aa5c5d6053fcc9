"""Where a push is final, waiting is not to be had; where it is not, it teaches caution."""

import pytest

from robustirl.paper.studies.final_push import cliff_walking, frozen_lake


def test_a_strong_opponent_leaves_no_time_to_wait():
    standard, mild, strong = frozen_lake(0.2, (1.0, 0.95, 0.9))
    assert mild["return"] > standard["return"] > 0.8
    assert strong["return"] < 1e-6
    assert strong["longest wait"] < strong["expert waits"] < mild["longest wait"]
    # As the page of the studies has them.
    assert [row["return"] for row in (standard, mild, strong)] == pytest.approx([0.89, 0.99, 0.0], abs=0.005)
    assert [row["gap"] for row in (standard, mild, strong)] == pytest.approx([0.0, 0.011, 0.051], abs=5e-4)
    assert [row["smallest gap"] for row in (standard, mild, strong)] == pytest.approx([0.0, 0.009, 0.05], abs=5e-4)
    assert [row["expert waits"] for row in (standard, strong)] == pytest.approx([8.49, 8.49], abs=0.005)
    assert [row["longest wait"] for row in (mild, strong)] == pytest.approx([14.6, 7.7], abs=0.05)
    assert [(row["slip"], row["alpha"]) for row in (standard, strong)] == [(0.2, 1.0), (0.2, pytest.approx(0.9))]
    for row in (standard, mild, strong):  # The fit reaches what is possible, and no more.
        assert row["smallest gap"] - 1e-9 <= row["gap"] <= row["smallest gap"] + 0.01


def test_an_opponent_keeps_one_off_the_edge():
    standard, robust = cliff_walking(0.1, (1.0, 0.8))
    assert robust["falls"] < standard["falls"] / 5
    assert [row["return"] for row in (standard, robust)] == pytest.approx([-134.6, -29.5], abs=0.05)
    assert [row["falls"] for row in (standard, robust)] == pytest.approx([1.15, 0.12], abs=0.005)
    assert (robust["wind"], robust["alpha"]) == (0.1, pytest.approx(0.8))
