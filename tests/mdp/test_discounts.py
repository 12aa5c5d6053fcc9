"""Discounts: one gate, and everything that takes a discount has it checked there."""

import inspect

import jax
import numpy as np
import pytest

from robustirl import control, demonstrations, envs, irl
from robustirl._runtime import double_precision, single_precision
from robustirl.cli import main
from robustirl.demonstrations import Demonstrations
from robustirl.envs import physics
from robustirl.mdp import MDP, require_discount, shard_function
from robustirl.mdp.discounts import as_discount, largest_discount
from robustirl.reports import find_environment

TOO_CLOSE = [1 - 1e-16, 1 - 1e-15, np.nextafter(1, 0), np.nextafter(largest_discount(np.dtype(np.float64)), 1)]
NO_DISCOUNT = [2.0, -0.1, float("nan"), float("inf")]
KERNEL = np.full((2, 1, 2), 0.5)
WALKS = Demonstrations.from_arrays([[0, 1], [0, 0, 1]])
PATH = [[0, 1], [1, 2], [2, 3]]


def stay(states, _actions):
    return states[:, None], np.ones((len(states), 1))


def from_file(discount):
    np.savez("world.npz", kernel=KERNEL)
    return envs.from_file("world.npz", discount=discount)


def in_the_file(discount):
    np.savez("world.npz", kernel=KERNEL, discount=discount)
    return envs.from_file("world.npz")


def graph_world(discount):
    edges = np.asarray([*PATH, *(pair[::-1] for pair in PATH)])
    return envs.graphs.GraphWorld("path", edges, 4, (3,), np.zeros(4), discount=discount).mdp()


STRICT = {
    "MDP": lambda discount: MDP(KERNEL, discount=discount),
    "MDP, from_transitions": lambda discount: MDP.from_transitions(
        Demonstrations.from_arrays([[0, 1]], [[0]]), discount=discount
    ),
    "shard_function": lambda discount: shard_function(
        stay, num_states=2, num_actions=1, num_successors=1, discount=discount
    ),
    "estimate_occupancy": lambda discount: demonstrations.estimate_occupancy(WALKS, num_states=2, discount=discount),
    "GridWorld": lambda discount: envs.GridWorld("one", np.zeros((1, 2)), discount=discount),
    "ObjectWorld": lambda discount: envs.make("objectworld", discount=discount),
    "object_world": lambda discount: envs.objectworld.object_world(discount=discount, seed=0),
    "ThreeState": lambda discount: envs.ThreeState(discount=discount),
    "GraphWorld": graph_world,
    "from_graph": lambda discount: envs.from_graph(PATH, destinations=[3], discount=discount),
    "from_gymnasium": lambda discount: envs.from_gymnasium("FrozenLake-v1", discount=discount),
    "from_gymnasium_vector": lambda discount: envs.from_gymnasium_vector(
        "CartPole-v1", environments=1, discount=discount
    ),
    "buses": lambda discount: envs.make("buses", discount=discount),
    "from_file": from_file,
    "from_file, its array": in_the_file,
    "find_environment": lambda discount: find_environment("gridworld-4", discount),
    "make": lambda discount: physics.make("pendulum", discount=discount),
    "mujoco_world": lambda discount: physics.mujoco_world("hopper", discount=discount),
}
CUT_OFF = {
    "GaussianGrid": lambda discount: envs.GaussianGrid(discount=discount),
    "PhysicsWorld": lambda discount: physics.PhysicsWorld(physics.make("pendulum").equations, discount=discount),
}
"""Worlds whose episodes are cut off at a horizon, so that a discount of 1 has a meaning."""
RESULTS = {"OccupancyEstimate", "Diagnosis"}
"""What functions return with the discount that they were given."""


def takes_discount(value):
    try:
        return callable(value) and "discount" in inspect.signature(value).parameters
    except ValueError:
        return False


@pytest.mark.parametrize("discount", TOO_CLOSE)
@pytest.mark.parametrize("door", STRICT | CUT_OFF)
def test_a_discount_that_leaves_no_digit_is_refused_wherever_one_is_taken(refused, here, door, discount):
    with refused(f"the discount γ is {float(discount)!r}, so close to 1", "use at most 0.99999999999996"):
        (STRICT | CUT_OFF)[door](discount)


@pytest.mark.parametrize("discount", NO_DISCOUNT)
@pytest.mark.parametrize("door", STRICT | CUT_OFF)
def test_what_is_no_discount_is_refused_wherever_one_is_taken(refused, here, door, discount):
    with refused(f"the discount γ is {discount!r}, but a number with 0 <= γ <"):
        (STRICT | CUT_OFF)[door](discount)


@pytest.mark.parametrize("door", STRICT)
def test_a_discount_of_one_is_refused_where_episodes_have_no_horizon(refused, here, door):
    with refused("the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."):
        STRICT[door](1.0)


@pytest.mark.parametrize("door", CUT_OFF)
def test_a_discount_of_one_is_taken_where_episodes_are_cut_off(door):
    assert float(CUT_OFF[door](1.0).discount) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("theory", "three-state", "--demos", "walks.csv"),
        ("theory", "three-state", "--occupancy", "occupancy.txt"),
        ("theory", "three-state"),
        ("fit", "--env", "three-state", "--demos", "walks.csv", "--out", "new"),
        ("demos", "make", "--env", "three-state", "--out", "new.csv"),
    ],
    ids=" ".join,
)
def test_every_command_with_a_discount_refuses_one_that_leaves_no_digit(here, capsys, words):
    (here / "walks.csv").write_text("episode,state,action\n0,0,0\n0,1,\n")
    (here / "occupancy.txt").write_text("0.2\n0.8\n0\n")
    before = sorted(path.name for path in here.iterdir())
    assert main([*words, "--discount", "0.9999999999999999"]) == 2
    assert "the discount γ is 0.9999999999999999, so close to 1 that float64" in capsys.readouterr().err
    assert sorted(path.name for path in here.iterdir()) == before


def test_the_largest_discounts_are_taken():
    for dtype in (np.float64, np.float32):
        assert 16 * np.finfo(dtype).eps / (1 - largest_discount(np.dtype(dtype))) == pytest.approx(0.1)
    for discount in (0.99999999999996, largest_discount(np.dtype(np.float64))):
        assert float(MDP(KERNEL, discount=discount).discount) == discount


def test_a_discount_is_judged_in_the_precision_that_it_is_used_in(refused):
    assert float(MDP(KERNEL, discount=0.99999).discount) == 0.99999
    with single_precision():
        with refused("the discount γ is 0.99999, so close to 1 that float32 leaves no digit", "use at most 0.99998."):
            MDP(KERNEL, discount=0.99999)
        assert require_discount(0.99998) == 0.99998


def test_a_traced_discount_is_left_to_the_caller():
    with double_precision():
        assert float(jax.jit(lambda discount: 2 * as_discount(discount))(0.25)) == 0.5


def test_a_world_of_ones_own_has_its_discount_checked_before_training(refused):
    world = physics.make("pendulum")
    object.__setattr__(world, "discount", np.float64(1.5))
    with refused("the discount γ is 1.5, but a number with 0 <= γ <= 1 is needed."):
        control.train_policy(world, key=jax.random.key(0))


def test_discounted_features_need_a_discount_below_one(refused):
    world, policy = envs.GaussianGrid(discount=1.0), control.linear_policy(7, 2)
    episodes = control.collect(world, policy, episodes=2, horizon=3, key=jax.random.key(0))
    mean = irl.RelativeEntropyConfig(rounds=1)
    discounted = irl.RelativeEntropyConfig(summary="discounted", center="none", rounds=1)
    assert np.isfinite(irl.expert_features(episodes, 1.0, mean)).all()
    for expert in (episodes, np.zeros(7)):
        with refused("the discount γ is 1.0, but a number with 0 <= γ < 1 is needed."):
            irl.fit_relative_entropy(world, expert, config=discounted, key=jax.random.key(0))
