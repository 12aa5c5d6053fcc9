"""The study of sets of kernels, at its smallest."""

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.paper.studies.robust_sets import compare


@pytest.mark.slow
def test_in_the_three_state_example_the_ball_is_algorithm_1():
    """All rows are certain, so that the opponent's push and the worst kernel of the ball are the same."""
    env = ThreeState()
    rows = {row.method: row for row in compare(env.mdp(0.0), env.mdp(0.1), np.asarray(env.reward), 300)}
    game, ball = rows["Algorithm 1, α = 1 - d/2"], rows["ℓ1 ball, d"]
    assert game.nominal == pytest.approx(ball.nominal, abs=0.05)
    assert game.worst == pytest.approx(ball.worst, abs=0.05)
    # Certain rows have no KL neighbors: that is standard IRL.
    assert rows["KL ball, d²/2"].nominal == pytest.approx(rows["standard, α = 1"].nominal, abs=0.05)
