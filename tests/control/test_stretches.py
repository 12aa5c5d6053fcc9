"""Stretches: one program for trainings of any length, and the same numbers however they are cut."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import BoundedJit, single_precision
from robustirl.control import PPOConfig, stacked, stretches, train_policy, training_setting
from robustirl.control.updates import WorldReward
from robustirl.envs import physics

SMALL = PPOConfig(environments=8, segment=16, hidden=(8,))  # The shapes of the examples in docstrings.


def test_a_training_is_reported_stretch_by_stretch(monkeypatch):
    monkeypatch.setattr(stretches, "take_batch", lambda _s, _j, run, count: (run + count, np.full((1, count), run)))
    setting, told = SimpleNamespace(config=SimpleNamespace(batch=10)), []
    end, logs = stretches.take_in_stretches(setting, None, 0, 46, lambda *report: told.append(report))  # pyright: ignore
    assert end == 46
    assert told == [(10 * taken, 460) for taken in range(2, 47, 2)]  # Two updates each.
    np.testing.assert_array_equal(logs, [np.repeat(np.arange(0, 46, 2), 2)])
    told.clear()
    total = stretches.in_stretches(610)
    assert total == 630
    end, _ = stretches.take_in_stretches(setting, None, 0, total, lambda *report: told.append(report))  # pyright: ignore
    assert end == 630  # No update more than was said: 30 each, not 31.
    assert told[-1] == (6300, 6300)


def digits(tree):
    return [repr(np.asarray(leaf).tolist()) for leaf in jax.tree.leaves(tree)]


def test_trainings_of_any_length_share_a_program_and_have_logs_of_their_own():
    world, before = physics.make("pendulum"), len(stretches._take_compiled)
    lengths = [3, 46, 2, 280]
    found = [train_policy(world, steps=128 * count, config=SMALL, key=jax.random.key(0)) for count in lengths]
    assert len(stretches._take_compiled) <= before + 1
    assert [one.progress.reward.shape for one in found] == [(count,) for count in lengths]
    assert all(np.isfinite(one.progress.reward).all() for one in found)
    # The learning rate falls over all updates, so that a longer training differs from the second update on.
    first, second = (np.asarray(one.progress.reward) for one in found[:2])
    assert first[0] == second[0]
    assert not np.array_equal(first[1:], second[1:3])


def test_a_stretch_is_the_same_in_however_many_calls_it_is_taken(monkeypatch):
    def take(counts):
        monkeypatch.setattr(stretches, "_take_compiled", BoundedJit(stretches._take_batch))
        with single_precision():
            setting, judge = stacked(
                [training_setting(physics.make("pendulum"), 0.9, 128 * 7, SMALL, None)], [WorldReward()]
            )
            run, logs = stretches.begin_batch(setting, (), jnp.stack([jax.random.key(0)])), []
            for count in counts:
                run, log = stretches.take_batch(setting, judge, run, count)
                logs.append(log)
        return digits((run.agents, stretches.join_logs(logs)))

    whole = take([7])
    assert whole[-1].count(",") == 6
    assert take([1] * 7) == whole
    monkeypatch.setattr(stretches, "ROOM", 3)
    assert take([7]) == whole
