"""Foreign names in figures are data: no formula, no control character, no name that is not text."""

import pytest
from matplotlib.figure import Figure

from robustirl.plotting import plain_text, save_figure

NAMES = {
    "one dollar": ("a$b", "a$b"),
    "two dollars": ("a$b$c", "a$b$c"),
    "a formula that is none": (r"$\nosuchcommand$", r"$\nosuchcommand$"),
    "an open brace": ("$_{$", "$_{$"),
    "a dollar escaped already": (r"a\$b", r"a\$b"),
    "not UTF-8": ("caf\udce9", r"caf\udce9"),
    "a control character": ("a\x1b[31m", r"a\x1b[31m"),
}


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.parametrize("formula", ["", r", $\alpha = 1$"])
def test_a_name_is_drawn_as_it_is_written(tmp_path, what, formula):
    name, drawn = NAMES[what]
    figure = Figure(figsize=(2, 1))
    figure.suptitle(plain_text(name) + formula)
    _, svg = save_figure(figure, tmp_path / "figure")
    comments = svg.read_text(encoding="utf-8").split("<!-- ")[1:]  # Matplotlib notes each text before its glyphs.
    texts = [comment.split(" -->")[0] for comment in comments]
    assert any(plain_text(name) in text or drawn in text for text in texts)


def test_a_long_name_is_cut():
    assert len(plain_text("x" * 10**6)) < 300
