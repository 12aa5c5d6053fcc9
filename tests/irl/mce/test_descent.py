"""The default method: it reaches a stated accuracy, returns the best iterate, and settles where no policy matches."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.irl import LBFGS, NEWTON, PAPER_SETTINGS, Status, fit
from robustirl.irl.mce.curvature import Curvature
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Newton, expert_policy, solve, state_occupancy
from robustirl.rewards import LinearReward, NetworkReward
from robustirl.theory import closest_occupancy


@functools.cache
def problem(name, learner, expert, model, kind):
    env = envs.make(name)
    world = env.mdp(expert, model)
    return env.mdp(learner, model), state_occupancy(world, expert_policy(world, env.reward, kind=kind))


def random_game(seed, alpha, size=6):
    rng = np.random.default_rng(seed)
    kernel = rng.dirichlet(np.full(size, 0.5), size=(size, 3))
    world = MDP(kernel, discount=0.9, initial=rng.dirichlet(np.ones(size)))
    return MarkovGame(world, alpha), rng.normal(size=size), rng.normal(size=(size, 2))


def curvature_at(game, reward, features=None):
    solution = solve(game, reward, solver=Newton(), tolerance=1e-12)
    occupancy = state_occupancy(game.mdp, solution.mixture)
    return Curvature(game, solution.player, solution.opponent, solution.mixture, occupancy, features, temperature=1.0)


@pytest.mark.parametrize("alpha", [1.0, 0.8])
def test_the_curvature_is_the_derivative_of_the_occupancy(alpha):
    game, reward, features = random_game(3, alpha)

    def occupancy(r):
        return np.asarray(state_occupancy(game.mdp, solve(game, r, solver=Newton(), tolerance=1e-12).mixture))

    step = 1e-5
    numeric = np.stack([(occupancy(reward + step * e) - occupancy(reward - step * e)) / (2 * step) for e in np.eye(6)])
    exact = np.asarray(curvature_at(game, reward).matrix())
    assert np.allclose(exact, numeric, atol=1e-7)
    assert np.linalg.eigvalsh(exact).min() > -1e-12
    assert np.allclose(
        curvature_at(game, reward, jnp.asarray(features)).matrix(), features.T @ exact @ features, atol=1e-10
    )


MATCHED = [
    pytest.param("frozen-lake-8x8", 0.0, 0.2, "slip", "optimal", marks=pytest.mark.slow),
    ("frozen-lake", 0.0, 2 / 3, "slip", "optimal"),
    ("frozen-lake", 2 / 3, 2 / 3, "slip", "optimal"),
]


@pytest.mark.parametrize(("name", "learner", "expert", "model", "kind"), MATCHED)
def test_an_expert_who_can_be_matched_is_matched_to_the_default_accuracy(name, learner, expert, model, kind):
    world, rho = problem(name, learner, expert, model, kind)
    found = fit(world, rho)
    assert found.verdict.status == Status.CONVERGED
    assert int(found.verdict.steps) < 50
    assert float(found.verdict.occupancy_gap) <= float(found.verdict.tolerance) < 1e-4
    assert float(jnp.abs(state_occupancy(world, found.player) - rho).sum()) <= 1e-4


@pytest.mark.parametrize("name", ["gridworld-4", "gridworld-1"])
def test_an_expert_out_of_reach_is_approached_as_far_as_any_policy_can(name):
    world, rho = problem(name, 0.0, 0.2, "uniform-state", "soft")
    found = fit(world, rho)
    assert found.verdict.status == Status.SETTLED
    least = closest_occupancy(world, rho).gap
    assert least <= float(found.verdict.occupancy_gap) <= 1.05 * least + 1e-5
    assert float(found.diagnosis.least_gap) <= least + 1e-9
    assert np.abs(found.reward).max() < 1e4  # It does not grow without end.


def test_the_best_iterate_is_returned_whatever_the_optimizer():
    world, rho = problem("frozen-lake", 0.0, 2 / 3, "slip", "optimal")
    settings: dict[str, Any] = {**PAPER_SETTINGS, "keep_last": False, "tolerance": 1e-12}
    found = fit(world, rho, throw=False, **settings)
    gaps = np.asarray(found.history.occupancy_gap)
    assert float(found.verdict.occupancy_gap) == gaps.min() == gaps[int(found.verdict.best_step)]
    assert gaps[-1] > 100 * gaps.min()  # The last one is far off: the paper's steps do not settle here.
    last = fit(world, rho, throw=False, **PAPER_SETTINGS)
    assert float(last.verdict.occupancy_gap) == float(last.history.occupancy_gap[-1])
    assert int(last.verdict.best_step) == int(last.verdict.steps) == 200


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) for name in ("gridworld-4", "gridworld-1")]
)
def test_lbfgs_keeps_what_it_had_reached(name):
    world, rho = problem(name, 0.0, 0.2, "uniform-state", "soft")
    found = fit(world, rho, optimizer=LBFGS, throw=False)
    assert float(found.verdict.occupancy_gap) < 0.002
    assert found.verdict.status != Status.FAILED


def test_a_tolerance_is_a_radius_with_smaller_rewards():
    world, rho = problem("gridworld-4", 0.0, 0.2, "uniform-state", "soft")
    close, within = fit(world, rho), fit(world, rho, tolerance=0.1)
    assert within.verdict.status == Status.CONVERGED
    assert 0.01 < float(within.verdict.occupancy_gap) <= 0.1
    assert np.abs(within.reward).max() < 0.1 * np.abs(close.reward).max()


@pytest.mark.slow
def test_linear_rewards_are_judged_by_their_features():
    world, rho = problem("gridworld-4", 0.0, 0.2, "uniform-state", "soft")
    features = np.random.default_rng(0).normal(size=(36, 2)) * [1.0, 1e3]
    found = fit(world, rho, reward=LinearReward(features))
    assert found.verdict.status == Status.CONVERGED
    assert float(found.verdict.occupancy_gap) > 0.01
    gap = np.abs(features.T @ (np.asarray(found.occupancy) - np.asarray(rho))) / np.abs(features).max(0)
    assert float(found.diagnosis.matching_gap) == pytest.approx(gap.sum(), rel=1e-9)
    assert gap.sum() <= 1e-4


def test_newton_needs_a_linear_reward(refused):
    world, rho = problem("gridworld-4", 0.0, 0.2, "uniform-state", "soft")
    network = NetworkReward(np.ones((36, 1)), key=jax.random.key(0))
    with refused("NEWTON needs a reward that is linear in its parameters"):
        fit(world, rho, reward=network, optimizer=NEWTON)
