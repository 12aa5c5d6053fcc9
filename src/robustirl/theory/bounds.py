r"""The paper's performance bounds, each with its theorem, and corrected where it needs to be.

Throughout, d = d_dyn(T^L, T^E), |R| = |R_θ*|^max, V^π is the discounted return in M^L, π_1 the policy learned
without mismatch, π_2 the one learned with it, and π_pl the player of robust MCE IRL:

    Lemma 1       d_pol(π', π)          <= 2 min{κ √d / (1-γ), κ² d / (1-γ)²}, both soft-optimal for one reward
    Theorem 1     |V^{π_1} - V^{π_2}|   <= γ |R| d / (1-γ)²
     soft expert  |V^{π_1} - V^{π_2}|   <= γ |R| d / (1-γ)² + 2 κ |R| √d / (1-γ)³
    Theorem 3     |V^{π_1} - V^{π_pl}|  <= |R| / (1-γ)² {γ d + 2 (1-α)}

They assume that the occupancies are matched exactly: π_1 and π_2 have the occupancies of the experts, and
the mixture α π_pl + (1-α) π_op has that of the expert of M^E. `robustirl.theory.existence` tells whether
that is possible.
"""

import dataclasses
import math

from robustirl._runtime import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, as_alpha, as_policy, dynamics_distance, policy_distance
from robustirl.theory.constants import kappa, require_comparable, reward_magnitude
from robustirl.types import ArrayLike


@dataclasses.dataclass(frozen=True)
class Bound:
    """A bound, the theorem it comes from, and the terms whose sum it is.

    Attributes:
        name: Where it stands in the paper.
        value: The bound.
        terms: Its summands by name.
    """

    name: str
    value: float
    terms: dict[str, float]


def _total(name: str, **terms: float) -> Bound:
    return Bound(name, math.fsum(terms.values()), terms)


def _distance(first: MDP, second: MDP) -> float:
    require_comparable(first, second)
    return float(dynamics_distance(first, second))


def _horizon(mdp: MDP) -> float:
    """1 / (1-γ)."""
    return 1 / (1 - float(mdp.discount))


@working_precision
def soft_policy_bound(first: MDP, second: MDP, reward: ArrayLike) -> Bound:
    """Bound, by Lemma 1, d_pol between the soft-optimal policies of one reward in two worlds.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> env = ThreeState(discount=0.5)
        >>> bound = soft_policy_bound(env.mdp(0.0), env.mdp(0.1), env.reward)
        >>> sorted(bound.terms), bound.value == 2 * min(bound.terms.values())
        (['linear', 'root'], True)
    """
    distance, constant, horizon = _distance(first, second), kappa(first, reward), _horizon(first)
    branches = {"root": constant * math.sqrt(distance) * horizon, "linear": constant**2 * distance * horizon**2}
    return Bound("Lemma 1", 2 * min(branches.values()), branches)


@working_precision
def standard_bound(learner: MDP, expert: MDP, reward: ArrayLike) -> Bound:
    """Bound, by Theorem 1, standard MCE IRL under mismatch, for an optimal expert.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> env = ThreeState(discount=0.5)
        >>> round(standard_bound(env.mdp(0.0), env.mdp(0.1), env.reward).value, 6)  # 0.5 · 1 · 0.2 / 0.25
        0.4
    """
    return _total("Theorem 1", mismatch=_mismatch(learner, expert, reward))


@working_precision
def standard_bound_soft_expert(learner: MDP, expert: MDP, reward: ArrayLike) -> Bound:
    """Bound it by Theorem 1 for a soft-optimal expert (appendix).

    This adds the distance of the experts' policies.
    """
    return for_soft_expert(standard_bound(learner, expert, reward), learner, expert, reward)


@working_precision
def for_soft_expert(bound: Bound, learner: MDP, expert: MDP, reward: ArrayLike) -> Bound:
    """Return a bound that assumes optimal experts as it reads for soft-optimal ones.

    Only one step of the proofs uses that the experts are optimal: that their returns in the two worlds differ by no
    more than the term `mismatch`. For soft-optimal experts the appendix adds 2 κ |R| √d / (1-γ)³. The gap is then that
    to the policy learned from the soft-optimal expert of the learner's own world.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> env = ThreeState(discount=0.5)
        >>> worlds = env.mdp(0.0), env.mdp(0.1)
        >>> bound = for_soft_expert(robust_bound(*worlds, env.reward, 0.9), *worlds, env.reward)
        >>> bound.name, sorted(bound.terms)
        ('Theorem 3, soft expert', ['mismatch', 'opponent', 'policies'])
    """
    distance, horizon = _distance(learner, expert), _horizon(learner)
    policies = 2 * kappa(learner, reward) * reward_magnitude(learner, reward) * math.sqrt(distance) * horizon**3
    return _total(f"{bound.name}, soft expert", **bound.terms, policies=policies)


@working_precision
def robust_bound(learner: MDP, expert: MDP, reward: ArrayLike, alpha: float) -> Bound:
    """Bound, by Theorem 3, robust MCE IRL under mismatch, for an optimal expert.

    The mixture has to match the expert's occupancy.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> env = ThreeState(discount=0.5)
        >>> bound = robust_bound(env.mdp(0.0), env.mdp(0.1), env.reward, alpha=0.9)
        >>> round(bound.value, 6)  # 0.4, as Theorem 1 has it, and 2 · 0.1 · 1 / 0.25
        1.2
    """
    strength = 1 - float(as_alpha(alpha))
    opponent = 2 * strength * reward_magnitude(learner, reward) * _horizon(learner) ** 2
    return _total("Theorem 3", mismatch=_mismatch(learner, expert, reward), opponent=opponent)


@working_precision
def transfer_bound(
    learner: MDP,
    expert: MDP,
    train: MDP,
    reward: ArrayLike,
    train_reward: ArrayLike,
    *,
    soft_policy: ArrayLike | None = None,
    policy: ArrayLike | None = None,
) -> Bound:
    """Return the reward-transfer bound (appendix): learn a reward in M^train, act on it in M^L.

    Args:
        learner: M^L.
        expert: M^E, whose optimal expert was matched in M^train.
        train: M^train.
        reward: The true reward R_θ*.
        train_reward: R_θtrain, learned in M^train.
        soft_policy: π_4, soft-optimal for the learned reward in M^L.
        policy: π^L, the policy acted with; π_4 itself if omitted.
    """
    require_comparable(learner, train)
    away = _distance(train, learner)
    horizon, magnitude, discount = _horizon(learner), reward_magnitude(learner, reward), float(learner.discount)
    apart = 0.0
    if policy is not None:
        if soft_policy is None:
            raise InvalidInputError("a policy was given without the soft-optimal one to compare it with; give both.")
        apart = float(policy_distance(as_policy(soft_policy, learner), as_policy(policy, learner)))
    return _total(
        "reward transfer",
        mismatch=_mismatch(learner, expert, reward),
        policies=magnitude * horizon**3 * 2 * kappa(train, train_reward) * math.sqrt(away),
        dynamics=magnitude * horizon**2 * discount * away,
        policy=magnitude * horizon**2 * apart,
    )


@working_precision
def transfer_bound_trained_with_expert(learner: MDP, expert: MDP, reward: ArrayLike, train_reward: ArrayLike) -> Bound:
    """Return the reward-transfer bound for M^train = M^E and π^L = π_4.

    What it would give to know the expert's world.
    """
    bound = transfer_bound(learner, expert, expert, reward, train_reward)
    return dataclasses.replace(bound, name="reward transfer, M^train = M^E")


@working_precision
def saddle_bound(mdp: MDP, reward: ArrayLike, distance: float) -> Bound:
    """Return how much the game can overstate the robust MDP's value, as the paper has it.

    The bound is in the appendix to Section 4.3. `distance` is d_dyn between the saddle points' kernels over T^{L,α} and
    over the opponent's smaller set.

    The proof bounds the difference of two soft values in two *worlds* by the distance of their *policies*, and that
    step does not hold. The bound itself holds if every state has the same number of actions, two or more, by another
    way: the soft values of either world lie in an interval of length (R^max - R^min)/(1-γ), so that they differ by no
    more, nor by more than γ d (R^max - R^min) / (2 (1-γ)²). If the root is the smaller branch, it is above 1, and the
    bound is above the first. If the linear one is, the bound is above the second: use κ² >= γ (R^max - R^min)/2 for
    |R| >= 1/2, and κ² >= γ (R^max + log 2) for less.

    It can fail where a state has a single action or states have different numbers of actions
    (`tests/theory/test_bounds_counterexamples.py`). `saddle_bound_corrected` holds always.
    """
    _require_distance(distance)
    horizon, constant = _horizon(mdp), kappa(mdp, reward)
    branches = {"root": constant * math.sqrt(distance) * horizon, "linear": constant**2 * distance * horizon**2}
    value = 2 * reward_magnitude(mdp, reward) * horizon**2 * min(branches.values())
    return Bound("saddle gap, as stated", value, branches)


@working_precision
def saddle_bound_corrected(mdp: MDP, reward: ArrayLike, distance: float) -> Bound:
    """Return the saddle gap by the contraction of the soft Bellman operator: κ² d / (1-γ)².

    |V - V'| <= γ d ‖V‖∞ / (1-γ) for the soft values of one reward in two worlds, and ‖V‖∞ <= κ² / (γ (1-γ)).
    """
    _require_distance(distance)
    return _total("saddle gap, corrected", dynamics=kappa(mdp, reward) ** 2 * distance * _horizon(mdp) ** 2)


@working_precision
def infeasible_bound(
    learner: MDP,
    expert: MDP,
    opponent_world: MDP,
    reward: ArrayLike,
    *,
    expert_policy: ArrayLike,
    player: ArrayLike,
    alpha: float,
    corrected: bool = True,
) -> Bound:
    """Bound the gap of robust MCE IRL where no policy matches the expert (appendix).

    `opponent_world` holds T*, the opponent's kernel (`robustirl.theory.alpha.opponent_world`).

    As stated the transfer term is γ |R| 2 (1-α)² / (1-γ)², by the step d_dyn(T*, T^L) = 2 (1-α). But T* is the kernel
    that enters α T^L + (1-α) T*, and may be as far as 2 from T^L: the step would need the mixture in its place.
    Corrected, the term is γ |R| (1-α) d_dyn(T*, T^L) / (1-γ)².

    The bound as stated can be violated where no policy matches (`tests/theory/test_bounds_counterexamples.py`). If the
    mixture does match the expert and α >= 1/2, it holds nevertheless: what the transfer term lacks,
    (1-α) d_dyn(T*, T^L), is by the triangle inequality within the term for infeasibility, which a match does not need.
    """
    strength = 1 - float(as_alpha(alpha))
    weight = reward_magnitude(learner, reward) * _horizon(learner) ** 2
    discount = float(learner.discount)
    away = _distance(opponent_world, learner)
    apart = policy_distance(as_policy(expert_policy, learner), as_policy(player, learner))
    mismatch, opposed = _distance(learner, expert), _distance(expert, opponent_world)
    return _total(
        "infeasible case, corrected" if corrected else "infeasible case, as stated",
        mismatch=discount * weight * mismatch,
        transfer=discount * weight * strength * (away if corrected else 2 * strength),
        policy=weight * float(apart),
        infeasibility=discount * weight * ((1 - strength) * mismatch + strength * opposed),
    )


def _mismatch(learner: MDP, expert: MDP, reward: ArrayLike) -> float:
    """γ |R| d / (1-γ)², the term that all bounds on returns share."""
    distance = _distance(learner, expert)
    return float(learner.discount) * reward_magnitude(learner, reward) * distance * _horizon(learner) ** 2


def _require_distance(distance: float) -> None:
    if not 0 <= distance <= 2:
        raise InvalidInputError(f"the distance is {distance!r}, but an l1 distance of distributions lies in [0, 2].")
