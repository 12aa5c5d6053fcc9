"""Worlds and games: what is filled in, what is refused, and how they travel through transformations."""

import dataclasses
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, DenseKernel, MarkovGame, as_action_reward, as_game, as_occupancy, as_reward
from robustirl.mdp.mdp import as_world
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


def test_numbers_of_any_kind_become_doubles():
    world = MDP(KERNEL.astype(np.float32), discount=0, initial=[1, 0])
    assert {leaf.dtype for leaf in jax.tree.leaves(world)} == {np.dtype(bool), np.dtype(np.float64)}
    assert MarkovGame(WORLD, alpha=1).alpha.dtype == np.float64
    assert as_reward([1, 2], WORLD).dtype == np.float64


@given(worlds())
def test_every_state_of_a_drawn_world_has_an_action_that_exists(mdp):
    assert mdp.mask.any(-1).all()
    np.testing.assert_allclose(np.asarray(mdp.kernel.row_sums())[np.asarray(mdp.mask)], 1, atol=1e-12)
    np.testing.assert_allclose(mdp.initial.sum(), 1, atol=1e-12)


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


NO_ACTION = np.zeros((2, 2, 2))
NO_ACTION[0, :, 0] = 1

BAD_WORLDS = {
    "discount one": ({"discount": 1}, ["discount", "1.0", "0 <= γ < 1"]),
    "discount negative": ({"discount": -0.1}, ["discount", "-0.1"]),
    "discount nan": ({"discount": float("nan")}, ["discount", "nan"]),
    "discount infinite": ({"discount": float("inf")}, ["discount", "inf"]),
    "discount of two": ({"discount": [0.5, 0.5]}, ["discount", "(2,)", "single number"]),
    "discount a word": ({"discount": "high"}, ["discount", "'high'"]),
    "discount missing": ({"discount": None}, ["discount", "None"]),
    "initial sum": ({"initial": [0.5, 0.6]}, ["initial distribution", "1.1", "instead of 1"]),
    "initial negative": ({"initial": [-0.5, 1.5]}, ["initial distribution", "negative", "state 0", "-0.5"]),
    "initial nan": ({"initial": [1.0, float("nan")]}, ["initial distribution", "not finite", "state 1"]),
    "initial shape": ({"initial": [0.5, 0.25, 0.25]}, ["initial distribution", "(3,)", "(2,)", "states"]),
    "initial words": ({"initial": ["a", "b"]}, ["initial distribution", "real numbers"]),
    "initial ragged": ({"initial": [[0.5], [0.25, 0.25]]}, ["initial distribution", "rectangular"]),
    "mask shape": ({"mask": [[True, True]]}, ["action mask", "(1, 2)", "(2, 2)", "states, actions"]),
    "mask of ints": ({"mask": [[1, 1], [1, 0]]}, ["action mask", "int", "True and False"]),
    "mask ragged": ({"mask": [[True], [True, True]]}, ["action mask", "rectangular"]),
    "mask of words": (
        {"mask": [["a", "b"], ["c", "d"]]},
        ["action mask", "True and False"],
    ),
    "mask idle": ({"mask": [[False, False], [True, False]]}, ["state 0 has no available action"]),
    "mask missing": ({"mask": [[True, True], [True, True]]}, ["action 1", "state 1", "all zeros"]),
    "kernel idle": ({"kernel": NO_ACTION}, ["state 1 has no available action"]),
    "kernel rows": ({"kernel": KERNEL * 0.9}, ["state 0, action 0", "0.9"]),
}


@pytest.mark.parametrize(
    ("change", "culprits"), [pytest.param(*row[:2], marks=row[2:], id=name) for name, row in BAD_WORLDS.items()]
)
def test_bad_worlds_are_refused(change, culprits, refused):
    arguments = {"kernel": KERNEL, "discount": 0.9} | change
    with refused(*culprits):
        MDP(arguments.pop("kernel"), **arguments)


@pytest.mark.parametrize("alpha", [0, -0.5, 1.5, float("nan"), float("inf"), [0.5], "half", None])
def test_bad_alphas_are_refused(alpha, refused):
    with refused("alpha", "(1,)" if alpha == [0.5] else repr(alpha)):
        MarkovGame(WORLD, alpha)


@pytest.mark.parametrize("alpha", [1e-300, 1e-6, 0.5, 1])
def test_every_alpha_above_zero_and_up_to_one_is_accepted(alpha):
    assert MarkovGame(WORLD, alpha).alpha.item() == alpha


def test_alpha_may_differ_from_state_to_state_and_from_pair_to_pair():
    assert MarkovGame(WORLD, [0.25, 1.0]).alpha.tolist() == [[0.25, 0.25], [1, 1]]
    assert MarkovGame(WORLD, [[0.25, 0.5], [0.75, 1.0]]).alpha.tolist() == [[0.25, 0.5], [0.75, 1.0]]


@pytest.mark.parametrize(
    ("alpha", "culprits"),
    [
        ([0.5, 0.0], ["alpha at state 1 is 0.0", "0 < alpha <= 1"]),
        ([[0.5, 1.0], [0.5, 1.5]], ["alpha at state 1, action 1 is 1.5"]),
        ([[0.5, float("nan")], [0.5, 1.5]], ["alpha at state 0, action 1 is nan"]),
        ([0.5, 0.5, 0.5], ["(3,)", "(2,)"]),
        ([[0.5], [0.5]], ["(2, 1)", "(2, 2)"]),
        ([[0.5], [0.5, 0.5]], ["alpha", "rectangular"]),
    ],
)
def test_bad_local_alphas_are_refused(alpha, culprits, refused):
    with refused(*culprits):
        MarkovGame(WORLD, alpha)


@pytest.mark.parametrize("number", ["0.9", b"0.9"])
def test_a_number_in_a_string_is_refused(number, refused):
    with refused("alpha"):
        MarkovGame(WORLD, number)


BAD_REWARDS = {
    "nan": ([0.0, float("nan")], ["the reward", "not finite", "state 1", "nan"]),
    "infinite": ([float("-inf"), 0.0], ["the reward", "not finite", "state 0", "-inf"]),
    "shape": ([1.0, 2.0, 3.0], ["the reward", "(3,)", "(2,)", "states"]),
    "per action": ([[1.0, 2.0], [3.0, 4.0]], ["the reward", "(2, 2)", "(2,)"]),
    "words": (["low", "high"], ["the reward", "real numbers"]),
    "ragged": ([[1.0], [2.0, 3.0]], ["the reward", "rectangular"]),
}


@pytest.mark.parametrize(
    ("reward", "culprits"), [pytest.param(*row[:2], marks=row[2:], id=name) for name, row in BAD_REWARDS.items()]
)
def test_bad_rewards_are_refused(reward, culprits, refused):
    with refused(*culprits):
        as_reward(reward, WORLD)


def test_rewards_of_pairs_that_do_not_exist_are_zero():
    given = [[1.0, 2.0], [3.0, float("nan")]]
    assert as_action_reward(given, WORLD).tolist() == [[1, 2], [3, 0]]
    assert jax.jit(lambda reward: as_action_reward(reward, WORLD))(jnp.array(given)).tolist() == [[1, 2], [3, 0]]
    assert as_action_reward([1.0, 2.0], WORLD).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("reward", "culprits"),
    [
        ([[1.0, float("inf")], [3.0, 4.0]], ["the reward", "state 0, action 1", "inf"]),
        ([[1.0], [2.0]], ["the reward", "(2, 1)", "(2, 2)"]),
        ([[1.0], [2.0, 3.0]], ["the reward", "rectangular"]),
        ([1.0, float("nan")], ["the reward", "state 1", "nan"]),
    ],
)
def test_bad_rewards_of_pairs_are_refused(reward, culprits, refused):
    with refused(*culprits):
        as_action_reward(reward, WORLD)


BAD_OCCUPANCIES = {
    "sum": (WORLD, [0.5, 0.6], ["the occupancy", "1.1", "instead of 1"]),
    "too little": (WORLD, [0.5, 0.4], ["the occupancy", "0.9", "instead of 1"]),
    "negative": (WORLD, [-0.5, 1.5], ["the occupancy", "negative", "state 0"]),
    "leaky nothing": (LEAKY, [0.0, 0.0], ["the occupancy", "0.0", "(0, 1]"]),
    "leaky negative": (LEAKY, [-0.5, 0.5], ["the occupancy", "negative", "state 0"]),
    "shape": (WORLD, [1.0], ["the occupancy", "(1,)", "(2,)"]),
    "words": (WORLD, ["some", "more"], ["the occupancy", "real numbers"]),
    "leaky too much": (
        LEAKY,
        [0.9, 0.9],
        ["the occupancy", "1.8", "(0, 1]"],
    ),
}


@pytest.mark.parametrize(
    ("mdp", "occupancy", "culprits"),
    [pytest.param(*row[:3], marks=row[3:], id=name) for name, row in BAD_OCCUPANCIES.items()],
)
def test_bad_occupancies_are_refused(mdp, occupancy, culprits, refused):
    with refused(*culprits):
        as_occupancy(occupancy, mdp)


def test_rounding_below_zero_is_cut_off_an_occupancy():
    assert as_occupancy([1.0, -1e-12], WORLD).tolist() == [1.0, 0.0]


def test_an_initial_distribution_off_by_rounding_is_straightened():
    world = MDP(KERNEL, discount=0.9, initial=[0.5, 0.5 + 5e-11])
    np.testing.assert_allclose(world.initial.sum(), 1, atol=4e-16)


def test_a_world_stands_for_the_game_without_an_opponent():
    game = MarkovGame(WORLD, 0.5)
    assert as_game(game) is game
    assert as_game(WORLD).alpha == 1
    assert as_game(WORLD).mdp is WORLD
    mixed = eqx.tree_at(lambda g: g.alpha, game, game.alpha.astype(np.float32))
    assert as_game(mixed).alpha.dtype == game.mdp.initial.dtype == np.float64


@pytest.mark.parametrize("other", [None, "gridworld-1", KERNEL])
def test_something_else_than_a_world_is_refused(other, refused):
    unchecked = inspect.unwrap(as_world)  # The type checks that only tests run under would come first.
    with refused("a world is needed", type(other).__name__):
        unchecked(other)


def test_the_occupancy_of_a_leaky_world_may_sum_to_less_than_one():
    assert as_occupancy([0.5, 0.4], LEAKY).tolist() == [0.5, 0.4]


def test_numbers_of_a_world_are_exact_outside_double_precision():
    # JAX would round them to float32, with a warning, which is an error here.
    world = MDP([[[1.0]]], discount=0.9)
    assert 1 / (1 - world.discount) == 1 / (1 - 0.9)
    assert (0.3 * world.initial).tolist() == [0.3]
