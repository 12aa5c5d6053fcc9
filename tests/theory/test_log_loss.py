"""Soft values of policies, causal entropy, the two orders of the worst-case log-loss, and the gradient theorem."""

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import expert_policy, policy_value, state_occupancy
from robustirl.theory.log_loss import (
    causal_entropy,
    log_loss,
    log_loss_gradient,
    predictive_log_loss,
    soft_policy_value,
    soft_value,
)
from tests.planners import newton
from tests.strategies import policies, vectors, worlds

SMALL = {"shapes": ((5, 4),), "discounts": (0.5, 0.9)}


@hypothesis.given(worlds(**SMALL), st.data())
def test_the_soft_value_is_largest_for_the_soft_optimal_policy(world, data):
    reward, policy = data.draw(vectors(5, scales=(1.0, 3.0))), data.draw(policies(world))
    solved = newton(MarkovGame(world), reward)
    assert np.allclose(soft_policy_value(world, solved.player, reward), solved.value, rtol=0, atol=1e-8)
    assert (np.asarray(soft_policy_value(world, policy, reward)) <= np.asarray(solved.value) + 1e-8).all()


@hypothesis.given(worlds(**SMALL), st.data())
def test_reward_and_entropy_add_up(world, data):
    reward, policy = data.draw(vectors(5)), data.draw(policies(world))
    both = world.initial @ soft_policy_value(world, policy, reward)
    plain = world.initial @ policy_value(world, policy, reward)
    assert float((1 - world.discount) * (both - plain)) == pytest.approx(float(causal_entropy(world, policy)), abs=1e-9)
    assert float(predictive_log_loss(world, policy, policy)) == pytest.approx(float(causal_entropy(world, policy)))


def test_the_soft_value_by_hand():
    # s0 tosses a coin between staying, for 1, and leaving for good: V = 1 + log 2 + γ V / 2.
    world = MDP([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]], discount=0.5)
    policy = [[0.5, 0.5], [1.0, 0.0]]
    assert soft_policy_value(world, policy, [1.0, 0.0]).tolist() == pytest.approx([(1 + np.log(2)) * 4 / 3, 0.0])


def twin_world():
    """Two actions that go to s1 and one that goes to s2: what matches ρ is one number, the share of the first twin."""
    kernel = np.zeros((3, 3, 3))
    kernel[:, 0, 1] = kernel[:, 1, 1] = kernel[:, 2, 2] = 1
    return MDP(kernel, discount=0.9, initial=[1.0, 0.0, 0.0])


def matching(share, stay=0.6):
    return np.tile([stay * share, stay * (1 - share), 1 - stay], (3, 1))


def test_the_worst_case_log_loss_is_the_largest_entropy_in_either_order():
    # H = h(0.6) + 0.6 h(share), h the entropy of a coin, is largest at a share of a half.
    world, shares = twin_world(), np.linspace(0, 1, 9)[1:-1]
    rho = state_occupancy(world, matching(0.5))
    assert all(np.allclose(state_occupancy(world, matching(share)), rho) for share in shares)
    losses = np.array([[predictive_log_loss(world, matching(p), matching(a)) for p in shares] for a in shares])
    largest = -0.6 * np.log(0.3) - 0.4 * np.log(0.4)
    entropies = [float(causal_entropy(world, matching(share))) for share in shares]
    assert max(entropies) == pytest.approx(largest)
    assert losses.min(1).max() == pytest.approx(largest)  # sup over the actor of inf over the predictor
    assert losses.max(0).min() == pytest.approx(largest)  # inf over the predictor of sup over the actor
    best = losses[:, len(shares) // 2]
    assert best == pytest.approx(largest)  # Against the soft-optimal predictor all actors are alike.


@pytest.fixture(scope="module")
def log_policies():
    """log π_θ(a|s) along a segment of rewards, as one compiled function."""

    def along(world, first, second, t):
        reward = first + t * (second - first)
        value = soft_value(world, reward)
        return reward[:, None] + world.discount * world.kernel.expect(value) - value[:, None]

    return jax.jit(along)


def test_the_papers_reason_for_uniqueness_fails_on_every_segment_and_its_conclusion_holds(log_policies):
    # "log π_θ is convex in θ" cannot hold at all pairs where π_θ changes: the exponentials, convex then, add up to one,
    # so that each would be affine, and its logarithm concave. The cost c(θ) is convex all the same: it is the convex
    # (1-γ) ⟨P₀, V_θ⟩ minus the linear ⟨ρ, θ⟩.
    rng = np.random.default_rng(0)
    concave = 0
    for _ in range(20):
        world = MDP(rng.dirichlet(np.ones(4), size=(4, 3)), discount=0.9)
        first, second = rng.normal(size=(2, 4)) * 2
        ends, middle = (
            [log_policies(world, first, second, t) for t in (0.0, 1.0)],
            log_policies(world, first, second, 0.5),
        )
        concave += bool((np.asarray(ends[0] + ends[1] - 2 * middle) < -1e-6).any())
    assert concave == 20
    world, (first, second) = MDP(rng.dirichlet(np.ones(4), size=(4, 3)), discount=0.9), rng.normal(size=(2, 4))
    policy = rng.dirichlet(np.ones(3), size=4)
    costs = [float(log_loss(world, first + t * (second - first), policy)) for t in (0.0, 0.5, 1.0)]
    assert costs[0] + costs[2] - 2 * costs[1] > 0


def decision(discount=0.5):
    """s0 goes to s1 or to s2, which keep themselves."""
    kernel = np.zeros((3, 2, 3))
    kernel[0] = (0, 1, 0), (0, 0, 1)
    kernel[1:] = np.eye(3)[1:, None]
    return MDP(kernel, discount=discount, initial=[1.0, 0.0, 0.0])


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_in_a_fixed_world_there_is_no_duality_gap(share):
    # The reward that makes the soft-optimal policy take a1 with this chance: γ (θ₁ - θ₂) / (1-γ) is the log-odds.
    world, target = decision(), np.array([[share, 1 - share], [0.5, 0.5], [0.5, 0.5]])
    theta = np.array([0.0, np.log(share / (1 - share)), 0.0])
    soft = expert_policy(world, theta, temperature=1.0)
    assert jnp.allclose(soft, target)
    rho = state_occupancy(world, target)
    dual = (1 - world.discount) * world.initial @ newton(MarkovGame(world), theta).value - rho @ theta
    assert float(dual) == pytest.approx(float(causal_entropy(world, target)))
    for other in np.random.default_rng(0).normal(size=(20, 3)):
        assert (1 - world.discount) * world.initial @ newton(
            MarkovGame(world), other
        ).value - rho @ other >= dual - 1e-9


@pytest.mark.parametrize(("share", "sign"), [(0.625, 1), (0.375, -1), (0.5, 0)])
def test_with_an_opponent_several_players_match_the_same_expert_exactly(share, sign):
    # An expert that tosses a coin, α = 0.8. The opponent takes the action that the reward is against: a player of 0.625
    # is pulled down to 0.8 · 0.625 = 0.5, and one of 0.375 up to 0.8 · 0.375 + 0.2 = 0.5. Both end the gradient.
    world, alpha, discount = decision(), 0.8, 0.5
    log_odds = np.log(share / (1 - share))
    theta = np.array([0.0, log_odds * (1 - discount) / (alpha * discount), 0.0])
    game = newton(MarkovGame(world, alpha), theta)
    assert game.player[0, 0] == pytest.approx(share)
    assert game.opponent[0, 0] == pytest.approx((1 - sign) / 2)
    mixed = alpha * game.player + (1 - alpha) * game.opponent
    coin = [[0.5, 0.5]] * 3
    assert np.allclose(state_occupancy(world, mixed), state_occupancy(world, coin), atol=1e-12)


@st.composite
def problems(draw):
    """A world, a reward, and any policy: whatever it is, it matches its own occupancy."""
    world = draw(worlds(shapes=((5, 4),), discounts=(0.5, 0.9)))
    return world, draw(vectors(world.num_states, scales=(1.0, 3.0))), draw(policies(world))


@hypothesis.given(problems())
def test_the_theorem_agrees_with_finite_differences(problem):
    world, reward, policy = problem
    step = 1e-5
    numeric = [
        (log_loss(world, reward + step * e, policy) - log_loss(world, reward - step * e, policy)) / (2 * step)
        for e in np.eye(world.num_states)
    ]
    assert np.allclose(numeric, log_loss_gradient(world, reward, policy), atol=1e-6)


@hypothesis.given(problems())
def test_the_log_loss_is_the_dual(problem):
    world, reward, policy = problem
    value = newton(MarkovGame(world), reward).value
    dual = (1 - world.discount) * world.initial @ value - state_occupancy(world, policy) @ reward
    assert log_loss(world, reward, policy) == pytest.approx(float(dual), abs=1e-7)


def test_every_matching_policy_shares_the_gradient():
    # Two identical actions: policies that differ in them have the same occupancy.
    kernel = np.zeros((3, 3, 3))
    kernel[:, 0, 1] = kernel[:, 1, 1] = kernel[:, 2, 2] = 1
    world = MDP(kernel, discount=0.9)
    reward = np.array([0.3, -1.0, 2.0])
    one, other = np.tile([0.7, 0.0, 0.3], (3, 1)), np.tile([0.2, 0.5, 0.3], (3, 1))
    assert jnp.allclose(state_occupancy(world, one), state_occupancy(world, other))
    assert jnp.allclose(log_loss_gradient(world, reward, one), log_loss_gradient(world, reward, other))
    assert log_loss(world, reward, one) == pytest.approx(float(log_loss(world, reward, other)))
