"""The study of what experts leave open: closed forms of its worlds, and its tables."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper import figures
from robustirl.paper.studies import identification
from robustirl.paper.studies.identification import (
    Case,
    IdentificationStudy,
    Outcome,
    counts,
    examine,
    grid,
    make_cases,
    next_experts,
)
from robustirl.paper.studies.registry import Frame

CASES = {case.name: case for case in make_cases()}


def test_winds_blow_and_moves_fail():
    calm, windy, failing = (
        np.asarray(grid(4, walls=True, **options).kernel.to_array())
        for options in ({}, {"wind": "east", "strength": 0.25}, {"failing": "north", "strength": 0.25})
    )
    assert calm[5].argmax(-1).tolist() == [1, 6, 9, 4]  # North, east, south, west of the second cell of the second row.
    assert calm[0, 0, 0] == 1  # Against the wall.
    assert windy[5, 0, [1, 6]].tolist() == [0.75, 0.25]
    assert failing[5, 0, [1, 5]].tolist() == [0.75, 0.25]
    assert failing[5, 1:] == pytest.approx(calm[5, 1:])


def test_a_checkerboard_is_left_open_by_every_wind():
    found = examine(CASES["torus"])
    assert found.found.dimensions == (16, 2, 2, 1)
    assert [name for name, _ in found.candidates] == ["north fails", "wind north"]
    # What the winds leave open are the rewards of one color: the same for all moves, and on all cells of a color.
    case = CASES["torus"]
    board = np.indices((4, 4)).sum(0).ravel() % 2
    left = examine(case._replace(experts=dict(list(case.experts.items())[:3]))).found.directions
    rewards = left.reshape(16, 4, 2)
    for color in (0, 1):
        assert np.ptp(rewards[board == color], axis=(0, 1)) == pytest.approx([0, 0], abs=1e-9)


def test_one_wind_between_walls_leaves_the_constant():
    assert examine(CASES["walls"]).found.dimensions == (16, 1, 1, 1)


def test_groups_of_buses_are_told_apart_by_their_mean_growth():
    found = examine(CASES["buses"])
    assert found.found.dimensions == (90, 1, 1, 1)
    assert [name for name, _ in found.candidates] == [
        "group 1",
        "group 3",
        "group 2",
    ]  # .82, .70, .62; group 4 has .62.
    assert counts([found])[0] == ("buses", "group 4", "90", "90")


@pytest.mark.slow
def test_the_study_writes_tables_and_a_figure(tmp_path):
    frame = Frame(tmp_path, say=lambda text: None)
    IdentificationStudy(side=2).run(frame)
    assert {path.name for path in frame.files} == {
        "identification.md",
        "identification-next.md",
        "identification.png",
        "identification.svg",
    }


def test_bad_options_are_one_sentence(tmp_path):
    with pytest.raises(InvalidInputError, match="--side is 3, but an even number"):
        IdentificationStudy(side=3).run(Frame(tmp_path))
    with pytest.raises(InvalidInputError, match=r"--strength is 1\.5, but a number between 0 and 1"):
        IdentificationStudy(strength=1.5).run(Frame(tmp_path))


def found(*strengths):
    """A set that is identified but for what has no strength, after every expert."""
    strengths = np.array(strengths)
    return SimpleNamespace(
        dimensions=tuple(int(count) for count in (strengths == 0).sum(-1)),
        nearly_open=lambda threshold: tuple(int(count) for count in (strengths < threshold).sum(-1)),
        sharpness=0.125,
        strengths=strengths,
    )


def test_what_the_study_writes_and_draws(tmp_path, monkeypatch):
    known, left = found([0.0, 0.0, 0.005], [0.0, 0.005, 0.5]), found([0.0, 0.0, 0.1], [0.0, 0.25, 0.5])
    case = Case("buses", dict.fromkeys(("a", "b", "c"), grid(2, walls=True)), known=2)
    outcome = Outcome(case, known, [("c", left)])
    assert counts([outcome]) == [("buses", "a", "2", "3"), ("buses", "a, b", "1", "2")]
    assert next_experts([outcome]) == [("buses", "a, b", "c", "1", "1", "0.12")]
    drawn, saved = [], []
    monkeypatch.setattr(identification, "make_cases", lambda *given: [given])
    monkeypatch.setattr(identification, "examine", lambda given: outcome if given in ((2, 0.9), (4, 0.1)) else None)
    monkeypatch.setattr(figures, "figure_identification", lambda *given: drawn.append(given))
    monkeypatch.setattr(Frame, "save_figure", lambda _, name, figure: saved.append(name))
    frame = Frame(tmp_path, say=lambda _: None)
    IdentificationStudy(side=2, strength=0.9).run(frame)
    IdentificationStudy(strength=0.1).run(frame)
    assert saved == ["identification"] * 2
    dimensions, names, strengths, weakest, weak = drawn[0]
    assert dimensions == {"buses": ((2, 1), (3, 2))}
    assert (names, weakest, weak) == (["a", "b", "c"], {"buses": {"c": 0.25}}, 0.01)
    assert strengths is known.strengths
    for bad in ({"side": 0}, {"side": -2}, {"strength": 0.0}, {"strength": 1.0}):
        with pytest.raises(InvalidInputError):
            IdentificationStudy(**bad).run(frame)


def test_of_the_groups_of_buses_one_is_known():
    assert [(case.name, len(case.experts), case.known) for case in CASES.values()] == [
        ("torus", 4, 2),
        ("walls", 4, 2),
        ("buses", 4, 1),
    ]
    assert list(CASES["buses"].experts) == ["group 4", "group 3", "group 1", "group 2"]
