"""Bars: where they go, and what they say."""

import io
import sys

import pytest

from robustirl._runtime import progress


@pytest.mark.parametrize("widgets", [None, "found"])
def test_bars_go_to_standard_error_and_are_text_without_widgets(monkeypatch, widgets):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: widgets)
    found = progress._console()
    assert found.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rich.console.Console", lambda **options: options)
        assert progress._console() == ({"stderr": True} if widgets else {"stderr": True, "force_jupyter": False})
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    with progress.progress_bar("learning", 4) as report:
        report(1, "gap 0.5")
    assert "learning" in said.getvalue()
    assert "100%" in said.getvalue()
    with progress.progress_bar("waiting", None) as report:
        report(1, "gap 0.5")
    assert "%" not in said.getvalue().partition("waiting")[2]
    with progress.progress_bar("hidden", 4, show=False) as report:
        report(1, "note")
    assert "hidden" not in said.getvalue()
