"""A quadratic landscape with its gradient."""

import numpy as np

H = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 0.5]])
TARGET = np.array([0.3, -0.2, 0.1])
THETA = np.array([0.4, 0.1, -0.3])


GRADIENT = H @ THETA - TARGET
VALUE = THETA @ H @ THETA / 2 - TARGET @ THETA


def steep_height(theta, steepness):
    """An objective that rises more steeply than its curvature H says, so that a whole step may be too long."""
    away = theta - THETA
    return VALUE + GRADIENT @ away + steepness * (away @ H @ away) / 2
