"""What the theory says of a learner's and an expert's world, beside what learning then achieves.

The bounds are worst cases over everything they do not look at, and at γ = 0.99 most exceed the largest
gap there can be, 2 |R|^max / (1-γ): such a bound is marked as vacuous. The certificate is exact for the one
policy it is about, and so says something even then.
"""

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Float

from robustirl.envs import Environment
from robustirl.irl import PAPER_STEPS, Fit, fit_many, paper_optimizer
from robustirl.mdp import MDP
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.rewards import make_reward_model
from robustirl.theory import (
    AlphaChoice,
    Bound,
    Certificate,
    Closest,
    Matching,
    certify,
    choose_alpha,
    closest_occupancy,
    find_matching_policy,
    for_soft_expert,
    infeasible_bound,
    kappa,
    opponent_world,
    reward_magnitude,
    robust_bound,
    standard_bound,
    worst_opponent_world,
)
from robustirl.types import AnyArray


@dataclasses.dataclass(frozen=True)
class Learned:
    """A learned policy, its gap to the best of the learner's world, a bound and a certificate.

    Attributes:
        alpha: α it was learned with.
        fit: The fit.
        gap: |V^{π_1} - V^π|, π_1 the expert's policy in the learner's world, matched by learning without mismatch.
        bound: The theorem's bound on the gap: Theorem 1 for α = 1, Theorem 3 below, with the term for soft experts.
        infeasible: The appendix's bound for when no policy matches, corrected.
        certificate: Its return over all kernels within d_dyn(T^L, T^E) of the learner's.
    """

    alpha: float
    fit: Fit
    gap: float
    bound: Bound
    infeasible: Bound
    certificate: Certificate


@dataclasses.dataclass(frozen=True)
class PairReport:
    """All there is to say of one pair of worlds.

    Attributes:
        learner: M^L.
        expert: M^E.
        distance: d_dyn(T^L, T^E).
        magnitude: |R|^max.
        kappa: κ of the true reward.
        trivial: 2 |R|^max / (1-γ), the largest gap between any two returns.
        matching: Whether a policy of the learner matches the expert's occupancy.
        closest: The smallest occupancy gap that a policy of the learner can reach.
        choice: α by the paper's rules.
        optimal_return: The best return in the learner's world.
        standard: Standard MCE IRL.
        robust: Robust MCE IRL.
    """

    learner: MDP
    expert: MDP
    distance: float
    magnitude: float
    kappa: float
    trivial: float
    matching: Matching
    closest: Closest
    choice: AlphaChoice
    optimal_return: float
    standard: Learned
    robust: Learned


def report_pairs(
    environment: Environment,
    noise_model: str | None,
    learner_noise: float,
    expert_noises: Sequence[float],
    *,
    alpha: float | None = None,
    expert: str = "optimal",
    steps: int = PAPER_STEPS,
) -> list[PairReport]:
    """Return the reports of one learner against several experts; all fits are one compiled call.

    α is that of the rule 1 - d/2 for each pair, unless given.
    """
    learner = environment.mdp(learner_noise, noise_model)
    reward = jnp.asarray(environment.reward)
    experts = [environment.mdp(noise, noise_model) for noise in expert_noises]
    policies = [expert_policy(world, reward, kind=expert) for world in experts]
    occupancies = [state_occupancy(world, policy) for world, policy in zip(experts, policies, strict=True)]
    choices = [choose_alpha(learner, world) for world in experts]
    alphas = [choice.half_distance if alpha is None else alpha for choice in choices]
    model = make_reward_model(environment.reward_model, len(reward), environment.features)
    count = len(experts)
    fits = fit_many(
        [learner] * 2 * count,
        occupancies * 2,
        [1.0] * count + alphas,
        rewards=model,
        optimizer=paper_optimizer(model),
        steps=steps,
    )
    best = discounted_return(learner, expert_policy(learner, reward, kind="optimal"), reward)
    unmatched = discounted_return(learner, expert_policy(learner, reward, kind=expert), reward)
    returns = float(best), float(unmatched)
    return [
        _report(learner, world, policy, occupancy, choice, reward, returns, expert == "soft", standard, robust)
        for world, policy, occupancy, choice, standard, robust in zip(
            experts, policies, occupancies, choices, fits[:count], fits[count:], strict=True
        )
    ]


def _report(
    learner: MDP,
    expert: MDP,
    policy: Float[AnyArray, "S A"],
    occupancy: Float[AnyArray, " S"],
    choice: AlphaChoice,
    reward: Float[AnyArray, " S"],
    returns: tuple[float, float],
    soft: bool,
    standard: Fit,
    robust: Fit,
) -> PairReport:
    star = worst_opponent_world(learner, robust.reward, float(robust.alpha))
    best, without_mismatch = returns

    def learned(fit: Fit) -> Learned:
        alpha = float(fit.alpha)
        standard = alpha == 1
        bound = standard_bound(learner, expert, reward) if standard else robust_bound(learner, expert, reward, alpha)
        infeasible = infeasible_bound(
            learner,
            expert,
            opponent_world(learner, fit.opponent),
            reward,
            expert_policy=policy,
            player=fit.player,
            alpha=alpha,
        )
        if soft:
            bound, infeasible = (for_soft_expert(b, learner, expert, reward) for b in (bound, infeasible))
        certificate = certify(learner, fit.player, reward, radius=choice.distance)
        gap = abs(without_mismatch - float(certificate.nominal_return))
        return Learned(alpha, fit, gap, bound, infeasible, certificate)

    magnitude = reward_magnitude(learner, reward)
    return PairReport(
        learner=learner,
        expert=expert,
        distance=choice.distance,
        magnitude=magnitude,
        kappa=kappa(learner, reward),
        trivial=2 * magnitude / (1 - float(learner.discount)),
        matching=find_matching_policy(learner, occupancy),
        closest=closest_occupancy(learner, occupancy),
        choice=choose_alpha(learner, expert, opponent_world=star),
        optimal_return=best,
        standard=learned(standard),
        robust=learned(robust),
    )
