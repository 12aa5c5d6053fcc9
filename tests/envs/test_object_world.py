"""ObjectWorld: rewards and features by their definition, layouts by their seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl import envs
from robustirl.envs.object_world import object_world


def distance(world, side, color, row, column):
    near = [abs(o.row - row) + abs(o.column - column) for o in world.objects if getattr(o, side) == color]
    return min(near, default=np.inf)


@given(st.integers(0, 10_000), st.integers(4, 12))
def test_rewards_goal_and_features_follow_the_definition(seed, size):
    world = object_world(seed=seed, size=size)
    assert world.features is not None
    assert world.cell_features is not None
    assert world.features.shape == (size * size, 41)
    for row, column in np.ndindex(size, size):
        blue, green = distance(world, "outer", 0, row, column), distance(world, "outer", 1, row, column)
        expected = -1.0 if blue > 3 else 0.0 if green <= 2 else -2.0
        assert world.rewards[row, column] == expected
        features = world.cell_features[row, column]
        place = 0
        for side in ("outer", "inner"):
            for color in (0, 1):
                near = distance(world, side, color, row, column)
                assert features[place : place + 10].tolist() == [float(near < d) for d in range(1, 11)]
                place += 10
        assert features[40] == ((row, column) in world.goals)
    assert world.rewards[world.goals[0]] == 0


@given(st.integers(0, 10_000))
def test_a_seed_is_a_layout(seed):
    first, second = object_world(seed=seed), object_world(seed=seed)
    assert first.objects == second.objects
    assert first.goals == second.goals
    assert len({(o.row, o.column) for o in first.objects}) == 6
    assert first.layout == seed


def test_layouts_differ():
    assert len({object_world(seed=seed).objects for seed in range(20)}) == 20


def test_its_world_is_absorbing_in_the_goal_and_discounted_as_in_the_paper():
    world = object_world()
    mdp = world.mdp(0.2)
    goal = world.goals[0][0] * 10 + world.goals[0][1]
    assert mdp.discount == pytest.approx(0.7)
    assert mdp.kernel.to_sparse().toarray().reshape(100, 4, 100)[goal, :, goal].tolist() == [1.0] * 4
    assert (world.expert, world.reward_model) == ("optimal", "network")


@pytest.mark.parametrize(
    ("options", "culprit"),
    [({"seed": -1}, "the seed is -1"), ({"size": 1}, "the size is 1"), ({"num_objects": 1}, "number of objects is 1")],
)
def test_bad_layouts_are_named(options, culprit, refused):
    with refused(culprit):
        object_world(**options)


def test_gridworld_l_has_the_rewards_of_its_three_features():
    world = envs.make("gridworld-l")
    assert isinstance(world, envs.GridWorld)
    assert world.features is not None
    assert world.features.shape == (100, 3)
    assert np.array_equal(world.features @ [-1.0, -5.0, -1.0], world.reward)
    grid = world.rewards
    assert grid[0, 0] == 0
    assert grid[5, 2] == -2  # Below the diagonal.
    assert grid[2, 5] == grid[4, 4] == -6  # On it or above.
    assert (grid[0, 1:] == -1).all()
    assert (grid[9] == -1).all()
    assert (np.unique(grid, return_counts=True)[1] == [36, 28, 35, 1]).all()


def test_the_fixed_start_is_the_far_corner():
    world = envs.make("gridworld-4")
    assert isinstance(world, envs.GridWorld)
    start = world.fixed_start()
    assert start[5, 5] == 1
    assert start.sum() == 1
    start = object_world(seed=7).fixed_start()
    row, column = np.argwhere(start == 1)[0]
    far = [
        abs(r - object_world(seed=7).goals[0][0]) + abs(c - object_world(seed=7).goals[0][1])
        for r, c in np.ndindex(10, 10)
    ]
    assert abs(row - object_world(seed=7).goals[0][0]) + abs(column - object_world(seed=7).goals[0][1]) == max(far)


def test_features_of_the_wrong_shape_are_named(refused):
    with refused("features of the cells have shape (2, 2)"):
        envs.GridWorld("g", rewards=np.zeros((2, 2)), cell_features=np.zeros((2, 2)))


@pytest.mark.parametrize("options", [{"size": 100_000}, {"size": 1000, "num_objects": 10**6}])
def test_a_layout_beyond_memory_is_refused_before_it_is_drawn(options, refused):
    with refused("an ObjectWorld of", "GiB", "use a smaller one"):
        object_world(**options)
