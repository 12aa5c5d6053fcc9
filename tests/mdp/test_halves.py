"""Chains cut by states that do not lead to one another: every part against the matrix, on grids and on lists."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import BandedKernel, without_halves
from robustirl.mdp import halves as cut
from robustirl.mdp.chains import BandedChain, ListChain
from robustirl.mdp.independent import independent_states
from robustirl.mdp.inflow import list_predecessors
from robustirl.mdp.layout import neighbors_of
from tests.compiled import call

RNG = np.random.default_rng(0)


def grid_diagonals(height, width):
    """Chances to stay and to move to each neighbor of a cell, as diagonals `[5, S]`."""
    weights = RNG.random((5, height, width))
    for move, edge in enumerate([np.s_[0], np.s_[:, 0], np.s_[:0], np.s_[:, -1], np.s_[-1]]):
        weights[move][edge] = 0
    weights /= weights.sum(0)
    return (-width, -1, 0, 1, width), weights.reshape(5, -1)


def matrix_of(offsets, weights):
    size = weights.shape[1]
    return sum(np.diag(w, 0)[:, :] @ np.eye(size, k=d) for w, d in zip(weights, offsets, strict=True))


def random_lists(size, width):
    """Lists of moves to anywhere, some of which stay, and which are used."""
    places = RNG.integers(size, size=(width, size))
    places[0, ::5] = np.arange(size)[::5]
    weights = RNG.random((width, size)) * (RNG.random((width, size)) < 0.7)
    return places, weights


def matrix_of_lists(places, weights):
    size = places.shape[1]
    matrix = np.zeros((size, size))
    np.add.at(matrix, (np.broadcast_to(np.arange(size), places.shape), places), weights)
    return matrix


def check_parts(found, matrix):
    """All that halves say of a chain, against its matrix."""
    size = len(matrix)
    first, second = (np.asarray(part, int) for part in found.cut(jnp.arange(float(size))))
    assert sorted([*first, *second]) == list(range(size))
    value = jnp.asarray(RNG.normal(size=size))
    np.testing.assert_array_equal(found.join(*found.cut(value)), value)
    moves = matrix - np.diag(np.diag(matrix))
    assert not moves[np.ix_(first, first)].any()
    np.testing.assert_allclose(found.stays[0], np.diag(matrix)[first], atol=1e-15)
    np.testing.assert_allclose(found.stays[1], np.diag(matrix)[second], atol=1e-15)
    one, other = found.cut(value)
    np.testing.assert_allclose(found.from_first(other), moves[first] @ value, atol=1e-13)
    np.testing.assert_allclose(found.from_second(one, other), moves[second] @ value, atol=1e-13)
    factors = jnp.asarray(RNG.random(first.size)), jnp.asarray(RNG.random(second.size))
    scaled = found.scaled(*factors)
    np.testing.assert_allclose(scaled.from_first(other), factors[0] * (moves[first] @ value), atol=1e-13)
    np.testing.assert_allclose(scaled.from_second(one, other), factors[1] * (moves[second] @ value), atol=1e-13)


SHAPES = pytest.mark.parametrize("shape", [(4, 6), (3, 4), (4, 3), (3, 5), (1, 7), (5, 2)])


@SHAPES
def test_cells_of_a_grid(shape):
    offsets, weights = grid_diagonals(*shape)
    if shape[0] == 1:
        offsets, weights = offsets[1:4], weights[1:4]
    row = cut.coloring_row(offsets, weights[:, None])
    assert row == (1 if shape[1] % 2 else shape[1])
    chain = BandedChain(tuple(map(jnp.asarray, weights)), offsets, row)
    matrix = matrix_of(offsets, weights)
    check_parts(chain.halves(), matrix)
    check_parts(chain.transpose().halves(), matrix.T)


def test_a_grid_without_its_diagonals_has_no_halves():
    assert BandedChain((jnp.ones(3),), (0,)).halves() is None


@pytest.mark.parametrize(
    ("offsets", "weights", "row"),
    [
        ((-1, 0, 1), np.ones((3, 1, 9)), 1),
        ((0, 3, 5), np.ones((3, 1, 9)), 1),
        ((0,), np.ones((1, 1, 9)), None),
        ((), np.ones((0, 1, 9)), None),
        ((2,), np.ones((1, 1, 4)), 2),  # A row further, in the same column.
        ((2,), np.ones((1, 1, 5)), None),  # Rows of two do not fill five cells.
        (
            (1, 2),
            np.ones((2, 1, 4)),
            None,
        ),  # By 1 from the end of a row to the next: both of a color.
        ((1, 2), np.array([[[1.0, 0.0, 1.0, 0.0]], [[1.0, 1.0, 0.0, 0.0]]]), 2),
        ((4, 8), np.ones((2, 1, 16)), None),  # By 8 two rows of four, or one of eight that 4 does not leave.
        ((4, 6), np.ones((2, 1, 24)), None),
    ],
)
def test_the_row_of_a_grid(offsets, weights, row):
    assert cut.coloring_row(offsets, weights) == row


def test_a_kernel_is_cut_action_by_action():
    offsets, weights = grid_diagonals(4, 6)
    kernel = np.stack([weights, weights[:, ::-1] * (weights > 0)], 1)
    found = cut.shifted_halves(list(jnp.asarray(kernel)), offsets, 6)
    for action in range(2):
        check_parts(found.of_action(action), matrix_of(offsets, kernel[:, action]))


@pytest.mark.parametrize("width", [1, 3])
def test_lists(width):
    places, weights = random_lists(40, width)
    used = weights > 0
    chosen = independent_states(neighbors_of(places, used))
    assert chosen is not None
    lists, inflow = cut.halved_lists(places, used, chosen), list_predecessors(places, used, chosen)
    assert lists is not None
    chain = ListChain(jnp.asarray(places), tuple(map(jnp.asarray, weights)), inflow, lists)
    matrix = matrix_of_lists(places, weights)
    check_parts(chain.halves(), matrix)
    back = chain.transpose()
    assert (back.halves() is None) == bool(inflow.more_sources.size)
    if back.halves() is not None:
        check_parts(back.halves(), matrix.T)


def test_lists_of_several_actions():
    places, weights = random_lists(30, 2)
    both = np.stack([weights, weights[::-1]], 1)
    used = (both > 0).any(1)
    chosen = independent_states(neighbors_of(places, used))
    found = cut.halved_lists(places, used, chosen).halves(jnp.asarray(both))
    for action in range(2):
        check_parts(found.of_action(action), matrix_of_lists(places, both[:, action]))


def test_only_states_that_lead_to_one_another_need_both_halves():
    ring = np.array([[1, 2, 3, 0]])
    every, two = np.ones((1, 4), bool), np.array([True, False, True, False])
    assert not cut.halved_lists(ring, every, two).inner
    assert cut.halved_lists(ring, every, np.array([True, False, False, False])).inner


def test_long_lists_are_not_cut(monkeypatch):
    monkeypatch.setattr(cut, "MOST_UNROLLED", 2)
    every, two = np.ones((2, 4), bool), np.array([True, False, True, False])
    ring = np.array([[1, 2, 3, 0]] * 3)
    assert cut.halved_lists(ring[:2], every, two) is not None
    assert cut.halved_lists(ring, np.ones((3, 4), bool), two) is None


def test_lists_can_be_put_aside():
    places, weights = random_lists(40, 2)
    used = weights > 0
    chosen = independent_states(neighbors_of(places, used))
    inflow = list_predecessors(places, used, chosen)
    chain = ListChain(jnp.asarray(places), jnp.asarray(weights), inflow, cut.halved_lists(places, used, chosen))
    whole = without_halves(chain)
    assert whole.halves() is None
    assert whole.inflow.halved is None
    np.testing.assert_array_equal(whole.places, chain.places)


def test_worlds_of_diagonals_can_be_had_whole():
    offsets, weights = grid_diagonals(32, 34)
    kernel = BandedKernel(offsets, weights[:, None])
    assert kernel.halves() is not None
    whole = without_halves({"kernel": kernel})["kernel"]
    assert whole.halves() is None
    value = jnp.asarray(RNG.normal(size=32 * 34))
    np.testing.assert_allclose(call(whole, "expect", value), call(kernel, "expect", value), atol=1e-14)
