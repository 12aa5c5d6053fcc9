"""After an interrupt the tables of the finished runs are written, whatever the moment of Ctrl-C."""

import signal

import pytest

from robustirl._runtime import writing
from robustirl.paper.finite import RunSpec
from robustirl.sweeps import Store, compute, request

SPECS = [RunSpec("three-state", "slip", 0.0, 0.01 * noise, 1.0, steps=3) for noise in range(15)]


def press(*_):
    signal.raise_signal(signal.SIGINT)


def interrupted_at(moment, monkeypatch):
    """Have Ctrl-C pressed at a moment of the first batch, and return how far `compute` reports to whom."""
    if moment == "after a batch":
        return lambda _, done, __: press() if done else None
    if moment == "as a batch is written":  # Its file has its name, and the store does not know it yet.
        settle = writing._fsync_dir

        def pressed(folder):
            settle(folder)
            if folder.name == "batches":
                press()

        monkeypatch.setattr(writing, "_fsync_dir", pressed)
    if moment == "again, as tables are written":
        write = request.write_tables
        monkeypatch.setattr(request, "write_tables", lambda *options: (press(), write(*options))[1])
        return lambda _, done, __: press() if done else None
    if moment == "again, as tables are read":
        read = request.Store.records
        monkeypatch.setattr(request.Store, "records", lambda store: (press(), read(store))[1])
        return lambda _, done, __: press() if done else None
    if moment == "where it is swallowed":

        def swallow(_, done, __):
            try:
                if done:
                    press()
            except KeyboardInterrupt:
                pass

        return swallow
    return lambda *_: None


MOMENTS = (
    "after a batch",
    "as a batch is written",
    "again, as tables are written",
    "again, as tables are read",
    "where it is swallowed",
)


@pytest.mark.parametrize("moment", MOMENTS)
def test_tables_of_finished_runs_are_there(moment, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        outcome = compute(SPECS, tmp_path / "out", interrupted_at(moment, patch), workers=1)
    assert not outcome.complete
    assert len(outcome.records) == outcome.new == 5  # A batch.
    table = (tmp_path / "out" / "results.csv").read_text().splitlines()
    assert len(table) == 1 + 5
    rest = compute(SPECS, tmp_path / "out", workers=1)
    assert rest.complete
    assert (len(rest.records), rest.new) == (15, 10)


def test_an_interrupt_before_the_first_batch_leaves_a_store_that_goes_on(tmp_path):
    outcome = compute(SPECS[:5], tmp_path / "out", press, workers=1)
    assert (outcome.complete, outcome.records, outcome.files) == (False, [], [])
    assert compute(SPECS[:5], tmp_path / "out", workers=1).complete


def test_runs_that_are_given_are_not_done_again_with_the_others_of_their_batch(tmp_path):
    compute(SPECS[:5], tmp_path / "elsewhere", workers=1)
    found = {result.record.spec: result for result in Store.read(tmp_path / "elsewhere").results("finite")}
    given = SPECS[:2]
    with Store.open(tmp_path / "out", SPECS[:5]) as store:
        store.append([found[spec] for spec in given])
    outcome = compute(SPECS[:5], tmp_path / "out", workers=1, given=given)
    assert (outcome.complete, outcome.new) == (True, 3)
    again = {record.spec: record.seconds for record in outcome.records}
    assert [again[spec] for spec in given] == [found[spec].record.seconds for spec in given]
