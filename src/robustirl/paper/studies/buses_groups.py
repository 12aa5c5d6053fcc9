"""Groups of Rust's buses as `robustirl study buses` uses them: worlds, records, and what a group's own choices say."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from robustirl import envs
from robustirl.demonstrations import Choices, Demonstrations, recorded, recorded_choices
from robustirl.irl import Inference, fit, fit_jointly, infer
from robustirl.mdp import MDP
from robustirl.planning import state_occupancy
from robustirl.rewards import LinearReward
from robustirl.theory import causal_entropy

WEAK_PRIOR = 0.01  # For groups without a replacement; with it the log-likelihood falls by 0.5 for a cost of 10.


class Group(NamedTuple):
    """A group of buses: its world at the discount of either objective, and what was recorded."""

    number: int
    world: MDP
    matched_world: MDP
    choices: Choices
    episodes: Demonstrations

    @property
    def penalty(self) -> float:
        """How strong a prior the cost needs: none where engines were replaced."""
        return 0.0 if self.choices.actions.any() else WEAK_PRIOR


class Judge(NamedTuple):
    """What a group's own choices say about the cost: the best policy for it, and how sure it is."""

    policy: Float[np.ndarray, "S A"]
    inference: Inference
    features: Float[np.ndarray, " d"]
    entropy: float


def read_group(number: int, discount: float, matched_discount: float) -> Group:
    """Return a group with its worlds and records."""
    env = envs.buses(number, discount=discount)
    matched = envs.buses(number, discount=matched_discount).mdp()
    return Group(number, env.mdp(), matched, recorded_choices(env), recorded(env))


def cost_model() -> LinearReward:
    """Return Rust's linear cost: two features of state and action."""
    env = envs.buses(4)
    return LinearReward(env.features, names=env.feature_names)


def mean_features(world: MDP, policy: Float[np.ndarray, "S A"], features: Float[np.ndarray, "S A d"]) -> np.ndarray:
    """Return the discounted mean of the features under a policy, `[d]`.

    Example:
        >>> world = MDP([[[1.0], [1.0]]], discount=0.5)
        >>> mean_features(world, np.array([[0.25, 0.75]]), np.array([[[1.0, 0.0], [0.0, 2.0]]])).tolist()
        [0.25, 1.5]
    """
    visits = np.asarray(state_occupancy(world, policy))
    return np.einsum("s,sa,sad->d", visits, policy, features)


def make_judge(group: Group, costs: LinearReward) -> Judge | None:
    """Return what a group's own choices say about its cost; None where no engine was replaced."""
    if not group.choices.actions.any():
        return None
    found = fit(group.world, group.choices, alpha=1.0, reward=costs, objective="likelihood")
    policy = np.asarray(found.player)
    return Judge(
        policy,
        infer(found, group.world, group.choices, costs),
        mean_features(group.world, policy, np.asarray(costs.features)),
        float(causal_entropy(group.world, policy)),
    )


def log_probabilities(policy: Float[np.ndarray, "S A"], choices: Choices) -> Float[np.ndarray, " N"]:
    """Return the log-probability of every choice; minus infinity for what the policy rules out."""
    with np.errstate(divide="ignore"):
        return np.log(policy[choices.states, choices.actions])


class OneCost(NamedTuple):
    """A test of whether groups share one cost.

    Attributes:
        groups: Those with replacements.
        statistic: Twice the log-likelihood that is lost if they share one.
        freedom: Its degrees of freedom: the parameters that are lost.
        p_value: The chance of a statistic so large if they do, by the chi-squared approximation.
    """

    groups: tuple[int, ...]
    statistic: float
    freedom: int
    p_value: float


def compare_costs(groups: Sequence[Group], costs: LinearReward) -> OneCost | None:
    """Return the likelihood-ratio test of one cost for all groups with replacements.

    It is None if there are fewer than two such groups.
    """
    from scipy.stats import chi2  # Here, so that listing the studies stays light.

    replaced = [group for group in groups if group.choices.actions.any()]
    if len(replaced) < 2:
        return None
    worlds, choices = [group.world for group in replaced], [group.choices for group in replaced]
    joint = fit_jointly(worlds, choices, reward=costs, objective="likelihood")
    lost = 0.0
    for group, player in zip(replaced, joint.players, strict=True):
        own = fit(group.world, group.choices, alpha=1.0, reward=costs, objective="likelihood")
        lost += float((log_probabilities(np.asarray(own.player), group.choices)).sum())
        lost -= float((log_probabilities(player, group.choices)).sum())
    freedom = (len(replaced) - 1) * np.shape(costs.features)[-1]
    numbers = tuple(group.number for group in replaced)
    return OneCost(numbers, 2 * lost, freedom, float(chi2.sf(2 * lost, freedom)))
