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

**The choice of α.** The opponent takes control with probability 1-α. Given an estimate of T^E,
- Section 5 suggests 1-α ≈ d_dyn(T^L, T^E) / 2, the smallest opponent whose set T^{L,α} can hold T^E;
- the corollary to the infeasible-case bound suggests 1-α = (d_dyn(T^E, T^L) - d_dyn(T*, T^E)) / 4, which
  minimizes that bound as stated, T* being the opponent's kernel.

The second rests on a step that does not hold (see `infeasible_bound`). With the step corrected the bound's α-dependent
part is (1-α) {d(T*, T^L) + d(T*, T^E)} + α d(T^E, T^L), which by the triangle inequality is always smallest at α = 1:
the corrected bound never recommends an opponent.
"""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from robustirl._jax import working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame, dynamics_distance
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.game import as_alpha
from robustirl.mdp.kernel import require_same_size
from robustirl.mdp.policy import as_policy, as_reward, policy_distance
from robustirl.planning import solve
from robustirl.types import ArrayLike


@working_precision
def reward_magnitude(mdp: MDP, reward: ArrayLike) -> float:
    """|R|^max = max_s |R(s)|.

    Example:
        >>> reward_magnitude(MDP([[[1.0]]], discount=0.5), [-3.0])
        3.0
    """
    return float(np.abs(as_reward(reward, mdp)).max())


@working_precision
def kappa(mdp: MDP, reward: ArrayLike) -> float:
    """κ_θ = √(γ max{R^max + log|A|, -log|A| - R^min}), so that ‖V^soft‖∞ <= κ² / (γ (1-γ)).

    With action masks |A| is not one number: the soft value is at most (R^max + log of the most actions) and
    at least (R^min + log of the fewest) over 1 - γ, which is what the two logarithms are for. Where every
    action is available everywhere this is the paper's constant.

    Example:
        >>> round(kappa(MDP([[[1.0], [1.0]]], discount=0.5), [1.0]) ** 2, 4)  # γ (1 + log 2)
        0.8466
    """
    values = np.asarray(as_reward(reward, mdp))
    actions = np.log(np.asarray(mdp.mask).sum(-1))
    largest = max(values.max() + actions.max(), -actions.min() - values.min())
    return float(np.sqrt(float(mdp.discount) * largest))


def require_comparable(first: MDP, second: MDP) -> None:
    """Refuse two worlds that differ in more than their transition dynamics."""
    require_same_size(first.kernel, second.kernel)
    if first.kernel.leaky or second.kernel.leaky:
        raise InvalidInputError(
            "a world loses probability (its kernel is leaky), and no theorem of the paper covers that;"
            " use another noise model than published."
        )
    if not np.array_equal(first.mask, second.mask):
        raise InvalidInputError("the worlds allow different actions; the bounds need the same mask in both.")
    if float(first.discount) != float(second.discount):
        raise InvalidInputError(
            f"the worlds have different discounts, {float(first.discount)!r} and {float(second.discount)!r};"
            " the bounds need the same in both."
        )
    if not np.allclose(first.initial, second.initial, rtol=0, atol=1e-12):
        raise InvalidInputError("the worlds start from different distributions; the bounds need the same P0 in both.")


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
    (`tests/theory/test_bounds.py`). `saddle_bound_corrected` holds always.
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

    `opponent_world` holds T*, the opponent's kernel (see the function of that name).

    As stated the transfer term is γ |R| 2 (1-α)² / (1-γ)², by the step d_dyn(T*, T^L) = 2 (1-α). But T* is the kernel
    that enters α T^L + (1-α) T*, and may be as far as 2 from T^L: the step would need the mixture in its place.
    Corrected, the term is γ |R| (1-α) d_dyn(T*, T^L) / (1-γ)².

    The bound as stated can be violated where no policy matches (`tests/theory/test_bounds.py`). If the
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


@dataclasses.dataclass(frozen=True)
class AlphaChoice:
    """Suggestions for α.

    Attributes:
        distance: d_dyn(T^L, T^E).
        half_distance: The rule of Section 5, 1 - d/2.
        corollary: The corollary's rule; none where it was not asked for.
    """

    distance: float
    half_distance: float
    corollary: float | None = None


@working_precision
def choose_alpha(learner: MDP, expert: MDP, *, opponent_world: MDP | None = None) -> AlphaChoice:
    """α by the paper's rules, from the learner's world and an estimate of the expert's.

    Args:
        learner: M^L.
        expert: M^E, or an estimate of it.
        opponent_world: The world of the opponent's kernel T*, for the corollary's rule.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> env = ThreeState()
        >>> choose_alpha(env.mdp(0.0), env.mdp(0.25)).half_distance
        0.75
    """
    require_comparable(learner, expert)
    distance = float(dynamics_distance(learner, expert))
    if distance >= 2:
        raise InvalidInputError(
            "the worlds are at distance 2, where the rule gives alpha = 0: nothing of the expert's dynamics is left"
            " in the learner's; no alpha can help."
        )
    corollary = None
    if opponent_world is not None:
        require_comparable(learner, opponent_world)
        corollary = min(1.0, 1 - distance / 4 + float(dynamics_distance(opponent_world, expert)) / 4)
    return AlphaChoice(distance, 1 - distance / 2, corollary)


@working_precision
def opponent_world(mdp: MDP, opponent: ArrayLike) -> MDP:
    """Return the world in which the opponent always acts.

    T*(·|s,a) = Σ_b π_op(b|s) T(·|s,b), whatever the player's a.
    """
    chain = mdp.kernel.chain(as_policy(opponent, mdp)).dense()
    rows = jnp.broadcast_to(chain[:, None, :], (mdp.num_states, mdp.num_actions, mdp.num_states))
    return MDP(DenseKernel(rows), discount=mdp.discount, initial=mdp.initial, mask=mdp.mask)


@working_precision
def worst_opponent_world(mdp: MDP, reward: ArrayLike, alpha: float) -> MDP:
    """Return `opponent_world` of the opponent in the game's saddle point for a reward.

    It is T* of the appendix.
    """
    return opponent_world(mdp, solve(MarkovGame(mdp, alpha), reward).opponent)
