r"""α from the moves alone: how much of what the expert did can the learner's own moves not explain?

This needs no fit. It measures the mismatch; `robustirl.irl.select_alpha` chooses the α to learn with.

**States only.** The learner can bring about, from a state s, any mixture of its rows T^L(·|s,a), and nothing else. Call
the outcomes that some move of the learner makes likely the *intended* ones, and all others *astray*, B(s). Then

    δ = E_s[ P(B(s)|s) - max_a T^L(B(s)|s,a) ]

over the moves the expert made, is mass that no policy of the learner puts there. It is pooled over all moves and has a
sign: a calmer expert gives a negative δ. Noise that looks like the learner's own moves cannot be told from intent by
states, and a mean is not the maximum of the paper's rule, so 1 - δ is an upper bound on α and never decisive.

**With actions.** B(s,a) are the outcomes that the recorded action makes unlikely, and δ is the mean of
T^E(B|s,a) - T^L(B|s,a). A mean hides a single noisy state, and signs that cancel, so every pair is looked at too
(`pairs.py`): relabeled actions are recognized first, then the largest distance e(s,a) in the direction of a noisier
expert is bounded from both sides.
The interval is one for 1 - max e(s,a); its lower end is far down if pairs were seen rarely or never.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._show import ShortRepr
from robustirl.demonstrations.dynamics import MOST_ENTRIES, _shares, count_array, learner_rows, resembled_actions
from robustirl.demonstrations.episodes import Demonstrations, require_demonstrations
from robustirl.demonstrations.occupancy import as_confidence
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, dynamics_distance
from robustirl.mdp.mdp import absorbing_states

HALF = 0.5  # An outcome is intended if it is at least this likely, relative to the best outcome of the vaguest move.
LONGEST_SHARE = 0.1  # Of the states: rows with more successors than this are no shorter as lists.


@dataclasses.dataclass(frozen=True, eq=False)
class TransitionCounts(ShortRepr):
    """Hold how often each recorded move occurred, each once, ordered by source, action (if any) and target."""

    sources: Int[np.ndarray, " n"]
    targets: Int[np.ndarray, " n"]
    actions: Int[np.ndarray, " n"] | None
    counts: Int[np.ndarray, " n"]


@dataclasses.dataclass(frozen=True)
class Lists:
    """A kernel as lists.

    Attributes:
        places: `[S, A, K]`, the listed successors.
        chances: `[S, A, K]`, T(place|s,a) in full, the same at every entry of a place, zero where there is no action.
        first: `[S, A, K]`, whether an entry is the first of its place in its list.
        background: `[S]`, w(s).
        anywhere: `[S]`, u.
        exists: `[S, A]`, whether the action is to be had.
    """

    places: Int[np.ndarray, "S A K"]
    chances: Float[np.ndarray, "S A K"]
    first: Bool[np.ndarray, "S A K"]
    background: Float[np.ndarray, " S"]
    anywhere: Float[np.ndarray, " S"]
    exists: Bool[np.ndarray, "S A"]


def as_lists(mdp: MDP) -> Lists | None:
    """Return the world's kernel as lists, if it is of that kind and its background is faint."""
    matrix, thrown, anywhere = mdp.kernel.split()
    size, lengths = mdp.mask.shape, np.diff(matrix.indptr)
    longest = max(int(lengths.max()), 1)
    if longest > LONGEST_SHARE * mdp.num_states:
        return None
    first = np.arange(longest) < lengths[:, None]
    places, listed = np.zeros(first.shape, np.int64), np.zeros(first.shape)
    places[first], listed[first] = matrix.indices, matrix.data
    places, listed, first = (part.reshape(*size, longest) for part in (places, listed, first))
    anywhere = np.zeros(mdp.num_states) if anywhere is None else anywhere
    weight = thrown.reshape(size)
    exists = np.asarray(mdp.mask) & np.asarray(mdp.kernel.available())
    chances = (listed + weight[..., None] * anywhere[places]) * exists[..., None]  # pyright: ignore[reportCallIssue, reportArgumentType]
    best = np.where(exists, chances.max(-1), np.inf).min(1)
    weight = weight.max(-1)
    if (weight * anywhere.max() >= HALF * best).any():
        return None
    return Lists(places, chances, first, weight, anywhere, exists)


def astray_from_lists(
    lists: Lists, counts: TransitionCounts
) -> tuple[Bool[np.ndarray, " n"], Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return whether each move went astray, the share explained, and whether it is clear.

    This is the share that the world explains.
    """
    source, target = counts.sources, counts.targets
    best = lists.chances.max(-1)
    if counts.actions is not None:
        taken = counts.actions
        likely = lists.chances >= HALF * best[..., None]
        named = (lists.places[source, taken] == target[:, None]) & likely[source, taken]
        kept = (lists.chances * likely * lists.first).sum(-1)
        return ~named.any(1), (1 - kept)[source, taken], best[source, taken] >= HALF
    vaguest = np.where(lists.exists, best, np.inf).min(1)
    size, actions, length = lists.places.shape
    union = lists.places.reshape(size, actions * length)
    likely = (lists.chances >= HALF * vaguest[:, None, None]).reshape(union.shape)
    # Likely places, each once: an entry counts if no earlier likely entry of its state names the same place.
    same = union[:, :, None] == union[:, None, :]
    fresh = likely & ~(np.tril(same, -1) & likely[:, None, :]).any(-1)
    # T(place|s,a) of every such place under every action, listed by it or not.
    listed = union[:, :, None, None] == lists.places.reshape(size, 1, actions, length)
    beneath = lists.background[:, None] * lists.anywhere[union]
    chance = np.where(listed.any(-1), (listed * lists.chances[:, None]).max(-1), beneath[..., None])
    kept = (chance * fresh[..., None]).sum(1)
    explained = np.where(lists.exists, 1 - kept, 0.0).max(1)
    astray = ~((union[source] == target[:, None]) & likely[source]).any(1)
    return astray, explained[source], np.ones(len(source), dtype=bool)


SAME = 1e-9  # Outcomes this close to the likeliest are as likely.


@dataclasses.dataclass(frozen=True, eq=False)
class PairBounds(ShortRepr):
    """What the pairs of states and recorded actions tell of max e(s,a).

    Attributes:
        lower: A lower bound on the maximum, at the confidence asked for.
        estimate: ê of the pair that attains it.
        pair: That pair, (s, a).
        upper: An upper bound on the maximum; 1 if a pair was never seen.
        relabel: `[S, A]`, b(s,a).
        relabeled: Share of the moves whose action resembles another one.
        unseen: How many available pairs were never seen.
    """

    lower: float
    estimate: float
    pair: tuple[int, int]
    upper: float
    relabel: Int[np.ndarray, "S A"]
    relabeled: float
    unseen: int


def bound_pairs(mdp: MDP, demonstrations: Demonstrations, confidence: float) -> PairBounds | None:
    """Return the bounds, or None for a world too large to look at pair by pair."""
    from scipy import stats  # Here, so that `import robustirl` stays light.

    states, actions = mdp.num_states, mdp.num_actions
    if states * states * actions > MOST_ENTRIES or len(demonstrations) < 2:
        return None
    rows, leaves = learner_rows(mdp), ~absorbing_states(mdp)
    available = np.asarray(mdp.mask) & leaves[:, None]
    proposing, testing = (
        count_array(part, (states, actions)) * leaves[:, None, None]
        for part in (demonstrations[0::2], demonstrations[1::2])
    )
    counts = proposing + testing
    # All moves choose b: that can only bring the learner's row closer, so the lower bound stays one.
    relabel = resembled_actions(counts, rows, available)
    near = np.take_along_axis(rows, relabel[..., None], 1)
    top = near >= near.max(-1, keepdims=True) - SAME
    gained = ~top & (_shares(proposing) > near)
    seen = testing.sum(-1)
    tested = seen > 0
    hits, expected = (testing * gained).sum(-1), (near * gained).sum(-1)
    level = (1 - confidence) / 2 / max(1, int(tested.sum()))
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, stats.beta.ppf(level, hits, seen - hits + 1), 0.0)
    lower = np.where(tested, least - expected, -np.inf)
    place = np.unravel_index(int(np.argmax(lower)), lower.shape)
    pair = int(place[0]), int(place[1])
    shares, total = _shares(counts), counts.sum(-1)
    estimates = ((shares - near) * gained).sum(-1)
    distance = np.maximum(shares - near, 0).sum(-1)
    radius = np.sqrt(2 * (states * np.log(2) - np.log(level)) / np.maximum(total, 1)) / 2
    upper = np.where(total > 0, np.minimum(distance + radius, 1.0), 1.0)[available]
    moved = np.where(relabel != np.arange(actions), total, 0).sum()
    return PairBounds(
        lower=float(lower[pair]),
        estimate=float(estimates[pair]),
        pair=pair,
        upper=float(upper.max(initial=0.0)),
        relabel=relabel,
        relabeled=float(moved / max(total.sum(), 1)),
        unseen=int((available & (total == 0)).sum()),
    )


def transition_counts(demonstrations: Demonstrations, size: int, *, with_actions: bool) -> TransitionCounts:
    """Count the moves of the demonstrations in a world of `size` states."""
    moves = demonstrations.moves
    sources, targets = demonstrations.states[moves], demonstrations.states[moves + 1]
    if not with_actions:
        keys, counts = np.unique(sources * size + targets, return_counts=True)
        return TransitionCounts(*np.divmod(keys, size), None, counts)
    if demonstrations.actions is None:
        raise InvalidInputError("moves cannot be counted by action, because no actions were recorded.")
    span = int(demonstrations.actions.max(initial=0)) + 1
    keys, counts = np.unique((sources * span + demonstrations.actions) * size + targets, return_counts=True)
    pairs, targets = np.divmod(keys, size)
    sources, actions = np.divmod(pairs, span)
    return TransitionCounts(sources, targets, actions, counts)


FEWEST_MOVES = 30  # Fewer say nothing, whatever they are.
SMALLEST_ALPHA = 0.05  # An α of zero is no player at all.
COARSE = 0.05  # An excess that could still be this large leaves α open.
CHUNK = 2**24  # Entries of a dense kernel looked at a time.


@dataclasses.dataclass(frozen=True)
class AlphaEstimate:
    """α as far as the data can tell.

    Attributes:
        alpha: α̂.
        low: The lower end of its confidence interval.
        high: The upper end.
        decisive: Whether the data could tell whether α is below 1; never with states alone.
        note: In a sentence, what was found.
        method: `states`, `actions`, `kernel` or `fits` (see `robustirl.irl.select_alpha`).
        excess: δ̂, the share of moves that the learner's world does not explain; negative for a calmer expert.
        moves: How many moves it rests on.
        confidence: Of the interval.
        direction: Whether the expert's world is proved to be `noisier` or `calmer` than the learner's, or is `unknown`
            to be either.
    """

    alpha: float
    low: float
    high: float
    decisive: bool
    note: str
    method: str
    excess: float
    moves: int
    confidence: float
    direction: str = "unknown"


def estimate_alpha(
    mdp: MDP,
    demonstrations: Demonstrations,
    *,
    actions: bool | None = None,
    confidence: float = 0.95,
    expert_mdp: MDP | None = None,
) -> AlphaEstimate:
    """Estimate α from the moves of demonstrations, without reward, fit or the expert's world.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did.
        actions: Whether to use the recorded actions; by default if there are any.
        confidence: Of the interval.
        expert_mdp: The expert's world or an estimate of it, where there is one; then the paper's rule 1 - α = d_dyn / 2
            is used over the pairs where the expert's world is the noisier one, and the demonstrations are not needed.

    Example:
        >>> import jax
        >>> from robustirl import envs
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> from robustirl.planning import expert_policy
        >>> env = envs.make("gridworld-4")
        >>> world = env.mdp(0.1)
        >>> demos = sample_demonstrations(
        ...     world, expert_policy(world, env.reward), episodes=500, horizon=100, key=jax.random.key(0)
        ... )
        >>> found = estimate_alpha(env.mdp(0.0), demos)
        >>> found.decisive, found.low < 0.9 < found.high, round(found.alpha, 1)
        (True, True, 0.9)
    """
    confidence = as_confidence(confidence)
    if expert_mdp is not None:
        return _from_worlds(mdp, expert_mdp, confidence)
    demonstrations = require_demonstrations(demonstrations).in_world(mdp)
    if actions is None:
        actions = demonstrations.has_actions
    counts = transition_counts(demonstrations, mdp.num_states, with_actions=actions)
    keep = ~absorbing_states(mdp)[counts.sources]  # What cannot leave a state has nothing to say about moves.
    counts = dataclasses.replace(
        counts,
        sources=counts.sources[keep],
        targets=counts.targets[keep],
        counts=counts.counts[keep],
        actions=None if counts.actions is None else counts.actions[keep],
    )
    moves = int(counts.counts.sum())
    method = "actions" if actions else "states"
    if moves < FEWEST_MOVES:
        note = f"{moves} moves are too few to tell anything; at least {FEWEST_MOVES} are needed, so α stays 1."
        return AlphaEstimate(1.0, 0.0, 1.0, False, note, method, 0.0, moves, confidence)
    if not actions:
        astray, expected = _astray(mdp, counts)
        return _from_states(_Pooled.of(astray, expected, counts.counts, confidence))
    assert counts.actions is not None
    level = (1 + confidence) / 2  # Two bounds share the error.
    pairs = bound_pairs(mdp, demonstrations, level)
    if pairs is not None:
        counts = dataclasses.replace(counts, actions=pairs.relabel[counts.sources, counts.actions])
    astray, expected = _astray(mdp, counts)
    return _from_actions(_Pooled.of(astray, expected, counts.counts, level), pairs, confidence)


@dataclasses.dataclass(frozen=True)
class _Pooled:
    """δ̂ over all moves, with an interval."""

    excess: float
    low: float
    high: float
    moves: int
    confidence: float
    share: str

    @classmethod
    def of(
        cls,
        astray: Bool[np.ndarray, " n"],
        expected: Float[np.ndarray, " n"],
        counts: Int[np.ndarray, " n"],
        confidence: float,
    ) -> "_Pooled":
        from scipy import stats  # Here, so that `import robustirl` stays light.

        moves = int(counts.sum())
        seen, most = float(counts @ astray) / moves, float(counts @ expected) / moves
        # Moves add up like tosses of coins whose chances differ by state; they vary less than tosses of the average
        # coin, so that the exact binomial interval is wide enough.
        interval = stats.binomtest(round(seen * moves), moves).proportion_ci(confidence, method="exact")
        share = f"{seen:.2%} of {moves} moves went astray, where the learner's world explains {most:.2%}"
        low, high = float(interval.low) - most, float(interval.high) - most
        return cls(seen - most, low, high, moves, confidence, share)

    @property
    def direction(self) -> str:
        return "noisier" if self.low > 0 else "calmer" if self.high < 0 else "unknown"

    @property
    def calmer(self) -> str:
        return " (the expert's world looks calmer)" if self.direction == "calmer" else ""


def _from_states(pooled: _Pooled) -> AlphaEstimate:
    """Return what states alone tell: an upper bound on α, or nothing."""
    if pooled.low > 0:
        note = (
            f"{pooled.share}: the expert's world is the noisier one, and α is at most {1 - pooled.low:.3g}; states do"
            " not tell how much smaller it is, because noise may look like the learner's own moves."
        )
        alpha, high = _inside(1 - pooled.excess), _inside(1 - pooled.low)
    else:
        note = (
            f"{pooled.share}{pooled.calmer}: nothing points to a noisier expert, but noise that looks like the"
            " learner's own moves cannot be told from intent by states alone, so α = 1 is a default and not a finding;"
            " record the expert's actions to know."
        )
        alpha = high = 1.0
    low = SMALLEST_ALPHA
    return AlphaEstimate(
        alpha, low, high, False, note, "states", pooled.excess, pooled.moves, pooled.confidence, pooled.direction
    )


def _from_actions(pooled: _Pooled, pairs: PairBounds | None, confidence: float) -> AlphaEstimate:
    """Return what recorded actions tell: the largest mismatch of a pair, bounded on both sides."""
    low = SMALLEST_ALPHA if pairs is None else _inside(1 - pairs.upper)
    renamed = ""
    if pairs is not None and pairs.relabeled > 0:
        renamed = (
            f"{pairs.relabeled:.0%} of the moves use an action that has the outcomes of another one in the learner's"
            " world, which the learner can reproduce, so they are compared with that one; "
        )

    def answer(alpha: float, high: float, decisive: bool, note: str) -> AlphaEstimate:
        return AlphaEstimate(
            alpha,
            min(low, alpha),
            high,
            decisive,
            renamed + note,
            "actions",
            pooled.excess,
            pooled.moves,
            confidence,
            "noisier" if high < 1 else pooled.direction,
        )

    if pairs is not None and pairs.lower > max(pooled.low, 0.0):
        state, action = pairs.pair
        note = (
            f"state {state}, action {action} has {pairs.estimate:.2g} of its outcomes elsewhere than in the learner's"
            f" world, {pairs.lower:.2g} beyond doubt: the expert's world is the noisier one there."
        )
        return answer(_inside(1 - pairs.estimate), _inside(1 - pairs.lower), True, note)
    if pooled.low > 0:
        note = f"{pooled.share}: the expert's world is the noisier one."
        return answer(_inside(1 - pooled.excess), _inside(1 - pooled.low), True, note)
    if low >= 1 - COARSE:
        return answer(1.0, 1.0, True, f"{pooled.share}{pooled.calmer}: no noisier expert, so α is 1.")
    rare = "" if pairs is None or not pairs.unseen else f", {pairs.unseen} pairs of states and actions were never seen"
    note = (
        f"{pooled.share}{pooled.calmer}: nothing points to a noisier expert, but {pooled.moves} moves cannot rule out a"
        f" mismatch of up to {1 - low:.2g} in a pair{rare}; α = 1 is a default."
    )
    return answer(1.0, 1.0, False, note)


def _from_worlds(mdp: MDP, expert_mdp: MDP, confidence: float) -> AlphaEstimate:
    """Return the paper's rule over the pairs where the learner's likeliest outcomes lose mass."""
    distance = float(dynamics_distance(mdp, expert_mdp))
    if distance >= 2:
        raise InvalidInputError(
            "the worlds are at distance 2, where the rule gives alpha = 0: nothing of the expert's dynamics is left"
            " in the learner's; no alpha can help."
        )
    noisier = 0.0
    own, others = mdp.kernel.to_sparse(), expert_mdp.kernel.to_sparse()
    for first, last in _ranges(mdp):
        rows, expert = _block(own, first, last, mdp.num_actions), _block(others, first, last, mdp.num_actions)
        top = rows >= rows.max(-1, keepdims=True) - SAME
        lost = ((rows - expert) * top).sum(-1) > SAME
        apart = np.where(lost & np.asarray(mdp.mask)[first:last], np.abs(rows - expert).sum(-1), 0)
        noisier = max(noisier, float(apart.max()))
    if noisier == 0 and distance > SAME:
        note = f"the worlds are d_dyn = {distance:.3g} apart, but the expert's is nowhere the noisier one, so α is 1."
    else:
        note = f"the worlds are {noisier:.3g} apart where the expert's is the noisier one; 1 - α is half of that."
    alpha = 1 - noisier / 2
    direction = "noisier" if noisier > 0 else "calmer" if distance > SAME else "unknown"
    return AlphaEstimate(alpha, alpha, alpha, True, note, "kernel", noisier / 2, 0, confidence, direction)


def _inside(alpha: float) -> float:
    return max(SMALLEST_ALPHA, float(alpha))


def _astray(mdp: MDP, counts: TransitionCounts) -> tuple[Bool[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return whether each counted move went astray, and the largest share that is explained.

    This is the share that the learner's world explains.
    """
    if (lists := as_lists(mdp)) is not None:
        return astray_from_lists(lists, counts)[:2]
    astray = np.zeros(len(counts.sources), dtype=bool)
    expected = np.zeros(len(counts.sources))
    for chosen, rows in _blocks(mdp, counts.sources):
        own = counts.sources[chosen] - rows.first
        target = counts.targets[chosen]
        best = rows.probabilities.max(-1)
        exists = best > 0
        if counts.actions is None:
            vaguest = np.where(exists, best, np.inf).min(1)
            likely = rows.probabilities.max(1) >= HALF * vaguest[:, None]
            off = np.einsum("sat,st->sa", rows.probabilities, ~likely)
            astray[chosen] = ~likely[own, target]
            expected[chosen] = np.where(exists, off, 0).max(1)[own]
        else:
            taken = counts.actions[chosen]
            unlikely = rows.probabilities < HALF * best[..., None]
            off = (rows.probabilities * unlikely).sum(-1)
            astray[chosen] = unlikely[own, taken, target]
            expected[chosen] = off[own, taken]
    return astray, expected


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The rows of the states from `first` on, `[n, A, S]`."""

    first: int
    probabilities: np.ndarray


def _blocks(mdp: MDP, sources: Int[np.ndarray, " n"]) -> Iterator[tuple[slice, _Rows]]:
    """Yield the learner's rows by blocks of states, with the counted moves that start there.

    The moves are ordered by source.
    """
    matrix, mask = mdp.kernel.to_sparse(), np.asarray(mdp.mask)
    for first, last in _ranges(mdp):
        begin, end = np.searchsorted(sources, (first, last))
        if begin == end:
            continue
        # A kernel may have rows for moves that are not to be had; they are not among what the learner can do.
        yield (
            slice(int(begin), int(end)),
            _Rows(first, _block(matrix, first, last, mdp.num_actions) * mask[first:last, :, None]),
        )


def _block(matrix: Any, first: int, last: int, actions: int) -> Float[np.ndarray, "n A S"]:
    """Return the rows of some states as an array."""
    return matrix[first * actions : last * actions].toarray().reshape(last - first, actions, -1)


def _ranges(mdp: MDP) -> Iterator[tuple[int, int]]:
    """Return where the blocks of states begin and end whose rows have about `CHUNK` entries."""
    size = 1 + CHUNK // (mdp.num_states * mdp.num_actions)
    return ((first, min(first + size, mdp.num_states)) for first in range(0, mdp.num_states, size))
