"""What `robustirl explore` says of the page it has written."""

import importlib.resources
from pathlib import Path

import pytest

from robustirl.cli import explore
from robustirl.cli.console import take_answers
from robustirl.errors import InvalidInputError
from tests.cli.running import printed


@pytest.mark.parametrize(("size", "shown"), [(999_499, "999 kB"), (1_000_000, "1.0 MB"), (1_550_000, "1.6 MB")])
def test_the_size_of_a_page_is_said_in_whole_units(tmp_path, size, shown):
    path = tmp_path / "p"
    path.write_bytes(bytes(size))
    take_answers()  # Of earlier tests.
    assert printed(explore._say, path).endswith(f"({shown})\n")
    assert take_answers() == {"files": [str(path)]}


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A folder of a fit whose page is written by a stand-in; where pages were written."""
    written = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explore, "is_fit_folder", lambda folder: True)
    monkeypatch.setattr(explore, "write_fit_page", lambda folder, out: written.append(out) or Path(__file__))
    return written


def test_a_file_that_is_not_a_page_of_ours_is_not_overwritten(pages):
    for content in ("state\n0\n", "<!DOCTYPE html><title>mine</title>", "x" * 5000 + "<title>robustirl fit: "):
        Path("walks.csv").write_text(content)
        with pytest.raises(InvalidInputError) as caught:
            explore.run_explore(explore.Explore(Path("found"), out=Path("walks.csv")))
        assert str(caught.value) == (
            "walks.csv exists and is not a page of robustirl explore; remove it, or choose another --out."
        )
        assert Path("walks.csv").read_text() == content
    assert not pages


def test_pages_of_ours_empty_files_links_and_new_names_are_written(pages):
    for name in ("explorer.html", "fit.html"):
        template = importlib.resources.files("robustirl.explorer") / "data" / f"{name}.jinja"
        Path(name).write_text(template.read_text())  # Nothing is filled in before the title.
    Path("empty.html").touch()
    Path("mine").write_text("mine")
    Path("link.html").symlink_to("mine")
    names = ["explorer.html", "fit.html", "empty.html", "link.html", "new.html"]
    for name in names:
        printed(explore.run_explore, explore.Explore(Path("found"), out=Path(name)))
    assert pages == [Path(name) for name in names]
    take_answers()
