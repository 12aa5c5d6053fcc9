"""Worlds from recorded transitions: counts and priors by hand, and a known world found again."""

import logging

import jax
import numpy as np

from robustirl.demonstrations import Demonstrations, sample_demonstrations
from robustirl.mdp import MDP, DenseKernel, transitions, uniform_policy

# From state 0: action 0 leads to 1, 1 and 0; action 1 to 2. State 1 is left by action 0 alone; 2 ends an episode.
TRIES = Demonstrations.from_arrays(
    [[0, 1, 0, 2], [0, 1], [0, 0]], [[0, 0, 1], [0], [0]], terminated=[True, False, False]
)


def kernel(**options):
    world = MDP.from_transitions(TRIES, discount=0.9, **options)
    return world, np.asarray(world.kernel.to_array())


def test_counts_by_hand():
    world, found = kernel()
    assert isinstance(world.kernel, DenseKernel)  # Of a few states, an array.
    np.testing.assert_allclose(found[0], [[1 / 3, 2 / 3, 0], [0, 0, 1]])
    np.testing.assert_allclose(found[1], [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(found[2], [[0, 0, 1], [0, 0, 1]])
    assert np.asarray(world.mask).tolist() == [[True, True], [True, False], [True, True]]
    assert np.asarray(world.initial).tolist() == [1, 0, 0]


def test_a_prior_by_hand():
    # Whatever the action, state 0 leads to 0, 1, 2 with 1/4, 1/2, 1/4. The prior counts for two transitions.
    _, found = kernel(prior=2)
    np.testing.assert_allclose(found[0, 0], [(1 + 0.5) / 5, (2 + 1) / 5, 0.5 / 5])
    np.testing.assert_allclose(found[0, 1], [0.5 / 3, 1 / 3, 1.5 / 3])
    np.testing.assert_allclose(found[1], [[1, 0, 0], [0, 0, 0]])
    world, found = kernel(unseen="prior", num_states=4)
    np.testing.assert_allclose(found[1, 1], [1, 0, 0, 0])
    assert np.asarray(world.mask).all()  # State 3 was never seen: it stays, whatever is done.
    np.testing.assert_allclose(found[3], [[0, 0, 0, 1]] * 2)


def test_pairs_that_were_never_tried_are_told(refused, caplog):
    with refused("1 of 6 pairs", "action 1 in state 1", "unseen='mask'"):
        kernel(unseen="refuse")
    with caplog.at_level(logging.INFO, logger="robustirl"):
        kernel()
    assert caplog.messages == [
        "a world from 5 transitions: 1 of 6 pairs of state and action were never tried and are not available; 1 of 3"
        " states are absorbing."
    ]


def test_many_transitions_show_the_world(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.dirichlet(np.ones(6), size=(6, 3))
    table[5] = np.eye(6)[5]
    world = MDP(table, discount=0.9, initial=[1.0, 0, 0, 0, 0, 0])
    policy = uniform_policy(world.mask)
    demos = sample_demonstrations(world, policy, episodes=3000, horizon=100, key=jax.random.key(0))
    found = MDP.from_transitions(demos, discount=0.9)
    assert np.abs(np.asarray(found.kernel.to_array()) - table).sum(-1).max() < 0.1
    monkeypatch.setattr(transitions, "DENSE_STATES", 1)  # As lists of successors, the same.
    assert not isinstance(kernel()[0].kernel, DenseKernel)
    lists = MDP.from_transitions(demos, discount=0.9)
    np.testing.assert_allclose(lists.kernel.to_array(), found.kernel.to_array(), atol=1e-15)


def test_what_shows_no_world_is_refused(refused):
    with refused("no actions were recorded"):
        MDP.from_transitions(TRIES.without_actions(), discount=0.9)
    with refused("unseen is 'guess'", "mask, prior, refuse"):
        kernel(unseen="guess")
    with refused("the prior is -1"):
        kernel(prior=-1)
    with refused("the number of states is 2", "at least 3"):
        kernel(num_states=2)


def test_without_a_move_there_is_one_action_that_stays():
    world = MDP.from_transitions(Demonstrations.from_arrays([[0], [1], [1]], [[], [], []]), discount=0.9)
    assert world.kernel.to_array().tolist() == [[[1, 0]], [[0, 1]]]
    np.testing.assert_allclose(world.initial, [1 / 3, 2 / 3])
