"""Matching feature expectations: one-hot features, hand-made ones, witnesses, and GridWorld-L."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.envs import make
from robustirl.planning import expert_policy, state_occupancy
from robustirl.theory import closest_occupancy, find_feature_matching_policy, find_matching_policy
from robustirl.theory.existence import rank_test_counterexample
from tests.strategies import policies
from tests.theory.test_existence import occupancy_of, questions


@given(questions())
def test_one_hot_features_are_the_occupancy(question):
    mdp, rho = question[0], occupancy_of(question)
    found, known = find_feature_matching_policy(mdp, rho, np.eye(mdp.num_states)), closest_occupancy(mdp, rho)
    assert found.gap == pytest.approx(known.gap, abs=1e-7)
    assert found.lower_bound == pytest.approx(known.lower_bound, abs=1e-7)


@given(questions(), st.data())
def test_no_policy_comes_closer_and_the_witness_proves_it(question, data):
    mdp, rho = question[0], occupancy_of(question)
    features = np.random.default_rng(3).normal(size=(mdp.num_states, 2))
    found = find_feature_matching_policy(mdp, rho, features)
    other = np.asarray(state_occupancy(mdp, data.draw(policies(mdp))))
    away = features.T @ (rho - other)
    assert np.abs(away).sum() >= found.lower_bound - 1e-9
    assert found.witness @ away >= found.lower_bound - 1e-9
    reached = features.T @ np.asarray(state_occupancy(mdp, found.policy))
    np.testing.assert_allclose(reached, found.expectations, atol=1e-9)
    assert np.abs(reached - features.T @ rho).sum() == pytest.approx(found.gap, abs=1e-9)


def test_the_gap_by_hand():
    # The learner's a1 fails with 1/5: s1 has at most 0.72 of the expert's 0.9, and the feature counts it threefold.
    world, rho = rank_test_counterexample()
    found = find_feature_matching_policy(world, rho, [[0.0], [3.0], [0.0]])
    assert not found.feasible
    assert found.gap == pytest.approx(3 * 0.18)
    assert found.witness.tolist() == pytest.approx([1.0])
    assert find_feature_matching_policy(world, rho, [[0.0], [3.0], [0.0]], tolerance=0.55).feasible


def matched(model):
    """In how many of the twelve mismatched cells of GridWorld-L the expectations, and the occupancy, can be matched."""
    env = make("gridworld-l")
    assert env.features is not None
    phi = env.features
    worlds = {noise: env.mdp(noise, model) for noise in (0.0, 0.05, 0.1, 0.15, 0.2)}
    rhos = {noise: state_occupancy(world, expert_policy(world, env.reward)) for noise, world in worlds.items()}
    cells = [(learner, expert) for learner in (0.0, 0.05, 0.1) for expert in worlds if learner != expert]
    features = [find_feature_matching_policy(worlds[a], rhos[b], phi).feasible for a, b in cells]
    states = [find_matching_policy(worlds[a], rhos[b]).feasible for a, b in cells]
    return sum(features), sum(states), [cell for cell, yes in zip(cells, features, strict=True) if not yes]


def test_three_features_can_be_matched_where_the_occupancy_cannot():
    # The three cells that remain have an expert calmer than the learner.
    features, states, unmatched = matched("uniform-state")
    assert (features, states) == (9, 0)
    assert unmatched == [(0.05, 0.0), (0.1, 0.0), (0.1, 0.05)]


def test_features_that_do_not_fit_are_refused(refused):
    world, rho = rank_test_counterexample()
    with refused("the feature matrix", "(2, 1)", "(3, 1)"):
        find_feature_matching_policy(world, rho, [[1.0], [2.0]])
    with refused("the feature matrix", "(3,)"):
        find_feature_matching_policy(world, rho, [1.0, 2.0, 3.0])
    with refused("the tolerance", "-1.0"):
        find_feature_matching_policy(world, rho, np.eye(3), tolerance=-1.0)
