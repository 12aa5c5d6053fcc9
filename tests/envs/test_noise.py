"""The three noise models: what each row holds, and where the published one leaks."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.envs.noise import NOISE_MODELS, noisy_kernel
from robustirl.mdp import dynamics_distance

UP, RIGHT, DOWN, LEFT = range(4)


def rows(name="gridworld-4", noise=0.2, model="uniform-state", evaluation=False):
    env = envs.make(name)
    mdp = (env.evaluation_mdp if evaluation else env.mdp)(noise, model)
    identity = np.eye(mdp.num_states)
    # The kernel's columns, through its interface: T(t|s,a) is the expectation of the indicator of t.
    return np.stack([np.asarray(mdp.kernel.expect(jnp.asarray(column))) for column in identity], axis=-1), mdp


@pytest.mark.parametrize("model", NOISE_MODELS)
def test_without_noise_every_model_is_the_deterministic_grid(model):
    kernel, _ = rows(noise=0.0, model=model)
    size = 6
    assert kernel[7, RIGHT, 8] == kernel[7, DOWN, 7 + size] == kernel[7, LEFT, 6] == kernel[7, UP, 1] == 1
    assert set(np.unique(kernel)) == {0.0, 1.0}


def test_uniform_state_spreads_noise_over_all_states():
    kernel, _ = rows(noise=0.36, model="uniform-state")
    assert kernel[7, RIGHT, 8] == pytest.approx(0.64 + 0.01)
    assert np.allclose(np.delete(kernel[7, RIGHT], 8), 0.01)


def test_uniform_action_draws_any_of_the_four_moves_and_a_blocked_one_stays():
    kernel, _ = rows(noise=0.2, model="uniform-action")
    corner = 5  # Top right: up and right are blocked.
    assert kernel[corner, LEFT, 4] == pytest.approx(0.8 + 0.05)
    assert kernel[corner, LEFT, 11] == pytest.approx(0.05)
    assert kernel[corner, LEFT, 5] == pytest.approx(0.10)


def test_published_rows_leak_in_the_three_other_corners_and_nowhere_else():
    kernel, mdp = rows(noise=0.2, model="published")
    sums = kernel.sum(-1)[np.asarray(mdp.mask)]
    per_state = np.array([kernel[s][np.asarray(mdp.mask)[s]].sum(-1).min() for s in range(mdp.num_states)])
    corners = [5, 30, 35]
    assert mdp.kernel.leaky
    assert np.allclose(per_state[corners], 1 - 0.2 / 4)
    assert np.allclose(np.delete(per_state, corners), 1)
    assert sums.max() <= 1 + 1e-15


def test_published_returns_are_measured_under_available_moves():
    kernel, mdp = rows(noise=0.2, model="published", evaluation=True)
    corner = 5
    assert not mdp.kernel.leaky
    assert np.allclose(kernel.sum(-1), 1)
    assert kernel[corner, LEFT, 4] == pytest.approx(0.8 + 0.1)
    assert kernel[corner, LEFT, 11] == pytest.approx(0.1)


@pytest.mark.parametrize("model", NOISE_MODELS)
def test_the_goal_keeps_whatever_enters_it(model):
    kernel, _ = rows(noise=0.3, model=model)
    assert np.all(kernel[0, :, 0] == 1)


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.2), (0.1, 0.05), (0.05, 0.05)])
def test_uniform_state_distance_is_the_papers_formula(learner, expert):
    env = envs.make("gridworld-1")
    found = dynamics_distance(env.mdp(learner), env.mdp(expert))
    assert found == pytest.approx(2 * (1 - 1 / 100) * abs(learner - expert))


@pytest.mark.parametrize("model", NOISE_MODELS)
@pytest.mark.parametrize("name", ["gridworld-4", "objectworld"])
def test_a_sparse_kernel_is_the_same_as_the_array(name, model):
    env = envs.make(name)
    assert isinstance(env, envs.GridWorld)
    moves, available, absorbing = env.geometry()
    for level in (0.0, 0.3, 1.0):
        for evaluation in (False, True):
            sparse, array = (
                noisy_kernel(moves, absorbing, level, model, available=available, evaluation=evaluation, dense=dense)
                for dense in (False, True)
            )
            assert sparse.leaky == array.leaky
            assert np.allclose(sparse.to_sparse().toarray(), array.to_sparse().toarray(), atol=1e-15)


def test_a_large_grid_never_becomes_an_array():
    env = envs.GridWorld("large", rewards=np.zeros((300, 300)))  # As an array it would take 241 GiB.
    for model in ("uniform-state", "uniform-action"):
        assert env.mdp(0.1, model).num_states == 90_000
