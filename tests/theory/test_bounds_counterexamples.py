"""Where statements of the paper fail, where they hold after all, and why: by hand or by proof, each checked."""

import hypothesis
import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import make
from robustirl.mdp import MDP, MarkovGame, dynamics_distance, mixture
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.theory import bounds, find_matching_policy, opponent_world
from robustirl.theory.robust import robust_soft_value
from tests.planners import newton
from tests.strategies import policies, vectors, worlds
from tests.theory.test_bounds import pairs

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


# ---- The chessboard: every move of the grids changes the color of the cell.


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


def test_under_uniform_action_noise_the_share_of_each_color_depends_on_the_policy():
    # Under uniform-state noise c·ρ is a function of the noise and of ρ(goal) alone; here blocked moves enter as well.
    env = make("gridworld-4")

    def remainder(model, policy_reward):
        world = env.mdp(0.2, model)
        rho = np.asarray(state_occupancy(world, expert_policy(world, policy_reward, temperature=1.0)))
        color, others, _ = board(env, rho)
        # (1 + γ(1-ε)) Σ_{others} c ρ + (1 - γ) ρ(goal), which the noise fixes if no move is blocked.
        return (1 + 0.99 * 0.8) * others + (1 - 0.99) * rho[0] * color[0]

    rewards = env.reward, np.linspace(-1, 1, 36)
    state, action = ([remainder(model, reward) for reward in rewards] for model in ("uniform-state", "uniform-action"))
    assert state[0] == pytest.approx(state[1], abs=1e-12)
    assert abs(action[0] - action[1]) > 1e-3
