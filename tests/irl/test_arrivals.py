"""Ends of episodes and who arrives there, by hand."""

import numpy as np
import pytest

from robustirl.irl import arrivals as module
from robustirl.irl.arrivals import arrivals, chances_of_arrival, end_states
from robustirl.mdp import MDP

# 0 to 1 or to 2; 1 to 3 or, seldom, back; 2 to 4 whatever is done; 3 and 4 are over, and 5 is a state apart.
ROWS = np.zeros((6, 2, 6))
ROWS[0, 0, 1] = ROWS[0, 1, 2] = ROWS[2, :, 4] = ROWS[3, :, 3] = ROWS[4, :, 4] = ROWS[5, :, 5] = 1.0
ROWS[1, 0, [0, 3]] = 0.25, 0.75
ROWS[1, 1, 0] = 1.0
WORLD = MDP(ROWS, discount=0.5, initial=[1.0, 0, 0, 0, 0, 0])


def test_an_end_is_final_and_entered_from_elsewhere():
    # 2 is final, since it leads to the end whatever is done; 4 is entered from a final state alone, and 5 from nowhere.
    assert end_states(WORLD).tolist() == [False, False, True, True, False, False]
    mask = np.ones((6, 2), bool)
    mask[1, 1] = False
    rows = np.where(mask[..., None], ROWS, 0)
    rows[1, 0] = np.eye(6)[3]
    # With one action left in state 1, which leads to the end, that state is final itself.
    assert end_states(MDP(rows, discount=0.5, mask=mask)).tolist() == [False, True, True, False, False, False]
    # With the other one left, state 1 leads back, and only its second row counts.
    mask[1] = [False, True]
    rows = np.where(mask[..., None], ROWS, 0)
    assert end_states(MDP(rows, discount=0.5, mask=mask)).tolist() == [False, False, True, False, False, False]
    nearly = ROWS.copy()
    nearly[2, :, [0, 4]] = [[1e-6] * 2, [1 - 1e-6] * 2]  # A chance of a millionth is one,
    assert end_states(MDP(nearly, discount=0.5)).tolist() == [False, False, False, True, True, False]
    nearly = ROWS.copy()
    nearly[2, 1, [0, 4]] = 1e-6, 1 - 1e-6
    assert end_states(MDP(nearly, discount=0.5)).tolist() == [False, False, False, True, True, False]


def test_arrivals_are_visits_to_the_experts_ends():
    expert = np.array([0.5, 0.1, 0.3, 0.1, 0.0, 0.0])
    others = np.array([[0.5, 0.2, 0.2, 0.1, 0.0, 0.0], [0.9, 0.1, 0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(arrivals(WORLD, others, expert), [(0.06 + 0.01) / 0.1, 0.0])
    assert arrivals(WORLD, others, np.eye(6)[0]).tolist() == [1.0, 1.0]  # It reaches none.


@pytest.mark.parametrize("dense", [True, False])
def test_chances_are_those_of_long_walks(dense, monkeypatch):
    monkeypatch.setattr(module, "MOST_DENSE", 6 if dense else 5)
    expert = np.array([0.5, 0.1, 0.3, 0.1, 0.0, 0.0])
    policies = np.full((3, 6, 2), 0.5)
    policies[0, 0], policies[0, 1] = [1, 0], [1, 0]  # To 3 in the end,
    policies[1, 0] = [0, 1]  # to 2,
    policies[2, 0], policies[2, 1] = [1, 0], [0, 1]  # or nowhere.
    # Ends weigh 0.3 and 0.1 of 0.4.
    np.testing.assert_allclose(chances_of_arrival(WORLD, policies, expert), [0.25, 0.75, 0.0], atol=1e-12)
    assert chances_of_arrival(WORLD, policies, np.eye(6)[0]).tolist() == [1.0, 1.0, 1.0]
    monkeypatch.setattr(module, "LONGEST", 2)
    np.testing.assert_allclose(chances_of_arrival(WORLD, policies, expert), [0.75 * 0.25, 0.75, 0.0])
