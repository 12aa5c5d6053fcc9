"""Fits in another order of states come back in the world's own."""

from typing import Any

import numpy as np
import pytest

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.irl import fit
from robustirl.irl.mce import renumbering
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.mdp import Order
from robustirl.planning import Temperatures
from robustirl.rewards import LinearReward

ORDER = Order(np.array([2, 0, 1]), np.array([1, 2, 0]))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("model", [None, LinearReward(np.arange(6.0).reshape(3, 2))], ids=["tabular", "linear"])
def test_a_problem_goes_into_an_order_and_its_fit_comes_back(model, monkeypatch):
    world = envs.ThreeState().mdp()
    monkeypatch.setattr(renumbering, "renumbered", lambda mdp: (mdp, ORDER))
    settings = Settings(None, 3, None, False, Temperatures(), None)
    with double_precision():
        problem = prepare([world], [[0.1, 0.8, 0.1]], [0.9], model, None, settings).problems[0]
        inner, start, order = renumbering.order_problem(problem, np.array([1.0, 2.0, 3.0]) if model is None else None)
    assert np.asarray(inner.expert).tolist() == pytest.approx([0.1, 0.1, 0.8])
    if model is None:
        assert np.asarray(start).tolist() == [3, 1, 2]
    else:
        assert np.asarray(inner.model.features).tolist() == [[4, 5], [0, 1], [2, 3]]  # pyright: ignore
    found: Any = fit(world, [0.1, 0.8, 0.1], alpha=0.9, reward=model, steps=3)
    back = renumbering.order_fit(found, problem, order)
    for name in ("player", "opponent", "reward", "value", "occupancy", "expert_occupancy"):
        expected = np.asarray(getattr(found, name))[[1, 2, 0]]
        np.testing.assert_allclose(getattr(back, name), expected, rtol=1e-6)
    expected = found.parameters if model is not None else np.asarray(found.parameters)[[1, 2, 0]]
    np.testing.assert_allclose(back.parameters, expected, rtol=1e-6)
