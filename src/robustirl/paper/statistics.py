"""Statistics over runs that tables of several parts of the paper share."""

from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95


def t_half_width(values: np.ndarray) -> float:
    """Return the half width of the 95 % interval (Student's t) of a mean of at least two values.

    Example:
        >>> round(t_half_width(np.array([0.1, 0.2, 0.3])), 3)  # 4.303 · 0.1 / √3
        0.248
    """
    from scipy import special  # Here, so that commands which need no interval do not load it.

    # Not scipy.stats.ttest_1samp, which warns where all values are equal and takes a second to import.
    count = len(values)
    return float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2) * values.std(ddof=1) / np.sqrt(count))


def interquartile_mean(values: Sequence[float] | np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the mean along an axis without the lowest and the highest quarter.

    Each quarter is rounded down to whole values.

    Example:
        >>> interquartile_mean([-9000.0, 1.0, 2.0, 3.0]).item()
        1.5
    """
    from scipy import stats  # Here, since it takes a second to import.

    return np.asarray(stats.trim_mean(np.asarray(values, float), 0.25, axis=axis))
