"""The runs of the tests under load: burners go when they are done, and outcomes are counted as they are."""

import csv
import os

import pytest

from torture import loaded

TESTS = """
import pytest
def test_green(): pass
@pytest.mark.skipif(True, reason="no")
def test_skipped(): pass
def test_red(): assert BROKEN == 0
@pytest.fixture
def broken(): assert BROKEN == 0
def test_set_up(broken): pass
"""


def test_burners_end_with_the_context():
    with loaded.busy_cores(1) as (burner,):
        os.kill(burner, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(burner, 0)


@pytest.mark.parametrize("broken", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_outcomes_are_counted_and_one_red_run_is_no_success(tmp_path, broken, capsys):
    (tmp_path / "test_invented.py").write_text(f"BROKEN = {broken}\n{TESTS}")
    plain = ["-n0", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", os.devnull, str(tmp_path)]
    given = ["--runs", "1", "--burners", "0", "--out", str(tmp_path / "out"), "--", *plain]
    assert loaded.main(given) == broken
    with (tmp_path / "out" / "table.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["passed"], row["failed"], row["skipped"]) == (("3", "0", "1"), ("1", "2", "1"))[broken]
    assert row["which"].split() == ["test_invented.test_red", "test_invented.test_set_up"] * broken
    assert capsys.readouterr().out.startswith("1  ")


def test_a_run_that_had_to_be_stopped_is_no_success(tmp_path):
    assert loaded.read_report(tmp_path / "missing.xml", 1.0).failed is None
