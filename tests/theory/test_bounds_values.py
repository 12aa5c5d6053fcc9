"""Every bound at points worked out by hand, and how near the bounded quantity comes to it."""

import dataclasses

import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.planning import discounted_return, expert_policy, state_occupancy
from robustirl.theory import bounds
from robustirl.theory.bounds import opponent_world


def leaking_world(leak, discount):
    kernel = [[[1 - leak, leak], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
    return MDP(kernel, discount=discount, initial=[1.0, 0.0])


def leaving(chance):
    """The policy that takes a2 in s0 with this chance."""
    return np.array([[1 - chance, chance], [0.5, 0.5]])


def gap_of_leaving(rate, discount, magnitude=1.0):
    """What leaving s0 at this rate costs, for rewards ±magnitude: 2γx|R| / ((1-γ)(1-γ+γx))."""
    return 2 * discount * rate * magnitude / ((1 - discount) * (1 - discount + discount * rate))


ALWAYS_LEAVE = np.tile([0.0, 1.0], (2, 1))


@dataclasses.dataclass(frozen=True)
class Point:
    """Worlds, rewards, and the terms of every bound there."""

    discount: float
    rewards: tuple[float, float]
    leak: float  # The expert's; the learner's is 0.
    train_leak: float
    train_rewards: tuple[float, float]
    alpha: float
    lemma: dict[str, float]
    mismatch: float
    soft: float
    opponent: float
    transfer: dict[str, float]
    saddle: float
    corrected: float
    infeasible: dict[str, float]

    @property
    def worlds(self) -> tuple[MDP, MDP]:
        return leaking_world(0.0, self.discount), leaking_world(self.leak, self.discount)


POINTS = [
    # d = 0.16, 1/(1-γ) = 2, |R| = 1, κ² = (1 + log 2)/2 = 0.846574; trained at d = 0.04 with κ² = (3 + log 2)/2.
    Point(
        discount=0.5,
        rewards=(1.0, -1.0),
        leak=0.08,
        train_leak=0.02,
        train_rewards=(3.0, -2.0),
        alpha=0.75,
        lemma={"root": 0.7360755, "linear": 0.5418071, "value": 1.0836142},  # 0.8 κ, 0.64 κ²
        mismatch=0.32,  # 0.5 · 0.16 · 4
        soft=5.8886041,  # 2 κ · 0.4 · 8
        opponent=2.0,  # 2 · 0.25 · 4
        transfer={"mismatch": 0.32, "policies": 4.3484378, "dynamics": 0.08, "policy": 2.0},
        saddle=4.3344569,  # 8 · 0.64 κ²
        corrected=0.5418071,
        infeasible={"mismatch": 0.32, "transfer": 1.0, "stated": 0.25, "policy": 2.0, "infeasibility": 1.16},
    ),
    # d = 0.04, 1/(1-γ) = 10, |R| = 3, κ² = 0.9 (2 + log 2) = 2.423832; trained at d = 0.16 with κ² = 0.9 (1 + log 2).
    Point(
        discount=0.9,
        rewards=(2.0, -3.0),
        leak=0.02,
        train_leak=0.08,
        train_rewards=(1.0, -1.0),
        alpha=0.95,
        lemma={"root": 3.1137324, "linear": 9.6953300, "value": 6.2274647},  # 2 κ, 4 κ²
        mismatch=10.8,  # 0.9 · 3 · 0.04 · 100
        soft=1868.2394,  # 2 κ · 3 · 0.2 · 1000
        opponent=30.0,  # 2 · 0.05 · 3 · 100
        transfer={"mismatch": 10.8, "policies": 2962.6469, "dynamics": 43.2, "policy": 150.0},
        saddle=1868.2394,  # 600 · 2 κ
        corrected=9.6953300,
        infeasible={"mismatch": 10.8, "transfer": 27.0, "stated": 1.35, "policy": 150.0, "infeasibility": 36.72},
    ),
    # Rewards below zero: κ² = 0.5 (4 - log 2) = 1.653426; d = 1, |R| = 4; trained where the expert is.
    Point(
        discount=0.5,
        rewards=(-1.0, -4.0),
        leak=0.5,
        train_leak=0.5,
        train_rewards=(-1.0, -4.0),
        alpha=0.5,
        lemma={"root": 2.5717124, "linear": 6.6137056, "value": 5.1434249},  # 2 κ, 4 κ²
        mismatch=8.0,
        soft=82.294798,  # 2 κ · 4 · 8
        opponent=16.0,
        transfer={"mismatch": 8.0, "policies": 82.294798, "dynamics": 8.0, "policy": 8.0},
        saddle=82.294798,  # 32 · 2 κ
        corrected=6.6137056,
        infeasible={"mismatch": 8.0, "transfer": 8.0, "stated": 4.0, "policy": 8.0, "infeasibility": 8.0},
    ),
]
points = pytest.mark.parametrize("point", POINTS, ids=["one", "two", "three"])


def close(value):
    return pytest.approx(value, rel=1e-6)


@points
def test_lemma_1(point: Point):
    found = bounds.soft_policy_bound(*point.worlds, point.rewards)
    assert {**found.terms, "value": found.value} == close(point.lemma)


@points
def test_theorem_1_and_its_soft_form(point: Point):
    assert bounds.standard_bound(*point.worlds, point.rewards).value == close(point.mismatch)
    soft = bounds.standard_bound_soft_expert(*point.worlds, point.rewards)
    assert soft.terms == close({"mismatch": point.mismatch, "policies": point.soft})
    assert soft.value == close(point.mismatch + point.soft)


@points
def test_theorem_3(point: Point):
    found = bounds.robust_bound(*point.worlds, point.rewards, point.alpha)
    assert found.terms == close({"mismatch": point.mismatch, "opponent": point.opponent})
    assert found.value == close(point.mismatch + point.opponent)


@points
def test_reward_transfer(point: Point):
    learner, expert = point.worlds
    worlds = learner, expert, leaking_world(point.train_leak, point.discount)
    policies = {"soft_policy": leaving(0.5), "policy": leaving(0.25)}  # At distance 0.5.
    found = bounds.transfer_bound(*worlds, point.rewards, point.train_rewards, **policies)
    assert found.terms == close(point.transfer)
    assert found.value == close(sum(point.transfer.values()))
    alone = bounds.transfer_bound(*worlds, point.rewards, point.train_rewards)
    assert alone.value == close(sum(point.transfer.values()) - point.transfer["policy"])


@points
def test_the_saddle_gap(point: Point):
    learner, _ = point.worlds
    distance = 2 * point.leak
    assert bounds.saddle_bound(learner, point.rewards, distance).value == close(point.saddle)
    assert bounds.saddle_bound_corrected(learner, point.rewards, distance).value == close(point.corrected)


@points
def test_the_infeasible_case(point: Point):
    learner, expert = point.worlds
    arguments = learner, expert, opponent_world(learner, ALWAYS_LEAVE), point.rewards
    options = {"expert_policy": leaving(0.5), "player": leaving(0.25), "alpha": point.alpha}
    terms = dict(point.infeasible)
    stated = terms.pop("stated")
    assert bounds.infeasible_bound(*arguments, **options).terms == close(terms)
    found = bounds.infeasible_bound(*arguments, **options, corrected=False)
    assert found.terms == close({**terms, "transfer": stated})
    assert found.value == close(sum(terms.values()) - terms["transfer"] + stated)


RATES = pytest.mark.parametrize(
    ("discount", "rate"), [(0.5, 0.3), (0.5, 1e-7), (0.9, 1e-7), (0.99, 0.01), (0.99, 1e-9)]
)


@RATES
def test_theorem_1_is_attained_at_every_discount_as_the_mismatch_vanishes(discount, rate):
    learner, expert, reward = leaking_world(0.0, discount), leaking_world(rate, discount), (2.0, -2.0)
    # The learner matches the expert, which never leaves, by leaving at the rate of the expert's leak.
    rho = state_occupancy(expert, leaving(0.0))
    assert np.allclose(state_occupancy(learner, leaving(rate)), rho, rtol=0, atol=1e-14)
    gap = float(discounted_return(learner, leaving(0.0), reward) - discounted_return(learner, leaving(rate), reward))
    assert gap == pytest.approx(gap_of_leaving(rate, discount, 2.0), rel=1e-5)
    bound = bounds.standard_bound(learner, expert, reward).value
    attained = (1 - discount) / (1 - discount + discount * rate)
    assert gap_of_leaving(rate, discount, 2.0) == pytest.approx(attained * bound, rel=1e-6)


@RATES
def test_the_terms_of_opponent_and_policy_are_attained_up_to_the_factor_of_the_discount(discount, rate):
    # The first state is no one's choice, so that a policy costs γ times what these terms allow for.
    learner, reward = leaking_world(0.0, discount), (2.0, -2.0)
    attained = discount * (1 - discount) / (1 - discount + discount * rate)
    gap = gap_of_leaving(rate, discount, 2.0)  # Of a player that stays, once an opponent leaves for it at this rate.
    opponent = bounds.robust_bound(learner, learner, reward, 1 - rate).terms["opponent"]
    assert gap == pytest.approx(attained * opponent, rel=1e-6)
    options = {"soft_policy": leaving(0.0), "policy": leaving(rate)}
    transfer = bounds.transfer_bound(learner, learner, learner, reward, reward, **options)
    assert gap == pytest.approx(attained * transfer.terms["policy"], rel=1e-6)
    infeasible = bounds.infeasible_bound(
        learner, learner, learner, reward, expert_policy=leaving(0.0), player=leaving(rate), alpha=1.0
    )
    assert gap == pytest.approx(attained * infeasible.terms["policy"], rel=1e-6)


def test_half_of_lemma_1_is_attained():
    # One decision at a small γ, ±r at its ends: of its 2γ (r + log 2) d the policies use γ r d. No more is known.
    discount, large, leak = 1e-4, 100.0, 1e-3

    def world(leak):
        kernel = np.zeros((3, 2, 3))
        kernel[0] = (0, 0.5 + leak, 0.5 - leak), (0, 0.5 - leak, 0.5 + leak)
        kernel[1:] = np.eye(3)[1:, None]
        return MDP(kernel, discount=discount, initial=[1.0, 0.0, 0.0])

    first, second = (expert_policy(world(x), [0.0, large, -large], temperature=1.0) for x in (0.0, leak))
    found = float(abs(first[0] - second[0]).sum())
    bound = bounds.soft_policy_bound(world(0.0), world(leak), [0.0, large, -large]).value
    assert found == pytest.approx(discount * large * 2 * leak, rel=1e-3)
    assert found / bound == pytest.approx(0.5 * large / (large + np.log(2)), rel=1e-3)
