"""Regions of occupancies by hand."""

import numpy as np

from robustirl.theory.guarantee_program import ExpertRegion

REGION = ExpertRegion(np.array([0.5, 0.5]), np.array([0.25, 0.0]), np.array([0.75, 1.0]), 0.4)


def test_regions_are_cut_and_shrunk():
    other = ExpertRegion(np.array([0.1, 0.9]), np.array([0.3, 0.1]), np.array([1.0, 0.875]), 2.0)
    cut = REGION.within(other)
    assert (cut.lower.tolist(), cut.upper.tolist(), cut.error) == ([0.3, 0.1], [0.75, 0.875], 0.4)
    assert cut.occupancy.tolist() == [0.5, 0.5]
    shrunk = REGION.shrunk(0.5)
    assert (shrunk.lower.tolist(), shrunk.upper.tolist(), shrunk.error) == ([0.375, 0.25], [0.625, 0.75], 0.2)
