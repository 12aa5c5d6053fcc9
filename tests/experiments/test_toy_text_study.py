"""Other people's worlds from recorded trajectories, at small size."""

import dataclasses

from robustirl.experiments import run
from robustirl.experiments.figures import figure_trajectories
from robustirl.experiments.runner import flat
from robustirl.experiments.toy_text_study import WORLDS, World, both_ways, cells, to_markdown


def test_mismatches_go_both_ways():
    assert both_ways(0.1, 0.2) == ((0.0, 0.1), (0.0, 0.2), (0.1, 0.0), (0.2, 0.0))


def test_the_study_covers_three_worlds_and_four_orders_of_magnitude():
    assert {world.environment for world in WORLDS} == {"frozen-lake-8x8", "cliff-walking", "taxi"}
    assert WORLDS[0].counts == WORLDS[1].counts == (10, 100, 1000, 10000)


def test_a_small_study_is_tabulated_and_drawn():
    world = World("cliff-walking", "wind", both_ways(0.2), counts=(10, 50), draws=3, alphas=(1.0, 0.9))
    specs = world.specs(steps=20)
    assert len(specs) == 2 * 2 * 3 * 3
    records = [item.record for item in flat(run(specs, workers=1))]
    found = cells(records)
    assert len(found) == 2 * 2 * 3
    assert all(entry.count == 3 for entry in found.values())
    table = to_markdown(records)
    assert table.startswith("| ε_L | ε_E | trajectories | α = 1 | α = 0.9 | auto | mean α̂ | optimal |")
    assert len(table.splitlines()) == 2 + 4
    figure = figure_trajectories(records)
    assert len(figure.axes) == 2
    windy = [r for r in records if r.spec.auto and r.spec.expert_noise == 0.2]
    assert all(0.5 < r.alpha_used < 1 for r in windy)
    assert dataclasses.replace(windy[0].spec, auto="") != windy[0].spec
