"""Other people's worlds from recorded trajectories, at small size."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.mdp import MDP
from robustirl.paper.figures import figure_trajectories
from robustirl.paper.finite import RunSpec
from robustirl.paper.finite.context import ExperimentContext
from robustirl.paper.studies.toy_text import WORLDS, World, both_ways, table_of
from robustirl.paper.studies.toy_text_results import cells
from robustirl.planning import expert_policy, state_occupancy
from robustirl.sweeps import run
from robustirl.sweeps.executor import flat
from robustirl.theory.existence import closest_occupancy, find_matching_policy


def test_mismatches_go_both_ways():
    assert both_ways(0.1, 0.2) == ((0.0, 0.1), (0.0, 0.2), (0.1, 0.0), (0.2, 0.0))


def test_the_study_covers_three_worlds_and_four_orders_of_magnitude():
    assert {world.environment for world in WORLDS} == {"frozen-lake-8x8", "cliff-walking", "taxi"}
    assert {world.counts for world in WORLDS} == {(10, 100, 1000, 10000)}


@pytest.mark.slow
def test_a_small_study_is_tabulated_and_drawn():
    world = World("cliff-walking", "wind", both_ways(0.2), counts=(10, 50), draws=3, alphas=(1.0, 0.9))
    specs = world.specs(steps=20)
    assert len(specs) == 2 * 2 * 3 * 3
    records = [item.record for item in flat(run(specs, workers=1))]
    found = cells(records)
    assert len(found) == 2 * 2 * 3
    assert all(entry.count == 3 for entry in found.values())
    headings, rows = table_of(records)
    assert headings == ("ε_L", "ε_E", "trajectories", "α = 1", "α = 0.9", "auto", "mean α̂", "optimal")
    assert [len(row) for row in rows] == [len(headings)] * 4
    figure = figure_trajectories(records)
    assert len(figure.axes) == 2
    windy = [r for r in records if r.spec.auto and r.spec.expert_noise == 0.2]
    assert all(0.5 < r.alpha_used < 1 for r in windy)
    assert dataclasses.replace(windy[0].spec, auto="") != windy[0].spec


@pytest.mark.slow
def test_on_the_lake_a_weak_opponent_helps_and_a_strong_one_makes_the_expert_unmatchable():
    # docs/demonstrations.md: the slipping expert waits beside a hole, which an opponent pushes into at every step.
    lab = ExperimentContext(envs.make("frozen-lake-8x8"), "slip", "optimal")
    learner, rho = lab.world(0.0), lab.expert_occupancy(0.2)
    assert find_matching_policy(learner, rho).feasible
    visits = np.asarray(rho) / (1 - float(learner.discount))
    waits, goal = 5 * 8 + 7, 63
    assert visits[waits] == visits[:64].max()
    alphas = (1.0, 0.95, 0.9)
    fits = lab.fit([RunSpec("frozen-lake-8x8", "slip", 0.0, 0.2, a, expert="optimal") for a in alphas], steps=200)
    standard, weak, strong = (lab.measure(0.0, result.player) for result in fits)
    assert standard < 0.95 * weak
    assert strong < 1e-6
    moves = [learner.kernel.policy_matrix(jnp.tile(row, (65, 1))) for row in jnp.eye(4)]
    opponent = learner.kernel.policy_matrix(fits[2].opponent)
    kernel = np.stack([0.9 * np.asarray(move) + 0.1 * np.asarray(opponent) for move in moves], axis=1)
    against = MDP(kernel, discount=0.99, initial=learner.initial)
    smallest = closest_occupancy(against, rho).gap
    assert smallest > 0.04
    gap = float(fits[2].verdict.occupancy_gap)
    assert smallest - 1e-6 <= gap < 1.1 * smallest  # Learning is not to blame: hardly any player could do better,
    occupancy = state_occupancy(against, expert_policy(against, lab.reward, kind="optimal"))
    assert float(occupancy[goal]) > 0.5 * float(rho[goal])  # though one who hurries would reach the goal.
