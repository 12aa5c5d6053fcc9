"""Ways to make kernels: which form they choose, functions, and worlds from recorded transitions."""

import logging

import jax
import numpy as np
import pytest
import scipy.sparse

from robustirl.demonstrations import Demonstrations, sample_demonstrations
from robustirl.mdp import MDP, from_function, from_sparse, uniform_policy
from robustirl.mdp.builders import as_kernel, from_successors
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.lists import ListKernel

RING = np.roll(np.eye(600), 1, axis=1)


def test_the_form_follows_from_the_size_and_the_share_of_zeros():
    assert isinstance(as_kernel(RING[:, None]), ListKernel)
    assert isinstance(from_sparse(scipy.sparse.csr_array(RING), num_actions=1), ListKernel)
    assert isinstance(as_kernel(np.full((600, 1, 600), 1 / 600)), DenseKernel)
    assert isinstance(from_sparse(scipy.sparse.csr_array(np.full((600, 600), 1 / 600)), num_actions=1), DenseKernel)
    assert isinstance(as_kernel(RING[:5, None, 1:6]), DenseKernel)  # Small.
    kernel = as_kernel(RING[:, None])
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_array, scipy.sparse.csc_matrix])
def test_sparse_matrices_of_every_kind_are_taken(form):
    found = from_sparse(form(RING), num_actions=1).to_sparse()
    assert abs(found - scipy.sparse.csr_array(RING)).max() == 0


def test_entries_given_twice_are_added_up():
    content = ([0.25, 0.25, 0.5, 1.0], ([0, 0, 0, 1], [0, 0, 1, 1]))
    assert from_sparse(scipy.sparse.coo_array(content), num_actions=1).dense().tolist() == [[[0.5, 0.5]], [[0, 1]]]
    kernel = from_successors([[[0, 0]], [[1, 7]]], [[[0.5, 0.5]], [[1.0, 0.0]]])  # State 7 has probability zero.
    assert kernel.dense().tolist() == [[[1, 0]], [[0, 1]]]


def walk(state, action):
    """On a ring of seven: action 0 steps on, action 1 stays or steps back; there is no action 1 in state 3."""
    if (state, action) == (3, 1):
        return None
    return ([(state + 1) % 7], [1.0]) if action == 0 else ([state, (state - 1) % 7], [0.75, 0.25])


def walks(states, actions):
    on = np.stack([(states + 1) % 7, states], -1)
    back = np.stack([states, (states - 1) % 7], -1)
    chances = np.where(actions[:, None] == 0, [1.0, 0.0], [0.75, 0.25])
    chances[(states == 3) & (actions == 1)] = 0
    return np.where(actions[:, None] == 0, on, back), chances


@pytest.mark.parametrize("chunk", [3, 1000])
@pytest.mark.parametrize("vectorized", [False, True])
def test_a_function_is_asked_for_every_pair(vectorized, chunk):
    options = {"num_states": 7, "num_actions": 2, "vectorized": vectorized, "chunk_size": chunk}
    kernel = from_function(walks if vectorized else walk, **options)
    array = np.zeros((7, 2, 7))
    here = np.arange(7)
    array[here, 0, (here + 1) % 7] = 1
    array[here, 1, here], array[here, 1, (here - 1) % 7] = 0.75, 0.25
    array[3, 1] = 0
    np.testing.assert_array_equal(kernel.dense(), array)
    assert not MDP(kernel, discount=0.5).mask[3, 1]


@pytest.mark.parametrize(
    ("vectorized", "given"),
    [(False, "state 2, action 0, vectorized=False"), (True, "arrays of states and actions, vectorized=True")],
)
def test_what_a_kernel_function_raises_passes_with_a_note_of_what_it_was_given(vectorized, given):
    def broken(state, action):
        if np.max(state) == 2:
            raise KeyError("no such link")
        return [state], [1.0]

    with pytest.raises(KeyError, match="no such link") as caught:
        from_function(broken, num_states=3, num_actions=1, vectorized=vectorized)
    assert caught.value.__notes__ == [f"The kernel function raised this for {given}."]


# From state 0: action 0 leads to 1, 1 and 0; action 1 to 2. State 1 is left by action 0 alone; 2 ends an episode.
TRIES = Demonstrations.from_arrays(
    [[0, 1, 0, 2], [0, 1], [0, 0]], [[0, 0, 1], [0], [0]], terminated=[True, False, False]
)


def estimated(**options):
    world = MDP.from_transitions(TRIES, discount=0.9, **options)
    return world, np.asarray(world.kernel.dense())


def test_counts_by_hand():
    world, found = estimated()
    np.testing.assert_allclose(found[0], [[1 / 3, 2 / 3, 0], [0, 0, 1]])
    np.testing.assert_allclose(found[1], [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(found[2], [[0, 0, 1], [0, 0, 1]])
    assert np.asarray(world.mask).tolist() == [[True, True], [True, False], [True, True]]
    assert np.asarray(world.initial).tolist() == [1, 0, 0]


def test_a_prior_by_hand():
    # Whatever the action, state 0 leads to 0, 1, 2 with 1/4, 1/2, 1/4. The prior counts for two transitions.
    _, found = estimated(prior=2)
    np.testing.assert_allclose(found[0, 0], [(1 + 0.5) / 5, (2 + 1) / 5, 0.5 / 5])
    np.testing.assert_allclose(found[0, 1], [0.5 / 3, 1 / 3, 1.5 / 3])
    np.testing.assert_allclose(found[1], [[1, 0, 0], [0, 0, 0]])
    world, found = estimated(unseen="prior", num_states=4)
    np.testing.assert_allclose(found[1, 1], [1, 0, 0, 0])
    assert np.asarray(world.mask).all()  # State 3 was never seen: it stays, whatever is done.
    np.testing.assert_allclose(found[3], [[0, 0, 0, 1]] * 2)


def test_pairs_that_were_never_tried_are_told(refused, caplog):
    with refused("1 of 6 pairs", "action 1 in state 1", "unseen='mask'"):
        estimated(unseen="refuse")
    with caplog.at_level(logging.INFO, logger="robustirl"):
        estimated()
    assert caplog.messages == [
        "a world from 5 transitions: 1 of 6 pairs of state and action were never tried and are not available; 1 of 3"
        " states are absorbing."
    ]


def test_where_an_episode_ended_nothing_is_done_whatever_others_did_there():
    tries = Demonstrations.from_arrays([[0, 1], [1, 0]], [[0], [0]], terminated=[True, False])
    assert MDP.from_transitions(tries, discount=0.9).kernel.dense().tolist() == [[[0, 1]], [[0, 1]]]


def test_many_transitions_show_the_world():
    table = np.random.default_rng(0).dirichlet(np.ones(6), size=(6, 3))
    table[5] = np.eye(6)[5]
    world = MDP(table, discount=0.9, initial=[1.0, 0, 0, 0, 0, 0])
    policy = uniform_policy(world.mask)
    demos = sample_demonstrations(world, policy, episodes=3000, horizon=100, key=jax.random.key(0))
    found = MDP.from_transitions(demos, discount=0.9)
    assert np.abs(np.asarray(found.kernel.dense()) - table).sum(-1).max() < 0.1


def test_without_a_move_there_is_one_action_that_stays():
    world = MDP.from_transitions(Demonstrations.from_arrays([[0], [1], [1]], [[], [], []]), discount=0.9)
    assert world.kernel.dense().tolist() == [[[1, 0]], [[0, 1]]]
    np.testing.assert_allclose(world.initial, [1 / 3, 2 / 3])
