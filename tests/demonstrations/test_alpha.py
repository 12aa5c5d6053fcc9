"""α from the moves alone, until α is chosen by fits and nothing else."""

import jax
import pytest

from robustirl import envs
from robustirl.demonstrations import sample_demonstrations
from robustirl.demonstrations.alpha import estimate_alpha
from robustirl.planning import expert_policy


def demos_of(env, noise, model, episodes=600):
    world = env.mdp(noise, model)
    policy = expert_policy(world, env.reward)
    return sample_demonstrations(world, policy, episodes=episodes, horizon=200, key=jax.random.key(0))


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.1), (0.1, 0.0)])
def test_the_direction_is_seen_from_states_alone(learner, expert):
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(learner), demos_of(env, expert, "uniform-state"), actions=False)
    assert found.direction == ("noisier" if expert > learner else "calmer")
    assert found.alpha == pytest.approx(1 - max(expert - learner, 0), abs=0.03)


def test_recorded_actions_decide():
    env = envs.make("gridworld-4")
    found = estimate_alpha(env.mdp(0.0, "uniform-action"), demos_of(env, 0.2, "uniform-action"))
    assert found.decisive
    assert found.alpha == pytest.approx(1 - 0.75 * 0.2, abs=0.03)
