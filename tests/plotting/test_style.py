"""Foreign names in figures are data: no formula, no control character, no name that is not text."""

import pytest
from matplotlib.figure import Figure

from robustirl.plotting import (
    plain_text,
    save_figure,
)
from robustirl.plotting.style import PowersOfTen, looks

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


def test_a_figure_is_drawn_once_for_each_file_and_left_as_it_was(tmp_path, monkeypatch):
    draws = []
    drawn = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda self, renderer: (draws.append(renderer), drawn(self, renderer)))
    figure = Figure(figsize=(2, 1.5), layout="constrained")
    axes = figure.subplots()
    axes.semilogy([0, 1], [1e-3, 1e2])
    before = figure.dpi, figure.canvas, figure.get_layout_engine()
    png, svg = save_figure(figure, tmp_path / "figure")
    assert len(draws) == 2
    assert (figure.dpi, figure.canvas, figure.get_layout_engine()) == before
    texts = [comment.split(" -->")[0] for comment in svg.read_text(encoding="utf-8").split("<!-- ")[1:]]
    assert "10⁻²" in texts  # As text: a formula takes longer to set than a curve to draw.
    assert not any("$" in text for text in texts)
    width = int.from_bytes(png.read_bytes()[16:20], "big")
    assert width == 2 * 160


def test_powers_of_ten_are_text():
    assert [PowersOfTen()(x) for x in (1e-4, 1.0, 3e10, 0.0)] == ["10⁻⁴", "10⁰", "3×10¹⁰", "0"]


def test_looks_follow_the_palette_and_are_dotted_once_it_has_run_out():
    alphas = [1.0, 0.97, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6]
    found = looks(alphas)
    assert [found[alpha].dashes for alpha in alphas] == ["-"] * 7 + [":"]
    assert found[0.6][:2] == found[0.97][:2] == ("#E69F00", "s")
    assert [found[alpha].label for alpha in (1.0, 0.97)] == ["α = 1 (standard)", "α = 0.97"]
