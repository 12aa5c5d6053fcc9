"""What kernels and chains answer about their storage, on one world in every form."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import BandedKernel, DenseKernel, KroneckerKernel, MixtureKernel, SuccessorKernel, WrongActionKernel

# Three states in a row and two actions: a step to the right, and one to the left that does not exist in state 0.
BANDED = BandedKernel((-1, 0, 1), [[[0, 0, 0], [0, 1, 1]], [[0, 0.25, 1], [0, 0, 0]], [[1, 0.75, 0], [0, 0, 0]]])
ARRAY = np.array([[[0, 1, 0], [0, 0, 0]], [[0, 0.25, 0.75], [1, 0, 0]], [[0, 0, 1], [0, 1, 0]]])
WEIGHTS, ANYWHERE = np.array([0.5, 0.0, 0.2]), np.array([0.2, 0.3, 0.5])
EXISTS = ARRAY.sum(-1, keepdims=True) > 0
NOISY = (1 - WEIGHTS)[:, None, None] * ARRAY + EXISTS * WEIGHTS[:, None, None] * ANYWHERE
# A random action of those that exist: state 0 has one, the others two.
MISTAKEN = (1 - WEIGHTS)[:, None, None] * ARRAY + EXISTS * (WEIGHTS / [1, 2, 2])[:, None, None] * ARRAY.sum(1)[:, None]
KERNELS = {
    "array": DenseKernel(ARRAY),
    "lists": BANDED.to_lists(),
    "diagonals": BANDED,
    "noisy diagonals": MixtureKernel(BANDED, WEIGHTS, ANYWHERE),
    "noisy lists": MixtureKernel(BANDED.to_lists(), WEIGHTS, ANYWHERE),
    "mistaken lists": WrongActionKernel(BANDED.to_lists(), WEIGHTS),
    "parts": KroneckerKernel(BANDED.to_lists(), [[[1.0]]]),  # The second part has one state that never changes.
}
EVERY = pytest.mark.parametrize("kind", KERNELS)


def expected(kind: str) -> np.ndarray:
    return NOISY if "noisy" in kind else MISTAKEN if "mistaken" in kind else ARRAY


@EVERY
def test_arrays_and_rows_are_those_of_the_world(kind):
    kernel = KERNELS[kind]
    np.testing.assert_allclose(kernel.to_array(), expected(kind), atol=1e-15)
    read = kernel.row_reader()
    np.testing.assert_allclose(read(1, 3), expected(kind)[1:3], atol=1e-15)
    np.testing.assert_allclose(read(0, 1), expected(kind)[:1], atol=1e-15)


@EVERY
def test_diagonals_are_those_of_the_storage(kind):
    assert KERNELS[kind].diagonals == ((-1, 0, 1) if "diagonals" in kind else None)


@EVERY
def test_lists_and_the_rank_one_part_make_up_the_kernel(kind):
    lists, noise = KERNELS[kind].successor_lists(), KERNELS[kind].rank_one()
    assert (lists is None) == (kind == "array")
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
    chain = KERNELS[kind].chain(list(jnp.asarray(policy).T))
    matrix, noise = chain.sparse_part().toarray(), chain.rank_one()
    assert (noise is not None) == ("noisy" in kind)
    if noise is not None:
        assert np.abs(matrix.sum(1) + np.asarray(noise.weights) - 1).max() < 1e-15
        matrix = matrix + np.outer(noise.weights, noise.distribution)
    np.testing.assert_allclose(matrix, np.einsum("sa,sat->st", policy, expected(kind)), atol=1e-15)


def test_names_of_the_first_version_still_answer_and_say_the_new_ones():
    value, radius = jnp.arange(3.0), jnp.full((3, 2), 0.5)
    with pytest.warns(DeprecationWarning, match=r"staying\(\) is now kernel\.self_transitions\(\)"):
        assert BANDED.staying().tolist() == [[0, 0], [0.25, 0], [1, 0]]
    with pytest.warns(DeprecationWarning, match=r"is now kernel\.worst_case\(value, radius\)"):
        found = BANDED.tilted(value, radius)
    np.testing.assert_array_equal(found.to_array(), BANDED.worst_case(value, radius).to_array())
