"""What will not fit is refused before it starts."""

import numpy as np

from robustirl._runtime.memory import available_bytes, require_memory
from robustirl.envs.noise import noisy_kernel


def test_there_is_memory_and_not_without_end():
    available = available_bytes()
    assert available is not None
    assert 2**26 < available < 2**50


def test_a_world_too_large_is_refused_before_any_of_it_is_made(refused):
    moves = np.broadcast_to(np.int64(0), (10**12, 4))  # Eight bytes, however large it looks.
    with refused("1000000000000 states", "4 actions", "GiB", "smaller"):
        noisy_kernel(moves, np.zeros(1, bool), 0.1, "uniform-action")


def test_what_fits_passes():
    require_memory(1.0, "nothing", "nothing")
