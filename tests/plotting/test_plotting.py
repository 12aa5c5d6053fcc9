"""Figures of the library's objects, of invented fits, show what they showed when somebody last looked at them."""

import dataclasses
from types import SimpleNamespace

import equinox as eqx
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from robustirl import envs
from robustirl.demonstrations import Demonstrations
from robustirl.envs.registry import FixedWorld
from robustirl.plotting import figure_alpha, figure_fit, figure_strip, figure_theory, plot_certificate
from robustirl.plotting.arrows import draw_moves
from robustirl.plotting.layouts import Layout
from robustirl.plotting.maps import draw_policy, draw_reward_map, landmarks, occupancy_bar
from robustirl.plotting.objects import draw_states, plot_demonstrations, plot_fit
from robustirl.plotting.style import bottom_legend, set_plain_powers
from tests import invented
from tests.drawn import text_of_figure
from tests.goldens import require_golden
from tests.plotting.worlds import GRID, film, leaving, rows_of

THREE = envs.make("three-state")
# Three rows of two cells, and the positions of the nodes of a graph, so that no eigenvector decides them.
TARGETS = np.array([[1, 2], [1, 3], [3, 4], [3, 5], [5, 4], [5, 5]])
SMALL = Layout("grid", 6, (3, 2), TARGETS)
GRAPH = Layout("graph", 4, None, np.array([[1, 2], [1, 3], [3, 0], [3, 3]]), np.arange(8.0).reshape(4, 2) ** 1.2)


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
