r"""Estimate the state occupancy ρ̂ from demonstrations, with the error that these demonstrations show.

    ρ(s) = (1-γ) Σ_t γ^t P(s_t = s)   is estimated by the mean over episodes of   x_e(s) = (1-γ) Σ_t γ^t 1{s_t = s}.

An episode of n transitions shows the part with t <= n, of mass 1 - γ^{n+1}. If it terminated, it stays where it is, and
s_n takes all that remains. If it was truncated, a tail of mass γ^{n+1} is unknown, and `tail` says what replaces it:

    chain         what the empirical chain P̂(s'|s) = N(s, s') / Σ_s'' N(s, s'') of all demonstrations does from s_n on
    hold          s_n: as if the episode had terminated
    renormalize   the shown part, scaled up by 1 / (1 - γ^{n+1}): as if the tail resembled it

Whatever replaces the tail is a measure of the same mass, so x_e is within 2 γ^{n+1} of what the endless episode would
have given, in ℓ1. `bias` is the mean of that over episodes, a bound that no number of episodes lowers.

**The sampling error** comes from a bootstrap. Steps of an episode depend on each other, episodes do not: they are what
is resampled (in groups, if there are very many). It is studentized (Efron and Tibshirani, 1993, Section 12.5): the
quantiles of t* = (x̄* - x̄) / s* stand in for the normal's, where s is the standard error of the mean, and for
‖ρ̂ - ρ‖₁ those of ‖x̄* - x̄‖₁ / Σ_s s*(s). States that no episode visited have no part in resamples; together they hold
about as much mass as states that one episode alone visited (Good, 1953), which is added. Of m episodes that are all
alike a share p of others may have been missed with (1-p)^m, so that the error is 2 p at the p that is just possible.

A state about which fewer than `ENOUGH` episodes say anything of their own (all others contribute one and the same,
mostly zero) gives a bootstrap nothing to work with. It is flagged as unreliable, and its interval is a careful one: the
exact binomial interval (Clopper and Pearson, 1934) for the share of such episodes, times the least and largest they
contributed, or anything between 0 and 1 if there were none.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, get_args

import jax
import numpy as np
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from robustirl._check import as_count, as_number_between, require_memory, short_repr
from robustirl._show import ShortRepr
from robustirl.demonstrations.episodes import Demonstrations, require_demonstrations
from robustirl.demonstrations.worlds import require_states
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.mdp import as_world, require_discount

if TYPE_CHECKING:
    import scipy.sparse

Tail = Literal["chain", "hold", "renormalize"]
ENOUGH = 20  # Telling episodes that a state needs for its interval to come from the bootstrap.
MOST_GROUPS = 500  # Units that are resampled; more episodes are put together in groups.
MOST_FACTORED = 3000  # States whose chain is factored as an array: 72 MB.
BLOCK = 4_000_000  # Numbers of the resamples that are looked at together: 32 MB.
STATE_BYTES = 40  # What a state takes in the estimate.


@dataclasses.dataclass(frozen=True, eq=False)
class OccupancyEstimate(ShortRepr):
    """Hold an estimated occupancy and its error.

    Attributes:
        occupancy: `[S]`, ρ̂(s), which sums to one.
        lower, upper: `[S]`, an interval for each state by itself, of sampling error alone. A truncated tail may add up
            to bias/2 at a state.
        reliable: `[S]`, False where too few episodes visit the state for its interval to be more than careful.
        error: What ‖ρ̂ - ρ‖₁ stays within with probability `confidence`, of sampling error alone; 2 is the most
            possible.
        bias: The largest error that truncated episodes may add, however many there are.
        episodes: How many episodes went in.
        discount: γ.
        tail: What replaced unseen tails.
        confidence: Of the error, and of the interval of each state.
    """

    occupancy: Float[np.ndarray, " S"]
    lower: Float[np.ndarray, " S"]
    upper: Float[np.ndarray, " S"]
    reliable: Bool[np.ndarray, " S"]
    error: float
    bias: float
    episodes: int
    discount: float
    tail: str
    confidence: float


def estimate_occupancy(
    demonstrations: Demonstrations,
    mdp: MDP | None = None,
    *,
    num_states: int | None = None,
    discount: float | None = None,
    tail: str = "chain",
    confidence: float = 0.95,
    key: PRNGKeyArray | None = None,
    resamples: int = 400,
) -> OccupancyEstimate:
    """Estimate ρ from demonstrations, with its sampling error.

    Args:
        demonstrations: Episodes, drawn independently of each other.
        mdp: The learner's world. It gives `num_states` and `discount`, and the episodes end as its episodes do (see
            `Demonstrations.in_world`). Without a world, episodes whose ends are unknown are truncated.
        num_states: |S|; that of `mdp` if omitted.
        discount: γ of the learner's world; that of `mdp` if omitted.
        tail: What replaces the unseen rest of truncated episodes: `chain`, `hold` or `renormalize`.
        confidence: Of the error and of the intervals.
        key: Randomness of the bootstrap; always the same if omitted.
        resamples: Bootstrap resamples.

    Example:
        >>> demos = Demonstrations.from_arrays([[0, 1], [1]], terminated=True)
        >>> estimate_occupancy(demos, num_states=2, discount=0.5).occupancy.tolist()
        [0.25, 0.75]
        >>> walk = MDP([[[0.5, 0.5]], [[0.0, 1.0]]], discount=0.5)
        >>> estimate_occupancy(Demonstrations.from_arrays([[0, 1], [1]]), walk).bias
        0.0
    """
    require_demonstrations(demonstrations)
    if mdp is not None:
        num_states = as_world(mdp).num_states if num_states is None else num_states
        discount = float(mdp.discount) if discount is None else discount
        demonstrations = demonstrations.in_world(mdp)
    for name, value in (("num_states", num_states), ("discount", discount)):
        if value is None:
            raise InvalidInputError(
                f"neither a world nor `{name}` was given; give the learner's world, or both numbers."
            )
    size, gamma = as_count("the number of states", num_states, 1), require_discount(discount)
    confidence = as_confidence(confidence)
    resamples = as_count("the number of resamples", resamples, 100)
    if not isinstance(tail, str) or tail not in get_args(Tail):
        raise InvalidInputError(f"the tail is {short_repr(tail)}, but one of {', '.join(get_args(Tail))} is needed.")
    require_states(demonstrations, size)
    require_memory(float(STATE_BYTES) * size, f"an occupancy of {size} states", "give a smaller number of states")
    # All work is done in the states that were visited.
    visited, places = np.unique(demonstrations.states, return_inverse=True)
    shown, unseen = _contributions(demonstrations, places, visited.size, gamma, tail)
    rest = None
    if tail == "chain" and not demonstrations.terminated.all():
        rest = _ChainTail(demonstrations, places, visited.size, gamma, unseen)
    count = min(len(demonstrations), MOST_GROUPS)
    sample = _Sample(shown, rest, count)
    seed = 0 if key is None else np.asarray(jax.random.key_data(key)).ravel().tolist()
    random = np.random.default_rng(seed)
    common, telling, least, largest = _deviants(shown)
    reliable = telling >= ENOUGH
    once = np.asarray(sample.mean)[(common == 0) & (telling == 1)].sum()
    error, low, high = sample.bootstrap(reliable, (1 - confidence) / 2, resamples, random)
    lower, upper = _careful(common, telling, least, largest, len(demonstrations), confidence)
    upper = upper + sample.tail
    lower[reliable], upper[reliable] = low, high
    total = sample.mean + sample.tail
    # A state that was never visited may have what none of the episodes has.
    zero, one = np.zeros(1), np.ones(1)
    fill = _careful(zero, zero.astype(int), zero, one, len(demonstrations), confidence)[1][0]
    return OccupancyEstimate(
        occupancy=_everywhere(total / total.sum(), visited, size),  # The sum is one, up to rounding.
        lower=_everywhere(np.clip(lower, 0, 1), visited, size),
        upper=_everywhere(np.clip(upper, 0, 1), visited, size, fill),
        reliable=_everywhere(reliable, visited, size, False),
        error=min(2.0, float(error + once) or 2 * _share_unseen(len(demonstrations), confidence)),
        bias=2 * float(unseen.mean()),
        episodes=len(demonstrations),
        discount=gamma,
        tail=tail,
        confidence=confidence,
    )


def as_confidence(confidence: object) -> float:
    """Return a confidence as a number strictly between 0 and 1, or refuse it."""
    return as_number_between("the confidence", confidence, 0, 1, open_low=True, open_high=True)


def shown_contributions(
    demonstrations: Demonstrations, mdp: MDP
) -> tuple["scipy.sparse.csr_array", Float[np.ndarray, " E"]]:
    """Return what each episode shows of its occupancy, `[E, S]`, and the mass not shown, `[E]`."""
    require_demonstrations(demonstrations)
    seen = demonstrations.in_world(mdp)
    return _contributions(seen, seen.states, mdp.num_states, float(mdp.discount), "chain")


def _contributions(
    demonstrations: Demonstrations, places: Int[np.ndarray, " N"], size: int, gamma: float, tail: str
) -> tuple["scipy.sparse.csr_array", Float[np.ndarray, " E"]]:
    """Return x_e(s) as a sparse matrix `[E, S]`, and the masses that were not shown.

    For `chain`, truncated episodes have their shown part alone.
    """
    import scipy.sparse  # Here, so that `import robustirl` stays light.

    # An episode of n transitions has n + 1 states, and shows the mass 1 - γ^{n+1}.
    rest = gamma ** demonstrations.lengths.astype(np.float64)
    weights = (1 - gamma) * gamma ** demonstrations.steps.astype(np.float64)
    stays = demonstrations.terminated | (tail == "hold")
    last = (demonstrations.offsets[1:] - 1)[stays]
    weights[last] = gamma ** demonstrations.steps[last].astype(np.float64)
    if tail == "renormalize":
        weights /= np.where(stays, 1, 1 - rest)[demonstrations.episodes]
    matrix = scipy.sparse.csr_array(
        (weights, places, demonstrations.offsets), shape=(len(demonstrations), size), copy=True
    )
    matrix.sum_duplicates()  # An episode may come by again.
    return matrix, np.where(demonstrations.terminated, 0, rest)


class _ChainTail:
    """The tail (1-γ) Σ_k γ^k (P̂ᵀ)^{k+1} μ of truncated episodes, where μ is the mass in their last states.

    It is (1-γ) y with A y = P̂ᵀ μ, A = I - γ P̂ᵀ. A state leads to itself if it was never left, or if an episode
    terminated in it. A resample has other counts, hence another P̂ and μ; its y is taken to first order,
    y + A⁻¹ (P*ᵀ μ* - (I - γ P*ᵀ) y), so that A is factored once. Where more than `MOST_FACTORED` states were visited,
    the tail is taken to be off as the shown part is, in proportion to their masses.
    """

    def __init__(self, demonstrations: Demonstrations, places: np.ndarray, size: int, gamma: float, unseen: np.ndarray):
        import scipy.linalg
        import scipy.sparse as sparse

        moves, episodes, count = demonstrations.moves, demonstrations.episodes, len(demonstrations)
        last = places[demonstrations.offsets[1:] - 1]
        stays = np.bincount(places[moves], minlength=size) == 0
        stays[last[demonstrations.terminated]] = True
        moves = moves[~stays[places[moves]]]
        pairs, which = np.unique(places[moves] * size + places[moves + 1], return_inverse=True)
        sources, targets = np.divmod(pairs, size)
        one = np.ones(moves.size)
        self.counts = sparse.csr_array(sparse.coo_array((one, (which, episodes[moves])), shape=(pairs.size, count)))
        self.leaving = sparse.csr_array((unseen, (last, np.arange(count))), shape=(size, count))
        place = np.arange(pairs.size)
        self.out_of = sparse.csr_array((np.ones(pairs.size), (sources, place)), shape=(size, pairs.size))
        self.into = sparse.csr_array((np.ones(pairs.size), (targets, place)), shape=(size, pairs.size))
        self.sources, self.stays, self.gamma = sources, stays, gamma
        weights = np.ones((count, 1))
        self.shares = self._shares(self.counts @ weights, np.zeros((pairs.size, 1)))
        back = self.into @ sparse.diags_array(self.shares[:, 0]) @ self.out_of.T + sparse.diags_array(
            stays.astype(float)
        )
        self.factors: Any = None
        if size <= MOST_FACTORED:
            self.factors = scipy.linalg.lu_factor(np.eye(size) - gamma * back.toarray())
        self.solution = self._solved(back, back @ (self.leaving @ weights)[:, 0] / count)
        self.mass = (1 - gamma) * np.maximum(self.solution, 0)

    def _solved(self, back: Any, goal: Float[np.ndarray, " S"]) -> Float[np.ndarray, " S"]:
        """Return y with A y = goal. What is left over is made smaller by γ with each sweep, to rounding."""
        import scipy.linalg
        import scipy.sparse.linalg

        if self.factors is not None:
            return scipy.linalg.lu_solve(self.factors, goal)
        matrix = scipy.sparse.eye_array(goal.size) - self.gamma * back
        solution = scipy.sparse.linalg.bicgstab(matrix, goal, rtol=1e-12)[0]
        left = goal - matrix @ solution
        if not np.abs(left).sum() <= goal.sum():  # It failed.
            solution, left = np.zeros_like(goal), goal
        while np.abs(left).sum() > 1e-13 * goal.sum():
            solution, left = solution + left, self.gamma * (back @ left)
        return solution

    def _shares(self, counts: Float[np.ndarray, "P n"], otherwise: Float[np.ndarray, "P 1"]) -> np.ndarray:
        """Return P̂ of each pair of states from its counts; `otherwise` where a state was not left."""
        left = (self.out_of @ counts)[self.sources]
        return np.where(left > 0, counts / np.maximum(left, 1e-300), otherwise)

    def grouped(self, groups: "scipy.sparse.csr_array") -> None:
        """Take groups of episodes as the units that are resampled."""
        self.counts, self.leaving = self.counts @ groups.T, self.leaving @ groups.T

    def resampled(self, weights: Float[np.ndarray, "E n"]) -> Float[np.ndarray, "S n"]:
        """Return the tail of each resample; `weights` say how often an episode was drawn."""
        import scipy.linalg

        shares = self._shares(self.counts @ weights, self.shares)
        leaving = self.leaving @ weights / weights.sum(0)
        entering = leaving + self.gamma * self.solution[:, None]
        moved = self.into @ (shares * entering[self.sources]) + self.stays[:, None] * entering
        change = scipy.linalg.lu_solve(self.factors, moved - self.solution[:, None])
        return (1 - self.gamma) * np.maximum(self.solution[:, None] + change, 0)


class _Sample:
    """The contributions of episodes, or of groups of them, from which resamples are drawn."""

    def __init__(self, shown: "scipy.sparse.csr_array", rest: _ChainTail | None, count: int):
        import scipy.sparse

        episodes = len(shown.indptr) - 1
        self.mean = np.asarray(shown.sum(0)).ravel() / episodes
        self.tail = np.zeros(self.mean.size) if rest is None else rest.mass
        self.rest, self.count = rest, count
        if count < episodes:
            groups = np.arange(episodes) * count // episodes
            place = (np.full(episodes, count / episodes), (groups, np.arange(episodes)))
            gather = scipy.sparse.csr_array(place, shape=(count, episodes))
            shown = gather @ shown
            if rest is not None:
                rest.grouped(gather)
        self.values: Any = scipy.sparse.csr_array(shown.T)
        self.squares: Any = self.values.power(2)

    def _errors(self, means: np.ndarray, mean_squares: np.ndarray) -> np.ndarray:
        variance = mean_squares - means**2
        return np.sqrt(np.where(variance > 1e-13 * mean_squares, variance, 0) / max(self.count - 1, 1))

    def bootstrap(
        self, reliable: Bool[np.ndarray, " S"], tail: float, resamples: int, random: np.random.Generator
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the error in ℓ1, and the interval of each reliable state."""
        total = self.mean + self.tail
        error = self._errors(self.mean, np.asarray(self.squares.sum(1)).ravel() / self.count)
        ratios, norms = np.zeros((int(reliable.sum()), resamples), dtype=np.float32), np.zeros(resamples)
        pairs = 0 if self.rest is None else self.rest.sources.size
        width = max(1, BLOCK // max(self.count, self.mean.size, pairs))
        for first in range(0, resamples, width):
            drawn = random.multinomial(self.count, np.full(self.count, 1 / self.count), min(width, resamples - first))
            weights = drawn.T.astype(np.float64)
            means = self.values @ weights / self.count
            spread = self._errors(means, self.squares @ weights / self.count)
            away = means - self.mean[:, None]
            if self.rest is not None and self.rest.factors is not None:
                away += self.rest.resampled(weights) - self.tail[:, None]
            elif self.rest is not None:
                away /= self.mean.sum()
            here, sums = slice(first, first + weights.shape[1]), spread.sum(0)
            norms[here] = np.divide(np.abs(away).sum(0), sums, out=np.zeros_like(sums), where=sums > 0)
            away, spread = away[reliable], spread[reliable]
            ratios[:, here] = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
        low, high = np.quantile(ratios, [tail, 1 - tail], axis=1, method="weibull")
        error_l1 = float(np.quantile(norms, 1 - 2 * tail, method="weibull")) * float(error.sum())
        own = error[reliable]
        return error_l1, total[reliable] - high * own, total[reliable] - low * own


def _share_unseen(episodes: int, confidence: float) -> float:
    """Return the largest share of other episodes that so many episodes may have missed."""
    return 1 - (1 - confidence) ** (1 / episodes)


def _everywhere(values: np.ndarray, visited: np.ndarray, size: int, fill: Any = 0) -> np.ndarray:
    """Return the values of visited states among all states."""
    result = np.full(size, fill, dtype=values.dtype)
    result[visited] = values
    return result


def _deviants(
    shown: "scipy.sparse.csr_array",
) -> tuple[Float[np.ndarray, " S"], Int[np.ndarray, " S"], Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
    """Return each column's median, how many entries differ from it, and the least and largest of these (or 0 and 1)."""
    columns: Any = shown.tocsc()
    episodes, filled = columns.shape[0], np.diff(columns.indptr)
    common, telling = np.zeros(filled.size), filled.astype(np.int64)
    least, largest = (end.reduceat(columns.data, columns.indptr[:-1]) for end in (np.minimum, np.maximum))
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
    """Return the range of (1-p) common + p x, with p in its binomial interval and x from least to largest."""
    from scipy.special import betaincinv  # Here, so that `import robustirl` stays light.

    tail, k = (1 - confidence) / 2, telling.astype(np.float64)
    share_low = np.where(k > 0, betaincinv(np.maximum(k, 1), episodes - k + 1, tail), 0)
    share_high = np.where(k < episodes, betaincinv(k + 1, np.maximum(episodes - k, 1), 1 - tail), 1)
    corners = [common + share * (x - common) for share in (share_low, share_high) for x in (least, largest)]
    return np.min(corners, axis=0), np.max(corners, axis=0)
