"""Rules for α, on hand-made runs."""

import itertools

import pytest

from robustirl.paper.studies.physics_results import (
    Cell,
    normalized,
)
from robustirl.paper.studies.physics_rules import (
    ORACLE,
    OTHER_LEVELS,
    OTHER_PARAMETERS,
    OTHER_WORLDS,
    choice_rows,
    choose_alpha,
    learns_from,
)
from tests.paper.studies.hand_made import records_of


def _cells():
    """Return two levels at which 0.9 is better, friction where 1 is, and another world where both are equal."""
    better, worse = {"alpha=1": (60, 60), "alpha=0.9": (70, 70)}, {"alpha=1": (60, 60), "alpha=0.9": (20, 20)}
    same = {"alpha=1": (60, 60), "alpha=0.9": (60, 60)}
    places = [("mass", 0.5, worse), ("mass", 1.0, same), ("mass", 1.5, better), ("mass", 2.0, better)]
    rows = [records_of("hopper", parameter, factor, returns) for parameter, factor, returns in places]
    rows += [records_of("hopper", "friction", factor, worse) for factor in (1.0, 2.0)]
    return [*itertools.chain(*rows), *records_of("walker-2d", "mass", 2.0, same)]


def test_a_rule_never_sees_the_level_it_is_judged_at():
    records = _cells()
    cells = normalized(records)
    heavy, light = Cell("hopper", "mass", 16, 2.0), Cell("hopper", "mass", 16, 0.5)
    choose = lambda cell, source: choose_alpha(cells, cell, "learner_return", source)  # noqa: E731
    assert choose(heavy, ORACLE) == "alpha=0.9"
    assert choose(light, ORACLE) == "alpha=1"
    # Without the level itself 0.9 has the mean of (-0.4, 0, 0.1) against α = 1 for the heavy one, (0, 0.1, 0.1) else.
    assert choose(heavy, OTHER_LEVELS) == "alpha=1"
    assert choose(light, OTHER_LEVELS) == "alpha=0.9"
    assert choose(heavy, OTHER_PARAMETERS) == "alpha=1"
    assert choose(heavy, OTHER_WORLDS) == "alpha=1"  # Equally good: the larger α.
    usual = Cell("hopper", "mass", 16, 1.0)
    assert not learns_from(OTHER_PARAMETERS, usual, Cell("hopper", "friction", 16, 1.0))  # It is the same world.
    assert not learns_from(OTHER_LEVELS, heavy, light._replace(episodes=4))
    alone = normalized(records_of("hopper", "mass", 2.0, {"alpha=1": (60, 60)}))
    assert choose_alpha(alone, heavy, "learner_return", OTHER_LEVELS) is None


def test_the_table_of_choices_leaves_out_the_usual_world_and_names_the_oracle():
    rows = [row for row in choice_rows(_cells()) if row[:4] == ("hopper", "mass", 16, "learner's world")]
    found = {row[4]: row[5:] for row in rows}
    assert found["alpha=0.9"][:2] == (3, "")
    # 0.1, 0.6 and 0.6, twice each; of six numbers the smallest and the largest go: (0.1 + 3 · 0.6) / 4.
    assert float(found["alpha=0.9"][2]) == pytest.approx(0.475, abs=0.006)
    assert found[ORACLE][:2] == (3, "1 0.9 0.9")
    assert found[OTHER_LEVELS][:2] == (3, "0.9 1 1")
    assert found[ORACLE][-2] == "0.83"  # Half at the first level, one at the others.
    assert float(found[OTHER_LEVELS][2]) <= float(found[ORACLE][2])
