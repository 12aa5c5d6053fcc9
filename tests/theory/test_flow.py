"""The pieces of the flow equations, linear programs and the worlds of a radius, all by hand."""

import numpy as np
import pytest

from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP
from robustirl.theory import flow, reachable
from robustirl.theory.flow import FlowProblem
from robustirl.theory.linear_program import Rows, largest
from robustirl.theory.reachable import Surroundings


@pytest.mark.parametrize("dense_from", [0.1, 10.0])
def test_the_flow_of_two_states_by_hand(dense_from, monkeypatch):
    """From state 0 one may go to 1 or stay; state 1 has one action, which stays. γ = 1/2, from both states alike."""
    monkeypatch.setattr(flow, "DENSE_FROM", dense_from)
    world = MDP([[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.5)
    problem = FlowProblem(world, [0.5, 0.5])
    assert problem.table(np.array([1.0, 2.0, 3.0]), -1.0).tolist() == [[1.0, 2.0], [3.0, -1.0]]
    assert problem.policy(np.array([1.0, 3.0, -0.5])).tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert problem.policy(np.zeros(3)).tolist() == [[0.5, 0.5], [1.0, 0.0]]
    leaving, staying = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert problem.violation(leaving) == 0.5  # 1/4 is to come from the flow to either, and 0 and 1/2 do.
    assert problem.violation(staying) == 0.0
    assert problem.reached(leaving) == pytest.approx([0.25, 0.75])
    assert problem.reached(staying) == pytest.approx([0.5, 0.5])
    reward = np.array([0.0, 1.0])
    assert problem.largest_return(reward, np.array([1.0, 2.0])) == pytest.approx(0.75)  # V is the optimal one.
    assert problem.largest_return(reward, np.zeros(2)) == pytest.approx(1.0)
    assert problem.largest_return(reward, np.array([10.0, 20.0])) == pytest.approx(7.5)


def test_a_linear_program_by_hand():
    program = Rows()
    program.variable("x", 2, high=1.0)
    program.variable("y", 1, low=-2.0)
    assert (program.size, program.places) == (3, {"x": slice(0, 2), "y": slice(2, 3)})
    program.below.append(({"x": np.array([[1.0, 1.0]]), "y": np.array([[1.0]])}, np.array([0.5])))
    program.equal.append(({"y": np.array([[1.0]])}, np.array([-1.0])))
    # x₁ + x₂ <= 3/2: all of x₂, half of x₁, and twice y = -1; a millionth is added.
    bound, found = largest(program, {"x": np.array([1.0, 3.0]), "y": 2.0})
    assert bound == pytest.approx(1.5 + 1e-6, abs=1e-8)
    assert found["x"] == pytest.approx([0.5, 1.0])
    assert found["y"] == pytest.approx([-1.0])
    program.below.append(({"x": np.array([[1.0, 0.0]])}, np.array([-1.0])))
    with pytest.raises(InvalidInputError, match="no expert in a world within the radius"):
        largest(program, {"x": 1.0})
    endless = Rows()
    endless.variable("x", 1)
    with pytest.raises(ConvergenceError, match="did not end in a solution"):
        largest(endless, {"x": 1.0})


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
