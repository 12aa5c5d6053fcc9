"""What will not fit is refused before it starts."""

import numpy as np
import pytest

from robustirl._runtime.memory import available_bytes, require_memory
from robustirl.envs import from_file
from robustirl.envs.noise import noisy_kernel
from robustirl.errors import InvalidInputError
from robustirl._check import as_floats


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


def test_a_small_file_of_truth_values_that_grows_beyond_memory_is_refused_before_it_grows(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "world.npz", kernel=np.eye(400, dtype=bool)[:, None])
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 3 * 2**20)
    with pytest.raises(InvalidInputError, match=r"the array 'kernel' of .*world\.npz needs about"):
        from_file(tmp_path / "world.npz")


def test_an_array_of_truth_values_is_refused_before_it_grows_beyond_memory(monkeypatch):
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 2**20)
    with pytest.raises(InvalidInputError, match="the reward in double precision needs about"):
        as_floats("the reward", np.zeros(10**7 + 1, dtype=bool))
