"""Grids: the paper's layouts, maps of characters, ObjectWorld, and what any environment must be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl import envs
from robustirl.envs import GridWorld
from robustirl.envs.gridworld import MOVES, PAPER_LAYOUTS, danger_grid
from robustirl.envs.objectworld import object_world
from robustirl.errors import InvalidInputError
from robustirl.mdp import uniform_policy
from robustirl.planning import state_occupancy, total_return


def every_world():
    return [(name, model) for name in envs.names() for model in envs.make(name).noise_models]


@pytest.mark.parametrize(
    ("name", "model"),
    [pytest.param(*world, marks=pytest.mark.slow if world[0] in ("taxi", "sepsis") else ()) for world in every_world()],
)
def test_worlds_plan_and_evaluate_at_every_noise(name, model):
    env = envs.make(name)
    for noise in (0.0, 0.1, 1.0):
        mdp, evaluation = env.mdp(noise, model), env.evaluation_mdp(noise, model)
        assert mdp.num_states == evaluation.num_states == len(env.reward)
        occupancy = state_occupancy(mdp, uniform_policy(mdp.mask))
        assert occupancy.min() >= 0
        assert occupancy.sum() <= 1 + 1e-12
        assert mdp.kernel.leaky or occupancy.sum() == pytest.approx(1)
        assert np.isfinite(total_return(evaluation, uniform_policy(mdp.mask), env.reward))


def test_a_grid_with_dangers_by_hand():
    grid = danger_grid(3, (slice(0, 2), [0, 2]), danger=-7.0)
    assert grid.tolist() == [[0, -1, -7], [-7, -1, -7], [-1, -1, -1]]


def test_layouts_look_as_in_the_paper():
    grid = {name: rewards == -100 for name, rewards in PAPER_LAYOUTS.items()}
    assert grid["gridworld-1"][1:-1, 1:-1].all()
    assert grid["gridworld-2"][4:6, 1:-1].all()
    assert grid["gridworld-2"][1:-1, 4:6].all()
    assert grid["gridworld-3"][[0, 2, 7, 9], 2:8].all()
    assert grid["gridworld-4"][[0, 2], 1:5].all()


def test_moves_off_the_grid_are_not_available():
    env = GridWorld("strip", rewards=np.array([[0.0, -1.0, -1.0]]))
    assert np.asarray(env.mdp().mask).tolist() == [
        [name in moves for name in MOVES] for moves in (["right"], ["left", "right"], ["left"])
    ]


def test_any_reward_array_start_and_discount_make_a_world():
    start = np.array([[0.0, 0.0], [0.0, 1.0]])
    env = GridWorld("small", rewards=np.array([[0, -1], [-2, -3]]), initial=start, discount=0.5, goals=((0, 1),))
    mdp = env.mdp()
    assert mdp.initial.tolist() == [0, 0, 0, 1]
    assert mdp.discount == 0.5
    assert state_occupancy(mdp, uniform_policy(mdp.mask))[1] > 0


def test_registry_options_reach_the_environment():
    assert envs.make("gridworld-4", discount=0.9).mdp().discount == pytest.approx(0.9)


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


def test_its_world_is_absorbing_in_the_goal_and_discounted_as_in_the_paper():
    world = object_world()
    mdp = world.mdp(0.2)
    goal = world.goals[0][0] * 10 + world.goals[0][1]
    assert mdp.discount == pytest.approx(0.7)
    assert mdp.kernel.to_sparse().toarray().reshape(100, 4, 100)[goal, :, goal].tolist() == [1.0] * 4
    assert (world.expert, world.reward_model) == ("optimal", "network")


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


MAZE = """
S.#G
.~.."""


def test_a_map_of_characters_is_a_world_without_its_walls():
    maze = GridWorld.from_text(MAZE, rewards={"~": -10.0}, discount=0.9)
    assert maze.classes == ("S", ".", "G", ".", "~", ".", ".")
    assert maze.reward.tolist() == [-1, -1, 0, -1, -10, -1, -1]
    assert maze.positions.tolist() == [[0, 0], [1, 0], [3, 0], [0, -1], [1, -1], [2, -1], [3, -1]]
    assert maze.shape is None
    world = maze.mdp()
    assert world.initial.tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert np.asarray(world.mask)[1].tolist() == [False, False, True, True]  # A wall to the right of cell 1.
    rows = world.kernel.to_sparse().toarray().reshape(7, 4, 7)
    assert rows[6, 0, 2] == 1  # Up from the last cell, into the goal.
    assert rows[2, :, 2].tolist() == [1] * 4
    noisy = maze.mdp(0.7, "uniform-state").kernel.to_sparse().toarray().reshape(7, 4, 7)
    np.testing.assert_allclose(noisy[1, 2], 0.1 + 0.3 * np.eye(7)[4])


def test_a_map_without_walls_is_the_grid_of_its_rewards():
    rewards = np.array([[0.0, -1.0, -5.0], [-1.0, -1.0, -5.0]])
    text, array = GridWorld.from_text(["G.x", "..x"], rewards={"x": -5.0}), GridWorld("array", rewards=rewards)
    assert text.shape == (2, 3)
    for noise in (0.0, 0.3):
        ours, theirs = (env.mdp(noise, "uniform-action") for env in (text, array))
        assert (ours.kernel.to_sparse() != theirs.kernel.to_sparse()).nnz == 0
    assert np.asarray(text.mdp().initial)[0] == 0  # Not in the goal.


BAD_REQUESTS = [
    (lambda: envs.make("gridworld-9"), "no environment 'gridworld-9'; choose one of gridworld-1"),
    (lambda: envs.registry.register("gridworld-1", envs.ThreeState), "registered already"),
    (lambda: envs.make("gridworld-1").mdp(1.5), "the noise is 1.5, but a probability"),
    (lambda: envs.make("gridworld-1").mdp(0.1, "gaussian"), "no noise model 'gaussian'; choose one of uniform-state"),
    (lambda: GridWorld("flat", rewards=np.zeros(4)), r"shape \(4,\), but two axes"),
    (lambda: GridWorld("hole", rewards=np.array([[0.0, np.nan]])), "not finite at row 0, column 1"),
    (lambda: GridWorld("far", rewards=np.zeros((2, 2)), goals=((2, 0),)), r"goal \(2, 0\) lies outside"),
    (lambda: GridWorld("s", rewards=np.zeros((2, 2)), initial=np.ones(4) / 4), r"start distribution has shape \(4,\)"),
    (lambda: GridWorld.from_text("S.\n.G."), "rows of equal length"),
    (lambda: GridWorld.from_text("SG", rewards={"~": -1}), "'~' has a reward, but it is not in the map"),
    (lambda: GridWorld.from_text("#G"), "no cell to start in"),
    (lambda: GridWorld.from_text("S#G").mdp(), "no move leads out of the cell in row 0, column 0"),
    (lambda: object_world(size=1), "the size is 1"),
    (lambda: object_world(size=100_000), "use a smaller one"),
]


@pytest.mark.parametrize(("action", "message"), BAD_REQUESTS)
def test_bad_requests_are_named(action, message):
    with pytest.raises(InvalidInputError, match=message):
        action()


@pytest.mark.parametrize("name", envs.names())
def test_classes_and_positions_are_of_states(name):
    env = envs.make(name)
    size = env.mdp().num_states
    if env.classes is not None:
        assert len(env.classes) == size
        assert 2 <= len(set(env.classes)) <= 5
    if env.positions is not None:
        assert np.unique(env.positions, axis=0).shape == (size, 2)
    if env.end is not None:
        assert env.mdp().kernel.to_sparse()[env.end * env.mdp().num_actions, env.end] == 1
