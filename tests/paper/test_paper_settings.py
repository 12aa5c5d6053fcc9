"""The runs, worlds and conditions of the paper's experiments and of the studies are those that were decided.

`make goldens` writes them anew.
"""

import collections
import dataclasses

import numpy as np
import pytest

from robustirl.control import EXPERT
from robustirl.irl import RelativeEntropyConfig
from robustirl.paper.continuous.specs import continuous_grid, with_experts
from robustirl.paper.finite.catalog import EXPERIMENTS, Grid
from robustirl.paper.studies import (
    alpha_cells,
    alpha_from_data,
    alpha_rules,
    alpha_runs,
    guarantees,
    identification,
    physics_runs,
    readme_figure,
    regime_conditions,
    regimes,
    strangers_mismatches,
    strangers_worlds,
    toy_text,
    transfer_families,
    warehouse,
)
from robustirl.paper.studies.physics import PhysicsStudy
from tests.fingerprints import require_golden_parts


def columns(specs):
    """Runs as a table: of numbers their sums, of words how often each occurs."""
    found = {"count": len(specs)}
    for field in dataclasses.fields(specs[0]):
        values = [getattr(spec, field.name) for spec in specs]
        if len(set(values)) == 1:
            found[field.name] = values[0]
        elif all(isinstance(value, bool | int | float) for value in values):
            found[field.name] = np.array(values, float)
        else:
            found[field.name] = dict(sorted(collections.Counter(map(str, values)).items()))
    return found


def catalog():
    grid = Grid(("gridworld-1", "objectworld"))
    other = Grid(("gridworld-4", "gridworld-l"), (("expert_noises", (0.0, 0.3)), ("steps", 7)))
    return {
        f"{name} {place}": columns(experiment.specs(asked, "uniform-state"))
        for name, experiment in EXPERIMENTS.items()
        for place, asked in (("usual", grid), ("other", other))
    }


def runs():
    """Runs of the continuous experiment and of the studies."""
    both = with_experts(continuous_grid(seeds=2))
    return {
        "continuous": columns([spec for spec in both if hasattr(spec, "alpha")]),
        "continuous experts": columns([spec for spec in both if not hasattr(spec, "alpha")]),
        "alpha from data": columns(alpha_from_data.specs_of("uniform-action", draws=2)),
        "alpha rules": columns(alpha_rules.specs_of(["gridworld-1", "gridworld-2"])),
        "readme figure": columns(readme_figure.specs_of()),
        "toy text": [[world.noise_model, columns(world.specs())] for world in toy_text.WORLDS],
        "alpha": columns(alpha_runs.specs_of(alpha_cells.cell_names(3)[::7], [10, 50], [0, 1])),
        "alpha layouts": list(alpha_cells.layout_names(2)[:9]),
        "physics": columns(PhysicsStudy(parameters=("mass",), fewer=(4,), expert_steps=9000, steps=8000).requested()),
        "physics spread": [physics_runs.SPREAD, physics_runs.CONTROLS],
        "regimes": {group: columns(regimes.specs_of(group, 2)) for group in regime_conditions.GROUPS},
    }


def conditions():
    """What the continuous studies compare; of settings, those that are not the usual ones."""

    def described(condition):
        parts = {field.name: getattr(condition, field.name) for field in dataclasses.fields(condition)}
        for name, usual in (("config", RelativeEntropyConfig()), ("training", EXPERT)):
            given = {field.name: getattr(parts[name], field.name) for field in dataclasses.fields(usual)}
            parts[name] = {key: value for key, value in given.items() if value != getattr(usual, key)}
        return parts

    return {
        f"{group}: {one.name}": described(one) for group, make in regime_conditions.GROUPS.items() for one in make()
    }


def worlds():
    """Worlds that studies make themselves."""
    cells = [*alpha_cells.HOLES, *(f"random, {kind}, 4" for kind in alpha_cells.MISMATCHES)]
    cells += ["grid layout 3, uniform-state, 0 / 0.2", "gridworld-1, published, 0.1 / 0", "frozen-lake, slip, 0 / 0.2"]
    return {
        "cells": {name: alpha_cells.find_cell(name) for name in cells},
        "random pairs": [strangers_worlds.random_pair(seed) for seed in (0, 1, 2, 3, 4, 5, 10, 11, 16, 17)],
        "mismatched pairs": [strangers_mismatches.mismatched_pair(seed) for seed in range(14)],
        "warehouse": [warehouse.warehouse(0.1, side=10), warehouse.warehouse_reward(10), warehouse.racks()],
        "identification": [
            identification.grid(4, walls=True, wind="north"),
            identification.grid(3, walls=False, failing="west", strength=0.3),
        ],
        "guarantees": guarantees.make_pair("frozen-lake", 0.2, 0.22, "slip", 500),
    }


def families():
    """Families of the transfer benchmark."""
    found = {name: transfer_families.make_family(name) for name in ("gridworld", "frozen-lake", "buses")}
    return {**found, "baselines": [family.baseline(family.learner) for family in found.values()]}


PARTS = {"catalog": catalog, "runs": runs, "conditions": conditions, "worlds": worlds, "families": families}


@pytest.mark.parametrize("part", PARTS)
def test_what_is_run_is_what_was_decided(part):
    require_golden_parts("settings.json", {part: PARTS[part]()})
