"""Worlds and games: what is filled in, what is refused, and how they travel through transformations."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.game import as_game
from robustirl.mdp.mdp import absorbing_states, as_discount
from robustirl.mdp.policy import as_action_reward, as_occupancy, as_reward
from robustirl.planning import policy_value
from tests.strategies import tasks, worlds

KERNEL = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]])
WORLD = MDP(KERNEL, discount=0.9)
LEAKY = MDP(DenseKernel(KERNEL * 0.9, leaky=True), discount=0.9)


def test_the_initial_distribution_is_uniform_when_left_out():
    assert WORLD.initial.tolist() == [0.5, 0.5]


def test_the_mask_is_read_off_the_kernel_when_left_out():
    assert WORLD.mask.tolist() == [[True, True], [True, False]]


def test_a_mask_may_forbid_what_the_kernel_can_do():
    world = MDP(KERNEL, discount=0.9, mask=[[True, False], [True, False]])
    assert world.mask.tolist() == [[True, False], [True, False]]
    assert world.kernel.row_sums().tolist() == [[1, 1], [1, 0]]


def test_a_kernel_and_its_array_make_the_same_world():
    kernel = DenseKernel(KERNEL)
    assert MDP(kernel, discount=0.9).kernel is kernel
    assert eqx.tree_equal(MDP(kernel, discount=0.9), WORLD)


def test_parts_of_a_world_are_replaced_by_the_names_of_its_arguments():
    world = MDP(
        [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]],
        discount=0.9,
        initial=[0.25, 0.75],
        mask=[[True, True], [True, False]],
    )
    nearer = dataclasses.replace(world, discount=0.5)
    assert nearer.discount == 0.5
    assert nearer.initial.tolist() == [0.25, 0.75]
    assert np.array_equal(nearer.mask, world.mask)
    assert dataclasses.replace(world, initial=[1.0, 0.0]).initial.tolist() == [1.0, 0.0]
    assert dataclasses.replace(world).discount == 0.9
    with pytest.raises(InvalidInputError, match="the discount γ is 2"):
        dataclasses.replace(world, discount=2.0)
    with pytest.raises(TypeError, match="discount"):
        MDP([[[1.0]]])  # pyright: ignore[reportCallIssue]


def test_names_and_positions_travel_with_a_world_and_not_into_programs():
    names = {"state_names": ["a", "b"], "action_names": ["stay", "go"], "positions": [[0, 0], [1, float("nan")]]}
    world = MDP(KERNEL, discount=0.9, **names)
    changed = dataclasses.replace(world, discount=0.5)
    for each in (world, changed, jax.tree.map(lambda leaf: leaf, world)):
        assert each.state_names == ("a", "b")
        assert each.action_names == ("stay", "go")
        np.testing.assert_array_equal(each.positions, names["positions"])
    assert WORLD.positions is WORLD.state_names is None
    assert dataclasses.replace(world, state_names=None).state_names is None
    traced = []
    value = jax.jit(lambda mdp: traced.append(1) or mdp.kernel.expect(mdp.initial))
    for each in (WORLD, world):  # One program for both.
        value(each)
    assert len(traced) == 1


def test_numbers_of_any_kind_become_doubles():
    world = MDP(KERNEL.astype(np.float32), discount=0, initial=[1, 0])
    assert {leaf.dtype for leaf in jax.tree.leaves(world)} == {np.dtype(bool), np.dtype(np.float64)}
    assert MarkovGame(WORLD, alpha=1).alpha.dtype == np.float64
    assert as_reward([1, 2], WORLD).dtype == np.float64


@given(worlds())
def test_every_state_of_a_drawn_world_has_an_action_that_exists(mdp):
    assert mdp.mask.any(-1).all()
    np.testing.assert_allclose(np.asarray(mdp.kernel.row_sums())[np.asarray(mdp.mask)], 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mdp.initial.sum(), 1, rtol=0, atol=1e-12)


@given(tasks(shapes=((5, 4),)))
def test_worlds_pass_through_jit(task):
    mdp, policy, reward = task
    inside = _value(mdp, jnp.asarray(policy), jnp.asarray(reward))
    np.testing.assert_allclose(inside, policy_value(mdp, policy, reward), rtol=1e-10, atol=1e-10)


@jax.jit
def _value(mdp, policy, reward):
    rebuilt = MDP(mdp.kernel, discount=mdp.discount, initial=mdp.initial, mask=mdp.mask)
    return policy_value(rebuilt, policy, reward)


def test_stacked_worlds_and_games_pass_through_vmap():
    rng = np.random.default_rng(1)
    single = [MDP(rng.dirichlet(np.ones(3), size=(3, 2)), discount=d) for d in (0.0, 0.5, 0.9)]
    games = [MarkovGame(mdp, alpha) for mdp, alpha in zip(single, (1.0, 0.5, 0.1), strict=True)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *games)
    policy, reward = jnp.full((3, 2), 0.5), jnp.arange(3.0)
    batched = jax.vmap(lambda game: policy_value(game.mdp, policy, reward * game.alpha))(stacked)
    expected = [policy_value(game.mdp, policy, reward * game.alpha) for game in games]
    np.testing.assert_allclose(batched, expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [1e-300, 1e-6, 0.5, 1])
def test_every_alpha_above_zero_and_up_to_one_is_accepted(alpha):
    assert MarkovGame(WORLD, alpha).alpha.item() == alpha


def test_alpha_may_differ_from_state_to_state_and_from_pair_to_pair():
    assert MarkovGame(WORLD, [0.25, 1.0]).alpha.tolist() == [[0.25, 0.25], [1, 1]]
    assert MarkovGame(WORLD, [[0.25, 0.5], [0.75, 1.0]]).alpha.tolist() == [[0.25, 0.5], [0.75, 1.0]]


def test_rewards_of_pairs_that_do_not_exist_are_zero():
    given = [[1.0, 2.0], [3.0, float("nan")]]
    assert as_action_reward(given, WORLD).tolist() == [[1, 2], [3, 0]]
    assert jax.jit(lambda reward: as_action_reward(reward, WORLD))(jnp.array(given)).tolist() == [[1, 2], [3, 0]]
    assert as_action_reward([1.0, 2.0], WORLD).tolist() == [1, 2]


def test_rounding_below_zero_is_cut_off_an_occupancy():
    assert as_occupancy([1.0, -1e-12], WORLD).tolist() == [1.0, 0.0]


def test_an_initial_distribution_off_by_rounding_is_straightened():
    world = MDP(KERNEL, discount=0.9, initial=[0.5, 0.5 + 5e-11])
    np.testing.assert_allclose(world.initial.sum(), 1, rtol=0, atol=4e-16)


def test_a_world_stands_for_the_game_without_an_opponent():
    game = MarkovGame(WORLD, 0.5)
    assert as_game(game) is game
    assert as_game(WORLD).alpha == 1
    assert as_game(WORLD).mdp is WORLD
    mixed = eqx.tree_at(lambda g: g.alpha, game, game.alpha.astype(np.float32))
    assert as_game(mixed).alpha.dtype == game.mdp.initial.dtype == np.float64


def test_the_occupancy_of_a_leaky_world_may_sum_to_less_than_one():
    assert as_occupancy([0.5, 0.4], LEAKY).tolist() == [0.5, 0.4]


def test_numbers_of_a_world_are_exact_outside_double_precision():
    # JAX would round them to float32, with a warning, which is an error here.
    world = MDP([[[1.0]]], discount=0.9)
    assert 1 / (1 - world.discount) == 1 / (1 - 0.9)
    assert (0.3 * world.initial).tolist() == [0.3]


def test_absorbing_states_go_by_available_actions():
    kernel = np.zeros((2, 2, 2))
    kernel[0, 0, 0] = kernel[0, 1, 1] = kernel[1, 0, 1] = 1
    assert absorbing_states(MDP(kernel, discount=0.5)).tolist() == [False, True]
    masked = MDP(kernel, discount=0.5, mask=[[True, False], [True, False]])
    assert absorbing_states(masked).tolist() == [True, True]


def test_rounding_does_not_make_a_state_leavable_but_a_leak_does():
    rounded = MDP([[[1 - 1e-12, 1e-12]], [[1e-6, 1 - 1e-6]]], discount=0.5)
    assert absorbing_states(rounded).tolist() == [True, False]


def test_the_largest_discount_leaves_a_digit():
    assert float(MDP(KERNEL, discount=0.99999999999996).discount) == 0.99999999999996
    assert float(as_discount(1, or_one=True)) == 1
    assert float(jax.jit(lambda discount: 2 * as_discount(discount))(0.25)) == 0.5
