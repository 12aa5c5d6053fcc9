"""Reports of pairs of worlds."""

import numpy as np
import pytest

from robustirl import envs
from robustirl.reports import report_pairs
from robustirl.rewards import make_reward_model


@pytest.mark.slow
def test_the_theory_of_object_world_learns_with_a_network():
    # Its reward model is a network, as for `fit` and for sweeps: its first weights are not zero.
    environment = envs.make("objectworld")
    (report,) = report_pairs(environment, None, 0.0, [0.1], steps=0)
    model = make_reward_model("network", environment.mdp().num_states, environment.features)
    start = model(model.initial_parameters())
    learned = np.asarray(report.standard.fit.reward)
    assert np.ptp(learned) > 0.01  # A linear reward starts from zero.
    assert learned == pytest.approx(np.asarray(start))


def test_the_trivial_bound_is_twice_the_largest_discounted_sum():
    environment = envs.make("cliff-walking")  # Its largest reward is not 1.
    (report,) = report_pairs(environment, None, 0.0, [0.1], steps=0)
    world = environment.mdp()
    assert report.trivial == pytest.approx(2 * np.abs(environment.reward).max() / (1 - float(world.discount)))
