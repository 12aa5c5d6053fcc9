"""A group of buses as a judge, beside closed forms."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Choices
from robustirl.irl import fit as learn
from robustirl.irl import infer
from robustirl.paper.studies import buses_groups
from robustirl.paper.studies.buses_groups import compare_costs, log_probabilities, make_judge
from robustirl.paper.studies.buses_results import cells, mean_and_error
from robustirl.paper.studies.buses_ways import judge_policy
from tests.paper.studies.one_state import COSTS, WORLD, one_state


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
def test_the_standard_error_of_the_cost_is_that_of_the_parameters():
    group = one_state([1] * 25 + [0] * 75)
    found = learn(WORLD, group.choices, alpha=1.0, reward=COSTS, objective="likelihood")
    assert infer(found, WORLD, group.choices, COSTS).standard_errors() == pytest.approx([np.sqrt(16 / 300)])


def test_the_cost_of_a_month_has_two_features():
    costs = buses_groups.cost_model()
    assert np.asarray(costs.features)[2].tolist() == [[-0.002, 0.0], [0.0, -1.0]]  # Mileage if kept; a new engine.
    assert costs.names == envs.buses(4).feature_names
