"""Lists of predecessors: how long they are, and to what number the entries beyond them are rounded."""

import numpy as np
import pytest

from robustirl.mdp.inflow import SCATTER_COST, _rounded_up, _width


@pytest.mark.parametrize("degrees", [[1] * 9 + [5], [1] * 40 + [60], [3, 3, 3], [0, 0, 0, 4], [2] * 5 + [6] * 5])
def test_the_length_of_lists_costs_least(degrees):
    # A list of d entries is gathered for every state, and every entry beyond it is scattered.
    costs = {d: d * len(degrees) + SCATTER_COST * sum(max(n - d, 0) for n in degrees) for d in range(1, 62)}
    assert _width(np.array(degrees)) == min(costs, key=costs.__getitem__)


def test_counts_are_rounded_up_to_two_binary_digits():
    assert [_rounded_up(count) for count in (0, 1, 3, 5, 7, 8, 9, 13, 100)] == [0, 1, 3, 6, 8, 8, 12, 16, 128]
