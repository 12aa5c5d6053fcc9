"""Figures of the library's objects, of invented fits, show what they showed when somebody last looked at them."""

import dataclasses
from types import SimpleNamespace

import equinox as eqx
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from PIL import Image

from robustirl import MDP, envs
from robustirl.demonstrations import Demonstrations
from robustirl.envs import FixedWorld
from robustirl.plotting import figure_alpha, figure_fit, figure_strip, figure_theory, plot_certificate, save_film
from robustirl.plotting.arrows import draw_moves
from robustirl.plotting.layouts import Layout, layout_of
from robustirl.plotting.maps import draw_policy, draw_reward_map, landmarks, occupancy_bar
from robustirl.plotting.objects import draw_states, plot_demonstrations, plot_fit
from robustirl.plotting.style import bottom_legend, looks, set_plain_powers
from tests import invented
from tests.drawn import text_of_figure
from tests.goldens import require_golden

GRID = envs.make("gridworld-4")
THREE = envs.make("three-state")
# Three rows of two cells, and the positions of the nodes of a graph, so that no eigenvector decides them.
TARGETS = np.array([[1, 2], [1, 3], [3, 4], [3, 5], [5, 4], [5, 5]])
SMALL = Layout("grid", 6, (3, 2), TARGETS)
GRAPH = Layout("graph", 4, None, np.array([[1, 2], [1, 3], [3, 0], [3, 3]]), np.arange(8.0).reshape(4, 2) ** 1.2)


def film(length, turn):
    """A pole on a cart."""
    return [
        [np.array([[-0.2 + t / 9, 0.0], [0.2 + t / 9, 0.0]]), np.array([[t / 9, 0.0], [t / 9 + turn, 1.0]])]
        for t in range(length)
    ]


def report(distance, gap, bound):
    """A pair of worlds, as far as it is drawn."""

    def learned(gap, bound, name):
        limits = SimpleNamespace(worst_return=-9.0 - distance, nominal_return=-5.0 - gap, best_return=-4.0)
        return SimpleNamespace(gap=gap, bound=SimpleNamespace(value=bound, name=name), certificate=limits)

    return SimpleNamespace(
        distance=distance,
        trivial=200.0,
        optimal_return=-3.0,
        standard=learned(gap, bound, "Theorem 1"),
        robust=learned(gap / 2, 2 * bound, "Theorem 3"),
    )


def walks(count=3):
    return Demonstrations.from_arrays([[0, 1], [0, 2, 3, 5], [2], *[[0, 1, 1]] * (count - 3)], terminated=True)


def on(draw):
    """A figure of one panel."""
    figure = Figure(figsize=(2, 2))
    draw(figure.subplots())
    return figure


def curves(labels, width, scale="linear"):
    figure = Figure(figsize=(width, 2))
    axes = figure.subplots(1, 2)
    for axis in axes:
        for place, label in enumerate(labels):
            axis.plot([1, 10], [place + 1, 100], label=label)
        axis.set_yscale(scale)
    bottom_legend(figure, *axes[0].get_legend_handles_labels())
    set_plain_powers(figure)
    return figure


CERTIFICATE = SimpleNamespace(
    worst_value=np.array([-3.0, -1.0, -2.0]),
    nominal_value=np.array([-2.0, -0.5, -1.25]),
    best_value=np.array([-1.0, 0.25, -1.0]),
    worst_return=-2.25,
    nominal_return=-1.5,
    best_return=-0.75,
    uncertainty=SimpleNamespace(mdp=None),
)
FIGURES = {
    "alpha": lambda: figure_alpha(invented.selection()),
    "alpha, one admissible": lambda: figure_alpha(
        dataclasses.replace(invented.selection(), admissible=np.array([True, False, False]))
    ),
    "strip": lambda: figure_strip({"one": film(20, 0.5), "two": film(7, -0.5)}, pictures=4, seconds=0.25),
    "strip without times": lambda: figure_strip({"one": film(9, 0.5)}, pictures=3),
    "fit of a grid": lambda: figure_fit(GRID, invented.model(invented.fit(36, 4)), invented.shares(36, 0.7)),
    "fit of rows": lambda: figure_fit(
        FixedWorld("rows", leaving(rows_of(2, 3, extra=1), 1, 3), shape=(2, 3)),
        invented.model(invented.fit(7, 3, pairs=True)),
        np.array([0.9, 5e-5, 0.02, 0.03, 0.02, 0.02, 0.00995]),
    ),
    "fit of pairs": lambda: figure_fit(THREE, invented.model(invented.fit(3, 2, pairs=True)), invented.shares(3, 0.7)),
    "fit of states": lambda: figure_fit(
        THREE, invented.model(invented.fit(3, 2, alpha=np.linspace(0.8, 1, 6).reshape(3, 2))), invented.shares(3)
    ),
    "objects": lambda: on(lambda axis: landmarks(axis, envs.make("objectworld"))),
    "reward of few values": lambda: on(lambda axis: draw_reward_map(axis, GRID)),
    "reward of many values": lambda: on(lambda axis: draw_reward_map(axis, many_valued(), "title")),
    "plot a fit in a row": lambda: plot_fit(invented.fit(3, 2)),
    "plot a fit that settled": lambda: plot_fit(invented.fit(61, 2, status="settled"), title="title"),
    "plot a fit on a grid": lambda: plot_fit(invented.fit(36, 4, status="converged"), GRID),
    "plot a shape": lambda: plot_fit(invented.fit(7, 2), shape=(2, 3)),
    "certificate": lambda: plot_certificate(CERTIFICATE),
    "certificate of a shape": lambda: plot_certificate(CERTIFICATE, shape=(1, 3)),
    "demonstrations": lambda: plot_demonstrations(walks()),
    "demonstrations on a grid": lambda: plot_demonstrations(walks(), shape=(2, 2)),
    "many demonstrations": lambda: plot_demonstrations(walks(44), shape=(2, 3)),
    "states of a grid": lambda: on(
        lambda axis: draw_states(axis, SMALL, np.arange(6.0), "title", policy=invented.policy(6, 2))
    ),
    "states of a graph": lambda: on(
        lambda axis: draw_states(axis, GRAPH, np.arange(4.0), "title", policy=invented.policy(4, 2))
    ),
    "states of a graph, by sign": lambda: on(
        lambda axis: draw_states(axis, GRAPH, np.array([-0.5, 0.1, 0.2, 0.7]), "title", policy=rare(), norm=Normalize())
    ),
    "states of a grid, by sign": lambda: on(
        lambda axis: draw_states(axis, SMALL, np.array([-0.5, 0.1, 0.2, 0.7, 0.0, 0.5]), "title", norm=Normalize(0, 1))
    ),
    "states of a graph, likely": lambda: on(
        lambda axis: draw_states(axis, GRAPH, np.array([0.0, 0.1, 0.2, 0.7]), "title", norm=Normalize(0.01, 1.5))
    ),
    "shades": lambda: on(
        lambda axis: draw_states(
            axis,
            Layout("graph", 40, None, np.tile(np.arange(40)[:, None], 2), np.arange(80.0).reshape(40, 2)),
            np.linspace(-1, 1, 40),
            "title",
        )
    ),
    "states in a row": lambda: on(
        lambda axis: draw_states(axis, Layout("table", 60), np.arange(60.0), "title", norm=Normalize(0.5, 60))
    ),
    "paths on a graph": lambda: on(lambda axis: draw_paths(axis, GRAPH)),
    "policy": lambda: on(lambda axis: draw_policy(axis, invented.policy(6, 4), (2, 3))),
    "plot a fit whose gap is zero": lambda: plot_fit(closed()),
    "one visit": lambda: plot_demonstrations(Demonstrations.from_arrays([[0, 1]]), shape=(1, 2)),
    "lengths": lambda: plot_demonstrations(Demonstrations.from_arrays([[0] * (n + 1) for n in range(40)])),
    "moves": lambda: on(lambda axis: draw_moves(axis, likely(), SMALL.directions(), (3, 2))),
    "theory": lambda: figure_theory(GRID, [report(0.2, 0.5, 40.0), report(0.1, 0.0, 0.0)], "note"),
    "theory of small bounds": lambda: figure_theory(GRID, [report(0.1, 500.0, 0.5)]),
    "theory without gaps": lambda: figure_theory(GRID, [report(0.1, 0.0, 300.0)]),
    "bar of a wide scale": lambda: on(lambda axis: occupancy_bar(axis.figure, LogNorm(0.001, 0.1), [axis])),
    "bar of a narrow scale": lambda: on(lambda axis: occupancy_bar(axis.figure, LogNorm(0.001, 0.0999), [axis])),
    "bar of a scale": lambda: on(lambda axis: occupancy_bar(axis.figure, LogNorm(0.001, 0.1005), [axis])),
    "legend": lambda: curves("abc", 3.0),
    "wide legend": lambda: curves("abcdef", 9.0, "log"),
    "narrow legend": lambda: curves("ab", 0.5),
}


def many_valued():
    """A grid with more values than a key has room for."""
    rewards = np.asarray(GRID.rewards, dtype=float).copy()
    rewards[0, :4] = (-2.0, -3.0, -4.0, -5.0)
    return dataclasses.replace(GRID, rewards=rewards)


def closed():
    """A fit whose gap is zero at its end."""
    found = invented.fit(3, 2)
    return eqx.tree_at(lambda one: one.history.occupancy_gap, found, np.array([0.5, 0.25, 0.125, 0.1, 0.0]))


def rare():
    """A policy with moves about as rare as those that are not drawn."""
    return np.array([[0.94, 0.06], [0.96, 0.04], [0.05, 0.95], [0.5, 0.5]])


def likely():
    """A policy with a move that is too unlikely to be drawn, and one action that is never likely."""
    return np.array([[0.9, 0.1], [0.12, 0.88], [0.5, 0.5], [0.13, 0.87], [1.0, 0.0], [0.3, 0.7]])


def draw_paths(axis, layout):
    from robustirl.plotting.objects import _draw_paths

    _draw_paths(axis, layout, Demonstrations.from_arrays([[0, 1, 3], [2]], terminated=True))


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_what_it_showed(name):
    figure = FIGURES[name]()
    require_golden(f"figures/plotting/{name.replace(', ', '-').replace(' ', '-')}.txt", text_of_figure(figure))
    plt.close("all")


def test_arrows_are_drawn_up_to_their_largest_number_of_cells(monkeypatch):
    found = invented.fit(36, 4)
    for limit, arrows in ((36, 4), (35, 0)):
        monkeypatch.setattr("robustirl.plotting.fit.MAX_ARROWS", limit)
        monkeypatch.setattr("robustirl.plotting.objects.MAX_ARROWS", limit)
        drawn = [figure_fit(GRID, invented.model(found), invented.shares(36)), plot_fit(found, GRID)]
        assert [text_of_figure(figure).count("arrows") for figure in drawn] == [arrows, arrows]


def test_a_film_has_every_fourth_moment_of_all(tmp_path, monkeypatch):
    titles, moments = [], []
    monkeypatch.setattr("robustirl.plotting.film._draw", lambda panel, moment, box: moments.append((panel, moment)))
    monkeypatch.setattr("matplotlib.axes.Axes.set_title", lambda self, name, **_: titles.append(name))
    films = {"one": film(9, 0.5), "two": film(3, 0.5)}
    path = save_film(tmp_path / "film.gif", films)
    with Image.open(path) as found:
        assert (found.n_frames, found.size) == (1, (448, 196))  # Nothing is drawn, so all pictures are one.
    # Moments 0, 4 and 8, of which the shorter film shows its last; Matplotlib draws the first once more.
    shown = [next(k for k in films for one in films[k] if one is moment) for _, moment in moments]
    places = [next(n for k in films for n, one in enumerate(films[k]) if one is moment) for _, moment in moments]
    assert list(zip(shown, places, strict=True))[-6:] == [
        *(("one", 0), ("two", 0)),
        *(("one", 4), ("two", 2)),
        *(("one", 8), ("two", 2)),
    ]
    assert titles[-2:] == ["one", "two"]
    assert moments[-1][0].get_subplotspec().get_geometry()[:2] == (1, 2)


def test_a_single_film_of_a_body_at_rest_has_a_frame_around_it(tmp_path):
    still = [[np.zeros((2, 2))]] * 2
    path = save_film(tmp_path / "film.gif", {"one": still}, every=1, rate=25)
    with Image.open(path) as found:
        assert (found.size, found.info["duration"]) == ((224, 196), 80)  # Pixels, and milliseconds of two.
    (panel,) = figure_strip({"one": still}, pictures=1).axes
    assert panel.get_xlim() == pytest.approx((-8e-8, 8e-8))
    plt.close("all")


def test_looks_follow_the_palette_and_are_dotted_once_it_has_run_out():
    alphas = [1.0, 0.97, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6]
    found = looks(alphas)
    assert [found[alpha].dashes for alpha in alphas] == ["-"] * 7 + [":"]
    assert found[0.6][:2] == found[0.97][:2] == ("#E69F00", "s")
    assert [found[alpha].label for alpha in (1.0, 0.97)] == ["α = 1 (standard)", "α = 0.97"]


def ring(size, *, absorbing=False):
    """A chain that is no grid: from every state to the next two."""
    kernel = np.zeros((size, 2, size))
    for state in range(size):
        for action in (0, 1):
            kernel[state, action, state if absorbing else (state + 1 + action) % size] = 1
    return MDP(kernel, discount=0.9)


def rows_of(rows, columns, extra=0):
    """A grid whose last action leads to the states that follow the cells, if there are any."""
    cells = rows * columns
    kernel = np.zeros((cells + extra, 3, cells + extra))
    for state in range(cells):
        kernel[state, 0, state + 1 if state % columns < columns - 1 else state] = 1
        kernel[state, 1, state + columns if state < cells - columns else state] = 1
        kernel[state, 2, cells if extra and state == columns - 1 else state] = 1
    for state in range(cells, cells + extra):
        kernel[state, :, state if extra == 1 else cells] = 1
    return MDP(kernel, discount=0.9)


def leaving(world, state, target):
    """The world with one action changed: in one state it leads elsewhere."""
    kernel = world.kernel.to_sparse().toarray().reshape(world.num_states, -1, world.num_states)
    kernel[state, 2] = np.eye(world.num_states)[target]
    return MDP(kernel, discount=0.9)


@pytest.mark.parametrize(
    ("make", "kind", "shape"),
    [
        (lambda: rows_of(2, 2), "grid", (2, 2)),
        (lambda: rows_of(3, 4), "grid", (3, 4)),
        (lambda: rows_of(3, 4, extra=1), "grid", (3, 4)),
        (lambda: rows_of(2, 2, extra=1), "grid", (2, 2)),
        (lambda: rows_of(3, 4, extra=2), "graph", None),
        (lambda: ring(5), "graph", None),
        (lambda: ring(40), "graph", None),
        (lambda: ring(41), "table", None),
        (lambda: ring(6, absorbing=True), "graph", None),
        (lambda: rows_of(2, 2, extra=2), "graph", None),
        (lambda: leaving(rows_of(3, 4, extra=1), 12, 0), "graph", None),
        (lambda: leaving(rows_of(3, 4), 3, 4), "graph", None),
        (lambda: leaving(rows_of(3, 4), 4, 3), "graph", None),
        (lambda: leaving(rows_of(3, 4), 5, 4), "grid", (3, 4)),
    ],
)
def test_worlds_have_the_layout_of_their_moves(make, kind, shape):
    world = make()
    found = layout_of(world, world.num_states)
    assert (found.kind, found.shape, found.size) == (kind, shape, world.num_states)
    assert (found.positions is None) == (kind != "graph")
    assert found.cells == (0 if shape is None else shape[0] * shape[1])


def test_steps_off_the_grid_are_no_directions():
    found = layout_of(rows_of(2, 2, extra=1), 5)
    # Right, down, and nowhere, from the first cell; down, and off the grid, from the second; none from the last.
    assert found.directions().tolist()[0] == [[0, 1], [1, 0], [0, 0]]
    assert found.directions().tolist()[1] == [[0, 0], [1, 0], [0, 0]]
    assert found.directions().tolist()[3] == [[0, 0]] * 3


def test_actions_that_are_not_available_lead_nowhere():
    kernel = np.zeros((4, 2, 4))
    kernel[:, 0] = np.eye(4)[[1, 0, 3, 2]]
    kernel[:2, 1] = np.eye(4)[[2, 3]]
    found = layout_of(MDP(kernel, discount=0.9), 4)
    assert found.targets is not None
    assert found.targets[2:, 1].tolist() == [2, 3]


def test_nodes_are_as_far_apart_as_moves_need():
    # A path of four states: distances 1, 2, 3 after taking off the circle that nodes are spread on.
    kernel = np.zeros((4, 2, 4))
    for state in range(4):
        kernel[state, 0, max(state - 1, 0)] = kernel[state, 1, min(state + 1, 3)] = 1
    found = layout_of(MDP(kernel[[0, 1, 2, 3]], discount=0.9), 4)
    angles = 2 * np.pi * np.arange(4) / 4
    assert found.positions is not None
    places = found.positions - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(4), range(4))), atol=1e-4)


def test_nodes_without_a_way_between_them_are_furthest_apart():
    kernel = np.zeros((4, 1, 4))
    kernel[:, 0] = np.eye(4)[[1, 0, 3, 2]]  # Two pairs.
    found = layout_of(MDP(kernel, discount=0.9), 4)
    angles = 2 * np.pi * np.arange(4) / 4
    assert found.positions is not None
    places = found.positions - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)
    between = np.linalg.norm(places[:2].mean(0) - places[2:].mean(0))
    np.testing.assert_allclose(between**2, 2**2 - 1 / 2, atol=1e-6)  # Two hops, less half the pairs' own square.


def test_moves_count_one_by_one_whatever_their_chance():
    # There is a way from 0 to 1 and on to 2, none back; chances do not make a way longer.
    kernel = np.zeros((3, 2, 3))
    for action in (0, 1):  # Nor do two actions that lead the same way.
        kernel[0, action, :2], kernel[1, action, 1:], kernel[2, action, 2] = (0.75, 0.25), (0.5, 0.5), 1.0
    found = layout_of(MDP(kernel, discount=0.9), 3)
    angles = 2 * np.pi * np.arange(3) / 3
    assert found.positions is not None
    places = found.positions - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(3), range(3))), atol=1e-4)


def test_a_step_over_several_cells_has_length_one():
    found = Layout("grid", 6, (2, 3), np.array([[2, 3], [1, 4], [0, 5], [3, 0], [4, 1], [3, 5]]))
    assert found.directions()[0].tolist() == [[0, 1], [1, 0]]
    assert found.directions()[2].tolist() == [[0, -1], [1, 0]]


def test_a_shape_may_have_as_many_cells_as_states(refused):
    assert layout_of(None, 1, (1, 1)).cells == 1
    for shape in ((0, 3), (7, 1), (3, 3)):
        with refused(f"the shape is {shape}", "at most 6 cells"):
            layout_of(None, 6, shape)
    assert layout_of(None, 6, (2, 3)).cells == 6
    assert layout_of(GRID, 36).shape == (6, 6)
    assert layout_of(GRID, 36, (4, 9)).shape == (4, 9)
