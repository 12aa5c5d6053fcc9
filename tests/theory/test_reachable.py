"""The worlds within a radius, and the worst of them, by hand."""

import numpy as np
import pytest

from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP
from robustirl.theory import reachable
from robustirl.theory.reachable import Surroundings


def around(strength):
    """State 0 stays, or by its other action goes to state 1, which has one action and stays; γ = 1/2, from 0."""
    rows = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
    mask = np.array([[True, True], [True, False]])
    return Surroundings(rows, mask, np.array([1.0, 0.0]), 0.5, np.array(strength))


def test_the_worst_rows_by_hand():
    three = Surroundings(
        np.array([[[0.5, 0.3, 0.2]]] * 3), np.ones((3, 1), bool), np.ones(3) / 3, 0.5, np.array([[0.6], [0.25], [0.0]])
    )
    rows = three.lowest_rows(np.array([2.0, 1.0, 0.0]))[:, 0]
    assert rows == pytest.approx(np.array([[0.0, 0.2, 0.8], [0.25, 0.3, 0.45], [0.5, 0.3, 0.2]]))
    assert (three.exact, around([[0.0, 0.0], [0.0, 0.0]]).exact) == (False, True)


def test_returns_and_occupancies_of_the_worst_world_by_hand():
    """Who stays leaves nevertheless with 1/4, and so is in state 0 for (1-γ) / (1 - 3γ/4) = 0.8 of the time."""
    leaking, staying = around([[0.25, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    found = leaking.lowest_return(staying, np.array([1.0, 0.0]))
    assert found.value == pytest.approx(0.8)
    assert found.occupancy == pytest.approx([0.8, 0.2])
    least, most = leaking.occupancy_limits(staying)
    assert least == pytest.approx([0.8, 0.0])
    assert most == pytest.approx([1.0, 0.2])
    least, most = leaking.occupancy_limits()  # Of all policies: one leaves at once.
    assert least == pytest.approx([0.5, 0.0])
    assert most == pytest.approx([1.0, 0.5])
    assert leaking.deviation(staying) == pytest.approx(0.2)
    assert leaking.deviation() == pytest.approx(0.2)
    assert leaking.deviation(np.array([[0.0, 1.0], [1.0, 0.0]])) == pytest.approx(0.0)


def test_a_worst_world_that_is_not_found_is_said(monkeypatch):
    monkeypatch.setattr(reachable, "ROUNDS", 1)
    with pytest.raises(ConvergenceError, match=r"was not found in 1 steps, with a residual of 1\.0e\+00"):
        around([[0.25, 0.0], [0.0, 0.0]]).lowest_return(None, np.array([1.0, 0.0]))


def test_worlds_too_large_for_an_array_are_refused(monkeypatch):
    world = MDP([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.5)
    monkeypatch.setattr(reachable, "MOST_ENTRIES", 8)
    found = Surroundings.of(world, 0.5)
    assert found.strength.tolist() == [[0.25, 0.25], [0.25, 0.0]]
    assert found.rows.tolist() == [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]
    monkeypatch.setattr(reachable, "MOST_ENTRIES", 7)
    with pytest.raises(InvalidInputError, match="has 2 states and 2 actions, so that its kernel has 8 entries"):
        Surroundings.of(world, 0.5)
