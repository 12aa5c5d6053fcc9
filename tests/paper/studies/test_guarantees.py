"""The study of guarantees from data, at its smallest."""

import csv

import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies.guarantees import GuaranteesStudy, make_pair, simulate, table
from robustirl.paper.studies.registry import Frame
from robustirl.paper.studies.rows import to_csv


def test_one_pair_by_hand():
    """The expert always goes to state 1; the uniform policy does so half of the time, and misses 0.45."""
    row = simulate(make_pair("three-state", 0.0, 0.0, None, 50), "uniform", 50, 0)
    assert abs(row.truth - 0.45) < 1e-9
    assert row.truth <= row.shortfall
    assert row.attained <= row.shortfall <= row.without_data
    (line,) = table([row])
    assert line[:4] == ("three-state, d = 0", "uniform", "50", "1 of 1")
    assert next(csv.DictReader(to_csv(type(row), [row]).splitlines()))["policy"] == "uniform"


def test_a_choice_of_no_pair_is_refused(tmp_path):
    with pytest.raises(
        InvalidInputError, match="--only is 'nothing', which is part of no name among gridworld-4, d = 0"
    ):
        GuaranteesStudy(only="nothing").run(Frame(tmp_path, say=lambda _: None))
    assert not list(tmp_path.iterdir())
