r"""Transfer: learn where the expert acted, plan where the learner will (Section 3.3).

If actions are recorded, they tell the expert's world T^E (`demonstrations.estimate_dynamics`). Standard IRL in that
world takes no noise for intent. Its reward is then planned with in the learner's world. The reward is free where the
expert never goes, and planning with it may fail badly there: over all cells of `robustirl study alpha` transfer is
worse than standard IRL. It is recommended only if

- standard IRL misses the expert's visits in the estimated world by at most half of what it misses in the learner's;
- the policy earns more than that of the fit which `select_alpha` chose, robust or not, by the rewards of both halves of
  the data, beyond their difference;
- it arrives where the expert's episodes end no later, and keeps away from states that the expert rarely visits.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._runtime import ShortRepr, joined, released, working_precision
from robustirl.demonstrations import Demonstrations, estimate_dynamics, estimate_occupancy
from robustirl.demonstrations.dynamics import DynamicsEstimate
from robustirl.irl.alpha_rules import EXCESS, LATER, OFTEN
from robustirl.irl.alpha_selection import AlphaSelection, player_gains, select_alpha
from robustirl.irl.arrivals import arrivals
from robustirl.irl.mce.fit import fit
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, as_positive
from robustirl.planning import expert_policy, state_occupancy
from robustirl.rewards import AbstractReward
from robustirl.types import AnyArray

CLOSER = 0.5  # Of the gap in the learner's world: the most that may be left in the expert's.


@dataclasses.dataclass(frozen=True, eq=False)
class Transfer(ShortRepr):
    """A policy learned through the estimated world of the expert.

    Attributes:
        policy: `[S, A]`, the policy for the learner's world.
        reward: `[S]`, the reward found in the expert's world.
        recommended: Whether it looks better than what `select_alpha` found.
        note: In a sentence, why.
        dynamics: The expert's world as recorded actions tell it.
        fit: Standard IRL in that world.
        selection: What `select_alpha` found in the learner's world.
    """

    policy: Float[AnyArray, "S A"]
    reward: Float[AnyArray, " S"]
    recommended: bool
    note: str
    dynamics: DynamicsEstimate
    fit: Fit
    selection: AlphaSelection

    def __repr__(self) -> str:
        word = "recommended" if self.recommended else "not recommended"
        return joined("Transfer", [word, f"noise: {self.dynamics.noise:.2g}", self.note.removesuffix(".")])


@working_precision
def fit_transfer(
    mdp: MDP,
    demonstrations: Demonstrations,
    *,
    selection: AlphaSelection | None = None,
    strength: float = 5.0,
    reward: AbstractReward | None = None,
    **options: Any,
) -> Transfer:
    """Learn in the expert's world as recorded actions tell it, and plan in the learner's.

    The result says whether to use its policy.

    Args:
        mdp: The learner's world.
        demonstrations: What the expert did, with actions.
        selection: What `select_alpha` found for the same data; it is called if omitted.
        strength: How many moves the prior counts for; see `estimate_dynamics`.
        reward: The reward model; one parameter per state if omitted.
        **options: Further arguments of `fit` and `select_alpha`, such as `steps`.

    Example:
        >>> import jax
        >>> from robustirl import envs
        >>> from robustirl.demonstrations import sample_demonstrations
        >>> env = envs.make("gridworld-4")
        >>> theirs, world = env.mdp(0.2), env.mdp(0.0)
        >>> walks = sample_demonstrations(
        ...     theirs, expert_policy(theirs, env.reward), episodes=400, horizon=200, key=jax.random.key(0)
        ... )
        >>> found = fit_transfer(world, walks, selection=select_alpha(world, walks, candidates=[1, 0.95, 0.85]))
        >>> found.dynamics.noise > 0.1, found.recommended
        (True, False)
    """
    strength = as_positive("the strength of the prior", strength)
    if selection is None:
        selection = select_alpha(mdp, demonstrations, reward=reward, **options)
    dynamics = estimate_dynamics(mdp, demonstrations, strength=strength)
    expert = np.asarray(estimate_occupancy(demonstrations, mdp).occupancy)
    found = fit(dynamics.world, expert, alpha=1.0, reward=reward, **{**options, "throw": False})
    policy = expert_policy(mdp, found.reward)
    recommended, note = compare_transfer(mdp, selection, expert, np.asarray(policy), found)
    policy, found = released((policy, found))
    return Transfer(policy, found.reward, recommended, note, dynamics, found, selection)


def compare_transfer(
    mdp: MDP, selection: AlphaSelection, expert: Float[np.ndarray, " S"], policy: Float[np.ndarray, "S A"], found: Fit
) -> tuple[bool, str]:
    """Return whether transfer is to be preferred to the fit at the chosen α, and why.

    The reason is a sentence.
    """
    theirs, ours = float(found.verdict.occupancy_gap), float(selection.gap[0])
    if not theirs <= CLOSER * ours:
        return False, (
            f"transfer is not recommended: the expert's visits are missed by {theirs:.2g} in its estimated world and by"
            f" {ours:.2g} in the learner's, which is no great difference."
        )
    chosen, than = np.asarray(selection.fit.player), f"than that of the fit at α = {selection.alpha:g}"
    both = np.array([np.asarray(state_occupancy(mdp, one)) for one in (chosen, policy)])
    gains = [float(player_gains(both, (chosen, policy), judge, mdp)[1]) for judge in selection.judges]
    gain, error = (sum(gains) / 2, abs(gains[0] - gains[1]) / 2) if gains else (0.0, np.inf)
    if not gain > error:
        told = f"higher by {gain:.2g} ± {error:.1g} {than}" if gains else "unknown for want of episodes"
        return False, f"transfer is not recommended: its return by the rewards of both halves of the data is {told}."
    arrived = arrivals(mdp, both, expert)
    excess = np.maximum(both - OFTEN * expert, 0).sum(1)
    if arrived[1] < (1 - LATER) * arrived[0] or excess[1] > excess[0] + EXCESS:
        return False, (
            "transfer is not recommended: its policy ends elsewhere or later than the expert, or goes where the expert"
            " rarely does."
        )
    return True, (
        f"transfer is recommended: the expert's visits are missed by {theirs:.2g} in its estimated world and by"
        f" {ours:.2g} in the learner's, and the return is higher by {gain:.2g} ± {error:.1g} {than}, under the rewards"
        " of both halves of the data."
    )
