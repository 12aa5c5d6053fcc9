"""Every study runs at its smallest and writes its tables; what it measures is known in a world or two."""

import csv

import numpy as np
import pytest

from experiments import __main__ as command
from experiments.studies import names
from experiments.studies.alpha import AlphaSpec, cells, choose
from experiments.studies.guarantees import GuaranteeSpec, simulate
from experiments.studies.strangers import KINDS, random_pair
from experiments.studies.transfer import FAMILIES, regret

SMALLEST = {
    "alpha": "--worlds corridor --episodes 20 --draws 1",
    "alpha-rules": "--environments gridworld-4 --steps 2",
    "buses": "--groups 4 3",
    "existence": "--environments three-state --steps 2 --expert optimal",
    "front": "--draws 2 --steps 2",
    "guarantees": "--draws 1 --episodes 20 --pairs frozen-lake",
    "identification": "--side 2",
    "layouts": "--layouts 4 --alphas 1 0.8 --learner-noise 0 --expert-noise 0 0.2 --steps 3",
    "physics": "--factors 1 --alphas 0.9 --seeds 2 --episodes 2 --expert-steps 8192 --steps 8192",
    "strangers": "--worlds 1 --episodes 0 --no-named",
    "transfer": "--families frozen-lake --episodes 20 --draws 2 --methods standard likelihood",
}
FIRST_ROWS = {
    "existence": "| three-state | slip | 0 | 0 | 4 | 4 | 6 | yes | yes | 0 | 0 |",
    "identification": "| torus | calm | 4 | 4 |",
    "alpha-rules": "| gridworld-4 | 0.0 | 0.0 | 1.000 | 1.000 |",
}


def test_every_study_has_a_smallest_run():
    assert sorted(SMALLEST) == names()


LONG = ("buses", "identification", "physics")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in SMALLEST])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_study_runs_and_writes_its_tables(name, tmp_path, capsys):
    words = ["study", name, *SMALLEST[name].split(), "--workers", "1", "--out", str(tmp_path)]
    assert command.main(words) == 0
    said = capsys.readouterr().out
    tables = list(tmp_path.glob("*.md"))
    assert tables
    for table in tables:
        lines = table.read_text().splitlines()
        assert len(lines) > 2
        assert len({line.count(" | ") for line in lines}) == 1
        assert lines[2] in said
    assert FIRST_ROWS.get(name, "| ") in (tmp_path / f"{name}.md").read_text()
    if name == "physics":  # Where nothing differs both worlds are one.
        with (tmp_path / "physics.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * 6
        assert all(float(row["learner_return"]) == pytest.approx(float(row["expert_return"])) for row in rows)
    if name == "front":
        assert (tmp_path / "front.svg").stat().st_size > 10_000


def test_a_guarantee_of_the_same_world_holds():
    for policy in ("fitted", "uniform"):
        ((row, _),) = simulate([GuaranteeSpec("frozen-lake", 0.0, policy, 30, 0)])
        assert 0 <= row["truth"] <= row["shortfall"] <= 1


def test_the_share_of_standard_is_zero_and_hindsight_is_the_best():
    spec = next(one for one in cells() if one.group == "hole")
    ((row, _),) = choose([AlphaSpec(spec.group, spec.world, "", spec.learner, spec.expert, 30, 0)])
    assert row["1"] == pytest.approx(0)
    assert row["in hindsight"] == max(value for name, value in row.items() if name[0].isdigit())


def test_the_true_reward_has_no_regret_and_its_opposite_has_much():
    family = FAMILIES["frozen-lake"]()
    assert regret(family, family.learner, family.reward) == 0
    assert regret(family, family.learner, -family.reward) >= 0.99


@pytest.mark.parametrize("kind", KINDS)
def test_random_pairs_are_the_same_every_time_and_differ(kind):
    first, again = random_pair(kind, 3), random_pair(kind, 3)
    own, other = (np.asarray(world.kernel.dense()) for world in first[:2])
    assert np.array_equal(own, np.asarray(again.learner.kernel.dense()))
    assert np.abs(own - other).max() > 0.05
