"""Compute intervals for the occupancy of each state, by resampling episodes.

Steps of an episode depend on each other, episodes do not: they are the unit that is resampled. Contributions x_e(s)
are zero for most episodes and skewed, where plain percentile intervals fall short, so the bootstrap is studentized
(Efron and Tibshirani, 1993, Section 12.5): the quantiles of t* = (x̄* - x̄) / s* stand in for the normal's.

A state about which fewer than `ENOUGH` episodes say anything of their own (all others contribute one and the same,
mostly zero) gives a bootstrap nothing to work with. It is flagged as unreliable, and its interval is a careful one: the
exact binomial interval (Clopper and Pearson, 1934) for the share of such episodes, times the least and largest they
contributed, or anything between 0 and 1 if there were none.
"""

from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

if TYPE_CHECKING:
    import scipy.sparse

ENOUGH = 20
"""Telling episodes a state needs for its interval to come from the bootstrap."""

WEIGHTS = 4_000_000
"""How many numbers the resamples drawn at once may take: episodes times resamples, 32 MB."""

RATIOS = 4_000_000
"""How many numbers the ratios t* held at once may take: states times resamples, 32 MB."""


class Intervals(NamedTuple):
    """Bounds `[S]` on each column's mean, and whether enough episodes tell something about it."""

    lower: Float[np.ndarray, " S"]
    upper: Float[np.ndarray, " S"]
    reliable: Bool[np.ndarray, " S"]


def bootstrap_intervals(
    contributions: "scipy.sparse.csr_array", *, confidence: float, resamples: int, key: PRNGKeyArray
) -> Intervals:
    """Return intervals for the column means of `contributions` `[E, S]`.

    It has one row per episode, and entries in [0, 1].

    Example:
        >>> import scipy.sparse
        >>> rows = np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1))
        >>> rows, key = scipy.sparse.csr_array(rows), jax.random.key(0)
        >>> found = bootstrap_intervals(rows, confidence=0.95, resamples=1000, key=key)
        >>> found.lower.round(1).tolist(), found.upper.round(1).tolist(), found.reliable.tolist()
        ([0.4, 0.4], [0.6, 0.6], [True, True])
    """
    columns = contributions.tocsc()
    common, telling, least, largest = _deviants(columns)
    reliable = telling >= ENOUGH
    lower, upper = _careful(common, telling, least, largest, _shape(columns)[0], confidence)
    chosen = np.flatnonzero(reliable)
    for block in np.array_split(chosen, max(1, -(-chosen.size * resamples // RATIOS))):
        if block.size:
            lower[block], upper[block] = _studentized(columns[:, block], confidence, resamples, key)
    return Intervals(np.clip(lower, 0, 1), np.clip(upper, 0, 1), reliable)


def _studentized(
    columns: "scipy.sparse.csc_array", confidence: float, resamples: int, key: PRNGKeyArray
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    episodes, _ = _shape(columns)
    values, squares = columns.T.tocsr(), columns.power(2).T.tocsr()
    mean = np.asarray(values.sum(1)).ravel() / episodes

    def errors(means: np.ndarray, mean_squares: np.ndarray) -> np.ndarray:
        variance = mean_squares - means**2
        return np.sqrt(np.where(variance > 1e-13 * mean_squares, variance, 0) / (episodes - 1))

    error = errors(mean, np.asarray(squares.sum(1)).ravel() / episodes)
    ratios = np.empty((mean.size, resamples))
    width = max(1, WEIGHTS // episodes)
    for first in range(0, resamples, width):
        weights = _resamples(episodes, min(width, resamples - first), first, key)
        means = values @ weights / episodes
        spread = errors(means, squares @ weights / episodes)
        away = means - mean[:, None]
        ratios[:, first : first + width] = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
    tail = (1 - confidence) / 2
    low, high = np.quantile(ratios, [tail, 1 - tail], axis=1)
    return mean - high * error, mean - low * error


def _resamples(episodes: int, count: int, first: int, key: PRNGKeyArray) -> Float[np.ndarray, "E n"]:
    """Return how often each episode is drawn in each resample.

    For the same `first` this is the same for every block of states.
    """
    random = np.random.default_rng([*np.asarray(jax.random.key_data(key)).ravel().tolist(), first])
    drawn = random.integers(episodes, size=(episodes, count)) * count + np.arange(count)
    return np.bincount(drawn.ravel(), minlength=episodes * count).reshape(episodes, count).astype(np.float64)


def _deviants(
    columns: "scipy.sparse.csc_array",
) -> tuple[Float[np.ndarray, " S"], Int[np.ndarray, " S"], Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Return each column's median, and how many entries differ from it.

    Also return the least and the largest of these entries (0 and 1 if there are none).
    """
    episodes, size = _shape(columns)
    filled = np.diff(columns.indptr)
    common, telling, least, largest = np.zeros(size), filled.astype(np.int64), np.zeros(size), np.ones(size)
    visited = np.flatnonzero(filled)
    if visited.size:
        least[visited] = np.minimum.reduceat(columns.data, columns.indptr[visited])
        largest[visited] = np.maximum.reduceat(columns.data, columns.indptr[visited])
    # Most columns are mostly zero. The few others have at most twice as many places as all columns have entries.
    for state in np.flatnonzero(2 * filled >= episodes):
        column = columns[:, [state]].toarray().ravel()
        middle = np.sort(column)[episodes // 2]
        others = column[np.abs(column - middle) > 1e-12]
        common[state], telling[state] = middle, others.size
        least[state], largest[state] = (others.min(), others.max()) if others.size else (0.0, 1.0)
    return common, telling, least, largest


def _careful(
    common: Float[np.ndarray, " S"],
    telling: Int[np.ndarray, " S"],
    least: Float[np.ndarray, " S"],
    largest: Float[np.ndarray, " S"],
    episodes: int,
    confidence: float,
) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Return the range of (1-p) common + p x.

    Here p is in its binomial interval, and x lies between least and largest.
    """
    from scipy.special import betaincinv  # Here, so that `import robustirl` stays light.

    tail, k = (1 - confidence) / 2, telling.astype(np.float64)
    share_low = np.where(k > 0, betaincinv(np.maximum(k, 1), episodes - k + 1, tail), 0)
    share_high = np.where(k < episodes, betaincinv(k + 1, np.maximum(episodes - k, 1), 1 - tail), 1)
    corners = [common + share * (x - common) for share in (share_low, share_high) for x in (least, largest)]
    return np.min(corners, axis=0), np.max(corners, axis=0)


def _shape(matrix: "scipy.sparse.csc_array") -> tuple[int, int]:
    return matrix.shape  # pyright: ignore[reportReturnType]
