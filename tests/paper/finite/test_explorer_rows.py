"""Rows of the explorer about finite runs: their words, directions, bounds and certificates."""

from types import SimpleNamespace

import numpy as np
import pytest

from robustirl import MDP, envs
from robustirl.explorer import Pool
from robustirl.paper.finite.explorer_rows import (
    Finite,
    _best_paid,
    _bound_of,
    _directions,
    _ends,
    setting,
)
from robustirl.paper.finite.specs import RunSpec
from tests.invented_runs import record_of

SETTINGS = {
    "soft expert, 200 steps": {},
    "optimal expert, 300 steps": {"expert": "optimal", "steps": 300},
    "soft expert with α_E = 0.9, 200 steps, reward learned at ε = 0.05": {"expert_alpha": 0.9, "train_noise": 0.05},
    "soft expert, 200 steps, 20 demonstrations, α from states": {"demonstrations": 20, "auto": "states"},
    "soft expert, 200 steps, 7 trajectories a start": {"sampled": 7},
}


@pytest.mark.parametrize("words", SETTINGS)
def test_a_setting_in_words(words):
    assert setting(RunSpec("gridworld-1", "published", 0.0, 0.1, 1.0, **SETTINGS[words])) == words


def test_bounds_are_named_by_their_theorem():
    said = [
        _bound_of(record_of(RunSpec("gridworld-1", "uniform-state", 0.0, 0.1, alpha, **options)))
        for alpha, options in (
            (1.0, {}),
            (1.0, {"expert": "optimal"}),
            (0.9, {"expert": "optimal"}),
            (1.0, {"expert": "optimal", "train_noise": 0.1}),
        )
    ]
    assert said == ["none: the theorems are about optimal experts", "Theorem 1", "Theorem 3", "reward transfer"]


def test_what_the_best_paid_action_brings_is_that_of_one_that_is_there():
    mask = np.array([[True, False], [True, True]])
    assert _best_paid(np.array([[1.0, 9.0], [2.0, 3.0]]), mask).tolist() == [1.0, 3.0]


def test_directions_are_those_of_most_cells_and_ends_keep_whoever_enters():
    grid = envs.make("gridworld-4")
    world = grid.mdp(0.0)
    assert _directions(world, (6, 6)) == [(-1, 0), (0, 1), (1, 0), (0, -1)]
    # From the middle of three states a coin decides between the others: on average nothing moves.
    coin = MDP([[[1.0, 0.0, 0.0]], [[0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0]]], discount=0.9)
    assert _ends(coin) == [0, 2]
    chain = envs.make("three-state").mdp(0.2)
    assert _ends(chain) == [1, 2]


@pytest.mark.parametrize(
    ("leaky", "shape", "asked", "reason"),
    [
        (True, (3,), True, "the kernel leaks probability"),
        (False, (3, 2), True, "actions are paid for, not states"),
        (False, (3,), False, "none was asked for"),
        (False, (3,), True, None),
    ],
)
def test_a_certificate_is_there_or_says_why_not(leaky, shape, asked, reason):
    rows = Finite(Pool(), certificates=asked)
    world = SimpleNamespace(kernel=SimpleNamespace(leaky=leaky))
    context = SimpleNamespace(world=lambda noise: world, reward=np.zeros(shape))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "_context", lambda spec: (spec, context))
        patch.setattr("robustirl.paper.finite.explorer_rows.dynamics_distance", lambda *_: 0.25)
        patch.setattr(
            "robustirl.paper.finite.explorer_rows.certify",
            lambda world, player, reward, radius: SimpleNamespace(worst_return=-radius, best_return=radius),
        )
        found = rows._certificate(RunSpec("gridworld-1", "uniform-state", 0.0, 0.1, 1.0), {"player": None})
    if reason is None:
        assert found == {"distance": 0.25, "worst": -0.25, "best": 0.25}
    else:
        assert found == {"distance": None, "worst": None, "best": None, "uncertified": reason}
