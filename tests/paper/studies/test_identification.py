"""The study of what experts leave open: closed forms of its worlds, and its tables."""

import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.paper.studies.identification import IdentificationStudy, counts, examine, grid, make_cases
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
