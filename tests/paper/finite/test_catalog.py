"""Which options every experiment follows, which it sets itself, and how several layouts are shown."""

import numpy as np
import pytest

from robustirl.cli.reproduce import Reproduce, departures, plan_of
from robustirl.paper.figures import Figure
from robustirl.paper.finite import Record, RunSpec
from robustirl.paper.finite.catalog import EXPERIMENTS, Grid, choose
from robustirl.paper.finite.layouts import interval

OTHERS = {
    "alphas": (1.0, 0.7),
    "learner_noises": (0.02,),
    "expert_noises": (0.03, 0.3),
    "seeds": (4, 5),
    "steps": 7,
    "expert": "optimal",
}
FIELDS = {
    "alphas": "alpha",
    "learner_noises": "learner_noise",
    "expert_noises": "expert_noise",
    "seeds": "seed",
    "expert": "expert",
}


@pytest.mark.parametrize("option", OTHERS)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_option_is_followed_or_declared_as_kept(name, option):
    experiment = EXPERIMENTS[name]
    usual, changed = Grid(("objectworld",)), Grid(("objectworld",), ((option, OTHERS[option]),))
    before, after = (experiment.specs(grid, "uniform-state") for grid in (usual, changed))
    assert len(set(after)) == len(after)
    if name == "transfer" and option == "alphas":
        after = tuple(spec for spec in after if spec.train_noise is None)  # What is learned elsewhere is standard.
    if option in experiment.kept:
        assert before == after
    elif option == "steps":
        assert {spec.steps for spec in after} <= {7, 70}
    else:
        values = OTHERS[option] if isinstance(OTHERS[option], tuple) else (OTHERS[option],)
        assert {getattr(spec, FIELDS[option]) for spec in after} == set(values)


def test_what_is_kept_is_what_is_run():
    for experiment in EXPERIMENTS.values():
        specs = experiment.specs(Grid(("gridworld-4",)), "uniform-state")
        direct = [spec for spec in specs if spec.train_noise is None]
        for option, value in experiment.kept.items():
            if value is not None:
                values = set(value) if isinstance(value, tuple) else {value}
                assert {getattr(spec, FIELDS[option]) for spec in direct} == values


def test_rewards_are_transferred_from_the_noises_asked_for():
    for noises, trains in (((0.0, 0.3), {0.3}), ((0.0,), {0.0})):
        specs = EXPERIMENTS["transfer"].specs(Grid(("gridworld-4",), (("expert_noises", noises),)), "uniform-state")
        assert {spec.train_noise for spec in specs} == {None, *trains}


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({}, []),
        ({"expert_noise": (0.0, 0.3), "steps": 5}, []),  # Every experiment follows these.
        ({"alphas": (1.0, 0.9, 0.8)}, ["alpha-study", "sampled"]),  # These are just those of `convergence`.
        ({"learner_noise": (0.0,)}, ["alpha-study"]),  # For the other studies that is what they have anyway.
        ({"expert": "soft"}, ["transfer"]),
    ],
)
def test_what_is_not_followed_is_said(changes, lines):
    command = Reproduce(("gridworld-4",), experiments=("all",), **changes)
    found = departures(command, plan_of(command))
    assert [line.split()[0] for line in found] == lines
    assert all(line.endswith(".") for line in found)


def test_the_sentence_names_values_and_options():
    command = Reproduce(
        ("objectworld",), experiments=("alpha-study",), alphas=(1.0,), learner_noise=(0.0,), seeds=(1, 2)
    )
    assert departures(command, plan_of(command)) == [
        "alpha-study is defined by α = 1, 0.95, 0.9 and the learner's noise 0.05 and the environment's usual layout,"
        " and does not follow --alphas or --learner-noise or --seeds."
    ]


def records_of(seeds):
    """Returns of made-up runs, a different one in every cell and layout."""
    grid = Grid(("objectworld",), (("alphas", (1.0, 0.9)), ("learner_noises", (0.0,)), ("seeds", seeds)))
    generator = np.random.default_rng(0)

    def record(spec: RunSpec) -> Record:
        value, optimal = generator.normal(-5), -1.0 - spec.seed
        return Record(
            spec, spec.alpha, value, optimal, -0.7, value, -0.2, 0.01, 0.02, 3.0, None, None, None, 200, "budget", 0.5
        )

    return grid, [record(spec) for spec in grid.specs("objectworld", "uniform-state")]


@pytest.mark.parametrize("seeds", [(3,), (3, 4, 5)])
def test_several_layouts_are_drawn_as_means_with_bands(seeds):
    grid, records = records_of(seeds)
    (drawing,) = EXPERIMENTS["all-alphas"].draw(grid, "uniform-state", records)
    figure = drawing.make()
    assert isinstance(figure, Figure)
    panels = {axis.get_title(): axis for axis in figure.axes}
    panel = next(axis for title, axis in panels.items() if "epsilon_L" in title)
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in panel.lines}
    standard = next(values for label, values in lines.items() if "standard" in label)
    expected = [
        interval([r.total_return for r in records if (r.spec.alpha, r.spec.expert_noise) == (1.0, noise)])
        for noise in (0.0, 0.05, 0.1, 0.15, 0.2)
    ]
    assert standard == pytest.approx([entry.mean for entry in expected])
    assert lines["optimal"][0] == pytest.approx(-1 - np.mean(seeds))
    if len(seeds) == 1:
        assert not panel.collections
        assert "true reward" in panels
    else:
        band = panel.collections[0].get_paths()[0].get_extents()
        assert band.ymin == pytest.approx(min(entry.low for entry in expected))
        assert band.ymax == pytest.approx(max(entry.high for entry in expected))
        assert "true reward, layout 3" in panels
        assert "means of 3 layouts, 95 % bands" in figure.get_suptitle()


def test_the_gap_says_how_many_layouts_it_shows():
    grid, records = records_of((3, 4))
    (drawing,) = choose(["gap"])[0].draw(grid, "uniform-state", records)
    figure = drawing.make()
    assert isinstance(figure, Figure)
    assert "2 layouts" in figure.get_suptitle()
