"""Tables of the studies, made from invented runs, are those that somebody has looked at.

`make goldens` writes them anew. What a statistic is by hand is in the tests of its study.
"""

import dataclasses
import itertools
import typing

import numpy as np
import pytest

from robustirl.irl import Trust
from robustirl.paper.continuous.specs import ContinuousRecord, ContinuousSpec
from robustirl.paper.continuous.statistics import best_robust_alpha, cell_statistics
from robustirl.paper.finite.comparison import Cell, Explanation
from robustirl.paper.finite.layouts import shapes
from robustirl.paper.finite.specs import Record, RunSpec
from robustirl.paper.published import PublishedReturn
from robustirl.paper.studies import (
    alpha_from_data,
    alpha_results,
    alpha_tables,
    buses_results,
    existence,
    guarantees,
    physics_results,
    physics_rules,
    radius,
    regime_results,
    strangers,
    toy_text,
    transfer,
    transfer_policies,
)
from robustirl.paper.studies.alpha_runs import AlphaRecord, AlphaSpec
from robustirl.paper.studies.physics_runs import CONTROLS, PhysicsRecord, PhysicsSpec
from robustirl.paper.studies.rows import to_csv
from robustirl.paper.studies.transfer_families import Change
from tests.fingerprints import require_golden_parts


def invent(kind, rng, /, **given):
    """One row or record, with random numbers where none are given."""
    types = typing.get_type_hints(kind)
    draws = {bool: lambda: bool(rng.integers(2)), int: lambda: int(rng.integers(1, 9)), str: lambda: ""}
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields
    usual = lambda: round(float(rng.uniform(0.1, 2)), 3)  # noqa: E731
    return kind(**{name: given[name] if name in given else draws.get(types[name], usual)() for name in names})


def of_alpha(rng):
    """Tables of the study of α: three cells, two numbers of episodes, three draws."""
    records = []
    alphas = ("1", "0.9", "0.8")
    cells = ("gridworld-1, uniform-action, 0 / 0.2", "taxi, rain, 0.2 / 0", "random, local, 3")
    for cell, episodes, draw in itertools.product(cells, (20, 50), (0, 1, 2)):
        for place, choice in enumerate((*alphas, "moves, states", "moves, actions", "transfer")):
            curves = {"gap": 0.001 * place, "distance": 0.1 * place, "excess": 0.0, "arrival": 1.0, "reach": 1.0}
            curves |= {"planned": 1.0, "gain": place * rng.uniform(-1, 5), "gain_error": rng.uniform(0, 3)}
            records.append(
                invent(
                    AlphaRecord,
                    rng,
                    spec=AlphaSpec(cell, episodes, draw, choice),
                    alpha=1 - 0.1 * place,
                    value=-rng.uniform(1, 9),
                    optimum=-1.0,
                    discounted=-rng.uniform(1, 3),
                    discounted_optimum=-0.5,
                    own_gains=" ".join(f"{x:.3g}" for x in rng.normal(size=3)),
                    avoidable_gap=0.0,
                    sampling_error=0.01,
                    direction_states=rng.choice(["unknown", "noisier", "calmer"]),
                    direction_actions=rng.choice(["unknown", "noisier", "calmer"]),
                    recommended=float(rng.integers(2)),
                    **curves,
                )
            )
    units = alpha_results.units_of(records)
    rows = alpha_tables.rows_of(units)
    return {
        "rows": rows,
        "summary": alpha_tables.summary_of(rows),
        "cells": alpha_tables.cell_rows(units),
        "points": alpha_results.rule_points(units),
    }


def of_runs(rng):
    """Tables made from runs of the finite and the continuous experiments."""
    pairs = list(itertools.product((0.0, 0.1), (0.0, 0.1, 0.2)))
    alphas = (1.0, 0.95, 0.9, 0.85, 0.8)
    finite = [
        invent(
            Record,
            rng,
            spec=RunSpec(
                "gridworld-1", "uniform-state", *pair, alpha, seed=seed, draw=seed, demonstrations=10, auto=auto
            ),
            total_return=-rng.uniform(1, 9),
            optimal_return=-1.0 - pair[0],
        )
        for seed, pair in itertools.product(range(5), pairs)
        for alpha, auto in (*((alpha, "") for alpha in alphas), (1.0, "states"))
    ]
    fixed = [record for record in finite if not record.spec.auto]
    continuous = [
        invent(ContinuousRecord, rng, spec=ContinuousSpec(0.0, expert, alpha, seed), goal_share=float(rng.uniform()))
        for seed, expert, alpha in itertools.product(range(4), (0.0, 0.2), (1.0, 0.9, 0.85))
    ]
    statistics = cell_statistics(continuous)
    # Within, near and far from what was published, and equal to it after half of the steps.
    theirs = PublishedReturn(-10.0, 1.0)
    ends = [(-11.0, -10.0, -5.0), (-11, -10.2, -5), (-9.5, -9, -10.2), (-9.6, -9, -5), (-13, -10.4, -10.4)]
    reasons = [Explanation(Cell(finite[0], theirs), low, high, half).reason for low, high, half in ends]
    return {
        "alpha from data": [alpha_from_data.as_cells(row) for row in alpha_from_data.summarize(finite)],
        "toy text": toy_text.table_of(finite),
        "shapes": [[shape, shape.verdict] for shape in shapes(fixed, lambda record: record.total_return)],
        "continuous": [statistics, best_robust_alpha(statistics)],
        "explanations": [*reasons, Cell(finite[0], theirs).relative_error * 10 + finite[0].total_return],
    }


def of_studies(rng):
    """Tables of studies that have rows of their own."""
    worlds = [("a", "random", True), ("b", "random", False), ("c", "registered", False)]
    strange = [
        invent(
            strangers.Row,
            rng,
            world=world,
            group=group,
            mismatch=mismatch,
            chosen=chosen,
            status=rng.choice(["converged", "settled", "budget"]),
            judgment=str(rng.choice(list(Trust))),
            regret=regret,
        )
        for (world, group, mismatch), chosen, regret in itertools.product(
            worlds, (True, False), (0.01, 0.05, 0.5, 0.51)
        )
    ]
    fits = [
        invent(radius.Row, rng, world=world, mismatch=mismatch, episodes=count, draw=draw, kind=kind, share=share)
        for (world, mismatch), count, draw in itertools.product((("a", True), ("b", False)), (5, 20), (0, 1, 2))
        for kind, share in radius.RADII
    ]
    held = [
        invent(guarantees.Row, rng, pair=pair, policy="fitted", episodes=count)
        for pair, count, _ in itertools.product("ab", (10, 100), range(3))
    ]
    acted = [
        ("grid", own, other, invent(transfer_policies.Row, rng, train=train))
        for (own, other), train in itertools.product(((0.0, 0.1), (0.1, 0.0), (0.2, 0.0)), ("M^E", "M^L", "game"))
    ]
    ended = [
        invent(
            regime_results.RegimeRecord,
            rng,
            spec=regime_results.RegimeSpec("pairs", name, alpha, seed, 3),
            mean_return=-rng.uniform(1, 2)
            - shift * (alpha == 1) * (name == "one")
            + 9 * (name == "two") * (alpha == 1),
            goal_share=share,
        )
        for (name, shift, share), alpha, seed in itertools.product(
            (("one", 9, 0.5), ("two", 0, 1.0), ("three", 0, 1.0)), (1.0, 0.85), range(3)
        )
    ]
    changes = tuple(Change(kind, strength, None) for kind in ("noise", "cells") for strength in (0.0, 0.5))
    lost = transfer.Regrets(("standard", "robust"), changes, rng.uniform(size=(2, 4, 3)))
    return {
        "strangers": [strangers.confusion(strange), strangers.summarize(strange)],
        "radius": radius.summarize(fits),
        "guarantees": guarantees.table(held),
        "acting": transfer_policies.summarize(acted),
        "regimes": regime_results.rows_of(ended),
        "endless": regime_results.rows_of([dataclasses.replace(record, goal_share=0.0) for record in ended])[0],
        "transfer": [transfer.summarize([lost]), transfer.curves([lost])],
        "csv": to_csv(guarantees.Row, held[:2], without=["seconds"]),
        "existence": [
            existence.as_cells(invent(existence.Row, rng, environment="a", noise_model="b", consistent=c, feasible=f))
            for c, f in ((True, True), (True, False), (False, False))
        ],
    }


def of_buses(rng):
    pairs = [(source, target) for source in (4, 3, 1) for target in (4, 3, 1) if source != target]
    ways = ("standard, likelihood", "robust auto, likelihood", "transfer, likelihood")
    rows = [
        invent(buses_results.Row, rng, source=source, target=target, way=way, alpha=float(rng.choice([1.0, 0.9])))
        for (source, target), way in itertools.product(pairs, ways)
    ]
    rows += [invent(buses_results.Row, rng, source=number, target=number, way="own cost") for number in (3, 4)]
    rows.append(invent(buses_results.Row, rng, source="others", target=4, way="transfer, joint", excess=-1e-9))
    return {"rows": [buses_results.cells(row) for row in rows[::3]], "summary": buses_results.summarize(rows)}


def of_physics(rng):
    methods = ("alpha=1", "alpha=0.95", "alpha=0.9", *CONTROLS)
    levels = [("hopper", "mass", 0.5), ("hopper", "mass", 1.0), ("hopper", "mass", 2.0), ("hopper", "friction", 2.0)]
    levels += [("walker-2d", "mass", 2.0), ("walker-2d", "friction", 1.0)]
    records = [
        PhysicsRecord(PhysicsSpec(*level, method, 16, seed, 1, 1), *rng.uniform(0, 9, 2), 0.1, 1.0)
        for level, method, seed in itertools.product(levels, methods, range(4))
    ]
    return {"rows": physics_results.rows_of(records), "choices": physics_rules.choice_rows(records)}


PARTS = {"alpha": of_alpha, "runs": of_runs, "studies": of_studies, "buses": of_buses, "physics": of_physics}


@pytest.mark.parametrize("part", PARTS)
def test_a_table_is_what_it_was(part):
    require_golden_parts("tables.json", {part: PARTS[part](np.random.default_rng(0))})
