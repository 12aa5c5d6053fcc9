"""Cloned steps are padded, so that one program serves many of them."""

from typing import Any

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Recordings
from robustirl.irl.adversarial import cloning


def test_clonings_of_any_length_share_a_program():
    seen = np.linspace(-1, 1, 51)[:, None]
    recorded, before = Recordings.from_arrays([seen], [2 * seen[:-1]]), len(cloning._clone)
    found = [cloning.clone_behavior(recorded, steps=steps, key=jax.random.key(0)) for steps in (300, 3, 30)]
    assert len(cloning._clone) <= before + 1
    misses = [float(abs(policy.mean(np.array([0.5], np.float32))[0] - 1)) for policy in found]
    assert misses[0] < misses[2] < misses[1]  # Who learns longer knows more.


@pytest.mark.usefixtures("mistyped")
@pytest.mark.parametrize(("steps", "rows"), [(3, 1024), (1024, 1024), (1025, 2048)])
def test_cloned_steps_are_padded_to_a_power_of_two(monkeypatch, steps, rows):
    asked: list[Any] = []
    monkeypatch.setattr(cloning, "_clone", lambda *given: asked.extend(given) or np.array([[8.0], [9.0]]))
    seen = np.arange(steps + 1.0)[:, None]
    recorded = [Recordings.from_arrays([part], [-part[:-1]]) for part in (seen, seen[:3])]
    keys = [jax.random.key(0), jax.random.key(1)]
    found = cloning.clone_behavior_many(recorded, steps=5, batch=6, learning_rate=0.5, keys=keys)
    assert [float(one[0]) for one in found] == [8.0, 9.0]  # pyright: ignore
    before, done, counts, scale, *others = asked
    assert before.shape == done.shape == (2, rows, 1)
    np.testing.assert_array_equal(before[0, :steps], seen[:-1])
    np.testing.assert_array_equal(done[0, :steps], -seen[:-1])
    assert not np.any(before[0, steps:])
    assert counts.tolist() == [steps, 2]
    assert scale.mean[:, 0].tolist() == pytest.approx([(steps - 1) / 2, 0.5])
    assert jax.random.key_data(others[-1]).tolist() == [[0, 0], [0, 1]]
    assert others[:3] == [5, 6, 0.5]
