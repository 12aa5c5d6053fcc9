"""The study of Rust's buses across groups: its measures against closed forms, and the study at its smallest."""

import numpy as np
import pytest

from robustirl.demonstrations import Choices
from robustirl.errors import InvalidInputError
from robustirl.irl import fit as learn
from robustirl.irl import infer
from robustirl.mdp import MDP
from robustirl.paper.studies.buses import BusesStudy, judge_policy
from robustirl.paper.studies.buses_groups import Group, compare_costs, log_probabilities, make_judge
from robustirl.paper.studies.buses_resampling import resampled_gains
from robustirl.paper.studies.buses_results import OTHERS, Row, cells, mean_and_error, summarize
from robustirl.paper.studies.registry import Frame
from robustirl.rewards import LinearReward

WORLD = MDP([[[1.0], [1.0]]], discount=0.9)
COSTS = LinearReward([[[0.0], [-1.0]]], names=["RC"])


def one_state(chosen):
    """A group with one bin: keeping is free, replacing costs RC."""
    choices = Choices([0] * len(chosen), chosen)
    return Group(0, WORLD, WORLD, choices, None)  # pyright: ignore[reportArgumentType]


def test_the_cost_of_one_state_by_hand():
    """25 of 100 choices replace: RC = log 3, its variance 1 / (100 · 1/4 · 3/4)."""
    group = one_state([1] * 25 + [0] * 75)
    judge = make_judge(group, COSTS)
    assert judge is not None
    assert judge.inference.parameters == pytest.approx([np.log(3)])
    policy = np.array([[0.5, 0.5]])
    row = judge_policy(4, "half", 1.0, policy, group, judge, np.asarray(COSTS.features))
    error = 1 / np.sqrt(100 * 3 / 16)
    assert row.fitness == pytest.approx(np.log(0.5))
    assert np.isnan(row.gain)
    assert row.replacements == pytest.approx(50)
    assert row.miles == 2500
    assert (row.cost, row.cost_error) == pytest.approx((np.log(3) / 2, error / 2))
    own = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    assert row.excess == pytest.approx(np.log(3) / 4 - (np.log(2) - own))  # KL((1/2, 1/2), (3/4, 1/4)).
    assert row.excess == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))
    assert row.excess_error == pytest.approx(error / 4)
    best = judge_policy(0, "own", 1.0, judge.policy, group, judge, np.asarray(COSTS.features), policy)
    assert best.gain == pytest.approx(np.log(2) - own)
    spread = 100 * (np.log(1.5) - np.log(0.5)) ** 2 * 3 / 16  # Two values, in shares 3/4 and 1/4.
    assert best.gain_error == pytest.approx(np.sqrt(spread) / 100)
    assert best.excess == pytest.approx(0, abs=1e-12)


def test_a_group_without_replacements_is_no_judge():
    group = one_state([0] * 10)
    assert make_judge(group, COSTS) is None
    assert group.penalty > 0
    row = judge_policy(4, "half", 1.0, np.array([[0.5, 0.5]]), group, None, np.asarray(COSTS.features))
    assert cells(row)[-2:] == ("–", "–")


def test_what_a_policy_rules_out_has_no_finite_log_probability():
    logs = log_probabilities(np.array([[1.0, 0.0]]), Choices([0, 0], [0, 1]))
    assert logs.tolist() == [0.0, -np.inf]
    assert mean_and_error(logs, np.array([0, 0]))[0] == -np.inf


def test_means_are_over_pairs_that_can_be_judged():
    blank = {
        "fitness_error": 0.0,
        "gain": 0.0,
        "gain_error": 0.0,
        "replacements": 0.0,
        "miles": 0.0,
        "cost": 0.0,
        "cost_error": 0.0,
    }
    rows = [
        Row(3, 4, "standard", 1.0, fitness=-0.4, excess=0.1, excess_error=0.0, **blank),
        Row(4, 3, "standard", 0.9, fitness=-0.2, excess=0.3, excess_error=0.0, **blank),
        Row(1, 3, "standard", 1.0, fitness=-9.0, excess=9.0, excess_error=0.0, **blank),
        Row(4, 1, "standard", 1.0, fitness=-0.1, excess=np.nan, excess_error=0.0, **blank),
        Row(4, 4, "own cost", 1.0, fitness=-0.1, excess=0.0, excess_error=0.0, **blank),
        Row(3, 3, "own cost", 1.0, fitness=-0.1, excess=0.0, excess_error=0.0, **blank),
    ]
    assert summarize(rows)[1] == [("standard", "-0.30000", "0.2000", "-0.10000", "1")]
    joint = Row(OTHERS, 3, "joint", 1.0, fitness=-0.5, excess=-0.0, excess_error=0.0, **blank)
    assert summarize([*rows, joint._replace(excess=0.25)])[1][1] == ("joint", "-0.50000", "0.2500", "–", "0")
    assert cells(joint)[-1] == "0.0000 (0.0000 to 0.0000)"


@pytest.mark.slow
def test_one_cost_for_two_groups_is_tested_by_the_likelihood():
    """30 of 100 and 10 of 100 choices replace: twice the difference to 40 of 200, by hand."""

    def likelihood(taken, of):
        return taken * np.log(taken / of) + (of - taken) * np.log(1 - taken / of)

    groups = [one_state([1] * taken + [0] * (100 - taken)) for taken in (30, 10)]
    found = compare_costs(groups, COSTS)
    assert found is not None
    by_hand = 2 * (likelihood(30, 100) + likelihood(10, 100) - likelihood(40, 200))
    assert found.statistic == pytest.approx(by_hand, rel=1e-6)
    assert found.freedom == 1
    assert found.p_value == pytest.approx(0.000316, abs=1e-6)
    assert compare_costs([groups[0], one_state([0] * 10)], COSTS) is None


@pytest.mark.slow
def test_in_one_state_transfer_and_standard_are_the_same():
    group = one_state([1] * 25 + [0] * 75)
    assert resampled_gains(group, group, COSTS, 3) == pytest.approx(np.zeros(3), abs=1e-9)


@pytest.mark.slow
def test_the_study_goes_both_ways(tmp_path):
    BusesStudy(groups=(4, 3), resamples=3).run(Frame(tmp_path, say=lambda text: None))
    rows = [line.split(" | ") for line in (tmp_path / "buses.md").read_text().splitlines()[2:]]
    assert len(rows) == 2 * 8 + 2 + 2
    standard = {
        (row[0].strip("| "), row[1]): float(row[4].split()[0]) for row in rows if row[2] == "standard, likelihood"
    }
    assert standard == {("3", "4"): -0.04163, ("4", "3"): -0.04180}
    assert len((tmp_path / "buses-resampled.md").read_text().splitlines()) == 4
    own = [row for row in rows if row[2] == "own cost"]
    # Rust's costs predict 33 and 27 replacements where there were as many.
    assert [round(float(row[6])) for row in own] == [33, 27]
    assert [row[-1].split()[0] for row in own] == ["0.0000", "0.0000"]


def test_one_group_is_no_pair(tmp_path):
    with pytest.raises(InvalidInputError, match=r"--groups is \(4, 4\), but at least two different groups are needed"):
        BusesStudy(groups=(4, 4)).run(Frame(tmp_path))


@pytest.mark.slow
def test_the_standard_error_of_the_cost_is_that_of_the_parameters():
    group = one_state([1] * 25 + [0] * 75)
    found = learn(WORLD, group.choices, alpha=1.0, reward=COSTS, objective="likelihood")
    assert infer(found, WORLD, group.choices, COSTS).standard_errors() == pytest.approx([np.sqrt(16 / 300)])
