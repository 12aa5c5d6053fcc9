"""What kernels and chains answer about their storage, on one world in every form."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import (
    BandedKernel,
    DenseKernel,
    KroneckerKernel,
    MixtureKernel,
    RaggedKernel,
    SuccessorKernel,
    WrongActionKernel,
)

# Three states in a row and two actions: a step to the right, and one to the left that does not exist in state 0.
BANDED = BandedKernel((-1, 0, 1), [[[0, 0, 0], [0, 1, 1]], [[0, 0.25, 1], [0, 0, 0]], [[1, 0.75, 0], [0, 0, 0]]])
ARRAY = np.array([[[0, 1, 0], [0, 0, 0]], [[0, 0.25, 0.75], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]]])
WEIGHTS, ANYWHERE = np.array([0.5, 0.0, 0.2]), np.array([0.2, 0.3, 0.5])
EXISTS = ARRAY.sum(-1, keepdims=True) > 0
NOISY = (1 - WEIGHTS)[:, None, None] * ARRAY + EXISTS * WEIGHTS[:, None, None] * ANYWHERE
# A random action of those that exist: state 0 has one, the others two.
MISTAKEN = (1 - WEIGHTS)[:, None, None] * ARRAY + EXISTS * (WEIGHTS / [1, 2, 2])[:, None, None] * ARRAY.sum(1)[:, None]
KINDS = ("array", "lists", "diagonals", "noisy diagonals", "noisy lists", "mistaken lists", "entries", "parts")


@functools.cache  # Not at the top: every worker collects this file, and one runs it.
def kernels():
    lists = BANDED.to_lists()
    return {
        "array": DenseKernel(ARRAY),
        "lists": lists,
        "diagonals": BANDED,
        "noisy diagonals": MixtureKernel(BANDED, WEIGHTS, ANYWHERE),
        "noisy lists": MixtureKernel(lists, WEIGHTS, ANYWHERE),
        "mistaken lists": WrongActionKernel(lists, WEIGHTS),
        "entries": RaggedKernel(BANDED.to_sparse(), num_actions=2),
        "parts": KroneckerKernel(lists, [[[1.0]]]),  # The second part has one state that never changes.
    }


EVERY = pytest.mark.parametrize("kind", KINDS)


def expected(kind: str) -> np.ndarray:
    return NOISY if "noisy" in kind else MISTAKEN if "mistaken" in kind else ARRAY


@EVERY
def test_arrays_and_rows_are_those_of_the_world(kind):
    kernel = kernels()[kind]
    np.testing.assert_allclose(kernel.to_array(), expected(kind), atol=1e-15)
    read = kernel.row_reader()
    np.testing.assert_allclose(read(1, 3), expected(kind)[1:3], atol=1e-15)
    np.testing.assert_allclose(read(0, 1), expected(kind)[:1], atol=1e-15)


@EVERY
def test_diagonals_are_those_of_the_storage(kind):
    assert kernels()[kind].diagonals == ((-1, 0, 1) if "diagonals" in kind else None)


@EVERY
def test_lists_and_the_rank_one_part_make_up_the_kernel(kind):
    lists, noise = kernels()[kind].successor_lists(), kernels()[kind].rank_one()
    assert (lists is None) == (kind in ("array", "entries"))
    assert (noise is not None) == ("noisy" in kind)
    if lists is not None:
        assert isinstance(lists, SuccessorKernel)
        whole = MISTAKEN if "mistaken" in kind else ARRAY  # What is left of the kernel without its rank-one part.
        np.testing.assert_allclose(lists.to_array(), whole, atol=1e-15)
    if noise is not None:
        np.testing.assert_array_equal(noise.weights, WEIGHTS)
        np.testing.assert_array_equal(noise.distribution, ANYWHERE)


@EVERY
def test_the_sparse_part_and_the_rank_one_part_make_up_the_chain(kind):
    policy = np.array([[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]])
    chain = kernels()[kind].chain(list(jnp.asarray(policy).T))
    matrix, noise = chain.sparse_part().toarray(), chain.rank_one()
    assert (noise is not None) == ("noisy" in kind)
    if noise is not None:
        assert np.abs(matrix.sum(1) + np.asarray(noise.weights) - 1).max() < 1e-15
        matrix = matrix + np.outer(noise.weights, noise.distribution)
    np.testing.assert_allclose(matrix, np.einsum("sa,sat->st", policy, expected(kind)), atol=1e-15)


VALUE, RADIUS = np.array([1.0, -0.5, 2.0]), np.array([[0.3, 0.2], [1.2, 0.0], [2.0, 0.9]])
MEASURE, POLICY = np.array([[0.1, 0.0], [0.2, 0.3], [0.3, 0.1]]), np.array([[1.0, 0.0], [0.3, 0.7], [0.5, 0.5]])
OTHER = np.array([[[0.5, 0.5, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 1]], [[0.2, 0.2, 0.6], [0, 0, 1]]])


def moved(row, mass):
    """A row of which so much mass goes from the successors of highest value to the state of lowest value."""
    row = row.copy()
    for state in np.argsort(-VALUE):
        part = min(mass, row[state])
        row[state] -= part
        row[np.argmin(VALUE)] += part
        mass -= part
    return row


@jax.jit
def _answers(kernels):
    """What all kernels say, in one program."""
    found = {}
    for kind, kernel in kernels.items():
        # Distances of parts, and their worst case, are computed on the host; see `test_kronecker.py`.
        listed = kernels["lists"] if kind == "parts" else kernel
        found[kind] = (
            kernel.expect(jnp.asarray(VALUE)),
            kernel.push(jnp.asarray(MEASURE)),
            kernel.policy_matrix(jnp.asarray(POLICY)),
            kernel.row_sums(),
            kernel.self_transitions(),
            listed.row_distances(DenseKernel(OTHER)),
            listed.row_distances(kernels["lists"]),
            listed.worst_case(jnp.asarray(VALUE), jnp.asarray(RADIUS)).to_array(),
            jnp.stack(kernel.columns(jnp.asarray(VALUE)), -1),
        )
    return found


def test_all_answers_are_those_of_the_array():
    for kind, found in _answers(kernels()).items():
        rows = expected(kind)
        wanted = (
            rows @ VALUE,
            np.einsum("sa,sat->t", MEASURE, rows),
            np.einsum("sa,sat->st", POLICY, rows),
            rows.sum(-1),
            rows[range(3), :, range(3)],
            np.abs(rows - OTHER).sum(-1),
            np.abs(rows - ARRAY).sum(-1),
            np.array([[moved(rows[s, a], RADIUS[s, a] / 2) for a in range(2)] for s in range(3)]),
            rows @ VALUE,
        )
        for mine, theirs in zip(wanted, found, strict=True):
            np.testing.assert_allclose(theirs, mine, atol=1e-14, err_msg=kind)


@EVERY
def test_sparse_rows_and_further_states(kind):
    kernel, rows = kernels()[kind], expected(kind)
    np.testing.assert_allclose(kernel.to_sparse().toarray(), rows.reshape(6, 3), atol=1e-15)
    assert np.asarray(kernel.available()).tolist() == [[True, False], [True, True], [True, True]]
    larger = kernel.padded(5, 3)
    if larger is not None:
        wanted = np.zeros((5, 3, 5))
        wanted[:3, :2, :3] = rows
        wanted[[3, 4], 0, [3, 4]] = 1
        np.testing.assert_allclose(larger.to_array(), wanted, atol=1e-15)


def test_names_of_the_first_version_still_answer_and_say_the_new_ones():
    value, radius = jnp.arange(3.0), jnp.full((3, 2), 0.5)
    with pytest.warns(DeprecationWarning, match=r"staying\(\) is now kernel\.self_transitions\(\)"):
        assert BANDED.staying().tolist() == [[0, 0], [0.25, 0], [1, 0]]
    with pytest.warns(DeprecationWarning, match=r"is now kernel\.worst_case\(value, radius\)"):
        found = BANDED.tilted(value, radius)
    np.testing.assert_array_equal(found.to_array(), BANDED.worst_case(value, radius).to_array())
