r"""α from the demonstrations alone: how much of what the expert did can the learner's own moves not explain?

The learner can bring about, from a state s, any mixture of its rows T^L(·|s,a) over the actions it has there, and
nothing else. What the expert's chain P(·|s) does beyond that, an opponent has to account for. Call the outcomes that
some move of the learner makes likely the *intended* ones, and all others *astray*, B(s). Then

    δ = E_s[ P(B(s)|s) - max_a T^L(B(s)|s,a) ]

over the moves the expert made, is mass that no policy of the learner puts there, and 1 - α̂ = δ̂ where δ̂ is beyond
doubt positive, else 0. The ℓ1 distance of P̂(·|s) to the hull of the rows would do in its place, but a distance is
never negative, so that sampling noise alone makes it positive, state by state; δ̂ is pooled over all moves, and it
has a sign. The sign matters: an opponent adds disturbance, so it can explain an expert whose world is noisier than
the learner's, never one whose world is calmer; there α̂ is 1. (Whether robustness pays there all the same hangs on
the world: docs/demonstrations.md has examples of both.)

For T = (1-ε) T_ref + ε · uniform over all states, δ is (ε_E - ε_L) times the share of states that are not intended
outcomes: nearly d_dyn / 2, the paper's rule. Noise that stays inside the hull (another of the learner's own moves
takes effect) cannot be told from intent by looking at states, whatever the estimator, so from states alone 1 - α̂ is
a lower bound; where it finds nothing, it says that this is no finding. With actions recorded more can be told:
B(s,a) are the outcomes that the recorded action makes unlikely, and δ = E[ T^E(B|s,a) - T^L(B|s,a) ].

The interval is for the moves from the states that were visited: given a state, where the expert goes next is a fresh
draw.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.demonstrations.estimation.chain import TransitionCounts, transition_counts
from robustirl.demonstrations.estimation.lists import HALF, as_lists, astray_from_lists
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, absorbing_states, dynamics_distance

FEWEST_MOVES = 30  # Fewer say nothing, whatever they are.
SMALLEST_ALPHA = 0.05  # An α of zero is no player at all.
COARSE = 0.05  # An excess that could still be this large leaves α open.
CHUNK = 2**24  # Entries of a dense kernel looked at a time.


@dataclasses.dataclass(frozen=True)
class AlphaEstimate:
    """α as far as the data can tell.

    Attributes:
        alpha: α̂, what to learn with.
        low: The lower end of its confidence interval.
        high: The upper end.
        decisive: Whether the data could tell; if not, `alpha` is a default.
        note: In a sentence, what was found.
        method: `states`, `actions` or `kernel`.
        excess: δ̂, the share of moves that the learner's world does not explain; negative for a calmer expert.
        moves: How many moves it rests on.
        confidence: Of the interval.
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


def estimate_alpha(
    mdp: MDP,
    demonstrations: Demonstrations,
    *,
    actions: bool | None = None,
    confidence: float = 0.95,
    expert_mdp: MDP | None = None,
) -> AlphaEstimate:
    """Choose α from demonstrations, without a reward and without the expert's world.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did.
        actions: Whether to use the recorded actions; by default if there are any.
        confidence: Of the interval.
        expert_mdp: The expert's world or an estimate of it, where there is one; then the paper's rule
            1 - α = d_dyn / 2 is used, and the demonstrations are not needed.

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
        >>> found = estimate_alpha(env.mdp(0.0), demos.without_actions())
        >>> found.decisive, found.low < 0.91 < found.high
        (True, True)
    """
    if not 0 < confidence < 1:
        raise InvalidInputError(f"the confidence is {confidence}, but a number between 0 and 1 is needed.")
    if expert_mdp is not None:
        distance = float(dynamics_distance(mdp, expert_mdp))
        alpha = max(1 - distance / 2, SMALLEST_ALPHA)
        note = f"the worlds are d_dyn = {distance:.3g} apart, so 1 - α is half of that, the paper's rule."
        return AlphaEstimate(alpha, alpha, alpha, True, note, "kernel", distance / 2, 0, confidence)
    if actions is None:
        actions = demonstrations.has_actions
    demonstrations.check_against(mdp)
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
    astray, expected, clear = _astray(mdp, counts)
    vague = 1 - float(counts.counts @ clear) / moves
    return _verdict(astray, expected, counts.counts, vague, method, confidence)


def _verdict(
    astray: Bool[np.ndarray, " n"],
    expected: Float[np.ndarray, " n"],
    counts: Int[np.ndarray, " n"],
    vague: float,
    method: str,
    confidence: float,
) -> AlphaEstimate:
    from scipy import stats  # Here, so that `import robustirl` stays light.

    moves = int(counts.sum())
    seen, most = float(counts @ astray) / moves, float(counts @ expected) / moves
    excess = seen - most
    # Moves add up like tosses of coins whose chances differ by state; they vary less than tosses of the average coin,
    # so that the exact binomial interval is wide enough.
    interval = stats.binomtest(round(seen * moves), moves).proportion_ci(confidence, method="exact")
    low, high = float(interval.low) - most, float(interval.high) - most
    share = f"{seen:.2%} of {moves} moves went astray, where the learner's world explains {most:.2%}"

    def answer(alpha: float, ends: tuple[float, float], decisive: bool, note: str) -> AlphaEstimate:
        return AlphaEstimate(alpha, *ends, decisive, note, method, excess, moves, confidence)

    def inside(alpha: float) -> float:
        return float(np.clip(alpha, SMALLEST_ALPHA, 1.0))

    if low > 0:
        note = f"{share}: the expert's world is the noisier one."
        return answer(inside(1 - excess), (inside(1 - high), inside(1 - low)), True, note)
    calmer = " (the expert's world looks calmer)" if high < 0 else ""
    if method == "states":
        note = (
            f"{share}{calmer}: nothing points to a noisier expert, but noise that looks like the learner's own moves"
            " cannot be told from intent by states alone, so α = 1 is a default and not a finding;"
            " record the expert's actions to know."
        )
        return answer(1.0, (0.0, 1.0), False, note)
    if vague > HALF:
        note = (
            f"{share}{calmer}: nothing points to a noisier expert, but {vague:.0%} of the moves have no outcome in the"
            " learner's world that is likelier than not, so little could be seen: α = 1 is a default and not a finding."
        )
        return answer(1.0, (0.0, 1.0), False, note)
    if high > COARSE:
        note = f"{share}: that may be chance, but {moves} moves are too few to rule out more; α = 1 is no finding yet."
        return answer(1.0, (inside(1 - high), 1.0), False, note)
    return answer(1.0, (inside(1 - high), 1.0), True, f"{share}{calmer}: no noisier expert, so α is 1.")


def _astray(
    mdp: MDP, counts: TransitionCounts
) -> tuple[Bool[np.ndarray, " n"], Float[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Of every counted move: whether it went astray, the largest share that the learner's world explains, and whether
    the move has an outcome there that is likelier than not.
    """
    if (lists := as_lists(mdp)) is not None:
        return astray_from_lists(lists, counts)
    astray = np.zeros(len(counts.sources), dtype=bool)
    clear = np.ones(len(counts.sources), dtype=bool)
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
            clear[chosen] = best[own, taken] >= HALF
    return astray, expected, clear


@dataclasses.dataclass(frozen=True)
class _Rows:
    """The rows of the states from `first` on, `[n, A, S]`."""

    first: int
    probabilities: np.ndarray


def _blocks(mdp: MDP, sources: Int[np.ndarray, " n"]) -> Iterator[tuple[slice, _Rows]]:
    """The learner's rows, a block of states at a time, with the counted moves (ordered by source) that start there."""
    states, actions, mask = mdp.num_states, mdp.num_actions, np.asarray(mdp.mask)
    size = max(1, CHUNK // (states * actions))
    read = mdp.kernel.row_reader()
    for first in range(0, states, size):
        last = min(first + size, states)
        begin, end = np.searchsorted(sources, (first, last))
        if begin == end:
            continue
        # A kernel may have rows for moves that are not to be had; they are not among what the learner can do.
        yield slice(int(begin), int(end)), _Rows(first, read(first, last) * mask[first:last, :, None])
