"""Further states that nothing reaches: the other states notice nothing, in every kind of kernel."""

import numpy as np
import pytest

from robustirl.mdp import (
    MDP,
    BandedKernel,
    KroneckerKernel,
    MarkovGame,
    MixtureKernel,
    SuccessorKernel,
    WrongActionKernel,
    extend_array,
    extend_states,
)
from robustirl.planning import solve, state_occupancy

STEP = BandedKernel((1, -2), [[[1.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]])  # Around three states, without a zero distance.
RNG = np.random.default_rng(0)
LISTS = SuccessorKernel(RNG.integers(3, size=(3, 2, 2)), np.full((3, 2, 2), 0.5))
KERNELS = {
    "diagonals": STEP,
    "lists": LISTS,
    "mixture": MixtureKernel(STEP, np.full(3, 0.5), np.array([0.2, 0.3, 0.5])),
    "wrong actions": WrongActionKernel(LISTS, 0.25),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_rows_are_the_same_and_the_others_stay(kind):
    world = MDP(KERNELS[kind], discount=0.9)
    wider = extend_states(world, 5)
    array = np.asarray(wider.kernel.to_array())
    np.testing.assert_allclose(array[:3, :, :3], world.kernel.to_array(), atol=1e-15)
    assert not array[:3, :, 3:].any()
    assert array[3, 0].tolist() == [0, 0, 0, 1, 0]
    assert array[4, 0].tolist() == [0, 0, 0, 0, 1]
    assert not array[3:, 1:].any()
    assert np.asarray(wider.mask)[3:].sum() == 2
    np.testing.assert_array_equal(wider.initial, [1 / 3, 1 / 3, 1 / 3, 0, 0])


def test_large_lists_keep_their_shared_layout_and_their_predecessors():
    size = 1100
    places = np.stack([np.arange(size), (np.arange(size) + 1) % size], -1)[:, None].repeat(2, 1)
    chances = np.broadcast_to([[0.25, 0.75], [0.5, 0.5]], places.shape)
    kernel = SuccessorKernel(places, chances)
    wider = kernel.extended(1104)
    assert kernel.inflow is not None
    assert wider.inflow is not None
    assert wider.places.shape == (*kernel.places.shape[:2], 1104)
    measure = RNG.dirichlet(np.ones(size * 2)).reshape(size, 2)
    further = np.concatenate([measure, np.zeros((4, 2))])
    np.testing.assert_allclose(wider.push(further)[:size], kernel.push(measure), rtol=1e-5)


def test_values_and_occupancies_are_those_of_the_world():
    world, reward = MDP(LISTS, discount=0.9), np.array([1.0, -2.0, 0.5])
    wider = extend_states(world, 5)
    plain, wide = solve(MarkovGame(world, 0.8), reward), solve(MarkovGame(wider, 0.8), extend_array(reward, wider))
    np.testing.assert_allclose(wide.value, [*plain.value, 0, 0], atol=1e-8)
    np.testing.assert_allclose(wide.player[:3], plain.player, atol=1e-8)
    visits = state_occupancy(wider, wide.mixture)
    np.testing.assert_allclose(visits, [*state_occupancy(world, plain.mixture), 0, 0], atol=1e-8)


def test_what_cannot_be_extended_is_refused(refused):
    world = MDP(LISTS, discount=0.9)
    assert extend_states(world, 3) is world
    with refused("num_states is 2", "3 states already"):
        extend_states(world, 2)
    with refused("KroneckerKernel", "make lists"):
        extend_states(MDP(KroneckerKernel(LISTS, [[[1.0]]]), discount=0.9), 5)
    with refused("shape (4,)", "3 rows"):
        extend_array(np.zeros(4), world)
