"""Fits in another order of states come back in the world's own."""

from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl._runtime import double_precision
from robustirl.irl import fit
from robustirl.irl.mce import renumbering
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.mdp import Order
from robustirl.planning import Solution, Temperatures
from robustirl.planning import renumbering as planning_order
from robustirl.planning.problem import planning_problem
from robustirl.rewards import LinearReward, NetworkReward
from tests.irl.saved import made

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


def test_an_alpha_by_state_goes_along_and_other_problems_stay(monkeypatch):
    world, alpha = envs.ThreeState().mdp(), np.linspace(0.5, 1.0, 6).reshape(3, 2)
    monkeypatch.setattr(renumbering, "renumbered", lambda mdp: (mdp, ORDER))
    monkeypatch.setattr(planning_order, "renumbered", lambda mdp: (mdp, ORDER))
    settings = Settings(None, 3, None, False, Temperatures(), None)
    network = NetworkReward(np.eye(3), key=jax.random.key(0))
    with double_precision():
        problem, other = (
            prepare([world], [[0.1, 0.8, 0.1]], [alpha], model, None, settings).problems[0] for model in (None, network)
        )
        inner, start, order = renumbering.order_problem(problem, None)
        assert start is None
        np.testing.assert_array_equal(inner.game.alpha, alpha[[2, 0, 1]])
        assert renumbering.order_problem(other, None) == (other, None, None)
        around = SimpleNamespace(**vars(problem) | {"uncertainty": "some"})
        assert renumbering.order_problem(around, "start") == (around, "start", None)
        found = eqx.tree_at(lambda f: f.alpha, made(), jnp.asarray(alpha))
        back = renumbering.order_fit(found, problem, order)
        np.testing.assert_array_equal(back.alpha, alpha[[1, 2, 0]])
        assert renumbering.order_fit(found, problem, None) is found
        planned = planning_problem(problem.game, np.arange(3.0), Temperatures(), np.arange(3.0, 6.0), None)
        ordered, _ = planning_order.in_good_order(planned)
        np.testing.assert_array_equal(ordered.game.alpha, alpha[[2, 0, 1]])
        assert (ordered.reward.tolist(), ordered.start.tolist()) == ([2, 0, 1], [5, 3, 4])
        solution = Solution(found.value, found.player, found.opponent, found.alpha, None)
        returned = planning_order.in_own_order(solution, ORDER)
        np.testing.assert_array_equal(returned.alpha, alpha[[1, 2, 0]])
        np.testing.assert_array_equal(returned.value, np.asarray(found.value)[[1, 2, 0]])
        assert planning_order.in_own_order(solution, None) is solution
