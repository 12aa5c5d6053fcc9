r"""Estimate from recorded moves (s, a, s') how the expert's world moves: the whole of it, and α(s,a) pair by pair.

**The world T^E.** Every row has a Dirichlet posterior. Its prior has the weight of `strength` moves and the mean

    (1-δ) T^L(·|s, b(s,a)) + δ u,        u uniform over the states,

where T^L is the learner's world and b(s,a) the learner's action that the recorded one resembles: a itself, unless
another one makes the recorded outcomes likelier by more than `RELABEL_GAIN`, because an expert whose actions are merely
named or arranged otherwise can be reproduced exactly. δ is the one under which all moves are likeliest. A pair that was
never seen keeps the prior, with the action that its recorded name resembles most often elsewhere. States that are never
left in the learner's world are never left here. Learning in this world with α = 1 and planning in the learner's with
the reward found is *transfer* (Section 3.3).

**α(s,a).** For a pair (s,a) of the learner's world let T^E(·|s,a) be the expert's outcomes of its actions that resemble
a there, and

    e(s,a) = TV(T^E(·|s,a), T^L(·|s,a)) = Σ_s' max(T^E - T^L, 0),    α(s,a) = 1 - e(s,a),

the paper's rule 1 - α = d_dyn / 2 for one pair. Outcomes that T^L never has count in full, so that they may be put into
one class without changing e: k outcomes of T^L and one class for all others, k + 1 classes in all. With n moves and
the share δ of the risk that one pair gets,

- e <= ê + ½ sqrt(2 ((k+1) log 2 + log(1/δ)) / n), after Bretagnolle, Huber and Carol;
- e >= the exact binomial lower bound of T^E(B) at level δ, less T^L(B). Every other episode proposes the set B of
  outcomes that gained mass; the others test it, so that B is not chosen by the moves that test it.

Each bound of each pair has δ = (1 - confidence) / 2 / (number of pairs that can be seen): all intervals together hold
with the stated confidence, provided that the moves of a pair are independent draws from its row. A pair whose lower
bound on e is above zero is decided; others get α = 1, the learner's own world, unless told otherwise.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl._check import as_positive
from robustirl._jax import working_precision
from robustirl._show import ShortRepr
from robustirl.demonstrations.episodes import Demonstrations, require_demonstrations
from robustirl.demonstrations.occupancy import as_confidence
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.mdp import absorbing_states

MOST_ENTRIES = 2**22  # Of an array `[S, A, S]`; larger worlds are not looked at pair by pair.
RELABEL_GAIN = 3.0  # Nats by which another action must be likelier.
BLUR = 0.1  # Weight of a uniform row, so that noise or a drift to outcomes that an action never has does not hide it.
UNAVAILABLE = -1e300  # The log-likelihood of an action that is not to be had; finite, so that it can be subtracted.
SMALLEST_ALPHA = 0.05  # An α of zero is no player at all.


@dataclasses.dataclass(frozen=True, eq=False)
class DynamicsEstimate(ShortRepr):
    """Hold the expert's world as far as recorded actions tell.

    Attributes:
        world: The posterior mean, as a world with the learner's start and discount.
        visits: `[S, A]`, moves that were seen of each pair.
        strength: Moves that the prior counts for.
        noise: δ, the weight of uniform moves in the prior.
        relabel: `[S, A]`, the learner's action that each recorded one resembles.
    """

    world: MDP
    visits: Float[np.ndarray, "S A"]
    strength: float
    noise: float
    relabel: Int[np.ndarray, "S A"]

    @property
    def deviation(self) -> Float[np.ndarray, "S A S"]:
        """Return the posterior's standard deviation of every T^E(s'|s,a)."""
        mean = learner_rows(self.world)
        return np.sqrt(mean * (1 - mean) / (self.visits + self.strength + 1)[..., None])


@dataclasses.dataclass(frozen=True, eq=False)
class LocalAlphaEstimate(ShortRepr):
    """Hold α(s,a) as far as the data can tell.

    Attributes:
        alpha: `[S, A]`, 1 - ê where the data decide that the expert's world differs, else 1: what `fit` takes.
        low: `[S, A]`, the lower end of the interval; 0 where a pair was never seen.
        high: `[S, A]`, the upper end.
        moves: `[S, A]`, how many moves each rests on.
        decided: `[S, A]`, True where the interval excludes 1.
        confidence: Of all intervals together.
    """

    alpha: Float[np.ndarray, "S A"]
    low: Float[np.ndarray, "S A"]
    high: Float[np.ndarray, "S A"]
    moves: Int[np.ndarray, "S A"]
    decided: Bool[np.ndarray, "S A"]
    confidence: float


@working_precision
def estimate_dynamics(mdp: MDP, demonstrations: Demonstrations, *, strength: float = 5.0) -> DynamicsEstimate:
    """Estimate the expert's world from demonstrations with actions.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did, with actions.
        strength: How many moves the prior counts for in every pair.

    Example:
        >>> world = MDP([[[0.9, 0.1], [0.1, 0.9]]] * 2, discount=0.9)
        >>> walks = Demonstrations.from_arrays([[0] + [1] * 20 + [0] * 19] * 20, [[0] * 20 + [1] * 19] * 20)
        >>> result = estimate_dynamics(world, walks)
        >>> result.relabel.tolist(), result.noise < 0.01
        ([[1, 0], [1, 0]], True)
    """
    moves, rows, stays = _observed(mdp, demonstrations)
    strength = as_positive("the strength of the prior", strength)
    states, actions = mdp.num_states, mdp.num_actions
    mask, own = np.asarray(mdp.mask), np.arange(actions)
    counts = count_array(moves, (states, actions)) * ~stays[:, None, None]
    visits = counts.sum(-1)
    relabel = resembled_actions(counts, rows, mask & ~stays[:, None])
    # How often each recorded name resembles each action, where it was seen.
    names = np.array([np.bincount(relabel[:, a], visits[:, a], actions) for a in own])
    usual = np.where(names.sum(-1) > 0, names.argmax(-1), own)
    fallback = np.where(mask[np.arange(states)[:, None], usual[None, :]], usual[None, :], own)
    relabel = np.where(visits > 0, relabel, fallback)
    near = np.take_along_axis(rows, relabel[..., None], 1)
    noise = _likeliest_noise(counts, near)
    prior = (1 - noise) * near + noise / states
    mean = (counts + strength * prior) / (visits + strength)[..., None]
    mean[stays] = rows[stays]
    mean *= mask[..., None]
    sums = mean.sum(-1, keepdims=True)
    mean = np.divide(mean, sums, out=np.zeros_like(mean), where=sums > 0)
    world = MDP(DenseKernel(mean), discount=float(mdp.discount), initial=mdp.initial, mask=mask)
    return DynamicsEstimate(world, visits, strength, noise, relabel)


def estimate_local_alpha(mdp: MDP, demonstrations: Demonstrations, *, confidence: float = 0.95) -> LocalAlphaEstimate:
    """Estimate α for every state and action from recorded actions, with simultaneous intervals.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did, with actions.
        confidence: Of all intervals together.

    Example:
        >>> import jax
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> rows = [[[0.0, 1.0]], [[1.0, 0.0]]]
        >>> slipping = [[[0.3, 0.7]], [[1.0, 0.0]]]  # The expert's world differs in state 0 alone.
        >>> expert = MDP(slipping, discount=0.9)
        >>> walks = sample_demonstrations(expert, [[1.0], [1.0]], episodes=200, horizon=20, key=jax.random.key(0))
        >>> result = estimate_local_alpha(MDP(rows, discount=0.9), walks)
        >>> result.alpha.round(1).tolist(), result.decided.tolist()
        ([[0.7], [1.0]], [[True], [False]])
    """
    from scipy import stats  # Here, so that `import robustirl` stays light.

    confidence = as_confidence(confidence)
    seen_moves, rows, stays = _observed(mdp, demonstrations)
    if len(seen_moves) < 2:
        raise InvalidInputError(
            "one episode was given, but two are needed: one to propose which outcomes gained mass, one to test it."
        )
    shape = mdp.num_states, mdp.num_actions
    available = np.asarray(mdp.mask) & ~stays[:, None]
    parts = [count_array(part, shape) * ~stays[:, None, None] for part in (seen_moves[0::2], seen_moves[1::2])]
    relabel = resembled_actions(parts[0] + parts[1], rows, available)
    proposing, testing = (_moved(part, relabel) for part in parts)
    counts = proposing + testing
    total, seen = counts.sum(-1), testing.sum(-1)
    level = (1 - confidence) / 2 / max(1, int(available.sum()))
    gained = _shares(proposing) > rows
    hits, expected = (testing * gained).sum(-1), (rows * gained).sum(-1)
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, stats.beta.ppf(level, hits, seen - hits + 1), 0.0)
    lower = np.where(available, np.clip(least - expected, 0, 1), 0.0)
    distance = np.maximum(_shares(counts) - rows, 0).sum(-1)
    classes = (rows > 0).sum(-1) + 1
    radius = np.sqrt(2 * (classes * np.log(2) - np.log(level)) / np.maximum(total, 1)) / 2
    upper = np.where(total > 0, np.minimum(distance + radius, 1), 1.0)
    upper = np.maximum(np.where(available, upper, 0.0), lower)
    decided = lower > 0
    return LocalAlphaEstimate(
        alpha=np.where(decided, np.clip(1 - distance, SMALLEST_ALPHA, 1), 1.0),
        low=1 - upper,
        high=1 - lower,
        moves=total.astype(int),
        decided=decided,
        confidence=confidence,
    )


def _observed(
    mdp: MDP, demonstrations: Demonstrations
) -> tuple[Demonstrations, Float[np.ndarray, "S A S"], Bool[np.ndarray, " S"]]:
    """Return the moves in the world, its rows, and which of its states are never left; refuse what has no actions."""
    if not require_demonstrations(demonstrations).has_actions:
        raise InvalidInputError(
            "the demonstrations have no actions, and states alone do not tell how the outcomes of an action differ;"
            " record the expert's actions."
        )
    entries = mdp.num_states * mdp.num_states * mdp.num_actions
    if entries > MOST_ENTRIES:
        raise InvalidInputError(
            f"the world has {mdp.num_states} states and {mdp.num_actions} actions, too many to look at every pair"
            f" ({MOST_ENTRIES} entries of an array [S, A, S] at most); use a smaller world."
        )
    return demonstrations.in_world(mdp), learner_rows(mdp), absorbing_states(mdp)


def count_array(demonstrations: Demonstrations, shape: tuple[int, int]) -> Float[np.ndarray, "S A S"]:
    """Return N(s, a, s') of demonstrations with actions as an array.

    Example:
        >>> count_array(Demonstrations.from_arrays([[0, 1, 1]], [[0, 0]]), (2, 1)).tolist()
        [[[0.0, 1.0]], [[0.0, 1.0]]]
    """
    assert demonstrations.actions is not None
    moves = demonstrations.moves
    counts = np.zeros((*shape, shape[0]))
    np.add.at(counts, (demonstrations.states[moves], demonstrations.actions, demonstrations.states[moves + 1]), 1.0)
    return counts


def learner_rows(mdp: MDP) -> Float[np.ndarray, "S A S"]:
    """Return T^L(s'|s,a) on the host, with zeros for actions that are not available."""
    mask = np.asarray(mdp.mask)
    return mdp.kernel.to_sparse().toarray().reshape(*mask.shape, -1) * mask[..., None]


def resembled_actions(
    counts: Float[np.ndarray, "S A S"], rows: Float[np.ndarray, "S A S"], available: Bool[np.ndarray, "S A"]
) -> Int[np.ndarray, "S A"]:
    """Return b(s,a), the available action whose row makes (s,a)'s counted outcomes likeliest.

    Example:
        >>> rows = np.array([[[0.9, 0.1], [0.1, 0.9]]] * 2)
        >>> swapped = np.array([[[2.0, 18.0], [18.0, 2.0]], [[0.0, 0.0], [0.0, 1.0]]])
        >>> resembled_actions(swapped, rows, np.ones((2, 2), bool)).tolist()
        [[1, 0], [0, 1]]
    """
    logs = np.log((1 - BLUR) * rows + BLUR / len(rows))
    likelihood = np.where(available[:, None, :], counts @ logs.transpose(0, 2, 1), UNAVAILABLE)
    own = np.arange(rows.shape[1])
    gain = likelihood.max(-1) - likelihood[:, own, own]
    return np.where(gain > RELABEL_GAIN, likelihood.argmax(-1), own)


def _likeliest_noise(counts: Float[np.ndarray, "S A S"], near: Float[np.ndarray, "S A S"]) -> float:
    """Return the δ under which the counts are likeliest; their log-likelihood is concave in δ."""
    from scipy.optimize import minimize_scalar

    seen = counts > 0
    number, own = counts[seen], near[seen]

    def surprise(noise: float) -> float:
        return -float(number @ np.log((1 - noise) * own + noise / len(near)))

    if not number.size:
        return 0.0
    best = minimize_scalar(surprise, bounds=(1e-9, 1.0), method="bounded", options={"xatol": 1e-6})
    return float(best.x)


def _moved(counts: Float[np.ndarray, "S A S"], relabel: Int[np.ndarray, "S A"]) -> Float[np.ndarray, "S A S"]:
    """Return the counts under the actions they resemble."""
    out = np.zeros_like(counts)
    np.add.at(out, (np.arange(len(counts))[:, None], relabel), counts)
    return out


def _shares(counts: Float[np.ndarray, "S A S"]) -> Float[np.ndarray, "S A S"]:
    return counts / np.maximum(counts.sum(-1, keepdims=True), 1)
