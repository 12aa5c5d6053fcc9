r"""The expert's world T^E from recorded moves (s, a, s'), with the learner's world as the prior.

Every row has a Dirichlet posterior. Its prior has the weight of `strength` moves and the mean

    (1-δ) T^L(·|s, b(s,a)) + δ u,        u uniform over the states,

where b is the learner's action that the recorded one resembles (`pairs.py`) and δ is the pooled excess of moves astray.
A pair that was never seen keeps the prior, with the action that its recorded name resembles most often elsewhere.
States that are never left in the learner's world are never left here.

Learning in this world with α = 1 and planning in the learner's with the reward found is *transfer* (Section 3.3).
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from robustirl._runtime import ShortRepr, working_precision
from robustirl.demonstrations.arguments import require_demonstrations
from robustirl.demonstrations.estimation.alpha import AlphaEstimate, estimate_alpha
from robustirl.demonstrations.estimation.mismatch import Mismatch, classify, stray_moves
from robustirl.demonstrations.estimation.pairs import MOST_ENTRIES, count_array, learner_rows, resembled_actions
from robustirl.demonstrations.trajectories import Demonstrations
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, DenseKernel, absorbing_states, as_positive


@dataclasses.dataclass(frozen=True, eq=False)
class DynamicsEstimate(ShortRepr):
    """The expert's world as far as recorded actions tell.

    Attributes:
        world: The posterior mean, as a world with the learner's start and discount.
        visits: `[S, A]`, moves that were seen of each pair.
        strength: Moves that the prior counts for.
        relabel: `[S, A]`, the learner's action that each recorded one resembles.
        kind: `relabeled`, `drift`, `noisier`, `calmer` or `none`, as far as the data tell.
        note: What follows from it, in a sentence.
        alpha: The estimate of α that belongs to it.
    """

    world: MDP
    visits: Float[np.ndarray, "S A"]
    strength: float
    relabel: Int[np.ndarray, "S A"]
    kind: Mismatch
    note: str
    alpha: AlphaEstimate

    @property
    def deviation(self) -> Float[np.ndarray, "S A S"]:
        """The posterior's standard deviation of every T^E(s'|s,a)."""
        mean = learner_rows(self.world)
        return np.sqrt(mean * (1 - mean) / (self.visits + self.strength + 1)[..., None])


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
        >>> found = estimate_dynamics(world, walks)
        >>> found.kind, found.relabel.tolist()
        ('relabeled', [[1, 0], [1, 0]])
    """
    require_demonstrations(demonstrations)
    demonstrations.check_against(mdp)
    if not demonstrations.has_actions:
        raise InvalidInputError("the expert's world cannot be estimated from states alone; record the actions too.")
    strength = as_positive("the strength of the prior", strength)
    states, actions = mdp.num_states, mdp.num_actions
    if states * states * actions > MOST_ENTRIES:
        raise InvalidInputError(
            f"the world has {states} states and {actions} actions, but estimating another one takes an array of at most"
            f" {MOST_ENTRIES} numbers; use a smaller world."
        )
    rows, stays, mask = learner_rows(mdp), absorbing_states(mdp), np.asarray(mdp.mask)
    counts = count_array(demonstrations, (states, actions)) * ~stays[:, None, None]
    visits = counts.sum(-1)
    relabel = resembled_actions(counts, rows, mask & ~stays[:, None])
    own = np.arange(actions)
    # How often each recorded name resembles each action, where it was seen.
    names = np.array([np.bincount(relabel[:, a], visits[:, a], actions) for a in own])
    usual = np.where(names.sum(-1) > 0, names.argmax(-1), own)
    states_of = np.arange(states)[:, None]
    fallback = np.where(mask[states_of, usual[None, :]], usual[None, :], own)
    relabel = np.where(visits > 0, relabel, fallback)
    alpha = estimate_alpha(mdp, demonstrations)
    noise = float(np.clip(alpha.excess, 0.0, 1.0)) if alpha.alpha < 1 else 0.0
    near = np.take_along_axis(rows, relabel[..., None], 1)
    prior = (1 - noise) * near + noise / states
    mean = (counts + strength * prior) / (visits + strength)[..., None]
    mean[stays] = rows[stays]
    mean *= mask[..., None]
    sums = mean.sum(-1, keepdims=True)
    mean = np.divide(mean, sums, out=np.zeros_like(mean), where=sums > 0)
    world = MDP(DenseKernel(mean), discount=float(mdp.discount), initial=mdp.initial, mask=mask)
    share = float(visits[relabel != own].sum() / max(visits.sum(), 1))
    first = count_array(demonstrations[0::2], (states, actions)) * ~stays[:, None, None]
    kind, note = classify(share, stray_moves(first, counts - first, near), alpha)
    return DynamicsEstimate(world, visits, strength, relabel, kind, note, alpha)


def describe_mismatch(mdp: MDP, demonstrations: Demonstrations) -> str | None:
    """Return a sentence if recorded actions show that an opponent is not the right or only tool.

    None if they show nothing of the kind, if there are none, or if the world is too large to look at every pair.
    """
    size = mdp.num_states * mdp.num_states * mdp.num_actions
    if not demonstrations.has_actions or size > MOST_ENTRIES or mdp.kernel.leaky:
        return None
    found = estimate_dynamics(mdp, demonstrations)
    return found.note if found.kind in ("relabeled", "drift", "calmer") else None
