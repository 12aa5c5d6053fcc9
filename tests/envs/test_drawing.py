"""Pictures of worlds in NumPy: colors of cells, marks at their centers, and letters."""

import numpy as np
import pytest

from robustirl.envs.drawing import block, picture, text
from tests.fingerprints import require_golden_parts

REWARDS = np.array([0.0, -1.0, -100.0, 4.0, -25.0, 0.0, 2.0])  # One state more than there are cells.
ENDS = np.array([True, False, False, True, False, True, False])


@pytest.mark.parametrize(
    ("states", "shape"), [(1, (1, 1)), (4, (2, 2)), (5, (2, 3)), (6, (2, 3)), (7, (3, 3)), (9, (3, 3))]
)
def test_a_block_is_the_smallest_near_square(states, shape):
    assert block(states) == shape


def test_cells_have_the_color_of_their_reward_and_marks():
    image = picture((2, 3), REWARDS, ENDS, walker=1)
    side = 48
    assert image.shape == (2 * side, 3 * side, 3)
    corner = lambda cell: image[cell // 3 * side + 3, cell % 3 * side + 3].tolist()  # noqa: E731
    middle = lambda cell: image[cell // 3 * side + 24, cell % 3 * side + 24].tolist()  # noqa: E731
    assert corner(0) == [246, 246, 243]  # Pays nothing.
    assert corner(2) == middle(2) == [178, 34, 34]  # The lowest.
    assert corner(4) == [212, 140, 138]  # √(25/100): half of the way, rounded to even.
    assert corner(1) == [239, 225, 222]  # √(1/100): a tenth.
    assert corner(3) == [206, 225, 212]  # √(4/100) of the way to green.
    assert middle(3) == [24, 92, 55]  # The end that pays best,
    assert middle(0) == middle(5) == [70, 74, 82]  # the other ends,
    assert middle(1) == [31, 78, 160]  # and who walks.
    lines = [image[0, 5], image[side, 5], image[5, side], image[-1, 5], image[5, -1]]
    assert all(line.tolist() == [205, 208, 214] for line in lines)
    gray = picture((2, 3), REWARDS, ENDS, walker=6)  # Beyond the grid: over.
    assert gray[3, 3].tolist() == [219, 221, 224]
    assert picture((2, 4), REWARDS, ENDS, walker=None)[-4, -4].tolist() == [255, 255, 255]  # No state there.


@pytest.mark.parametrize(("shape", "side"), [((10, 10), 48), ((11, 2), 46), ((64, 1), 8), ((100, 1), 8)])
def test_the_size_of_cells(shape, side):
    count = shape[0] * shape[1]
    assert picture(shape, np.zeros(count), np.zeros(count, bool), None).shape == (shape[0] * side, shape[1] * side, 3)


def test_letters():
    assert text((2, 3), REWARDS, ENDS, walker=1) == "H @ !\nG . H"
    assert text((2, 3), REWARDS, ENDS, walker=None) == "H . !\nG . H"
    assert text((2, 4), REWARDS, ENDS, walker=6) == "H . ! G\n. H @"
    assert text((2, 3), REWARDS, ENDS, walker=6) == "H . !\nG . H\nstate 6: over"
    none = np.zeros(4, bool)
    assert text((1, 4), np.array([-1.0, -1.0, -1.0, 0.0]), none, None) == ". . . ."  # The price of a step.
    assert text((1, 4), np.array([-1.0, -2.0, -4.0, -1.9]), none, None) == ". ! ! ."
    assert text((1, 4), np.array([1.0, 2.0, 4.0, 0.0]), none, None) == ". + + ."


def test_every_pixel_is_what_it_was():
    found = {str(walker): picture((2, 3), REWARDS, ENDS, walker=walker) for walker in (1, 6)}
    require_golden_parts("pictures.json", {"walker": found})
