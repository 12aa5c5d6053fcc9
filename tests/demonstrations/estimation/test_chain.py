"""Counts of moves against a plain loop over them."""

import collections

import numpy as np
import pytest
from hypothesis import given

from robustirl.demonstrations import Demonstrations, transition_counts
from tests.demonstrations.strategies import demonstrations


@given(demonstrations())
def test_counts_are_those_of_a_loop(demos):
    pairs, triples, starts, ends = (collections.Counter() for _ in range(4))
    for states, actions, terminated in demos:
        starts[int(states[0])] += 1
        ends[int(states[-1])] += terminated
        for t in range(len(states) - 1):
            pairs[int(states[t]), int(states[t + 1])] += 1
            if actions is not None:
                triples[int(states[t]), int(actions[t]), int(states[t + 1])] += 1
    found = transition_counts(demos, 6)
    moves = list(zip(found.sources.tolist(), found.targets.tolist(), strict=True))
    assert moves == sorted(pairs)
    assert dict(zip(moves, found.counts.tolist(), strict=True)) == pairs
    assert found.starts.tolist() == [starts[s] for s in range(6)]
    assert found.terminations.tolist() == [ends[s] for s in range(6)]
    assert found.visits.tolist() == np.bincount(demos.states, minlength=6).tolist()
    np.testing.assert_allclose(found.initial.sum(), 1)
    if demos.has_actions:
        found = transition_counts(demos, 6, with_actions=True)
        assert found.actions is not None
        moves = list(zip(found.sources.tolist(), found.actions.tolist(), found.targets.tolist(), strict=True))
        assert moves == sorted(triples)
        assert dict(zip(moves, found.counts.tolist(), strict=True)) == triples
        by_action, by_pair = found.to_matrix(), transition_counts(demos, 6).to_matrix()
        np.testing.assert_allclose(by_action.toarray(), by_pair.toarray())


def test_states_never_left_and_ends_stay():
    demos = Demonstrations.from_arrays([[0, 1, 0, 2], [2, 3], [2]], terminated=[False, False, True])
    matrix = transition_counts(demos, 5).to_matrix().toarray()
    np.testing.assert_allclose(matrix, [[0, 0.5, 0.5, 0, 0], [1, 0, 0, 0, 0], *np.eye(5)[2:]])


def test_start_states_alone_have_no_moves():
    found = transition_counts(Demonstrations.from_arrays([[1], [1]], [[], []]), 2, with_actions=True)
    assert (found.counts.size, found.visits.tolist(), found.departures.tolist()) == (0, [0, 2], [0, 0])
    assert found.to_matrix().toarray().tolist() == np.eye(2).tolist()


def test_requests_that_cannot_be_met_are_refused(refused):
    demos = Demonstrations.from_arrays([[0, 4]])
    with refused("state 4", "4 states"):
        transition_counts(demos, 4)
    with refused("states only", "with_actions"):
        transition_counts(demos, 5, with_actions=True)
    with refused("number of states", "0"):
        transition_counts(demos, 0)


@pytest.mark.parametrize("with_actions", [False, True])
def test_numbers_beyond_32_bits_do_not_overflow(with_actions):
    size = 3_000_000
    demos = Demonstrations.from_arrays([[size - 1, size - 2, size - 1]], [[7, 3]])
    found = transition_counts(demos, size, with_actions=with_actions)
    assert (found.sources.tolist(), found.targets.tolist()) == ([size - 2, size - 1], [size - 1, size - 2])
