r"""Transfer: learn where the expert acted, plan where the learner will (Section 3.3).

If actions are recorded, they tell the expert's world T^E (`demonstrations.estimate_dynamics`). Standard IRL in that
world takes no noise for intent. Its reward is then planned with in the learner's world. The reward is free where the
expert never goes, and planning with it may fail badly there.

The reward found in the expert's world is one more hypothesis about what the expert wanted, and the plan one more
policy; the rule of `select_alpha` decides among all. Transfer is recommended if its policy has a smaller mean regret
than the chosen one under the open hypotheses, its own included if that explains the visits about as well as the best,
and if it arrives at the expert's ends at least as often.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl._jax import released, working_precision
from robustirl._show import ShortRepr, joined
from robustirl.demonstrations import Demonstrations, estimate_dynamics
from robustirl.demonstrations.dynamics import DynamicsEstimate
from robustirl.irl.alpha import SAME, AlphaSelection, arrivals, matched_occupancy, regret_matrix, select_alpha
from robustirl.irl.fit import fit
from robustirl.irl.result import Fit
from robustirl.mdp import MDP
from robustirl.planning import expert_policy
from robustirl.rewards import AbstractReward


@dataclasses.dataclass(frozen=True, eq=False)
class Transfer(ShortRepr):
    """Hold a policy learned through the estimated world of the expert.

    Attributes:
        policy: `[S, A]`, the policy for the learner's world.
        reward: `[S]`, the reward found in the expert's world.
        recommended: Whether it looks better than what `select_alpha` found.
        note: In a sentence, why.
        dynamics: The expert's world as recorded actions tell it.
        fit: Standard IRL in that world.
        selection: What `select_alpha` found in the learner's world.
    """

    policy: Float[np.ndarray, "S A"]
    reward: Float[np.ndarray, " S"]
    recommended: bool
    note: str
    dynamics: DynamicsEstimate
    fit: Fit
    selection: AlphaSelection

    def __repr__(self) -> str:
        return joined("Transfer", [f"recommended={self.recommended}", self.note.removesuffix(".")])


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
        >>> found.policy.shape
        (36, 4)
    """
    if selection is None:
        selection = select_alpha(mdp, demonstrations, reward=reward, **options)
    dynamics = estimate_dynamics(mdp, demonstrations, strength=strength)
    target = matched_occupancy(demonstrations, mdp, reward)
    found = fit(dynamics.world, target, alpha=1.0, reward=reward, **{**options, "throw": False})
    policy = np.asarray(expert_policy(mdp, np.asarray(found.reward), kind="optimal"))
    recommended, note = compare_transfer(mdp, selection, policy, found)
    policy, found = released((policy, found))
    return Transfer(policy, np.asarray(found.reward), recommended, note, dynamics, found, selection)


def compare_transfer(
    mdp: MDP, selection: AlphaSelection, policy: Float[np.ndarray, "S A"], found: Fit
) -> tuple[bool, str]:
    """Return whether the policy of a transfer is to be preferred to the chosen one, and why in a sentence.

    Args:
        mdp: The learner's world.
        selection: What `select_alpha` found in it.
        policy: The plan in the learner's world for the reward found in the expert's.
        found: Standard IRL in the expert's world.
    """
    theirs, ours = float(found.verdict.gap), float(selection.gaps.min())
    is_open = selection.gaps <= min(theirs, ours) + selection.error
    rewards = [np.asarray(one.reward) for one, kept in zip(selection.fits, is_open, strict=True) if kept]
    if theirs <= min(theirs, ours) + selection.error:
        rewards.append(np.asarray(found.reward))
    both = np.stack([selection.policy, policy])
    chosen, transferred = regret_matrix(mdp, both, rewards)[0].mean(0)
    arrived = arrivals(mdp, both, np.asarray(found.expert_occupancy))
    facts = (
        f"the expert's visits are missed by {theirs:.2g} in its estimated world and by {ours:.2g} in the learner's, and"
        f" its policy loses {100 * transferred:.2g} % in the mean of {len(rewards)} open hypotheses, that of"
        f" α = {selection.alpha:g} {100 * chosen:.2g} %"
    )
    if transferred >= chosen:
        return False, f"Transfer is not recommended: {facts}."
    if arrived[1] < arrived[0] * (1 - SAME):
        return (
            False,
            f"Transfer is not recommended, because its policy arrives at the expert's ends less often: {facts}.",
        )
    return True, f"Transfer is recommended: {facts}."
