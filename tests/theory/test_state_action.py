"""Matching states and actions: impossible in general, possible in worlds that differ where the expert does not go."""

import numpy as np
import pytest
from hypothesis import given

from robustirl.envs import ThreeState
from robustirl.mdp import MDP, dynamics_distance
from robustirl.planning import state_action_occupancy
from robustirl.theory import find_matching_policy, match_state_actions
from tests.theory.test_existence import questions, violation

FIRST, SECOND = ([[a, 1 - a], [0.5, 0.5], [0.5, 0.5]] for a in (1.0, 0.0))


def test_worlds_that_differ_off_the_experts_support_can_be_matched():
    env = ThreeState()
    learner, expert = env.mdp(0.0), env.mdp(0.3)
    assert dynamics_distance(learner, expert) == pytest.approx(0.6)
    pairs = state_action_occupancy(expert, SECOND)
    match = match_state_actions(learner, pairs)
    assert match.feasible
    assert match.gap == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(match.policy, SECOND)


def test_worlds_that_differ_in_ways_that_cancel_can_be_matched():
    # Two actions whose successors the other world exchanges, and an expert who tosses a coin between them.
    worlds = [MDP([[[1.0, 0.0], [0.0, 1.0]][::step]] * 2, discount=0.9) for step in (1, -1)]
    assert dynamics_distance(*worlds) == 2
    assert match_state_actions(worlds[0], state_action_occupancy(worlds[1], [[0.5, 0.5]] * 2)).feasible


def test_a_match_of_states_need_not_be_one_of_pairs():
    # The slipping expert takes a1 always and is in s2 with 0.27: the learner must take a2 for that.
    env = ThreeState()
    pairs = np.asarray(state_action_occupancy(env.mdp(0.3), FIRST))
    match = match_state_actions(env.mdp(0.0), pairs)
    assert not match.feasible
    assert match.violation == pytest.approx(2 * 0.09 * 0.3)  # γ ρ(s0) ‖T - T'‖₁ = 0.9 · 0.1 · 0.6
    assert match.gap == pytest.approx(2 * 0.9 * 0.3)
    assert find_matching_policy(env.mdp(0.0), pairs.sum(-1)).feasible


@given(questions())
def test_in_ones_own_world_the_answer_is_the_policy_itself(question):
    mdp, policy, *_ = question
    pairs = np.asarray(state_action_occupancy(mdp, policy))
    match = match_state_actions(mdp, pairs)
    assert match.feasible
    seen = pairs.sum(-1) > 1e-12
    np.testing.assert_allclose(match.policy[seen], policy[seen], atol=1e-6)
    assert match.violation == pytest.approx(violation(mdp, match.policy, pairs.sum(-1)), abs=1e-12)


def test_what_is_no_occupancy_of_pairs_is_refused(refused):
    world = MDP([[[1.0], [0.0]]], discount=0.9, mask=[[True, False]])
    with refused("state 0, action 1", "0.25"):
        match_state_actions(world, [[0.75, 0.25]])
    with refused("the occupancy", "1.5"):
        match_state_actions(world, [[1.5, 0.0]])
    with refused("(1,)", "(1, 2)"):
        match_state_actions(world, [1.0])
