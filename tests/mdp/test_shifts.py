"""Shifted vectors and their weighted sums."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp.shifts import shifted, shifted_sum

VALUE = jnp.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("offset", "size", "expected"),
    [
        (0, 4, [1, 2, 3, 4]),
        (1, 4, [2, 3, 4, 0]),
        (-2, 4, [0, 0, 1, 2]),
        (4, 4, [0, 0, 0, 0]),
        (1, 3, [2, 3, 4]),
        (-1, 6, [0, 1, 2, 3, 4, 0]),
        (2, 3, [3, 4, 0]),
    ],
)
def test_a_shift(offset, size, expected):
    assert [part.tolist() for part in shifted(VALUE, (offset,), size)] == [expected]
    with_others = shifted(VALUE, (-3, offset, 5), size)
    assert with_others[1].tolist() == expected


def test_rotated_vectors_have_others_in_place_of_zeros():
    assert [part.tolist() for part in shifted(VALUE, (1, -1), 4, rotate=True)] == [[2, 3, 4, 1], [4, 1, 2, 3]]


@pytest.mark.parametrize("rotate", [False, True])
def test_a_sum_with_weights_of_two_actions(rotate):
    weights = np.arange(16.0).reshape(2, 2, 4)
    weights[0, :, -1] = weights[1, :, 0] = 0
    found = shifted_sum(list(jnp.asarray(weights)), (1, -1), VALUE, rotate=rotate)
    expected = weights[0] * [2, 3, 4, 0] + weights[1] * [0, 1, 2, 3]
    np.testing.assert_array_equal(found, expected)
