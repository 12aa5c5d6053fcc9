"""What a fit is given: reward models for every world, and a history that has room."""

import inspect

import pytest

from robustirl.irl.mce.problem import as_reward_models, history_capacity
from robustirl.rewards import TabularReward
from tests.irl.mce.test_fit import problem, random_world


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
