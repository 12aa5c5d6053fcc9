"""Means over pairs of groups."""

import numpy as np

from robustirl.paper.studies.buses_results import OTHERS, Row, cells, summarize


def test_means_are_over_pairs_that_can_be_judged():
    blank = {
        "fitness_error": 0.0,
        "gain": 0.0,
        "gain_error": 0.0,
        "replacements": 0.0,
        "miles": 0.0,
        "cost": 0.0,
        "cost_error": 0.0,
    }
    rows = [
        Row(3, 4, "standard", 1.0, fitness=-0.4, excess=0.1, excess_error=0.0, **blank),
        Row(4, 3, "standard", 0.9, fitness=-0.2, excess=0.3, excess_error=0.0, **blank),
        Row(1, 3, "standard", 1.0, fitness=-9.0, excess=9.0, excess_error=0.0, **blank),
        Row(4, 1, "standard", 1.0, fitness=-0.1, excess=np.nan, excess_error=0.0, **blank),
        Row(4, 4, "own cost", 1.0, fitness=-0.1, excess=0.0, excess_error=0.0, **blank),
        Row(3, 3, "own cost", 1.0, fitness=-0.1, excess=0.0, excess_error=0.0, **blank),
    ]
    assert summarize(rows)[1] == [("standard", "-0.30000", "0.2000", "-0.10000", "1")]
    joint = Row(OTHERS, 3, "joint", 1.0, fitness=-0.5, excess=-0.0, excess_error=0.0, **blank)
    assert summarize([*rows, joint._replace(excess=0.25)])[1][1] == ("joint", "-0.50000", "0.2500", "–", "0")
    assert cells(joint)[-1] == "0.0000 (0.0000 to 0.0000)"
