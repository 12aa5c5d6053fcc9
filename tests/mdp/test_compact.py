"""Large arrays of zeros are stored as diagonals or lists."""

import logging

import numpy as np

from robustirl.mdp import MDP, BandedKernel, DenseKernel, SuccessorKernel, compact_kernel


def test_large_arrays_of_zeros_are_stored_as_diagonals_or_lists(caplog):
    ring = np.roll(np.eye(300), 1, axis=1)[:, None]
    caplog.set_level(logging.DEBUG, logger="robustirl")
    assert isinstance(MDP(ring, discount=0.9).kernel, BandedKernel)
    assert "300 states" in caplog.text
    assert "BandedKernel" in caplog.text
    scattered = ring[:, :, np.random.default_rng(0).permutation(300)]
    kernel = compact_kernel(scattered)
    assert isinstance(kernel, SuccessorKernel)
    np.testing.assert_array_equal(kernel.to_array(), scattered)
    assert isinstance(compact_kernel(np.full((300, 1, 300), 1 / 300)), DenseKernel)
    assert isinstance(compact_kernel(ring[:3, :, 1:4]), DenseKernel)
