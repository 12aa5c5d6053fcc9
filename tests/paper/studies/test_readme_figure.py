"""The picture at the front door shows what was computed, and the README says the same."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Annotation

from robustirl.paper.figures import figure_front
from robustirl.paper.studies.readme_figure import NOISES, specs_of
from robustirl.paper.studies.toy_text_results import AUTO, choice
from robustirl.sweeps import run
from robustirl.sweeps.executor import flat
from tests.commands import robustirl

README = Path(__file__).parents[3] / "README.md"


@pytest.fixture(scope="module")
def records():
    """The two ends of the picture, as it is made."""
    specs = (*specs_of(NOISES[-1:]), *specs_of(NOISES[:1], draws=1))
    return [item.record for item in flat(run(specs, workers=1))]


def means(records, noise):
    own = [r for r in records if r.spec.expert_noise == noise]
    return {name: np.mean([r.total_return for r in own if choice(r) == name]) for name in ("1", AUTO)}


def test_robust_holds_on_where_standard_fails(records):
    near, far = means(records, 0.0), means(records, 0.2)
    optimal = records[0].optimal_return
    assert near["1"] == pytest.approx(near[AUTO])  # No mismatch, no opponent: α from the data is 1.
    lost, kept = optimal - far["1"], optimal - far[AUTO]
    assert lost > 400
    assert kept < 0.2 * lost


def test_the_readme_names_the_numbers_of_its_picture(records):
    caption = re.search(r"returns (-\d+).*?robust one (-\d+).*?best policy (-\d+)", README.read_text("utf-8"), re.S)
    assert caption
    far = means(records, 0.2)
    named = [float(number) for number in caption.groups()]
    assert named == pytest.approx([far["1"], far[AUTO], records[0].optimal_return], abs=0.6)


def test_curves_and_their_names_are_of_one_color(records):
    axes = figure_front(records).axes[0]
    lines = {line.get_color(): np.asarray(line.get_ydata(), float) for line in axes.get_lines()}
    names = {text.get_text(): text for text in axes.texts if isinstance(text, Annotation)}
    for choice_of, name in (("1", "standard IRL"), (AUTO, "robust IRL, α from the data")):
        expected = [means(records, noise)[choice_of] for noise in (0.0, 0.2)]
        assert lines[names[name].get_color()] == pytest.approx(expected)
        assert names[name].xy == pytest.approx((0.2, expected[-1]))
    assert lines[names["the best there is"].get_color()] == pytest.approx(records[0].optimal_return)
    assert "robust IRL, α = 0.8" in names
    assert axes.get_legend() is None


def test_a_picture_without_the_robust_learner_is_refused(records, refused):
    fixed = [dataclasses.replace(r) for r in records if not r.spec.auto]
    with refused("alpha = auto"):
        figure_front(fixed)


def test_a_folder_that_is_a_file_is_refused_in_one_line(here, capsys):
    (here / "here").write_text("")
    status, out, err = robustirl("study readme-figure --out here", capsys)
    assert (status, out) == (2, "")
    assert err == "robustirl: here is a file, but --out must name a folder; choose another name."
    assert [path.name for path in here.iterdir()] == ["here"]
