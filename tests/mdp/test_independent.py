"""Sets of states that do not lead to one another: independent, as large as they can be made, and of few sizes."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import MDP, BandedKernel, SuccessorKernel, independent
from robustirl.mdp.independent import independent_states
from robustirl.planning import solve


def pattern(pairs, size):
    rows, columns = np.array(pairs, int).reshape(-1, 2).T
    content = (np.ones(len(rows), np.float32), (rows, columns))
    return scipy.sparse.csr_array(scipy.sparse.coo_array(content, shape=(size, size)))


def ring(size):
    return pattern([(state, (state + 1) % size) for state in range(size)], size)


@given(st.integers(0, 2**16), st.integers(5, 40), st.floats(0.1, 1.5))
def test_no_state_leads_to_another_one(seed, size, degree):
    rng = np.random.default_rng(seed)
    links = scipy.sparse.csr_array(rng.random((size, size)) < degree / size)
    chosen = independent_states(links)
    if chosen is None:
        return
    between = links.toarray()[np.ix_(chosen, chosen)]
    assert not (between & ~np.eye(len(between), dtype=bool)).any()
    assert chosen.mean() >= independent.LEAST_SHARE


def test_an_even_ring_has_half_of_its_states_and_an_odd_one_all_but_one_of_them():
    assert independent_states(ring(10)).tolist() == [True, False] * 5
    assert independent_states(ring(11)).sum() == 5


def test_both_colors_of_a_checkerboard_at_one_another():
    cells = np.arange(12 * 9).reshape(12, 9)
    pairs = [*zip(cells[:, :-1].ravel(), cells[:, 1:].ravel()), *zip(cells[1:].ravel(), cells[:-1].ravel())]  # noqa: B905
    expected = (np.add(*np.indices(cells.shape)) % 2 == 0).ravel()
    np.testing.assert_array_equal(independent_states(pattern(pairs, cells.size)), expected)


def test_parts_without_a_way_between_them_each_begin_anew():
    two = scipy.sparse.csr_array(scipy.sparse.block_diag([ring(4), ring(6)]))
    assert independent_states(two).tolist() == [True, False] * 5


def test_isolated_states_and_many_parts_are_all_colored():
    parts = scipy.sparse.block_diag([scipy.sparse.csr_array((50, 50)), *[ring(6)] * 100])
    chosen = independent_states(scipy.sparse.csr_array(parts))
    assert chosen[:50].all()
    assert chosen[50:].reshape(100, 6).sum(1).tolist() == [3] * 100


def test_the_larger_color_of_a_part_is_chosen():
    hub = pattern([(0, leaf) for leaf in range(1, 9)], 9)
    assert independent_states(hub).tolist() == [False] + [True] * 8


def test_states_that_stay_are_no_neighbors_of_themselves():
    assert independent_states(pattern([(0, 0), (1, 1), (0, 1)], 2)).tolist() == [True, False]


def test_where_nothing_moves_there_is_none():
    assert independent_states(pattern([(0, 0), (1, 1)], 2)) is None
    assert independent_states(pattern([], 2)) is None


def test_worlds_in_which_nothing_moves_are_solved():
    states = np.arange(1100)[:, None, None]
    for kernel in (SuccessorKernel(states, np.ones((1100, 1, 1))), BandedKernel((0,), np.ones((1, 1, 1100)))):
        assert kernel.halves() is None
        found = solve(MDP(kernel, discount=0.9), np.arange(1100.0))
        np.testing.assert_allclose(found.value, 10 * np.arange(1100.0), rtol=1e-9)


def test_a_small_set_is_none():
    everyone = scipy.sparse.csr_array(np.ones((5, 5)))
    assert independent_states(everyone) is None
    three = scipy.sparse.csr_array(np.kron(np.eye(4), np.ones((3, 3))))  # A third of the states.
    assert independent_states(three).sum() == 4


@pytest.mark.parametrize("count", [3, 4, 5])
def test_sizes_are_rounded_down_where_others_lead_to_one_another(monkeypatch, count):
    monkeypatch.setattr(independent, "SIZES", 5)
    chosen = np.arange(10) < count
    some = pattern([(8, 9)], 10)
    assert independent._rounded(chosen, some).tolist() == (np.arange(10) < count // 2 * 2).tolist()
    assert independent._rounded(chosen, pattern([(0, 9)], 10)) is chosen


def test_distances_of_a_path():
    path = pattern([*((i, i + 1) for i in range(20)), *((i + 1, i) for i in range(20))], 21)
    reached, distances = independent._distances(path, 7)
    np.testing.assert_array_equal(distances, np.abs(reached - 7))
    assert len(reached) == 21
