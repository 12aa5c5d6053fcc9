"""A world of one's own, and walks in it."""

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, save

# Three rooms in a row; action 0 stays, action 1 goes on; the last room is never left.
KERNEL = np.zeros((3, 2, 3))
KERNEL[[0, 1, 2], 0, [0, 1, 2]] = 1
KERNEL[[0, 1, 2], 1, [1, 2, 2]] = 1
WALKS = Demonstrations.from_arrays([[0, 1, 2], [0, 0, 1, 2]] * 4, [[1, 1], [0, 1, 1]] * 4, terminated=True)
FIT = "fit --alpha 1 --steps 3 --env"


@pytest.fixture
def world(here):
    np.savez(here / "world.npz", kernel=KERNEL, discount=0.9, initial=[1.0, 0.0, 0.0])
    save(WALKS, here / "walks.csv")
    return here
