"""What `robustirl continuous` writes and does not write again; runs and figures are stand-ins."""

from types import SimpleNamespace

import pytest

from robustirl.paper import figures
from robustirl.paper.continuous import report, reproduce
from robustirl.paper.continuous.reproduce import rebuild_report, reproduce_continuous, write_outputs
from robustirl.sweeps import Outcome, Timing


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    """What a request came to, complete and nothing new; the store holds one run."""
    store = SimpleNamespace(folder=tmp_path, configuration={"jax": "0"}, records=lambda: ["record"], damaged=["torn"])
    monkeypatch.setattr(reproduce.Store, "read", lambda out: store)
    monkeypatch.setattr(reproduce, "with_experts", lambda specs: specs)
    found = {"complete": True, "new": 0}
    monkeypatch.setattr(
        reproduce, "compute", lambda *_, **__: Outcome([], timing=Timing(), files=[tmp_path / "table"], **found)
    )
    return found


def test_a_page_that_is_there_is_not_written_again(outcome, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "write_outputs", lambda store, progress: [store.folder / "written"])

    def names(**options):
        return [path.name for path in reproduce_continuous([], tmp_path, **options).files]

    assert names() == ["table", "written"]  # No page yet.
    (tmp_path / "report.html").write_text("")
    assert names() == ["table", "report.html"]
    assert names(redraw=True) == ["table", "written"]
    outcome["new"] = 1
    assert names() == ["table", "written"]
    outcome["complete"] = False
    assert names() == ["table"]


def test_outputs_of_a_store_made_elsewhere(outcome, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "write_outputs", lambda store, progress: [store.folder / "written"])
    monkeypatch.setattr(reproduce, "write_tables", lambda records, out, made: [out / f"{len(records)} {made['jax']}"])
    found = rebuild_report(tmp_path)
    assert [path.name for path in found.files] == ["1 0", "written"]
    assert (found.records, found.complete, found.new, found.notices) == (["record"], True, 0, ("torn",))


def test_statistics_figures_and_the_page_are_written(tmp_path, monkeypatch):
    class Figure:
        pass

    monkeypatch.setattr(figures, "Figure", Figure)
    monkeypatch.setattr(figures, "save_figure", lambda figure, path: [path.with_suffix(".png")])
    drawn = {}
    monkeypatch.setattr(
        report, "write_continuous_report", lambda store, files: drawn.update(files) or tmp_path / "page"
    )
    monkeypatch.setattr(reproduce, "statistics_csv", lambda cells: "csv")
    monkeypatch.setattr(reproduce, "cell_statistics", lambda runs: runs)
    monkeypatch.setattr(reproduce, "learners", lambda store: [])
    pictures = [
        SimpleNamespace(name=name, make=make) for name, make in (("a", lambda _: Figure()), ("b", lambda _: None))
    ]
    monkeypatch.setattr(reproduce, "PICTURES", pictures)
    steps = []
    store = SimpleNamespace(folder=tmp_path)
    files = write_outputs(store, lambda *step: steps.append(step))
    assert write_outputs(store) == files  # The folder may be there.
    assert files == [tmp_path / "statistics.csv", tmp_path / "figures" / "a.png", tmp_path / "page"]
    assert (tmp_path / "statistics.csv").read_text() == "csv"
    assert (tmp_path / "figures").is_dir()
    assert drawn == {"a": [tmp_path / "figures" / "a.png"]}
    assert steps[:3] == [("drawing", 0, 2), ("drawing", 1, 2), ("drawing", 2, 2)]
