"""Theorem 2: the paper's rank test, the linear programs that give the true answer, and how the two differ."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from robustirl import envs
from robustirl.envs import ThreeState, make
from robustirl.errors import ConvergenceError
from robustirl.mdp import MDP, MarkovGame, dynamics_distance
from robustirl.mdp.dense import DenseKernel
from robustirl.planning import Temperatures, expert_policy, state_occupancy
from robustirl.planning.evaluation import state_action_occupancy
from robustirl.theory import find_feature_matching_policy
from robustirl.theory.existence import (
    FlowProblem,
    closest_occupancy,
    find_matching_policy,
    flow_system,
    match_state_actions,
    rank_test,
    rank_test_counterexample,
)
from tests.planners import newton
from tests.strategies import generators, policies, worlds

SMALL = {"shapes": ((2, 2), (5, 4)), "discounts": (0.5, 0.9, 0.99)}


def gap(mdp, policy, occupancy):
    return np.abs(np.asarray(state_occupancy(mdp, policy)) - occupancy).sum()


def violation(mdp, policy, occupancy):
    chain = np.einsum("sa,sat->st", policy, np.asarray(mdp.kernel.probabilities))
    flow = (1 - float(mdp.discount)) * np.asarray(mdp.initial) + float(mdp.discount) * occupancy @ chain
    return np.abs(occupancy - flow).sum()


@st.composite
def questions(draw, **options):
    """A world and an occupancy: one of its own, one nearby, or any."""
    mdp = draw(worlds(**(SMALL | options)))
    policy, rng = draw(policies(mdp)), draw(generators())
    return mdp, policy, rng, draw(st.sampled_from([0.0, 1e-6, 0.1, 1.0]))


def occupancy_of(question):
    mdp, policy, rng, distance = question
    anywhere = rng.dirichlet(np.full(mdp.num_states, 0.5))
    return (1 - distance) * np.asarray(state_occupancy(mdp, policy)) + distance * anywhere


@given(questions())
def test_the_system_is_the_papers_with_the_discount_in_its_place(question):
    mdp, rho = question[0], occupancy_of(question)
    kernel, mask, discount = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask), float(mdp.discount)
    states, actions = mask.shape
    matrix, target, columns = flow_system(mdp, rho)
    expected = np.zeros((2 * states, states * actions))
    for s, a in np.ndindex(states, actions):
        expected[:states, s * actions + a] = discount * rho[s] * kernel[s, a]
        expected[states + s, s * actions + a] = 1
    np.testing.assert_array_equal(columns, np.flatnonzero(mask))
    np.testing.assert_allclose(matrix.toarray(), expected[:, mask.ravel()], atol=1e-15)
    np.testing.assert_allclose(target, [*(rho - (1 - discount) * np.asarray(mdp.initial)), *np.ones(states)])


@given(st.data())
def test_a_policys_own_occupancy_is_matched(data):
    mdp = data.draw(worlds())
    rho = np.asarray(state_occupancy(mdp, data.draw(policies(mdp))))
    match = find_matching_policy(mdp, rho)
    assert match.feasible
    assert match.converged
    np.testing.assert_allclose(state_occupancy(mdp, match.policy), rho, atol=1e-8)
    assert rank_test(mdp, rho).consistent
    closest = closest_occupancy(mdp, rho)
    assert closest.gap < 1e-8
    np.testing.assert_allclose(closest.occupancy, rho, atol=1e-8)


@given(questions())
def test_the_rows_depend_on_each_other_so_that_full_rank_never_holds(question):
    mdp, rho = question[0], occupancy_of(question)
    matrix, target, _ = flow_system(mdp, rho)
    dependence = np.concatenate([np.ones(mdp.num_states), -float(mdp.discount) * rho])
    np.testing.assert_allclose(dependence @ matrix.toarray(), 0, atol=1e-14)
    np.testing.assert_allclose(dependence @ target, 0, atol=1e-14)
    verdict = rank_test(mdp, rho)
    assert not verdict.full_rank
    assert verdict.rank <= 2 * mdp.num_states - 1
    assert verdict.consistent or verdict.rank < 2 * mdp.num_states - 1


def test_a_leaky_world_can_have_full_rank():
    world = MDP(DenseKernel([[[0.5], [1.0]]], leaky=True), discount=0.5)
    assert rank_test(world, [0.8]).full_rank
    match = find_matching_policy(world, [0.8])
    assert match.feasible
    np.testing.assert_allclose(state_occupancy(world, match.policy), [0.8])
    # Full rank is Corollary 1's premise, but no policy loses more than half a step.
    assert rank_test(world, [0.5]).full_rank
    assert not find_matching_policy(world, [0.5]).feasible


def test_the_rank_test_says_yes_where_no_policy_exists():
    mdp, rho = rank_test_counterexample()
    verdict = rank_test(mdp, rho)
    assert verdict.consistent
    assert verdict.rank == verdict.augmented_rank
    match, closest = find_matching_policy(mdp, rho), closest_occupancy(mdp, rho)
    assert not match.feasible
    # At most 4/5 of what leaves s0 reaches s1: 1/5 of γ ρ(s0) is missing there, and too much in s2.
    np.testing.assert_allclose(match.violation, 2 * 0.9 * 0.1 / 5)
    np.testing.assert_allclose(closest.gap, 2 * 0.9 / 5)
    np.testing.assert_allclose(match.policy[0], [1, 0], atol=1e-12)
    np.testing.assert_allclose(closest.policy[0], [1, 0], atol=1e-12)


@given(questions(shapes=((2, 2),), discounts=(0.5,)))
@settings(max_examples=15)
def test_the_programs_agree_with_a_search_over_all_policies(question):
    mdp, rho = question[0], occupancy_of(question)
    steps = 201
    kernel, mask = np.asarray(mdp.kernel.probabilities), np.asarray(mdp.mask)
    first = np.stack(np.meshgrid(*2 * [np.linspace(0, 1, steps)], indexing="ij"), -1).reshape(-1, 2)
    candidates = np.stack([first, 1 - first], -1)
    candidates = candidates[~((candidates > 0) & ~mask).any((1, 2))]
    chains = np.einsum("psa,sat->pst", candidates, kernel)
    start = 0.5 * np.asarray(mdp.initial)
    violations = np.abs(rho - start - 0.5 * rho @ chains).sum(-1)
    reached = np.linalg.solve(np.eye(2) - 0.5 * chains.transpose(0, 2, 1), start[:, None])[..., 0]
    gaps = np.abs(reached - rho).sum(-1)
    # Some policy on the grid is within ‖π - π'‖₁ <= 1/(steps-1) of the best one, in every state; that moves the
    # violation by γ times as much and the gap by γ/(1-γ) times as much.
    match, closest = find_matching_policy(mdp, rho), closest_occupancy(mdp, rho)
    assert match.violation <= violations.min() + 1e-12 <= match.violation + 0.5 / (steps - 1) + 2e-12
    assert closest.gap <= gaps.min() + 1e-12 <= closest.gap + 1 / (steps - 1) + 2e-12


@given(questions())
def test_violation_and_gap_bound_each_other_and_vanish_together(question):
    mdp, rho = question[0], occupancy_of(question)
    match, closest = find_matching_policy(mdp, rho), closest_occupancy(mdp, rho)
    discount = float(mdp.discount)
    assert match.violation / (1 + discount) <= closest.gap + 1e-9
    assert closest.gap <= match.violation / (1 - discount) + 1e-9
    assert match.feasible == (closest.gap <= 1e-9 / (1 - discount))


@given(questions(), generators())
def test_no_policy_does_better_than_the_programs_say(question, rng):
    mdp, rho = question[0], occupancy_of(question)
    match, closest = find_matching_policy(mdp, rho), closest_occupancy(mdp, rho)
    np.testing.assert_allclose(match.violation, violation(mdp, match.policy, rho), atol=1e-13)
    np.testing.assert_allclose(closest.gap, gap(mdp, closest.policy, rho), atol=1e-12)
    np.testing.assert_allclose(closest.occupancy, state_occupancy(mdp, closest.policy), atol=1e-12)
    for _ in range(5):
        weights = rng.exponential(size=mdp.mask.shape) ** 3 * np.asarray(mdp.mask)
        policy = weights / weights.sum(-1, keepdims=True)
        assert match.violation <= violation(mdp, policy, rho) + 1e-12
        assert closest.gap <= gap(mdp, policy, rho) + 1e-12


@given(questions())
def test_witnesses_prove_the_distances(question):
    mdp, rho = question[0], occupancy_of(question)
    match, closest = find_matching_policy(mdp, rho), closest_occupancy(mdp, rho)
    kernel, discount = np.asarray(mdp.kernel.probabilities), float(mdp.discount)
    assert np.abs(match.witness).max() <= 1
    assert np.abs(closest.witness).max() <= 1
    best = np.where(mdp.mask, kernel @ match.witness, -np.inf).max(-1)
    proof = match.witness @ (rho - (1 - discount) * np.asarray(mdp.initial)) - discount * rho @ best
    np.testing.assert_allclose(proof, match.violation, atol=1e-8)
    np.testing.assert_allclose(match.lower_bound, match.violation, atol=1e-8)
    # The witness of the gap is a reward, so an independent planner can say what it is worth in this world.
    optimal = newton(MarkovGame(mdp), closest.witness, temperatures=Temperatures(0.0, 0.0)).value
    proof = rho @ closest.witness - (1 - discount) * np.asarray(mdp.initial) @ np.asarray(optimal)
    np.testing.assert_allclose(proof, closest.gap, atol=1e-7)
    np.testing.assert_allclose(closest.lower_bound, closest.gap, atol=1e-7)
    assert match.lower_bound <= match.violation + 1e-13
    assert closest.lower_bound <= closest.gap + 1e-13


@pytest.mark.parametrize(("expert_noise", "exists"), [(0.0, False), (0.05, False), (0.1, True), (0.2, True)])
def test_with_an_action_that_stays_noise_can_be_imitated_but_not_undone(expert_noise, exists):
    env = envs.make("gridworld-4")

    def lazy(noise):
        world, disturbance = env.mdp(noise), np.full((36, 36), noise / 36)
        stay = (1 - noise) * np.eye(36) + disturbance
        stay[0] = np.eye(36)[0]
        kernel = np.concatenate([world.kernel.to_sparse().toarray().reshape(36, 4, 36), stay[:, None]], 1)
        return MDP(kernel, discount=0.99, mask=np.concatenate([np.asarray(world.mask), np.ones((36, 1), bool)], 1))

    learner, expert = lazy(0.1), lazy(expert_noise)
    rho = state_occupancy(expert, expert_policy(expert, env.reward))
    verdict = rank_test(learner, rho)
    assert verdict.consistent
    assert verdict.rank == 71
    assert find_matching_policy(learner, rho).feasible == exists
    assert (closest_occupancy(learner, rho).gap < 1e-9) == exists


@pytest.mark.parametrize("function", [find_matching_policy, closest_occupancy])
def test_a_verdict_that_primal_and_dual_do_not_share_is_no_verdict(function, monkeypatch):
    mdp, rho = rank_test_counterexample()
    solve, lying = scipy.optimize.linprog, {"highs-ipm"}

    def linprog(*, method, **program):
        answer = solve(method=method, **program)
        if method in lying:
            answer.eqlin.marginals = 0 * answer.eqlin.marginals
        return answer

    monkeypatch.setattr(scipy.optimize, "linprog", linprog)
    assert function(mdp, rho).lower_bound > 0.03
    lying.add("highs-ds")
    with pytest.raises(ConvergenceError):
        function(mdp, rho)


def test_the_flow_of_two_states_by_hand():
    """From state 0 one may go to 1 or stay; state 1 has one action, which stays. γ = 1/2, from both states alike."""
    world = MDP([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.5)
    problem = FlowProblem(world, [0.5, 0.5])
    assert problem.table(np.array([1.0, 2.0, 3.0]), -1.0).tolist() == [[1.0, 2.0], [3.0, -1.0]]
    assert problem.policy(np.array([1.0, 3.0, -0.5])).tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert problem.policy(np.zeros(3)).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    leaving, staying = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert problem.violation(leaving) == 0.5  # 1/4 is to come from the flow to either, and 0 and 1/2 do.
    assert problem.violation(staying) == 0.0
    assert problem.reached(leaving) == pytest.approx([0.25, 0.75])
    assert problem.reached(staying) == pytest.approx([0.5, 0.5])
    reward = np.array([0.0, 1.0])
    assert problem.largest_return(reward, np.array([1.0, 2.0])) == pytest.approx(0.75)  # V is the optimal one.
    assert problem.largest_return(reward, np.zeros(2)) == pytest.approx(1.0)
    assert problem.largest_return(reward, np.array([10.0, 20.0])) == pytest.approx(7.5)


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


def test_what_cannot_be_answered_is_refused(refused):
    world, rho = rank_test_counterexample()
    for attempt, words in (
        (lambda: rank_test(world, [0.5, 0.5]), ["the occupancy", "(2,)", "(3,)"]),
        (lambda: closest_occupancy(world, [0.5, 0.5, 0.5]), ["the occupancy", "1.5", "instead of 1"]),
        (lambda: find_matching_policy(world, rho, tolerance=-1.0), ["the tolerance is -1.0"]),
        (lambda: find_matching_policy(world, rho, time_limit=0.0), ["the time limit is 0.0"]),
        (lambda: find_feature_matching_policy(world, rho, [[1.0], [2.0]]), ["the feature matrix", "(2, 1)", "(3, 1)"]),
        (lambda: find_feature_matching_policy(world, rho, [1.0, 2.0]), ["the feature matrix", "(2,)"]),
        (lambda: match_state_actions(world, [[0.5, 0.5]]), ["(1, 2)", "(3, 2)"]),
    ):
        with refused(*words):
            attempt()


def test_a_solver_that_runs_out_of_time_is_reported():
    env = envs.make("gridworld-1")
    rho = np.full(100, 0.01)
    with pytest.raises(ConvergenceError, match="over 100 states did not end in a solution"):
        find_matching_policy(env.mdp(0.1), rho, time_limit=1e-9)
    found = find_matching_policy(env.mdp(0.1), rho, time_limit=1e-9, throw=False)
    assert not found.converged
    assert found.violation >= found.lower_bound
