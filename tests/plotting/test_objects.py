"""The figures that `plot` methods return, and where they put states."""

import numpy as np
import pytest

import robustirl
from robustirl import envs, theory
from robustirl.demonstrations import Demonstrations
from robustirl.plotting import ShownFigure
from robustirl.plotting.layouts import layout_of

THREE = envs.ThreeState().mdp()


def titles(figure):
    return [axis.get_title() for axis in figure.axes]


@pytest.mark.parametrize(("name", "shape"), [("gridworld-4", (6, 6)), ("frozen-lake", (4, 4))])
def test_grids_are_recognized_by_their_moves(name, shape):
    world = envs.make(name).mdp(0.1)
    found = layout_of(world, world.num_states)
    assert (found.kind, found.shape) == ("grid", shape)


def test_directions_on_a_grid_are_steps_down_and_right():
    # Two rows of three cells; action 0 goes right, action 1 goes down, both stay at the edge.
    kernel = np.zeros((6, 2, 6))
    for state in range(6):
        kernel[state, 0, state + 1 if state % 3 < 2 else state] = 1
        kernel[state, 1, state + 3 if state < 3 else state] = 1
    found = layout_of(robustirl.MDP(kernel, discount=0.9), 6)
    assert found.shape == (2, 3)
    assert found.directions()[0].tolist() == [[0, 1], [1, 0]]
    assert found.directions()[5].tolist() == [[0, 0], [0, 0]]


def test_a_row_that_wraps_around_is_no_grid():
    kernel = np.zeros((6, 2, 6))
    for state in range(6):
        kernel[state, 0, (state + 1) % 6] = 1  # From the end of a row to the start of the next.
        kernel[state, 1, (state + 3) % 6] = 1
    assert layout_of(robustirl.MDP(kernel, discount=0.9), 6).kind == "graph"


def test_small_worlds_are_graphs_and_unknown_ones_tables():
    found = layout_of(THREE, 3)
    assert found.kind == "graph"
    assert found.positions is not None
    assert len(np.unique(found.positions.round(6), axis=0)) == 3
    assert layout_of(None, 3).kind == "table"
    assert layout_of(None, 6, (2, 3)).kind == "grid"


def test_shapes_and_worlds_that_do_not_fit_are_refused(refused):
    with refused("the shape is (2, 2)", "at most 3"):
        layout_of(None, 3, (2, 2))
    with refused("the world has 3 states", "4 are drawn"):
        layout_of(THREE, 4)


@pytest.fixture(scope="module")
def fit():
    return robustirl.fit(THREE, [0.1, 0.8, 0.1], alpha=0.9)


def test_a_fit_draws_reward_occupancies_and_history(fit):
    figure = fit.plot(THREE)
    assert isinstance(figure, ShownFigure)
    assert titles(figure)[:4] == [
        "learned reward and player's moves",
        "expert's occupancy",
        f"learner's occupancy, gap {float(fit.verdict.occupancy_gap):.3g}",
        "occupancy gap",
    ]
    assert "learned reward" in titles(fit.plot())
    assert figure._repr_png_().startswith(b"\x89PNG")  # What a notebook shows.


def test_a_model_draws_the_world_of_its_fit():
    walks = Demonstrations.from_arrays([[0, 1, 1], [0, 2, 2]] * 4, terminated=True)
    model = robustirl.RobustIRL(alpha=0.9).fit(THREE, walks)
    assert "learned reward and player's moves" in titles(model.plot())


def test_a_certificate_draws_its_range(fit):
    figure = theory.certify(THREE, fit.player, [0.0, 1.0, 0.0], radius=0.1).plot()
    assert titles(figure)[0] == "discounted return"
    assert "what the worst kernel costs" in titles(figure)


@pytest.mark.parametrize("world", [None, THREE, envs.make("gridworld-4")])
def test_demonstrations_draw_visits_and_paths(world):
    figure = Demonstrations.from_arrays([[0, 1], [0, 2, 2], [2]]).plot(world)
    assert titles(figure)[0] == "visits"
    heights = [bar.get_height() for bar in figure.axes[2].patches]
    assert sum(heights) == 3  # Episodes.
