"""Every bound is at least the quantity it bounds, or there is an example that shows it is not; the rules for α."""

import hypothesis
import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import ThreeState, make
from robustirl.mdp import MDP, MarkovGame, dynamics_distance, mixture
from robustirl.mdp.policy import policy_distance
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.theory import bounds, find_matching_policy
from robustirl.theory.bounds import (
    choose_alpha,
    kappa,
    opponent_world,
    require_comparable,
    worst_opponent_world,
)
from robustirl.theory.certify import robust_soft_value
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
def test_theorem_1_bounds_the_gap_of_exact_matching(pair):
    # Where occupancies are matched, π_1 earns what the learner's expert earns, and π_2 what the expert's does.
    learner, expert, reward = pair
    gap = abs(optimal_return(learner, reward) - optimal_return(expert, reward))
    assert gap <= bounds.standard_bound(learner, expert, reward).value + slack(learner, reward)


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


@many
@hypothesis.given(worlds(shapes=SHAPES, discounts=DISCOUNTS), st.data())
def test_kappa_bounds_the_soft_value(world, data):
    reward = data.draw(vectors(world.num_states, scales=(0.01, 1.0, 30.0)))
    discount = float(world.discount)
    largest = float(np.abs(newton(MarkovGame(world), reward).value).max())
    assert largest <= kappa(world, reward) ** 2 / (discount * (1 - discount)) * (1 + 1e-9) + 1e-9


def optimal_return(world, reward):
    return discounted_return(world, expert_policy(world, reward, kind="optimal"), reward)


def soft_return(world, reward):
    return discounted_return(world, expert_policy(world, reward, temperature=1.0), reward)


def test_the_corollarys_alpha_minimizes_the_bound_as_stated():
    env = ThreeState()
    learner, expert = env.mdp(0.0), env.mdp(0.4)
    star = worst_opponent_world(learner, env.reward, 0.9)
    # A T* close to the expert's world, so that the rule says something other than one.
    near = MDP(expert.kernel, discount=0.9, initial=expert.initial)
    chosen = choose_alpha(learner, expert, opponent_world=near).corollary
    assert chosen is not None
    assert chosen < 1
    assert choose_alpha(learner, expert, opponent_world=star).corollary == 1

    def stated(alpha):
        player = expert_policy(expert, env.reward)
        return bounds.infeasible_bound(
            learner, expert, near, env.reward, expert_policy=player, player=player, alpha=alpha, corrected=False
        ).value

    assert stated(chosen) <= min(stated(alpha) for alpha in np.linspace(0.05, 1, 96)) + 1e-9


@hypothesis.given(worlds(shapes=((5, 4),)), st.data())
def test_in_the_opponents_world_the_players_action_does_not_matter(world, data):
    opponent = data.draw(policies(world))
    star = opponent_world(world, opponent)
    value = jnp.arange(5.0)
    rows = star.kernel.expect(value)
    assert jnp.allclose(rows, rows[:, :1])
    assert jnp.allclose(rows[:, 0], world.kernel.chain(jnp.asarray(opponent, dtype=float)).expect(value))


SPREAD = 250  # Terminals over which one move spreads its mass: its ℓ1 norm stays, its Euclidean norm vanishes.


def unmatched_counterexample(discount=0.01, alpha=0.9):
    """One decision with three actions and 2·SPREAD + 4 terminals worth ±1, an expert whom no policy matches, and θ.

    For the expert every action leads to e. The learner's a1 is better than e by 0.9, its a2 worse by 0.9, and its a3 is
    near e: the distances in ℓ1 are 0.9, 0.9 and 0.2. θ is e minus what the mixture α a2 + (1-α) a3 reaches.
    """
    good, bad = slice(1, 1 + SPREAD), slice(1 + SPREAD, 1 + 2 * SPREAD)
    poor, rich, low, high = range(1 + 2 * SPREAD, 5 + 2 * SPREAD)
    e = np.zeros(5 + 2 * SPREAD)
    e[good], e[poor], e[low] = 0.45 / SPREAD, 0.45, 0.1
    first, second, third = e.copy(), e.copy(), e.copy()
    first[[poor, rich, low, high]] = 0.45 - 0.355, 0.355, 0.1 - 0.095, 0.095
    second[good], second[bad] = 0.0, 0.45 / SPREAD
    third[low], third[high] = 0.0, 0.1
    reward = np.zeros_like(e)
    reward[good] = reward[rich] = reward[high] = 1
    reward[bad] = reward[poor] = reward[low] = -1

    def world(rows):
        kernel = np.zeros((e.size, 3, e.size))
        kernel[0] = rows
        kernel[1:] = np.eye(e.size)[1:, None]
        return MDP(kernel, discount=discount, initial=np.eye(e.size)[0])

    direction = alpha * (e - second) + (1 - alpha) * (e - third)
    return world([first, second, third]), world([e] * 3), reward, direction


def test_the_stated_infeasible_bound_is_violated_inside_its_hypotheses():
    alpha, discount = 0.9, 0.01
    learner, expert, reward, direction = unmatched_counterexample(discount, alpha)
    game = newton(MarkovGame(learner, alpha), 1e7 * direction)
    player, opponent = game.player, game.opponent
    assert player[0] == pytest.approx([0, 1, 0], abs=1e-12)
    assert opponent[0] == pytest.approx([0, 0, 1], abs=1e-12)
    # The expert's policy may be the player's: in its world all are optimal. No policy of the learner matches it.
    rho = state_occupancy(expert, player)
    assert not find_matching_policy(learner, rho).feasible
    # Gradient descent from here goes on along θ for ever, so that these are the policies it ends with.
    step = rho - state_occupancy(learner, mixture(player, opponent, alpha))
    assert jnp.allclose(step, discount * direction, rtol=0, atol=1e-14)

    gap = float(
        discounted_return(learner, expert_policy(learner, reward, kind="optimal"), reward)
        - discounted_return(learner, player, reward)
    )
    assert gap == pytest.approx(discount / (1 - discount) * 1.8)
    options = {"expert_policy": player, "player": player, "alpha": alpha}
    star = opponent_world(learner, opponent)
    stated = bounds.infeasible_bound(learner, expert, star, reward, **options, corrected=False).value
    assert stated == pytest.approx(discount / (1 - discount) ** 2 * (0.9 + 0.02 + 0.9 * 0.9 + 0.1 * 0.2))
    assert gap > 1.018 * stated
    assert gap < bounds.infeasible_bound(learner, expert, star, reward, **options).value


@hypothesis.given(pairs(), st.sampled_from([0.5, 0.7, 0.95]), st.data())
def test_with_an_exact_match_and_alpha_from_a_half_on_the_stated_bound_holds(pair, alpha, data):
    # Matched, the gap is at most the terms mismatch and (1-α) d(T*, T^L), and d(T*, T^L) <= d(T*, T^E) + d(T^E, T^L).
    learner, expert, reward = pair
    star, player = opponent_world(learner, data.draw(policies(learner))), data.draw(policies(learner))
    arguments = learner, expert, star, reward
    options = {"expert_policy": player, "player": player, "alpha": alpha}
    stated = bounds.infeasible_bound(*arguments, **options, corrected=False).terms
    needed = bounds.infeasible_bound(*arguments, **options).terms["transfer"]
    assert needed <= stated["infeasibility"] * (1 + 1e-12) + 1e-12


def saddle_gap(world, reward, alpha):
    """By how much the game overstates the robust MDP, and how far their worst kernels are apart."""
    game, robust = (robust_soft_value(world, reward, alpha=alpha, kind=kind) for kind in ("game", "mixture"))
    kernels = [MDP(plan.worst_kernel, discount=world.discount, mask=world.mask) for plan in (game, robust)]
    return float(game.worst_return - robust.worst_return), float(dynamics_distance(*kernels))


@hypothesis.settings(max_examples=2 * hypothesis.settings.default.max_examples)
@hypothesis.given(worlds(shapes=((5, 4),), discounts=(0.1, 0.5, 0.9)), st.sampled_from([0.3, 0.8, 0.99]), st.data())
def test_the_stated_saddle_bound_holds_where_every_state_has_the_same_actions_two_or_more(world, alpha, data):
    hypothesis.assume(np.asarray(world.mask).all())
    reward = data.draw(vectors(5, scales=(1e-3, 0.1, 1.0, 30.0)))
    gap, distance = saddle_gap(world, reward, alpha)
    assert gap <= bounds.saddle_bound(world, reward, min(distance, 2.0)).value + 1e-9 * max(1, np.abs(reward).max())


def test_the_stated_saddle_bound_fails_where_states_have_different_numbers_of_actions():
    # No reward: the bound is zero. s0 keeps itself with two actions, s1 with one, and jumping to s1 costs entropy.
    mask = np.array([[True, True], [True, False]])
    kernel = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]])
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0], mask=mask)
    gap, distance = saddle_gap(world, [0.0, 0.0], 0.5)
    assert gap == pytest.approx(2 * np.log(2) - 4 / 3 * np.log(2))
    assert bounds.saddle_bound(world, [0.0, 0.0], distance).value == 0
    assert gap <= bounds.saddle_bound_corrected(world, [0.0, 0.0], distance).value


def board(env, rho):
    """Over the cells but the goal: Σ c ρ for colors c = ±1, Σ b c ρ for b blocked moves of the four, and Σ ρ."""
    height, width = env.shape
    rows, columns = np.divmod(np.arange(height * width), width)
    color = (-1.0) ** (rows + columns)
    blocked = (rows == 0) * 1.0 + (rows == height - 1) + (columns == 0) + (columns == width - 1)
    rest = np.where(np.arange(height * width) == 0, 0, rho)
    return color, rest @ color, rest @ (blocked * color)


def flow_of_colors(env, rho, discount):
    """(c·ρ - (1-γ) c·P₀) / γ: the mean next color that ρ's flow needs."""
    color, *_ = board(env, rho)
    start = np.full(rho.size, 1 / rho.size)
    return (rho @ color - (1 - discount) * start @ color) / discount


NOISES = (0.0, 0.05, 0.1, 0.15, 0.2)


@pytest.mark.parametrize("name", ["gridworld-1", "gridworld-2", "gridworld-3", "gridworld-4"])
@pytest.mark.parametrize("model", ["uniform-state", "uniform-action"])
def test_the_colors_of_the_board_fix_the_noise(name, model):
    # ρ's flow of colors is linear in the noise, whatever the policy: another noise needs another ρ.
    env = make(name)
    for noise in NOISES:
        world = env.mdp(noise, model)
        rho = np.asarray(state_occupancy(world, expert_policy(world, env.reward)))
        _, others, blocked = board(env, rho)
        # The goal, of color 1, keeps its own. Uniform over states the mean color is 0; a blocked move keeps the color.
        slope = others if model == "uniform-state" else blocked / 2
        expected = rho[0] - others + noise * slope
        assert flow_of_colors(env, rho, 0.99) == pytest.approx(expected, abs=1e-12)
        assert abs(slope) > 1e-4  # So that no policy matches ρ at another noise, by this much per unit of noise.


def test_wrong_use_is_refused(refused):
    env, grid = ThreeState(), make("gridworld-4")
    small, leaky, thirds = env.mdp(), grid.mdp(0.1, "published"), np.full((3, 2, 3), 1 / 3)
    there, elsewhere = (MDP([[[1 - e, e]], [[e, 1 - e]]], discount=0.5) for e in (0.0, 1.0))
    for attempt, words in (
        (lambda: require_comparable(small, grid.mdp()), ["(3, 2)", "(36, 4)"]),
        (lambda: require_comparable(small, ThreeState(discount=0.5).mdp()), ["discounts, 0.9 and 0.5"]),
        (lambda: require_comparable(leaky, grid.mdp()), ["leaky"]),
        (lambda: require_comparable(small, MDP(thirds, discount=0.9, mask=[[True, False]] * 3)), ["different actions"]),
        (lambda: require_comparable(small, MDP(thirds, discount=0.9)), ["different distributions"]),
        (lambda: bounds.robust_bound(small, small, env.reward, 0.0), ["alpha is 0.0"]),
        (lambda: bounds.saddle_bound(small, env.reward, 3.0), ["the distance is 3.0"]),
        (lambda: choose_alpha(there, elsewhere), ["distance 2"]),
    ):
        with refused(*words):
            attempt()


@many
@hypothesis.given(pairs())
def test_theorem_1_for_soft_experts(pair):
    learner, expert, reward = pair
    gap = abs(soft_return(learner, reward) - soft_return(expert, reward))
    assert gap <= bounds.standard_bound_soft_expert(learner, expert, reward).value + slack(learner, reward)


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.2), (0.1, 0.05)])
def test_on_the_grids_the_rule_is_the_difference_of_the_noises(learner, expert):
    env = make("gridworld-1")
    found = choose_alpha(env.mdp(learner), env.mdp(expert)).half_distance
    assert 1 - found == pytest.approx((1 - 1 / 100) * abs(learner - expert))
