"""α from demonstrations: right where the data can tell, and open about where it cannot."""

import dataclasses

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_alpha, sample_demonstrations
from robustirl.envs.noise import noisy_kernel
from robustirl.mdp import MDP, SuccessorKernel, uniform_policy
from robustirl.planning import expert_policy


def demos_of(env, noise, model, episodes=600, key=0):
    world = env.mdp(noise, model)
    policy = expert_policy(world, env.reward)
    return sample_demonstrations(world, policy, episodes=episodes, horizon=200, key=jax.random.key(key))


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.1), (0.05, 0.2), (0.1, 0.15)])
def test_a_noisier_expert_is_seen_from_states_alone(learner, expert):
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(learner), demos_of(env, expert, "uniform-state"), actions=False)
    assert found.decisive
    assert found.alpha == pytest.approx(1 - (expert - learner), abs=0.03)
    assert found.low < found.alpha < found.high
    assert found.high - found.low < 0.05
    assert "noisier" in found.note


@pytest.mark.parametrize(("learner", "expert"), [(0.1, 0.0), (0.1, 0.1), (0.0, 0.0)])
def test_an_expert_who_is_not_noisier_leaves_alpha_at_one_and_open(learner, expert):
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(learner), demos_of(env, expert, "uniform-state"), actions=False)
    assert (found.alpha, found.decisive) == (1.0, False)
    assert (found.low, found.high) == (0.0, 1.0)
    assert "not a finding" in found.note
    assert ("calmer" in found.note) == (expert < learner)


def test_noise_inside_the_learners_hull_is_invisible_in_states_and_visible_with_actions():
    env = envs.make("gridworld-4")
    demos = demos_of(env, 0.2, "uniform-action")
    world = env.mdp(0.0, "uniform-action")
    moving = MDP(world.kernel, discount=0.99, mask=np.ones_like(world.mask))  # Whose walls may be walked into.
    blind = estimate_alpha(moving, demos, actions=False)
    assert (blind.alpha, blind.decisive) == (1.0, False)
    assert "cannot be told" in blind.note
    walls = estimate_alpha(
        world, demos, actions=False
    )  # Where they may not, staying put at a wall gives some of it away.
    assert walls.decisive
    assert 0.95 < walls.alpha < 0.99
    seeing = estimate_alpha(env.mdp(0.0, "uniform-action"), demos)
    assert seeing.method == "actions"
    assert seeing.decisive
    assert seeing.alpha == pytest.approx(1 - 0.75 * 0.2, abs=0.03)


def test_with_actions_a_calmer_expert_is_a_finding():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.2, "uniform-action"), demos_of(env, 0.0, "uniform-action"))
    assert (found.alpha, found.decisive) == (1.0, True)
    assert "calmer" in found.note


def test_a_vague_world_leaves_it_open():
    lake = envs.make("frozen-lake-8x8")
    demos = demos_of(lake, 0.0, "slip", episodes=50)
    found = estimate_alpha(lake.mdp(2 / 3), demos)
    assert (found.alpha, found.decisive) == (1.0, False)
    assert "likelier than not" in found.note


def test_few_moves_with_actions_leave_it_open():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.0), demos_of(env, 0.0, "uniform-state", episodes=8))
    assert not found.decisive
    assert found.low < 0.97
    assert "too few" in found.note


def test_the_interval_covers_the_expected_excess():
    # Of the outcomes of three states under one move, one is likely: the share astray is known exactly.
    learner = MDP(np.tile([[0.9, 0.05, 0.05]], (3, 1, 1)), discount=0.9)
    expert = MDP(np.tile([[0.7, 0.2, 0.1]], (3, 1, 1)), discount=0.9)
    covered = 0
    for key in range(60):
        demos = sample_demonstrations(
            expert, uniform_policy(expert.mask), episodes=20, horizon=20, key=jax.random.key(key), with_actions=False
        )
        found = estimate_alpha(learner, demos)
        covered += found.low <= 0.8 <= found.high
    assert covered >= 54


def test_lists_of_successors_give_the_dense_answer():
    env = envs.make("gridworld-4")
    demos = demos_of(env, 0.2, "uniform-action", episodes=100)
    world = env.mdp(0.05, "uniform-action")
    table = world.kernel.to_sparse().toarray().reshape(36, 4, 36)
    order = np.argsort(-table, axis=-1)[..., :6]
    kernel = SuccessorKernel(order, np.take_along_axis(table, order, -1))
    sparse = MDP(kernel, discount=0.99, mask=np.asarray(world.mask))
    for actions in (False, True):
        found, expected = (estimate_alpha(w, demos, actions=actions) for w in (sparse, world))
        assert found.note == expected.note
        assert dataclasses.astuple(found)[:3] == pytest.approx(dataclasses.astuple(expected)[:3])


@pytest.mark.parametrize("model", ["uniform-state", "uniform-action"])
@pytest.mark.parametrize("name", ["gridworld-4", "objectworld"])
def test_large_grids_give_the_answer_of_arrays(name, model):
    env = envs.make(name)
    assert isinstance(env, envs.GridWorld)
    demos = demos_of(env, 0.2, model, episodes=200)
    moves, available, absorbing = env._geometry()
    for noise in (0.0, 0.1):
        lists, array = (
            MDP(noisy_kernel(moves, absorbing, noise, model, dense=dense), discount=0.9, mask=available)
            for dense in (False, True)
        )
        for actions in (False, True):
            found, expected = (estimate_alpha(w, demos, actions=actions) for w in (lists, array))
            assert found.note == expected.note
            assert (found.alpha, found.excess) == pytest.approx((expected.alpha, expected.excess))


def test_with_the_experts_world_the_papers_rule_is_used():
    env = envs.make("gridworld-4")
    demos = Demonstrations.from_arrays([[0]])
    found = estimate_alpha(env.mdp(0.0), demos, expert_mdp=env.mdp(0.1))
    assert found.alpha == pytest.approx(1 - 0.1 * (1 - 1 / 36))
    assert found.method == "kernel"


def test_a_handful_of_moves_says_nothing():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.0), Demonstrations.from_arrays([[1, 0]], terminated=True))
    assert (found.alpha, found.decisive) == (1.0, False)
    assert "1 moves are too few" in found.note


def test_bad_requests_are_named(refused):
    env = envs.make("gridworld-4")
    demos = Demonstrations.from_arrays([[1, 99]])
    with refused("99"):
        estimate_alpha(env.mdp(0.0), demos)
    with refused("the confidence is 1.5"):
        estimate_alpha(env.mdp(0.0), demos, confidence=1.5)
    with refused("states only"):
        estimate_alpha(env.mdp(0.0), Demonstrations.from_arrays([[1, 0]]), actions=True)
