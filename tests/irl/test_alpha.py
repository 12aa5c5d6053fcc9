"""The regret matrix against plain NumPy, and what the rule chooses where the right choice is known."""

import functools

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Choices, Demonstrations, sample_demonstrations
from robustirl.irl import RobustIRL, fit, select_alpha
from robustirl.irl.alpha import arrivals, end_states, regret_matrix, sampling_error
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, state_occupancy
from robustirl.rewards import ClassReward, LinearReward


def random_world(seed, states=5, actions=3, discount=0.9):
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.ones(states), (states, actions))
    return MDP(kernel, discount=discount, initial=rng.dirichlet(np.ones(states))), kernel


def by_hand(world, kernel, policy):
    """Return the occupancy of a policy by a linear solve in NumPy."""
    chain, gamma = np.einsum("sat,sa->st", kernel, policy), float(world.discount)
    return (1 - gamma) * np.linalg.solve((np.eye(len(chain)) - gamma * chain).T, np.asarray(world.initial))


@pytest.mark.parametrize("pairs", [False, True])
def test_the_regret_matrix_is_that_of_all_deterministic_policies(pairs):
    world, kernel = random_world(0)
    rng = np.random.default_rng(1)
    players = rng.dirichlet(np.ones(3), (4, 5))
    rewards = [rng.normal(size=(5, 3) if pairs else 5) for _ in range(2)]
    everything = [np.eye(3)[list(choice)] for choice in np.ndindex(3, 3, 3, 3, 3)]

    def earned(policy, reward):
        paid = reward if pairs else reward[:, None]
        return (by_hand(world, kernel, policy)[:, None] * policy * paid).sum()

    found, ranges = regret_matrix(world, players, rewards)
    for j, reward in enumerate(rewards):
        best, low = max(earned(p, reward) for p in everything), earned(np.full((5, 3), 1 / 3), reward)
        assert ranges[j] == pytest.approx(best - low, rel=1e-6)
        np.testing.assert_allclose(found[j], [(best - earned(p, reward)) / (best - low) for p in players], atol=1e-6)


def test_a_constant_reward_has_no_regret():
    world, _ = random_world(2)
    found, ranges = regret_matrix(world, np.full((1, 5, 3), 1 / 3), [np.full(5, 7.0)])
    assert found.tolist() == [[0.0]]
    assert ranges.tolist() == [1.0]


def test_the_sampling_error_is_what_further_samples_miss():
    """A coin that leads to state 1 or 2: the visits of n episodes are off by 2 γ |share - 1/2| in l1."""
    kernel = np.zeros((3, 1, 3))
    kernel[0, 0, 1:], kernel[1, 0, 1], kernel[2, 0, 2] = 0.5, 1, 1
    world = MDP(kernel, discount=0.8, initial=[1.0, 0.0, 0.0])
    walks = Demonstrations.from_arrays([[0, 1]] * 50 + [[0, 2]] * 50, terminated=True)
    expected = 2 * 0.8 * np.sqrt(2 / np.pi * 0.25 / 100)  # The mean size of a normal number of this deviation.
    assert sampling_error(walks, world) == pytest.approx(expected, rel=0.2)
    alike = ClassReward([0, 1, 1])
    assert sampling_error(walks, world, alike.seen) == pytest.approx(
        0, abs=1e-12
    )  # Which of the two makes no difference.


def test_ends_are_entered_and_final():
    kernel = np.zeros((5, 2, 5))
    kernel[0, 0, 1] = kernel[0, 1, 2] = kernel[2, 0, 3] = kernel[2, 1, 2] = 1  # 2 can be left by its first action.
    kernel[1, :, 3] = kernel[3, :, 3] = 1
    kernel[4, :, 4] = 1  # Nothing leads here.
    world = MDP(kernel, discount=0.5, initial=[1.0, 0, 0, 0, 0])
    assert end_states(world).tolist() == [False, True, False, True, False]
    left, right = np.array([[1.0, 0.0]] * 5), np.array([[0.0, 1.0]] * 5)
    expert = by_hand(world, kernel, left)
    found = arrivals(world, np.array([left, right]), expert)
    assert found[1] == 0 < found[0]  # The second player waits in state 2 for ever.
    assert arrivals(world, np.array([left]), np.array([1.0, 0, 0, 0, 0])).tolist() == [1.0]


@functools.cache
def grid():
    env = envs.make("gridworld-4")
    theirs = env.mdp(0.2)
    walks = sample_demonstrations(
        theirs, expert_policy(theirs, env.reward), episodes=100, horizon=200, key=jax.random.key(0)
    )
    return env, walks.without_actions()


def regret(world, policy, reward):
    def pay(p):
        return float(np.asarray(state_occupancy(world, p)) @ np.asarray(reward))

    mask = np.asarray(world.mask)
    best, low = pay(expert_policy(world, reward, kind="optimal")), pay(mask / mask.sum(1, keepdims=True))
    return (best - pay(policy)) / (best - low)


def test_a_noisier_expert_lowers_alpha_and_the_regret():
    env, walks = grid()
    world = env.mdp(0.0)
    found = select_alpha(world, walks, candidates=[0.95, 0.9])
    assert found.candidates.tolist() == [1.0, 0.95, 0.9]
    assert found.alpha < 1
    assert regret(world, found.policy, env.reward) < 0.7 * regret(world, found.fits[0].player, env.reward)
    np.testing.assert_allclose(np.diag(found.regrets[:, :]).shape, (3,))
    np.testing.assert_array_equal(found.open, found.gaps <= found.gaps.min() + max(found.error, 0.01))
    assert found.mean_regrets[found.place] == found.mean_regrets[found.admissible].min()
    assert "episodes leave" in found.note


def test_all_doors_choose_alpha_by_the_same_function():
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[0, 1, 2] = kernel[1, :, 1] = kernel[2, :, 2] = 1
    world = MDP(kernel, discount=0.5, initial=[1.0, 0.0, 0.0])
    walks = Demonstrations.from_arrays([[0, 1]] * 8 + [[0, 2]] * 2, [[0]] * 8 + [[1]] * 2, terminated=True)
    for objective, reward in (("occupancy", None), ("likelihood", LinearReward([[0.0], [1.0], [0.0]]))):
        chosen = select_alpha(world, walks, reward=reward, objective=objective).alpha
        assert float(fit(world, walks, reward=reward, objective=objective, throw=False).alpha) == chosen
        model = RobustIRL(reward=reward, objective=objective, throw=False).fit(world, walks)
        assert model.alpha_ == model.alpha_selection_.alpha == chosen


def test_classes_of_states_need_no_condition_on_the_ends():
    """Learn on a calm lake from an expert of a slippery one, with a weight for each class of cells."""
    env = envs.make("frozen-lake")
    theirs, world = env.mdp(0.2), env.mdp(0.0)
    walks = sample_demonstrations(
        theirs, expert_policy(theirs, env.reward, kind="optimal"), episodes=100, horizon=150, key=jax.random.key(5)
    ).without_actions()
    kinds = np.unique(np.asarray(env.reward), return_inverse=True)[1]
    by_class = select_alpha(world, walks, reward=ClassReward(kinds), candidates=[0.95, 0.9], plan=True)
    assert by_class.admissible.all()
    assert regret(world, by_class.fit.player, env.reward) < 0.05
    assert regret(world, by_class.policy, env.reward) < 0.01
    assert by_class.policy is by_class.plan
    assert regret(world, by_class.fits[0].player, env.reward) > 0.1  # Standard IRL.


def test_the_likelihood_takes_an_opponent_only_for_more_than_chance():
    """Two states that are never left, the bonus of action 1 ten times as large in the second.

    Without an opponent σ(θ) and σ(10 θ) of the choices take the bonus: 95.3 % and all of them at θ = 3. The first
    expert takes it in 80 % of the choices in either state, which only an opponent with 1 - α = 0.2 explains.
    """
    world = MDP(np.eye(2)[:, None].repeat(2, 1), discount=0.5)
    bonus = LinearReward([[[0.0], [1.0]], [[0.0], [10.0]]], names=["bonus"])
    disturbed = Choices([0] * 400 + [1] * 400, ([1] * 320 + [0] * 80) * 2)
    alone = Choices([0] * 400 + [1] * 400, [1] * 381 + [0] * 19 + [1] * 400)
    chosen = [
        select_alpha(world, rows, reward=bonus, objective="likelihood", candidates=[0.9, 0.8]).alpha
        for rows in (disturbed, alone)
    ]
    assert chosen == [0.8, 1.0]


def test_what_does_not_tell_alpha_is_refused(refused):
    env, walks = grid()
    with refused("alpha is chosen from demonstrations, but ndarray was given"):
        select_alpha(env.mdp(), np.full(36, 1 / 36))
    with refused("alpha is 1.5"):
        select_alpha(env.mdp(), walks, candidates=[1.5])
    with refused("episode 0 is in state 40"):
        select_alpha(env.mdp(), Demonstrations.from_arrays([[40, 0]]))
