"""Convolutional rewards: a hand-set kernel, the perceptron they contain, what a cell sees, and learning with them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.irl import fit
from robustirl.irl.optimize import DEEP_ADAM
from robustirl.planning import expert_policy, state_occupancy
from robustirl.rewards import ConvolutionalReward, NetworkReward

KEY = jax.random.key(0)


def test_a_kernel_of_ones_adds_up_the_neighborhood():
    features = np.arange(6.0)[:, None]  # 0 1 2 / 3 4 5
    model = ConvolutionalReward(features, (2, 3), key=KEY, depth=1)
    hidden, last = model.initial_parameters()
    ones = [jnp.ones_like(hidden.weight), jnp.zeros((1, 1, 1))]
    first = eqx.tree_at(lambda layer: (layer.weight, layer.bias), hidden, (ones[0], jnp.zeros((1, 1, 1))))
    final = eqx.tree_at(lambda layer: (layer.weight, layer.bias), last, (jnp.full((1, 1, 1, 1), 2.0), ones[1]))
    assert model((first, final)).tolist() == [16.0, 30.0, 24.0, 16.0, 30.0, 24.0]


def as_kernel(linear):
    """Weights and biases of a linear layer as those of a 1 × 1 convolution."""
    return linear.weight[..., None, None], linear.bias[:, None, None]


def test_with_kernels_of_one_cell_it_is_the_perceptron():
    features = np.random.default_rng(0).normal(size=(12, 5))
    model, network = ConvolutionalReward(features, (3, 4), key=KEY, kernel_size=1), NetworkReward(features, key=KEY)
    parameters = tuple(
        eqx.tree_at(lambda c: (c.weight, c.bias), conv, as_kernel(linear))
        for conv, linear in zip(model.layers, network.layers, strict=True)
    )
    assert model(parameters) == pytest.approx(network(network.initial_parameters()))


@pytest.mark.parametrize(("kernel_size", "reach"), [(1, 0), (3, 2), (5, 4)])
def test_a_cell_sees_so_far_and_no_further(kernel_size, reach):
    model = ConvolutionalReward(np.ones((81, 1)), (9, 9), key=KEY, kernel_size=kernel_size, width=8)
    rows, columns = np.indices((9, 9))
    distance = np.maximum(abs(rows - 4), abs(columns - 4)).ravel()

    def center(features):
        return eqx.tree_at(lambda m: m.features, model, features)(model.layers)[40]

    seen = np.asarray(jax.grad(center)(model.features)).ravel() != 0
    assert not seen[distance > reach].any()
    assert seen[distance <= reach].any()


@pytest.mark.slow
def test_it_learns_by_the_usual_loop():
    env = envs.objectworld.object_world()
    world = env.mdp(0.0)
    rho = state_occupancy(world, expert_policy(world, env.reward))
    model = ConvolutionalReward(np.asarray(env.features), env.shape, key=KEY, width=8)
    result = fit(world, rho, alpha=0.9, reward=model, optimizer=DEEP_ADAM, steps=30)
    gaps = np.asarray(result.history.occupancy_gap)
    assert gaps[-1] < 0.9 * gaps[0]


def test_what_does_not_fit_is_refused(refused):
    with refused("6 states", "2 x 2", "4 cells"):
        ConvolutionalReward(np.eye(6), (2, 2), key=KEY)
    with refused("the kernel size is 4"):
        ConvolutionalReward(np.eye(6), (2, 3), key=KEY, kernel_size=4)
