"""Every bound is at least the quantity it bounds, or there is an example that shows it is not."""

import hypothesis
import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import ThreeState, make
from robustirl.mdp import MDP, MarkovGame, dynamics_distance, mixture, policy_distance
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.theory import bounds
from robustirl.theory.alpha import choose_alpha, opponent_world, worst_opponent_world
from robustirl.theory.constants import kappa, require_comparable, reward_magnitude
from tests.planners import newton
from tests.strategies import kernels, policies, undisturbed_randomness, vectors, worlds

SLACK = 1e-9  # Solver and rounding errors, relative to the values.
SHAPES = ((2, 2), (5, 4), (20, 3))
DISCOUNTS = (0.1, 0.5, 0.9, 0.99)
many = hypothesis.settings(max_examples=2 * hypothesis.settings.default.max_examples)


@st.composite
def pairs(draw):
    """Two worlds that differ in their dynamics alone, a little or a lot, and a reward."""
    learner = draw(worlds(shapes=SHAPES, discounts=DISCOUNTS))
    shape = (learner.num_states, learner.num_actions)
    other, _ = draw(kernels(shape))
    weight = draw(st.sampled_from([0.0, 0.01, 0.3, 1.0]))
    with undisturbed_randomness():
        expert = blend(learner, other, weight)
    return learner, expert, draw(vectors(shape[0], scales=(0.01, 1.0, 30.0)))


def blend(world, rows, weight):
    """The world with (1-w) T + w T' for its dynamics, where it has an action at all."""
    identity = jnp.eye(world.num_states)
    kernel = np.stack([np.asarray(world.kernel.expect(column)) for column in identity], axis=-1)
    mixed = np.where(kernel.sum(-1, keepdims=True) > 0, (1 - weight) * kernel + weight * rows, 0)
    return MDP(mixed, discount=world.discount, initial=world.initial, mask=world.mask)


def slack(world, reward):
    return SLACK * max(1.0, np.abs(reward).max() / (1 - float(world.discount)))


@many
@hypothesis.given(pairs())
def test_lemma_1_bounds_the_distance_of_soft_policies(pair):
    learner, expert, reward = pair
    found = policy_distance(*(expert_policy(world, reward, temperature=1.0) for world in (learner, expert)))
    assert found <= bounds.soft_policy_bound(learner, expert, reward).value + 1e-8


@many
@hypothesis.given(pairs())
def test_both_branches_of_lemma_1_hold(pair):
    learner, expert, reward = pair
    found = float(policy_distance(*(expert_policy(world, reward, temperature=1.0) for world in (learner, expert))))
    for branch in bounds.soft_policy_bound(learner, expert, reward).terms.values():
        assert found <= 2 * branch + 1e-8


@many
@hypothesis.given(pairs())
def test_theorem_1_bounds_the_gap_of_exact_matching(pair):
    # Where occupancies are matched, π_1 earns what the learner's expert earns, and π_2 what the expert's does.
    learner, expert, reward = pair
    gap = abs(optimal_return(learner, reward) - optimal_return(expert, reward))
    assert gap <= bounds.standard_bound(learner, expert, reward).value + slack(learner, reward)


@many
@hypothesis.given(pairs())
def test_theorem_1_for_soft_experts(pair):
    learner, expert, reward = pair
    gap = abs(soft_return(learner, reward) - soft_return(expert, reward))
    assert gap <= bounds.standard_bound_soft_expert(learner, expert, reward).value + slack(learner, reward)


@many
@hypothesis.given(pairs(), st.sampled_from([0.6, 0.9, 1.0]), st.data())
def test_theorem_3_bounds_the_players_gap(pair, alpha, data):
    # Its premise is that the mixture has the expert's occupancy. Take any players, and allow for what is missing.
    learner, expert, reward = pair
    player, opponent = data.draw(policies(learner)), data.draw(policies(learner))
    matched = abs(
        discounted_return(learner, mixture(jnp.asarray(player), jnp.asarray(opponent), alpha), reward)
        - optimal_return(expert, reward)
    )
    gap = abs(optimal_return(learner, reward) - discounted_return(learner, player, reward))
    bound = bounds.robust_bound(learner, expert, reward, alpha).value
    assert gap <= bound + float(matched) + slack(learner, reward)


@many
@hypothesis.given(pairs(), st.data())
def test_reward_transfer_is_bounded(pair, data):
    # The premise: the reward learned in M^train matches the expert there. Its failure is measured and allowed for.
    learner, train, reward = pair
    train_reward = data.draw(vectors(learner.num_states))
    policy = data.draw(policies(learner))
    unmatched = abs(
        optimal_return(train, reward)
        - discounted_return(train, expert_policy(train, train_reward, temperature=1.0), reward)
    )
    soft = expert_policy(learner, train_reward, temperature=1.0)
    gap = abs(optimal_return(learner, reward) - discounted_return(learner, policy, reward))
    bound = bounds.transfer_bound(learner, train, train, reward, train_reward, soft_policy=soft, policy=policy)
    assert gap <= bound.value + float(unmatched) + slack(learner, reward)
    simple = bounds.transfer_bound_trained_with_expert(learner, train, reward, train_reward)
    soft_gap = abs(optimal_return(learner, reward) - discounted_return(learner, soft, reward))
    assert soft_gap <= simple.value + float(unmatched) + slack(learner, reward)


def test_the_two_forms_of_the_transfer_bound_agree():
    env = make("gridworld-4", discount=0.9)
    learner, expert = env.mdp(0.0), env.mdp(0.1)
    distance = float(dynamics_distance(learner, expert))
    theta = np.linspace(-1, 1, 36)
    constant = kappa(expert, theta)
    stated = 2 * 100 / 0.1**2 * (0.9 * distance + constant / 0.1 * np.sqrt(distance))
    found = bounds.transfer_bound_trained_with_expert(learner, expert, env.reward, theta).value
    assert found == pytest.approx(stated)


@many
@hypothesis.given(pairs(), st.sampled_from([0.3, 0.9, 1.0]), st.data())
def test_the_corrected_infeasible_bound_holds_for_any_players(pair, alpha, data):
    learner, expert, reward = pair
    player, opponent = data.draw(policies(learner)), data.draw(policies(learner))
    gap = abs(optimal_return(learner, reward) - discounted_return(learner, player, reward))
    bound = bounds.infeasible_bound(
        learner,
        expert,
        opponent_world(learner, opponent),
        reward,
        expert_policy=expert_policy(expert, reward, kind="optimal"),
        player=player,
        alpha=alpha,
    )
    assert gap <= bound.value + slack(learner, reward)


def test_the_opponents_kernel_is_not_within_the_radius_the_proof_gives_it():
    # Of the two moves one leads to the good state and one to the bad: T* is at distance 2 from T^L, whatever α.
    env = ThreeState()
    learner, alpha = env.mdp(0.0), 0.9
    away = float(dynamics_distance(worst_opponent_world(learner, env.reward, alpha), learner))
    assert away == pytest.approx(2)
    assert away > 2 * (1 - alpha) + 1


@many
@hypothesis.given(pairs())
def test_the_corrected_saddle_bound_bounds_the_difference_of_soft_values(pair):
    learner, expert, reward = pair
    values = [world.initial @ newton(MarkovGame(world), reward).value for world in (learner, expert)]
    distance = min(float(dynamics_distance(learner, expert)), 2.0)
    bound = bounds.saddle_bound_corrected(learner, reward, distance).value
    assert abs(float(values[0] - values[1])) <= bound + slack(learner, reward)


def test_the_saddle_bound_as_stated_can_be_violated():
    # A single action: the opponent can do nothing, while the worst kernel of T^{L,α} jumps to the bad state.
    world = MDP([[[1.0, 0.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
    reward, alpha = np.array([0.0, -0.01]), 0.5
    worst = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
    game = world.initial @ newton(MarkovGame(world, alpha), reward).value
    robust = worst.initial @ newton(MarkovGame(worst), reward).value
    distance = float(dynamics_distance(world, worst))
    gap = float(game - robust)
    assert gap > 2 * bounds.saddle_bound(world, reward, distance).value
    assert gap <= bounds.saddle_bound_corrected(world, reward, distance).value


@pytest.mark.parametrize("noise", [0.05, 0.2, 0.45])
@pytest.mark.parametrize("discount", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("alpha", [0.95, 0.8, 0.55])
def test_theorem_4_exactly(noise, discount, alpha):
    env = ThreeState(discount=discount)
    learner, expert = env.mdp(0.0), env.mdp(noise)
    distance = float(dynamics_distance(learner, expert))
    assert distance == pytest.approx(2 * noise)
    assert env.performance_gap(noise, choose_alpha(learner, expert).half_distance) == pytest.approx(0, abs=1e-12)
    assert env.performance_gap(noise, 1.0) == pytest.approx(discount / (1 - discount) * distance)
    assert env.performance_gap(noise, 1.0) <= bounds.standard_bound(learner, expert, env.reward).value
    if alpha >= 1 - noise:
        assert env.performance_gap(noise, alpha) <= bounds.robust_bound(learner, expert, env.reward, alpha).value


def test_theorem_1_is_tight_where_one_step_decides():
    # γ -> 0: the factor 1/(1-γ)² that the three-state example does not need goes away.
    env = ThreeState(discount=1e-6)
    bound = bounds.standard_bound(env.mdp(0.0), env.mdp(0.2), env.reward).value
    assert env.performance_gap(0.2, 1.0) == pytest.approx(bound, rel=1e-5)


@many
@hypothesis.given(worlds(shapes=SHAPES, discounts=DISCOUNTS), st.data())
def test_kappa_bounds_the_soft_value(world, data):
    reward = data.draw(vectors(world.num_states, scales=(0.01, 1.0, 30.0)))
    discount = float(world.discount)
    largest = float(np.abs(newton(MarkovGame(world), reward).value).max())
    assert largest <= kappa(world, reward) ** 2 / (discount * (1 - discount)) * (1 + 1e-9) + 1e-9


def test_kappa_is_the_papers_where_all_actions_are_available():
    world = MDP(np.full((3, 4, 3), 1 / 3), discount=0.9)
    reward = np.array([-5.0, 1.0, 2.0])
    assert kappa(world, reward) == pytest.approx(np.sqrt(0.9 * max(2 + np.log(4), -np.log(4) + 5)))
    assert reward_magnitude(world, reward) == 5


def test_bounds_are_the_sum_of_their_terms():
    env = ThreeState()
    bound = bounds.robust_bound(env.mdp(0.0), env.mdp(0.1), env.reward, 0.9)
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert bound.terms["opponent"] == pytest.approx(2 * 0.1 / 0.1**2)


def test_wrong_use_is_refused(refused):
    env, grid = ThreeState(), make("gridworld-4")
    small, large = env.mdp(), grid.mdp()
    with refused("(3, 2)", "(36, 4)"):
        bounds.standard_bound(small, large, env.reward)
    with refused("discounts, 0.9 and 0.5"):
        require_comparable(small, ThreeState(discount=0.5).mdp())
    with refused("leaky"):
        bounds.standard_bound(grid.mdp(0.1, "published"), grid.mdp(0.2, "published"), grid.reward)
    with refused("leaky"):
        require_comparable(grid.mdp(0.1, "published"), large)
    with refused("not finite at state 1"):
        bounds.standard_bound(small, small, [0.0, np.inf, 0.0])
    with refused("alpha is 0.0"):
        bounds.robust_bound(small, small, env.reward, 0.0)
    with refused("the distance is 3.0"):
        bounds.saddle_bound(small, env.reward, 3.0)
    with refused("a policy was given without the soft-optimal one"):
        bounds.transfer_bound(small, small, small, env.reward, env.reward, policy=np.full((3, 2), 0.5))
    with refused("different actions"):
        require_comparable(small, MDP(np.full((3, 2, 3), 1 / 3), discount=0.9, mask=np.array([[True, False]] * 3)))
    with refused("different distributions"):
        require_comparable(small, MDP(np.full((3, 2, 3), 1 / 3), discount=0.9))


def optimal_return(world, reward):
    return discounted_return(world, expert_policy(world, reward, kind="optimal"), reward)


def soft_return(world, reward):
    return discounted_return(world, expert_policy(world, reward, temperature=1.0), reward)


def test_matching_in_the_learners_world_earns_what_the_expert_earns():
    # The step on which all bounds stand: equal occupancies, equal returns.
    env = ThreeState()
    expert = env.mdp(0.1)
    rho = state_occupancy(expert, expert_policy(expert, env.reward, kind="optimal"))
    chance = env.player_probability(0.1, 1.0)
    player = [[chance, 1 - chance], [0.5, 0.5], [0.5, 0.5]]
    assert jnp.allclose(state_occupancy(env.mdp(0.0), player), rho)
    assert discounted_return(env.mdp(0.0), player, env.reward) == pytest.approx(
        float(optimal_return(expert, env.reward))
    )
