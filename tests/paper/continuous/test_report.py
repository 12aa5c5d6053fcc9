"""The page of the continuous experiment: of which runs it is, and what it counts."""

import dataclasses
import tempfile
from pathlib import Path

import pytest

from robustirl.paper.continuous import pictures as continuous_pictures
from robustirl.paper.continuous import report as continuous_report
from robustirl.paper.continuous.statistics import CellStatistics, Estimate
from tests.goldens import require_golden
from tests.paper.invented_pages import a_store, inside, learners


@pytest.mark.usefixtures("mistyped")
def test_notes_name_the_seeds_and_the_algorithm():
    said = []

    class Figures:
        figure_continuous = staticmethod(lambda cells, experts, known, note, **options: said.append(note))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robustirl.paper.figures.figure_continuous", Figures.figure_continuous)
        continuous_pictures._returns(a_store(learners()), best_only=False)
        continuous_pictures._returns(
            a_store([one for one in learners(algorithm="paper") if one.spec.seed == 0]), best_only=True
        )
        for alpha in (1.0, 0.9):
            alone = [one for one in learners() if one.spec.alpha == alpha]
            assert continuous_pictures._returns(a_store(alone), best_only=True) is None
    assert said == [
        "2 seeds; interquartile means, 95 % intervals",
        "algorithm: paper; 1 seed; interquartile means, 95 % intervals",
    ]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ((-380.0, -400.0), "in 2 and below it in 0"),
        ((-420.0, -440.0), "in 0 and below it in 2"),
        ((-391.0, -429.0), "in 0 and below it in 0"),
        ((-390.0, -430.0), "in 0 and below it in 0"),
        ((-389.0, -431.0), "in 1 and below it in 1"),
    ],
)
def test_a_panel_counts_intervals_that_lie_apart(cells, said):
    def cell(alpha, expert, value):
        spread = Estimate(value, value - 5, value + 5)
        return CellStatistics(0.0, expert, alpha, 2, Estimate(1.0, 1.0, 1.0), spread, spread, spread)

    assert continuous_report._panel([cell(1.0, 0.0, -400.0), cell(0.9, 0.1, -400.0)], 0.0) == ""  # None to compare.
    found = [cell(1.0, 0.0, -400.0), cell(1.0, 0.1, -420.0)]
    found += [cell(0.9, n / 10, value) for n, value in enumerate(cells)]
    assert said in continuous_report._panel(found, 0.0)


def continuous_page(records, drawn=True):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "best.svg")
        path.write_text("a picture")
        files = {"best-alpha": [path]} if drawn else {}
        return inside(continuous_report.write_continuous_report(a_store(records, folder), files).read_text("utf-8"))


PAGES = {
    "continuous.html": lambda: continuous_page(learners()),
    "continuous-other.html": lambda: continuous_page(
        [dataclasses.replace(one, verdict="budget") for one in learners(noise_model="uniform-action")], drawn=False
    ),
}


@pytest.mark.usefixtures("mistyped")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_it_said(name):
    require_golden(f"pages/paper/{name}", PAGES[name]())
