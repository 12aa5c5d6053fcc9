"""To SciPy's sparse matrices and back."""

import numpy as np
import pytest
import scipy.sparse

from robustirl import envs
from robustirl.mdp import MDP, BandedKernel, SuccessorKernel, from_sparse


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_array, scipy.sparse.csc_matrix])
def test_there_and_back(form):
    kernel = envs.GridWorld("grid", rewards=np.zeros((40, 30))).mdp(0.1, "uniform-action").kernel
    back = from_sparse(form(kernel.to_sparse()), num_actions=4)
    assert isinstance(back, BandedKernel)
    assert abs(back.to_sparse() - kernel.to_sparse()).max() < 1e-15


def test_a_kernel_without_diagonals_becomes_lists_as_long_as_its_longest_row():
    rng = np.random.default_rng(0)
    array = np.where(rng.uniform(size=(120, 60)) < 0.05, 1.0, 0.0)
    array[np.arange(120), rng.integers(0, 60, 120)] = 1.0
    array /= array.sum(1, keepdims=True)
    kernel = from_sparse(scipy.sparse.csr_array(array), num_actions=2)
    assert isinstance(kernel, SuccessorKernel)
    assert kernel.probabilities.shape == (60, 2, int((array > 0).sum(1).max()))
    np.testing.assert_allclose(kernel.to_array().reshape(120, 60), array, atol=1e-15)


def test_what_is_none_is_refused(refused):
    with refused("(3, 2)", "2 actions", "4 rows"):
        from_sparse(scipy.sparse.csr_array(np.ones((3, 2)) / 2), num_actions=2)
    with refused("ndarray", "scipy.sparse"):
        from_sparse(np.eye(2), num_actions=1)  # pyright: ignore[reportArgumentType]
    with refused("state 1, action 0", "0.5"):
        from_sparse(scipy.sparse.csr_array([[1.0, 0.0], [0.5, 0.0]]), num_actions=1)


def test_a_chain_too_large_for_a_matrix_is_refused_before_it_is_made(refused):
    world = envs.GridWorld("large", rewards=np.zeros((700, 700))).mdp(0.1)  # 1.8 TiB as a matrix.
    import jax

    from robustirl.planning import sampled_total_return

    with refused("490000 x 490000", "GiB"):
        policy = np.asarray(world.mask) / np.asarray(world.mask).sum(1, keepdims=True)
        sampled_total_return(world, policy, np.zeros(490000), key=jax.random.key(0))


@pytest.mark.parametrize("wrong", [-0.5, np.nan, np.inf])
def test_a_wrong_probability_is_named_by_its_state_action_and_successor(wrong, refused):
    matrix = scipy.sparse.lil_array(scipy.sparse.kron(scipy.sparse.eye_array(300), np.ones((2, 1))))
    matrix[11, 7] = wrong  # Row 11 of two actions: state 5, action 1.
    with refused(f"the probability of state 5, action 1, successor 7 is {wrong!r}"):
        MDP(scipy.sparse.csr_array(matrix), num_actions=2, discount=0.9)


@pytest.mark.usefixtures("mistyped")
def test_what_is_no_sparse_kernel_is_refused(refused):
    stay = scipy.sparse.eye_array(3, format="csr")
    with refused("num_actions is 1.0, but a whole number of at least 1 is needed"):
        MDP(stay, num_actions=1.0, discount=0.9)  # pyright: ignore[reportArgumentType]
    with refused("the matrix has shape (0, 0), but a world has at least one state"):
        MDP(scipy.sparse.csr_array((0, 0)), num_actions=1, discount=0.9)
    with refused("the kernel is a list of 2 sparse matrices; stack them"):
        MDP([stay, stay], discount=0.9)  # pyright: ignore[reportArgumentType]
    with refused("the kernel is a function; build it by mdp.from_function"):
        MDP(lambda state, action: ([state], [1.0]), discount=0.9)  # pyright: ignore[reportArgumentType]


def test_a_sparse_kernel_beyond_memory_is_refused_before_it_is_made(monkeypatch, refused):
    tall = scipy.sparse.csc_array(([1.0], [0], [0, 1]), shape=(10**13, 1))
    with refused("a sparse kernel of shape (10000000000000, 1) needs about", "GiB", "fewer"):
        MDP(tall, num_actions=10**9, discount=0.9)
    spread = scipy.sparse.csr_array(np.full((40, 40), 1 / 40))
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 85 * 1600 - 1)
    with refused("a sparse kernel of shape (40, 40) needs about"):
        from_sparse(spread, num_actions=1)
