"""Lists: buckets, distinct rows, and programs that do not grow with the world."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from robustirl.mdp import lists
from robustirl.mdp.lists import ListKernel, distinct_rows, gather_sum, lay_out
from tests.strategies import generators

assert_close = functools.partial(np.testing.assert_allclose, rtol=0)


@given(generators(), st.sampled_from([0, 2**14]), st.sampled_from([1, 9, 200]))
def test_every_entry_stands_in_the_column_of_its_list(rng, loop_entries, longest):
    lengths = rng.integers(0, longest + 1, size=30)
    starts = np.append(0, np.cumsum(lengths))
    before, lists.LOOP_ENTRIES = lists.LOOP_ENTRIES, loop_entries
    layout = lay_out(starts)
    lists.LOOP_ENTRIES = before
    columns = [column for bucket in layout.entries for column in bucket.T]
    for i, column in enumerate(layout.order):
        found = columns[column]
        assert found[found < starts[-1]].tolist() == list(range(starts[i], starts[i + 1]))
    used = set(layout.order.tolist())
    assert all((columns[c] == starts[-1]).all() for c in range(len(columns)) if c not in used)
    assert all(bucket.shape[1] % lists.COLUMNS == 0 for bucket in layout.entries)
    if loop_entries == 0:  # No bucket holds lists of less than half its length but those of the shortest.
        for bucket in layout.entries:
            held = (bucket < starts[-1]).sum(0)
            assert bucket.shape[0] == 1 or 2 * held[held > 0].min() > bucket.shape[0]


def test_few_long_lists_and_many_short_ones_are_summed_alike():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    for shape in ((1, 16), (5, 16), (40, 8)):
        places, weights = rng.integers(50, size=shape), rng.normal(size=shape)
        found = gather_sum((jnp.asarray(places),), (jnp.asarray(weights),), jnp.asarray(values))
        assert_close(found, (weights * values[places]).sum(0), atol=1e-14)
        found = gather_sum((jnp.asarray(places),), None, jnp.asarray(values))
        assert_close(found, values[places].sum(0), atol=1e-14)


def test_equal_rows_are_stored_once():
    rows = scipy.sparse.csr_array(
        np.array([[0.5, 0.5, 0], [0, 0, 1], [0.5, 0.5, 0], [0, 0, 0], [0.5, 0, 0.5], [0, 0, 1]])
    )
    first, which = distinct_rows(rows)
    assert first.tolist() == [0, 1, 3, 4]
    assert which.tolist() == [0, 1, 0, 2, 3, 1]


@given(generators())
def test_rows_that_share_entries_are_told_apart(rng):
    dense = rng.integers(0, 2, size=(60, 4)) * rng.choice([0.25, 0.5], size=(60, 4))
    first, which = distinct_rows(scipy.sparse.csr_array(dense))
    np.testing.assert_array_equal(dense[first][which], dense)
    assert len(first) == len(np.unique(dense, axis=0))


def test_rows_whose_marks_are_equal_by_chance_are_kept_apart(monkeypatch):
    monkeypatch.setattr(np, "unique", lambda marks, **_: (0, np.zeros(1, int), np.zeros(len(marks), int)))
    first, which = distinct_rows(scipy.sparse.csr_array(np.eye(3)))
    assert first.tolist() == which.tolist() == [0, 1, 2]


def hubs(states):
    """A ring in which one state in a hundred leads anywhere."""
    rng, rows = np.random.default_rng(0), scipy.sparse.lil_array((states, states))
    rows[np.arange(states), (np.arange(states) + 1) % states] = 1.0
    for hub in range(0, states, 100):
        rows[hub] = rng.dirichlet(np.ones(states))[None]
    return scipy.sparse.csr_array(rows)


def test_rows_of_very_different_lengths_do_not_pad_each_other(monkeypatch):
    matrix = hubs(400)
    kernel = ListKernel(matrix, num_actions=1)
    monkeypatch.setattr(lists, "LOOP_ENTRIES", 0)
    apart = ListKernel(matrix, num_actions=1)
    assert [bucket.shape for bucket in apart.successors] == [(1, 400), (400, 8)]
    value = np.random.default_rng(1).normal(size=400)
    for each in (kernel, apart):
        assert_close(each.expect(jnp.asarray(value))[:, 0], matrix @ value, atol=1e-13)
        assert_close(each.push(jnp.asarray(value)[:, None]), value @ matrix, atol=1e-13)


@pytest.mark.parametrize("product", ["expect", "push", "chain"])
def test_programs_are_no_longer_for_longer_lists(product):
    def length(successors):
        rng = np.random.default_rng(0)
        matrix = scipy.sparse.csr_array(rng.dirichlet(np.ones(successors), 100) @ np.eye(successors, 100))
        kernel, given = ListKernel(matrix, num_actions=1), np.ones(100) if product == "expect" else np.ones((100, 1))
        answer = (lambda k, x: k.chain(x).push(x[:, 0])) if product == "chain" else getattr(ListKernel, product)
        return len(jax.jit(answer).lower(kernel, given).as_text().splitlines())

    assert abs(length(20) - length(90)) <= 2


def test_a_kernel_without_a_single_move_is_empty():
    kernel = ListKernel(scipy.sparse.csr_array((6, 3)), num_actions=2)
    assert not kernel.available().any()
    assert kernel.expect(jnp.ones(3)).tolist() == [[0, 0]] * 3
    assert kernel.push(jnp.ones((3, 2))).tolist() == [0, 0, 0]
