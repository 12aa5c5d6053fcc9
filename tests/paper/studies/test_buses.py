"""The study of Rust's buses across groups: its measures against closed forms, and the study at its smallest."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Choices
from robustirl.errors import InvalidInputError
from robustirl.irl import fit as learn
from robustirl.irl import infer
from robustirl.mdp import MDP
from robustirl.paper.studies import buses, buses_groups, buses_resampling, buses_runs, buses_ways
from robustirl.paper.studies.buses import BusesStudy
from robustirl.paper.studies.buses_groups import Group, compare_costs, log_probabilities, make_judge
from robustirl.paper.studies.buses_resampling import (
    ResampleRecord,
    draw_buses,
    resample_specs,
    resampled_gains,
    resampled_rows,
)
from robustirl.paper.studies.buses_results import OTHERS, Row, cells, mean_and_error, summarize
from robustirl.paper.studies.buses_runs import BusesRecord, one_cost_specs, row_of, specs_of
from robustirl.paper.studies.buses_ways import JOINT, OWN, WAYS, _ways, judge_policy, own_row
from robustirl.paper.studies.registry import Frame, StudyInterrupted
from robustirl.rewards import LinearReward
from robustirl.sweeps import Store

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
    assert resampled_gains(group, group, COSTS, range(3)) == pytest.approx(np.zeros(3), abs=1e-9)


def test_the_runs_are_all_ways_of_all_pairs():
    groups = [one_state(chosen)._replace(number=number) for number, chosen in ((4, [0, 1]), (3, [1, 0]), (1, [0, 0]))]
    found = [(spec.source, spec.target, spec.way) for spec in specs_of(groups, 0.9, 0.8, "hold")]
    pairs = [("3", 4), ("1", 4), ("4", 3), ("1", 3), ("4", 1), ("3", 1)]
    joint = [("3 1", 4, JOINT), ("4 1", 3, JOINT), ("4 3", 1, JOINT)]
    assert found == [(*pair, way) for pair in pairs for way in WAYS] + joint + [("4", 4, OWN), ("3", 3, OWN)]
    assert [spec.groups for spec in one_cost_specs(groups, 0.9)] == ["4 3"]
    assert one_cost_specs(groups[1:], 0.9) == []
    drawn = resample_specs(groups, 0.9, 2)
    assert [(spec.source, spec.target, spec.resample) for spec in drawn] == [(4, 3, 0), (4, 3, 1), (3, 4, 0), (3, 4, 1)]
    measures = [float(number) for number in range(11)]
    rows = [row_of(BusesRecord(spec, *measures, seconds=0.0)) for spec in specs_of(groups, 0.9, 0.8, "hold")[-3:-1]]
    assert rows == [Row(OTHERS, 1, JOINT, *measures), Row(4, 4, OWN, *measures)]


def test_more_resamples_begin_with_the_same_draws():
    group = one_state([0, 1, 0])._replace(choices=Choices([0] * 3, [0, 1, 0], [0, 1, 2]))
    few, more = draw_buses(group, group, 1), draw_buses(group, group, 3)
    assert [part.tolist() for part in few[0]] == [part.tolist() for part in more[0]] == [[2, 1, 1], [0, 0, 0]]


@pytest.mark.slow
def test_the_study_goes_both_ways_and_continues_where_it_was_stopped(tmp_path):
    def stop(activity, done, of):
        if activity == "resamples" and done:
            raise KeyboardInterrupt

    study = BusesStudy(groups=(4, 3), resamples=3)
    with pytest.raises(StudyInterrupted, match="interrupted after 23 of 27 runs"):
        study.run(Frame(tmp_path, stop, say=lambda text: None))
    kept = {path.name: path.stat().st_mtime_ns for path in Store.read(tmp_path).batches.iterdir()}
    study.run(Frame(tmp_path, say=lambda text: None))
    assert (
        kept.items() <= {path.name: path.stat().st_mtime_ns for path in Store.read(tmp_path).batches.iterdir()}.items()
    )
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


def counted():
    """Stand-ins for fits in one state: the best cost makes the policy what was chosen, so it is counted."""

    def frequencies(choices):
        share = float(np.mean(choices.actions))
        return np.array([[1 - share, share]])

    def one(world, choices, *, alpha, objective, **_):
        assert (alpha, objective) == (1.0, "likelihood")
        return SimpleNamespace(player=frequencies(choices), reward=frequencies(choices))

    def joint(worlds, choices, **_):
        players = [frequencies(SimpleNamespace(actions=np.concatenate([part.actions for part in choices])))] * len(
            worlds
        )
        return SimpleNamespace(players=players, reward=players[0])

    return one, joint


def test_a_test_of_one_cost_is_the_likelihood_that_is_lost(monkeypatch):
    """30 of 100 and 10 of 100 choices replace: twice the difference to 40 of 200, by hand."""
    one, joint = counted()
    monkeypatch.setattr(buses_groups, "fit", one)
    monkeypatch.setattr(buses_groups, "fit_jointly", joint)
    groups = [one_state([1] * taken + [0] * (100 - taken))._replace(number=taken) for taken in (30, 10)]
    found = compare_costs([*groups, one_state([0] * 10)], COSTS)
    assert found is not None
    logs = [taken * np.log(taken / of) + (of - taken) * np.log(1 - taken / of) for taken, of in ((30, 100), (10, 100))]
    assert found.statistic == pytest.approx(2 * (sum(logs) - 40 * np.log(0.2) - 160 * np.log(0.8)))
    assert (found.groups, found.freedom) == ((30, 10), 1)
    assert found.p_value == pytest.approx(0.000316, abs=1e-6)
    wide = LinearReward(np.zeros((1, 2, 3)))
    assert [
        test and test.freedom for test in (compare_costs([*groups, groups[0]], wide), compare_costs(groups[:1], COSTS))
    ] == [6, None]


def test_own_choices_are_predicted_from_the_other_buses(monkeypatch):
    """Ten buses in five folds; of those of a fold both replace twice in ten months, or never."""
    monkeypatch.setattr(buses_ways, "fit", counted()[0])
    bus = np.repeat(np.arange(10), 10)
    chosen = np.where((bus % 5 == 2) & (np.arange(100) % 10 < 2), 1, 0)
    group = one_state(chosen)._replace(number=3, choices=Choices([0] * 100, chosen, bus))
    judge = make_judge(group, COSTS)
    assert judge is not None
    row = own_row(group, COSTS, judge)
    # Fold 2 is predicted from buses that never replace; the others from 4 replacements in 80 months.
    assert row.fitness == -np.inf
    assert (row.source, row.target, row.way, row.alpha) == (3, 3, "own cost", 1.0)
    assert row.replacements == pytest.approx(4)
    chosen = np.where((bus % 5 >= 2) & (np.arange(100) % 10 < 2), 1, 0)  # Of the folds 2, 3 and 4.
    group = group._replace(choices=Choices([0] * 100, chosen, bus))
    row = own_row(group, COSTS, judge)
    low, high = 8 / 80, 12 / 80  # Predicted for those three folds, and for the other two.
    calm, busy = np.log(1 - high), 0.2 * np.log(low) + 0.8 * np.log(1 - low)
    assert row.fitness == pytest.approx(0.4 * calm + 0.6 * busy)
    spread = 10 * np.sqrt(4 * (calm - row.fitness) ** 2 + 6 * (busy - row.fitness) ** 2)
    assert row.fitness_error == pytest.approx(spread / 100)


def test_three_ways_of_a_choice_of_alpha():
    target = one_state([1, 0, 0, 0])
    players = [np.array([[1 - share, share]]) for share in (0.5, 0.4, 0.3)]
    found = list(_ways("likelihood", [1.0, 0.9, 0.8], players, 0.9, target))
    assert [(name, alpha, policy[0, 1]) for name, alpha, policy in found] == [
        ("standard, likelihood", 1.0, 0.5),
        ("robust auto, likelihood", 0.9, 0.4),
        ("hindsight, likelihood", 0.8, 0.3),
    ]


def test_all_ways_from_a_group_to_another(monkeypatch):
    """Fits are stand-ins: what is fitted where, and whose policy is handed on."""
    there, here = "source", "target"
    source = one_state([1, 0])._replace(world=there, matched_world=f"matched {there}", episodes="episodes")
    target = one_state([0, 0, 1])._replace(world=here, matched_world=f"matched {here}")
    asked = []

    def policy(share):
        return SimpleNamespace(player=np.array([[1 - share, share]]), alpha=1 - share, reward=f"reward {share}")

    def profile(world, choices, **options):
        asked.append((world, len(choices), options["penalty"]))
        return SimpleNamespace(alpha=0.75), [policy(0.0), policy(0.25), policy(0.5)]

    def fit(world, choices, **options):
        asked.append((world, options["alpha"], options["objective"], options["throw"]))
        return policy(0.125)

    def select(world, episodes, *, tail, candidates=(1.0, 0.5), **_):
        asked.append((world, episodes, tail, candidates))
        return SimpleNamespace(
            candidates=np.array(candidates), fits=[policy(0.625), policy(0.5)], alpha=0.5, fit=policy(0.875)
        )

    def solve(world, reward):
        return SimpleNamespace(player=f"{reward} in {world}")

    for name, stand_in in (("profile_alpha", profile), ("fit", fit), ("select_alpha", select), ("solve", solve)):
        monkeypatch.setattr(buses_ways, name, stand_in)
    found = list(buses_ways.policies(source, target, COSTS, "hold"))
    assert [(way, alpha, policy.tolist() if policy.ndim else str(policy)) for way, alpha, policy in found] == [
        ("standard, likelihood", 1.0, [[1.0, 0.0]]),
        ("robust auto, likelihood", 0.75, [[0.75, 0.25]]),
        ("hindsight, likelihood", 0.75, [[0.75, 0.25]]),
        ("transfer, likelihood", 1.0, "reward 0.125 in target"),
        ("standard, occupancy", 1.0, [[0.375, 0.625]]),
        ("robust auto, occupancy", 0.5, [[0.5, 0.5]]),
        ("hindsight, occupancy", 0.5, [[0.5, 0.5]]),
        ("transfer, occupancy", 1.0, "reward 0.875 in matched target"),
    ]
    assert asked == [
        (here, 2, 0.0),
        (there, 1.0, "likelihood", False),
        (f"matched {here}", "episodes", "hold", (1.0, 0.5)),
        (f"matched {there}", "episodes", "hold", [1.0]),
    ]


def test_gains_are_those_of_the_buses_that_were_drawn(monkeypatch):
    """Standard gives a half to both actions, transfer 3/4 and 1/4; every bus of the target has its own choices."""

    def fit(world, rows, **_):
        drawn.append(int(np.sum(rows.actions)))
        return SimpleNamespace(player=np.array([[0.5, 0.5]]), reward=None)

    drawn = []
    monkeypatch.setattr(buses_resampling, "fit", fit)
    monkeypatch.setattr(buses_resampling, "solve", lambda *_: SimpleNamespace(player=np.array([[0.75, 0.25]])))
    source = one_state([0])._replace(choices=Choices([0] * 3, [0, 1, 0], [0, 1, 2]))
    target = one_state([0])._replace(choices=Choices([0] * 4, [0, 1, 1, 0], [0, 1, 1, 2]))
    gains = resampled_gains(source, target, COSTS, range(5))
    rng = np.random.default_rng(0)
    values, lengths = np.array([np.log(1.5), 2 * np.log(0.5), np.log(1.5)]), np.array([1, 2, 1])
    expected, replaced = [], []
    for _ in range(5):
        replaced += [int((rng.choice(3, 3) == 1).sum())] * 2  # Standard and transfer learn from the same buses.
        judged = rng.choice(3, 3)
        expected.append(values[judged].sum() / lengths[judged].sum())
    assert gains == pytest.approx(expected)
    assert drawn == replaced
    assert resampled_gains(source, target, COSTS, [3, 1]) == pytest.approx([expected[3], expected[1]])


def test_pairs_of_resampled_groups_are_rows():
    groups = [one_state(chosen)._replace(number=number) for number, chosen in ((7, [1]), (5, [1]), (4, [0]))]
    specs = resample_specs(groups, 0.9, 41)
    records = [ResampleRecord(spec, float(spec.resample * (spec.source - spec.target)), 0.0) for spec in specs]
    assert resampled_rows(records) == [
        ("7", "5", "+40.00000", "+2.00000 to +78.00000", "41"),
        ("5", "7", "-40.00000", "-78.00000 to -2.00000", "41"),
    ]


def test_what_the_study_of_buses_writes_and_says(tmp_path, monkeypatch):
    """Groups of one state, with stand-ins for what is learned."""
    chosen = {4: [1] + [0] * 3, 3: [0] * 4}
    policy = np.array([[0.5, 0.5]])
    judge = make_judge(one_state([1] * 25 + [0] * 75), COSTS)
    named = lambda group: group.number  # noqa: E731
    for module in (buses, buses_runs, buses_resampling):
        monkeypatch.setattr(module, "read_group", lambda number, *_: one_state(chosen[number])._replace(number=number))
    for module in (buses_runs, buses_resampling):
        monkeypatch.setattr(module, "cost_model", lambda: COSTS)
    monkeypatch.setattr(buses_runs, "WAYS", ("first", "second"))
    monkeypatch.setattr(buses_runs, "make_judge", lambda group, _: judge if group.choices.actions.any() else None)
    monkeypatch.setattr(buses_runs, "policies", lambda *_: [("first", 1.0, policy), ("second", 0.9, policy[:, ::-1])])
    monkeypatch.setattr(
        buses_runs,
        "policy_of_others",
        lambda others, target, _: learned.append((*map(named, others), target.number)) or policy,
    )
    monkeypatch.setattr(
        buses_runs, "own_row", lambda group, *_: judge_policy(group.number, OWN, 1.0, policy, group, None, None)
    )
    monkeypatch.setattr(buses_resampling, "resampled_gains", lambda a, b, _, drawn: np.array(drawn) * a.number)
    monkeypatch.setattr(buses_runs, "compare_costs", lambda *_: buses_groups.OneCost((4, 3), 1.234, 2, 0.0456))
    said, steps, learned = [], [], []
    frame = Frame(tmp_path, say=said.append, progress=lambda *step: steps.append(step[1:]))
    BusesStudy(groups=(4, 3), resamples=0).run(frame)
    rows = [line.strip("| ").split(" | ")[:7] for line in (tmp_path / "buses.md").read_text().splitlines()[2:]]
    half = "-0.69315 ± 0.00000"
    assert rows == [
        ["3", "4", "first", "1", half, "+0.00000 ± 0.00000", "2.0"],
        ["3", "4", "second", "0.9", half, "+0.00000 ± 0.00000", "2.0"],
        ["4", "3", "first", "1", half, "+0.00000 ± 0.00000", "2.0"],
        ["4", "3", "second", "0.9", half, "+0.00000 ± 0.00000", "2.0"],
        ["others", "4", "transfer, joint", "1", half, "–", "2.0"],
        ["others", "3", "transfer, joint", "1", half, "–", "2.0"],
        ["4", "4", "own cost", "1", half, "–", "2.0"],
    ]
    assert learned == [(3, 4), (4, 3)]
    assert steps == [(0, 7), (2, 7), (4, 7), (5, 7), (6, 7), (7, 7)]
    assert said[-2:] == [
        "group 4: 4 months, 1 engines replaced, at 2,500 miles on average",
        "group 3: 4 months, 0 engines replaced",
    ]
    # Neither group is a source with a cost for a target with one.
    summary = (tmp_path / "buses-summary.md").read_text().splitlines()
    assert summary[2:4] == ["| first | – | – | -0.69315 | 0 |", "| second | – | – | -0.69315 | 1 |"]
    assert not (tmp_path / "buses-resampled.md").exists()
    # The same command computes nothing; with replacements in both groups there are resamples and a test as well.
    BusesStudy(groups=(4, 3), resamples=0).run(Frame(tmp_path, say=said.append))
    assert len(learned) == 2
    chosen[3] = chosen[4]
    BusesStudy(groups=(4, 3), resamples=3).run(Frame(tmp_path / "both", say=said.append))
    assert (tmp_path / "both" / "buses-resampled.md").read_text().splitlines()[2:] == [
        "| 4 | 3 | +4.00000 | +0.20000 to +7.80000 | 3 |",
        "| 3 | 4 | +3.00000 | +0.15000 to +5.85000 | 3 |",
    ]
    assert said[-1] == (
        "one cost for groups 4 and 3: twice the log-likelihood lost is 1.23, chi-squared with 2 degrees of freedom"
        " (p = 0.046)"
    )


def test_others_are_fitted_together_with_the_weakest_prior_that_one_of_them_needs(monkeypatch):
    asked = {}
    monkeypatch.setattr(
        buses_ways,
        "fit_jointly",
        lambda worlds, _, **options: asked.update(options) or SimpleNamespace(reward=len(worlds)),
    )
    monkeypatch.setattr(buses_ways, "solve", lambda world, reward: SimpleNamespace(player=[[reward]]))
    groups = [one_state([0]), one_state([1]), one_state([0])]
    assert buses_ways.policy_of_others(groups, one_state([0]), COSTS).tolist() == [[3]]
    assert (asked["penalty"], asked["objective"]) == (0.0, "likelihood")
    buses_ways.policy_of_others(groups[::2], one_state([0]), COSTS)
    assert asked["penalty"] == 0.01


def test_the_cost_of_a_month_has_two_features():
    costs = buses_groups.cost_model()
    assert np.asarray(costs.features)[2].tolist() == [[-0.002, 0.0], [0.0, -1.0]]  # Mileage if kept; a new engine.
    assert costs.names == envs.buses(4).feature_names
