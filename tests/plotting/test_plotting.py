"""Where states are drawn, and what the figures of single objects show."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import robustirl
from robustirl import MDP, envs, theory
from robustirl.demonstrations import Demonstrations
from robustirl.plotting import draw_states, layout_of, plot_alpha, save_figure
from robustirl.plotting.style import ROBUST, ShownFigure, looks, plain_text

THREE = envs.ThreeState().mdp()
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # Up, right, down, left.


def maze(text, *, extra=0, initial=None, **options):
    """A world of the characters of a maze; # are walls that lead nowhere, G is never left."""
    rows, columns = len(text), len(text[0])
    size = rows * columns + extra
    kernel = np.zeros((size, 4, size))
    for state in range(size):
        row, column = divmod(state, columns)
        for action, (down, right) in enumerate(STEPS):
            r, c = row + down, column + right
            free = row < rows and text[row][column] not in "#G" and 0 <= r < rows and 0 <= c < columns
            kernel[state, action, r * columns + c if free and text[r][c] != "#" else state] = 1
    return MDP(kernel, discount=0.9, initial=initial, **options)


def ring(size):
    """A world that is no grid: from every state to the next two."""
    kernel = np.zeros((size, 2, size))
    for state in range(size):
        kernel[state, [0, 1], [(state + 1) % size, (state + 2) % size]] = 1
    return MDP(kernel, discount=0.9)


def titles(figure):
    return [axis.get_title() for axis in figure.axes]


@pytest.mark.parametrize(
    ("make", "kind", "shape"),
    [
        (lambda: maze(["...", "..."]), "grid", (2, 3)),
        (lambda: maze(["...", "..."], extra=1), "grid", (2, 3)),
        (lambda: maze(["...", "..."], extra=2), "graph", None),
        (lambda: maze(["..#", "#.."]), "grid", (2, 3)),
        (lambda: envs.make("gridworld-4").mdp(0.1), "grid", (6, 6)),
        (lambda: envs.make("frozen-lake").mdp(0.1), "grid", (4, 4)),
        (lambda: ring(5), "graph", None),
        (lambda: ring(40), "graph", None),
        (lambda: ring(41), "row", None),
    ],
)
def test_worlds_without_places_have_the_layout_of_their_moves(make, kind, shape):
    world = make()
    layout = layout_of(world, world.num_states)
    assert (layout.kind, layout.size) == (kind, world.num_states)
    if shape is not None:
        rows, columns, found = layout.cells()
        assert found == shape
        assert (rows * shape[1] + columns).tolist() == list(range(shape[0] * shape[1]))


def test_walls_are_what_nothing_reaches_and_ends_what_is_never_left():
    text = ["S#.", ".#G"]  # The right column cannot be reached from S.
    everywhere = layout_of(maze(text), 6)
    assert np.flatnonzero(everywhere.walls).tolist() == [1, 4]
    assert np.flatnonzero(everywhere.ends).tolist() == [5]
    from_s = layout_of(maze(text, initial=np.eye(6)[0]), 6)
    assert np.flatnonzero(from_s.walls).tolist() == [1, 2, 4, 5]
    assert not from_s.ends.any()


@pytest.mark.parametrize(
    ("places", "kind"),
    [
        ([[0, 0], [1, 0], [2, 5], [1, 1], [0, 1]], "grid"),
        ([[0, 0], [1, 0], [np.nan, np.nan], [1, 1], [0, 1]], "grid"),
        ([[0, 0], [1, 0], [2, 0], [1, 1], [0.5, 1]], "graph"),
        ([[0, 0], [1, 0], [1, 0], [1, 1], [0, 1]], "graph"),
        ([[0, 0], [100, 0], [2, 0], [1, 100], [0, 1]], "graph"),
    ],
)
def test_places_of_a_world_are_where_it_is_drawn(places, kind):
    world = SimpleNamespace(positions=np.array(places, dtype=float), mdp=lambda noise: ring(5))
    layout = layout_of(world, 5)
    assert layout.kind == kind
    np.testing.assert_array_equal(layout.positions, places)
    assert layout.drawn.sum() == np.isfinite(places).all(1).sum()


def test_directions_lead_to_the_likeliest_successor():
    layout = layout_of(maze(["...", "..."]), 6)
    assert layout.directions()[0].tolist() == [[0, 0], [1, 0], [0, -1], [0, 0]]
    assert layout.directions()[5].tolist() == [[0, 1], [0, 0], [0, 0], [-1, 0]]
    assert layout_of(maze(["..", ".."], extra=1), 5).directions()[4].tolist() == [[0, 0]] * 4


def test_nodes_are_as_far_apart_as_moves_need():
    kernel = np.zeros((4, 2, 4))  # A path.
    for state in range(4):
        kernel[state, 0, max(state - 1, 0)] = kernel[state, 1, min(state + 1, 3)] = 1
    places = layout_of(MDP(kernel, discount=0.9), 4).positions
    angles = 2 * np.pi * np.arange(4) / 4
    places = places - 0.25 * np.stack([np.cos(angles), np.sin(angles)], -1)  # The circle that parts equal places.
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(range(4), range(4))), atol=1e-4)


def test_shapes_and_worlds_that_do_not_fit_are_refused(refused):
    for shape in ((0, 3), (7, 1)):
        with refused(f"the shape is {shape}", "at most 6 cells"):
            layout_of(None, 6, shape)
    with refused("the world has 3 states", "4 are drawn"):
        layout_of(THREE, 4)


@pytest.mark.parametrize("world", [maze(["S..", ".#G"]), ring(5), ring(41), None])
def test_numbers_of_states_are_drawn_everywhere(world):
    size = 50 if world is None else world.num_states
    axis = Figure().subplots()
    policy = None if world is None else np.full((size, world.num_actions), 1 / world.num_actions)
    draw_states(axis, layout_of(world, size), np.arange(size, dtype=float), "numbers", policy=policy)
    assert axis.get_title() == "numbers"
    if size == 6:
        image = axis.images[0].get_array()
        assert image.shape == (2, 3, 4)
        assert image[1, 1].tolist() == [0.3, 0.3, 0.3, 1.0]  # The wall.
        assert len(np.unique(image.reshape(-1, 4), axis=0)) == 6


def test_a_fit_draws_reward_occupancies_and_history():
    fit = robustirl.fit(THREE, [0.1, 0.8, 0.1], alpha=0.9)
    figure = fit.plot(THREE)
    assert isinstance(figure, ShownFigure)
    gap = float(fit.verdict.occupancy_gap)
    first, second, third, last = titles(figure)[:4]
    assert (first, second) == ("learned reward and player's moves", "expert's occupancy")
    assert third == f"learner's occupancy, gap {gap:.3g}"
    assert last == "occupancy gap"
    assert titles(fit.plot())[0] == "learned reward"
    assert figure._repr_png_().startswith(b"\x89PNG")  # What a notebook shows.


def test_a_certificate_draws_its_range():
    figure = theory.certify(THREE, np.full((3, 2), 0.5), [0.0, 1.0, 0.0], radius=0.1).plot()
    assert titles(figure)[0] == "discounted return"
    assert "what the worst kernel costs" in titles(figure)


@pytest.mark.parametrize("world", [None, THREE, envs.make("gridworld-4")])
def test_demonstrations_draw_visits_and_paths(world):
    figure = Demonstrations.from_arrays([[0, 1], [0, 2, 2], [2]]).plot(world)
    assert titles(figure)[0] == "visits"
    assert sum(bar.get_height() for bar in figure.axes[2].patches) == 3  # Episodes.


def test_a_choice_of_alpha_is_a_heat_map_of_regrets():
    regrets = np.array([[0.0, 0.02], [0.31, 0.04]])
    chosen = SimpleNamespace(
        alpha=0.9, candidates=np.array([1.0, 0.9]), regrets=regrets, open=np.array([True, False]),
        admissible=np.array([True, True]),
    )  # fmt: skip
    axis = plot_alpha(chosen).axes[0]
    np.testing.assert_allclose(axis.images[0].get_array(), 100 * regrets)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["like yours", "10 % noisier"]
    assert [text.get_text() for text in axis.texts] == ["0.0", "2.0", "31", "4.0"]


def test_saved_figures_depend_on_their_data_alone(tmp_path):
    fit = robustirl.fit(THREE, [0.1, 0.8, 0.1], alpha=1.0)
    first, second = (save_figure(fit.plot(THREE), tmp_path / name) for name in ("a", "b"))
    assert [path.name for path in first] == ["a.png", "a.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_looks_go_through_the_palette_and_text_is_plain():
    alphas = [1.0, *np.linspace(0.9, 0.1, len(ROBUST) + 1)]
    found = looks(alphas)
    assert found[1.0].label == "α = 1 (standard)"
    assert [found[alpha].color for alpha in alphas[1:]] == [*ROBUST, ROBUST[0]]
    assert found[alphas[-1]].dashes == ":"
    assert plain_text("$x$\x1b") == r"\$x\$\x1b"
