"""The pieces of the flow equations by hand."""

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.theory import flow
from robustirl.theory.flow import FlowProblem


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
