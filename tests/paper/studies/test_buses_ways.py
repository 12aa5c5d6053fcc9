"""Ways to learn for a group from another, and what each is judged by."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl.demonstrations import Choices
from robustirl.paper.studies import buses_ways
from robustirl.paper.studies.buses_groups import make_judge
from robustirl.paper.studies.buses_resampling import (
    resampled_gains,
)
from robustirl.paper.studies.buses_ways import _ways, own_row
from tests.paper.studies.one_state import COSTS, counted, one_state


@pytest.mark.slow
def test_in_one_state_transfer_and_standard_are_the_same():
    group = one_state([1] * 25 + [0] * 75)
    assert resampled_gains(group, group, COSTS, range(3)) == pytest.approx(np.zeros(3), abs=1e-9)


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
