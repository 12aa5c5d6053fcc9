"""What a fit is given: reward models for every world, and a history that has room."""

import inspect

import numpy as np
import pytest

from robustirl._runtime import double_precision
from robustirl.irl import NEWTON, SETTLING_ADAM
from robustirl.irl.mce.optimizer_choice import LARGEST_NEWTON
from robustirl.irl.mce.preparation import Settings, as_reward_models, prepare
from robustirl.irl.mce.problem import history_capacity
from robustirl.mdp import MDP, BandedKernel
from robustirl.planning import Temperatures
from robustirl.rewards import LinearReward, TabularReward
from tests.irl.mce.test_fit import problem, random_world


@pytest.fixture(autouse=True)
def scope():
    """Compute in double precision, as inside of a fit."""
    with double_precision():
        yield


def test_reward_models_are_one_for_all_or_one_for_each(refused):
    worlds = [random_world(0), random_world(1)]
    assert [len(model.initial_parameters()) for model in as_reward_models(None, worlds)] == [6, 6]
    one = TabularReward(6)
    assert all(model is one for model in as_reward_models(one, worlds))
    with refused("1 reward models were given for 2 fits"):
        as_reward_models([one], worlds)
    with refused("the reward is not a reward model"):
        inspect.unwrap(as_reward_models)([one, None], worlds)


@pytest.mark.parametrize("steps", [0, 1, 200, 255, 256, 1023, 1024, 100_000])
def test_a_history_has_room_for_every_step_and_the_start(steps):
    assert steps + 1 <= history_capacity(steps) <= max(256, 4 * (steps + 1))


def test_a_history_that_no_memory_holds_is_refused(refused, monkeypatch):
    monkeypatch.setattr("robustirl._runtime.memory.available_bytes", lambda: 10**9)
    from robustirl.irl import fit

    world, rho = problem()
    # 256 · 4¹¹ entries of 24 bytes.
    with refused("a history of 1000000000 steps needs about 24 GiB of memory", "take fewer steps"):
        fit(world, rho, steps=10**9)


@pytest.mark.parametrize(
    ("states", "linear", "tolerance", "expected"),
    [
        (LARGEST_NEWTON, False, None, NEWTON),
        (LARGEST_NEWTON + 1, False, None, SETTLING_ADAM),
        (LARGEST_NEWTON + 1, False, 1e-3, NEWTON),  # Accuracy is asked for.
        (LARGEST_NEWTON + 1, True, None, NEWTON),  # Two parameters.
    ],
)
def test_the_default_optimizer_depends_on_the_number_of_parameters(states, linear, tolerance, expected):
    stay = MDP(BandedKernel((0,), np.ones((1, 1, states))), discount=0.5)
    model = LinearReward(np.ones((states, 2))) if linear else None
    even = np.full(states, 1 / states)
    settings = Settings(None, 10, tolerance, False, Temperatures(), None)
    found = prepare([stay], [even], [1.0], model, None, settings)
    assert found.problems[0].optimizer is expected
