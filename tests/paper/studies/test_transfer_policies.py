"""Section 3.3 with both of its policies, at its smallest."""

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.paper.studies.transfer_policies import compare
from robustirl.planning import expert_policy, state_occupancy


def test_the_three_state_example():
    """The expert slips to state 2 with 0.1. Its own world's reward makes π* go to state 1; the soft policy wavers."""
    env = ThreeState()
    rows = {row.train: row for row in compare(env.mdp(0.0), env.mdp(0.1), np.asarray(env.reward))}
    there, here = rows["M^E"], rows["M^L"]
    assert there.optimal == pytest.approx(there.best)
    assert here.optimal == pytest.approx(here.best)  # A reward that only leans towards state 1 suffices for π*.
    assert here.soft < here.best - 0.1  # The soft policy repeats the expert's slips:
    noisy, reward = env.mdp(0.1), np.asarray(env.reward)
    earned = np.asarray(state_occupancy(noisy, expert_policy(noisy, reward, kind="optimal"))) @ reward
    assert here.soft == pytest.approx(earned / (1 - env.discount), abs=2e-3)  # it earns what the expert does.
    assert rows["game"].soft == pytest.approx(rows["game"].best, abs=0.01)  # Theorem 4: α = 1 - d/2 undoes the slips.
    for row in (there, here):
        assert row.best - row.soft <= row.bound_soft
        assert row.best - row.optimal <= row.bound_optimal
        assert row.bound_soft < row.bound_optimal
