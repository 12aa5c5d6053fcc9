"""Public functions compute whatever a user has had JAX refuse, and leave those settings alone."""

import jax
import numpy as np

from robustirl import mdp
from robustirl._runtime.settings import unusual_settings


def test_strict_settings_are_the_users_own():
    kernel = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"), jax.transfer_guard("disallow"):
        assert len(unusual_settings()) == 3
        worlds = [mdp.MDP(each, discount=0.9) for each in (kernel, kernel[::-1])]
        distance = mdp.dynamics_distance(*worlds)
        assert len(unusual_settings()) == 3
    assert float(distance) == 2.0
    assert unusual_settings() == []
    with jax.transfer_guard("log"):
        assert len(unusual_settings()) == 1
