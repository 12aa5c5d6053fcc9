"""Robust MCE IRL finds the closed form of Section 4.4, and the gaps of Theorem 4."""

import itertools

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.irl import ADAM, LBFGS, Status, fit
from robustirl.planning import discounted_return, expert_policy, state_occupancy

CASES = [
    (discount, noise, alpha)
    for discount, noise, alpha in itertools.product((0.5, 0.9, 0.99), (0.05, 0.1, 0.3), (1.0, 0.97, 0.95, 0.9, 0.7))
    if alpha >= 1 - noise - 1e-12
]


def learn(discount, noise, alpha, **options):
    env = ThreeState(discount=discount)
    expert_world, learner_world = env.mdp(noise), env.mdp(0.0)
    rho = state_occupancy(expert_world, expert_policy(expert_world, env.reward, kind="optimal"))
    return env, learner_world, fit(learner_world, rho, alpha=alpha, **options)


@pytest.mark.parametrize(("discount", "noise", "alpha"), CASES)
def test_player_and_gap_are_the_closed_form(discount, noise, alpha):
    env, world, result = learn(discount, noise, alpha, optimizer=LBFGS, tolerance=1e-9)
    assert result.verdict.status == Status.CONVERGED
    assert int(result.verdict.steps) <= 40
    assert float(result.player[0, 0]) == pytest.approx(env.player_probability(noise, alpha), abs=1e-6)
    ideal = discounted_return(world, expert_policy(world, env.reward, kind="optimal"), env.reward)
    gap = abs(float(ideal - discounted_return(world, result.player, env.reward)))
    assert gap == pytest.approx(env.performance_gap(noise, alpha), abs=1e-6)


@pytest.mark.slow
def test_the_papers_adam_gets_there_too_where_its_step_size_lets_it():
    env, _, result = learn(0.5, 0.1, 0.95, optimizer=ADAM, steps=1000, tolerance=1e-9)
    assert float(result.player[0, 0]) == pytest.approx(env.player_probability(0.1, 0.95), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("discount", "noise", "alpha"), [(0.99, 0.1, 0.95), (0.99, 0.3, 1.0), (0.9, 0.3, 0.95)])
def test_the_papers_adam_does_not_settle_where_its_step_is_too_large(discount, noise, alpha):
    # Its step of 0.5 in the reward is one of up to 0.5 / (1 - γ) in the value.
    _, _, result = learn(
        discount, noise, alpha, optimizer=ADAM, steps=3000, tolerance=1e-9, keep_last=True, throw=False
    )
    assert result.verdict.status == Status.MAX_STEPS
    assert float(result.verdict.occupancy_gap) > 0.01


def test_the_opponent_always_takes_the_bad_action():
    _, _, result = learn(0.9, 0.2, 0.9, optimizer=LBFGS, tolerance=1e-9)
    assert np.asarray(result.opponent[0]).tolist() == [0, 1]
