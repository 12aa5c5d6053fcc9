"""The learning loop: what it must reach, what it shares, what it reports."""

import functools
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl import envs, planning
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl import ADAM, LBFGS, PAPER_SETTINGS, ImitationConfig, Status, fit, fit_imitation, fit_many
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures, expert_policy, state_occupancy
from robustirl.rewards import LinearReward, TabularReward
from tests.irl.reference import reference_fit
from tests.planners import newton


@functools.cache
def problem(name="gridworld-4", learner=0.0, expert=0.1, model="uniform-state"):
    env = envs.make(name)
    world = env.mdp(expert, model)
    return env.mdp(learner, model), state_occupancy(world, expert_policy(world, env.reward))


def random_world(seed, states=6, actions=3, discount=0.9):
    rng = np.random.default_rng(seed)
    mask = rng.random((states, actions)) < 0.7
    mask[np.arange(states), rng.integers(actions, size=states)] = True
    kernel = rng.dirichlet(np.full(states, 0.5), size=(states, actions))
    return MDP(kernel, discount=discount, initial=rng.dirichlet(np.ones(states)), mask=mask)


@pytest.mark.parametrize("alpha", [1.0, 0.9])
def test_the_fit_is_consistent_with_its_reward(alpha):
    world, rho = problem()
    result = fit(world, rho, alpha=alpha, steps=50)
    solution = newton(MarkovGame(world, alpha), result.reward)
    assert jnp.allclose(result.player, solution.player, atol=1e-9)
    assert jnp.allclose(result.opponent, solution.opponent, atol=1e-9)
    assert jnp.allclose(result.value, solution.value, atol=1e-7)
    assert jnp.allclose(result.occupancy, state_occupancy(world, result.mixture), atol=1e-10)
    assert float(jnp.abs(result.occupancy - rho).sum()) == pytest.approx(float(result.verdict.occupancy_gap))
    assert float(result.history.occupancy_gap.min()) == pytest.approx(float(result.verdict.occupancy_gap))


@pytest.mark.parametrize("seed", range(5))
def test_standard_irl_matches_a_feasible_expert_exactly(seed):
    world = random_world(seed)
    reward = np.random.default_rng(100 + seed).normal(size=6)
    rho = state_occupancy(world, expert_policy(world, reward, temperature=1.0))
    result = fit(world, rho, optimizer=LBFGS, steps=500, tolerance=1e-9)
    assert result.verdict.status == Status.CONVERGED
    # The maximum-entropy policy of a given state occupancy is unique, and the expert's is one.
    assert jnp.allclose(result.player, expert_policy(world, reward, temperature=1.0), atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_robust_irl_matches_an_expert_who_plays_against_an_opponent(seed):
    world = random_world(seed)
    reward = np.random.default_rng(200 + seed).normal(size=6)
    target = newton(MarkovGame(world, 0.85), reward)
    rho = state_occupancy(world, target.mixture)
    result = fit(world, rho, alpha=0.85, tolerance=1e-6)
    assert float(result.verdict.occupancy_gap) <= 1e-6


@pytest.mark.parametrize("alpha", [1.0, 0.8])
def test_the_gradient_is_the_derivative_of_the_dual(alpha):
    world = random_world(7)
    rho = np.full(6, 1 / 6)
    theta = np.random.default_rng(8).normal(size=6)
    game = MarkovGame(world, alpha)

    def dual(reward):
        value = newton(game, reward, tolerance=1e-12).value
        return float((1 - world.discount) * world.initial @ value - rho @ reward)

    step = 1e-5
    numeric = [(dual(theta + step * e) - dual(theta - step * e)) / (2 * step) for e in np.eye(6)]
    exact = state_occupancy(world, newton(game, theta).mixture) - rho
    assert np.allclose(numeric, exact, atol=1e-8)


def test_the_dual_falls_under_lbfgs():
    world = random_world(0)  # Of the shape that other tests of L-BFGS have compiled.
    rho = state_occupancy(world, expert_policy(world, np.arange(6.0), temperature=1.0))
    history = fit(world, rho, optimizer=LBFGS, steps=30).history.dual
    assert np.all(np.diff(history) <= 1e-12)
    assert history[-1] < history[0]


def test_one_hot_features_are_the_tabular_reward():
    world, rho = problem()
    tabular = fit(world, rho, alpha=0.9, steps=40)
    linear = fit(world, rho, alpha=0.9, steps=40, reward=LinearReward(np.eye(world.num_states)))
    assert jnp.allclose(tabular.reward, linear.reward, atol=1e-8)


@pytest.mark.slow
def test_few_features_match_their_own_expectations():
    world, rho = problem(expert=0.0)
    features = np.random.default_rng(3).normal(size=(world.num_states, 3))
    result = fit(world, rho, reward=LinearReward(features), optimizer=LBFGS, steps=200)
    assert np.allclose(features.T @ result.occupancy, features.T @ rho, atol=1e-7)


@pytest.mark.slow
def test_at_alpha_one_the_opponent_has_no_part():
    world, rho = problem()
    plain = fit(world, rho, steps=30)
    entropic = fit(world, rho, steps=30, temperatures=Temperatures(1.0, 0.7))
    assert jnp.array_equal(plain.player, entropic.player)
    assert jnp.array_equal(plain.reward, entropic.reward)


def test_no_steps_is_the_game_under_the_initial_reward():
    world, rho = problem()
    result = fit(world, rho, alpha=0.9, steps=0)
    assert int(result.verdict.steps) == 0
    assert result.history.occupancy_gap.shape == (1,)
    assert jnp.array_equal(result.reward, jnp.zeros(world.num_states))


def test_steps_and_history_count_updates():
    world, rho = problem()
    result = fit(world, rho, steps=7)
    assert int(result.verdict.steps) == 7
    assert result.history.dual.shape == result.history.planner_steps.shape == (8,)
    assert result.verdict.status == Status.MAX_STEPS


def test_a_tolerance_stops_early_and_is_kept():
    world = random_world(1)
    rho = state_occupancy(world, expert_policy(world, np.arange(6.0), temperature=1.0))
    result = fit(world, rho, steps=2000, optimizer=LBFGS, tolerance=1e-4)
    assert float(result.verdict.occupancy_gap) <= 1e-4
    assert int(result.verdict.steps) < 2000


def test_one_adam_step_is_adams():
    world, rho = problem()
    settings: dict[str, Any] = {**PAPER_SETTINGS, "steps": 1}
    result = fit(world, rho, **settings)
    gradient = state_occupancy(world, newton(MarkovGame(world), np.zeros(world.num_states)).player) - rho
    updates, _ = ADAM.update(gradient, ADAM.init(gradient))
    assert jnp.allclose(result.reward, jnp.asarray(updates), atol=1e-7)


def test_any_optax_optimizer_is_accepted():
    world, rho = problem()
    result = fit(world, rho, steps=30, optimizer=optax.chain(optax.clip(0.01), optax.adamw(0.1)))
    assert float(result.verdict.occupancy_gap) < float(result.history.occupancy_gap[0])


def batch_problem():
    world, rho = problem()
    other, rho_other = problem(learner=0.05, expert=0.2)
    return [world, other, world, other], [rho, rho_other, rho_other, rho], [1.0, 0.9, 0.8, 0.95]


def test_a_batch_gives_the_very_numbers_of_single_fits():
    mdps, occupancies, alphas = batch_problem()
    settings: dict[str, Any] = {**PAPER_SETTINGS, "steps": 60}
    together = fit_many(mdps, occupancies, alphas, vectorize=False, **settings)
    for mdp, rho, alpha, batched in zip(mdps, occupancies, alphas, together, strict=True):
        alone = fit(mdp, rho, alpha=alpha, **settings)
        assert jax.tree.all(jax.tree.map(jnp.array_equal, alone, batched))
    with pytest.raises(ConvergenceError, match=r"after 60 steps \(fit 0 of 4\), above the tolerance 1.000e-09"):
        fit_many(mdps, occupancies, alphas, vectorize=False, tolerance=1e-9, **settings)


def test_lockstep_agrees_with_one_after_the_other():
    mdps, occupancies, alphas = batch_problem()
    settings: dict[str, Any] = {**PAPER_SETTINGS, "steps": 40}
    one, other = (fit_many(mdps, occupancies, alphas, vectorize=v, **settings) for v in (False, True))
    for first, second in zip(one, other, strict=True):
        assert jnp.allclose(first.player, second.player, atol=1e-8)
        assert jnp.allclose(first.reward, second.reward, atol=1e-7)


def test_the_same_fit_twice_is_bit_identical():
    world, rho = problem()
    first, second = (fit(world, rho, alpha=0.85, steps=30) for _ in range(2))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, first, second))


@pytest.mark.slow
def test_results_do_not_hang_on_the_planners_tolerance():
    world, rho = problem()
    loose, tight = (fit(world, rho, alpha=0.85, planner_tolerance=t, **PAPER_SETTINGS) for t in (1e-9, 1e-12))
    assert jnp.allclose(loose.player, tight.player, atol=1e-6)


def test_a_tolerance_that_is_missed_is_an_error_unless_told_otherwise():
    world, rho = problem()
    with pytest.raises(ConvergenceError, match=r"the gap is .* after 3 steps, above the tolerance 1.000e-09"):
        fit(world, rho, steps=3, tolerance=1e-9)
    assert fit(world, rho, steps=3, tolerance=1e-9, throw=False).verdict.status == Status.MAX_STEPS


def test_a_reward_that_explodes_ends_the_fit_with_a_verdict():
    world, rho = problem()
    wild = optax.sgd(1e308)
    with pytest.raises(ConvergenceError, match=r"the planner did not reach its accuracy in float64 after \d+ steps"):
        fit(world, rho, steps=50, optimizer=wild)
    result = fit(world, rho, steps=50, optimizer=wild, throw=False)
    assert result.verdict.status == Status.FAILED
    assert int(result.verdict.steps) < 50
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(result))
    assert result.history.dual.shape == (int(result.verdict.steps) + 1,)


@pytest.mark.slow
def test_lbfgs_against_an_expert_out_of_reach_says_so_and_keeps_a_sound_policy():
    world, rho = problem("gridworld-1", 0.0, 0.2)
    result = fit(world, rho, optimizer=LBFGS, steps=300, throw=False)
    assert result.verdict.status == Status.SETTLED
    assert float(result.verdict.occupancy_gap) < 0.002
    solution = newton(MarkovGame(world), result.reward)
    assert float(result.verdict.error_bound) <= 1e-3
    assert jnp.allclose(result.player, solution.player, atol=1e-3)


def test_an_expert_with_a_single_start_can_be_learned_from():
    # Rounding leaves unvisited states of such an occupancy at -1e-18 when nobody minds.
    start = np.zeros((6, 6))
    start[-1, -1] = 1
    env = envs.make("gridworld-4", initial=start)
    world = env.mdp()
    rho = state_occupancy(world, expert_policy(world, env.reward))
    assert rho.min() >= 0
    assert fit(world, np.where(rho == 0, -1e-18, rho), steps=3).verdict.status == Status.MAX_STEPS


@pytest.mark.parametrize("alpha", [1.0, 0.8])
def test_the_loop_agrees_with_a_plain_reference(alpha):
    env = envs.make("gridworld-4", discount=0.9)  # A lower discount than the paper's, or the reference takes minutes.
    world, expert_world = env.mdp(0.0), env.mdp(0.15)
    rho = state_occupancy(expert_world, expert_policy(expert_world, env.reward))
    kernel = np.stack([np.asarray(world.kernel.expect(column)) for column in jnp.eye(36)], axis=-1)
    mask, initial, target = (np.asarray(array) for array in (world.mask, world.initial, rho))
    player, reward = reference_fit(kernel, mask, initial, 0.9, target, alpha)
    result = fit(world, rho, alpha=alpha, **PAPER_SETTINGS)
    assert np.allclose(result.reward, reward, atol=1e-5)
    assert np.allclose(result.player, player, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0, but a number with 0 < alpha <= 1"),
        ({"alpha": 1.2}, "alpha is 1.2"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"occupancy": np.ones(36)}, "the occupancy sums to 36.0 instead of 1"),
        ({"occupancy": np.ones(35) / 35}, r"the occupancy has shape \(35,\), but \(36,\)"),
        ({"occupancy": np.full(36, np.nan)}, "the occupancy is not finite at state 0"),
        ({"steps": -1}, "steps is -1"),
        ({"tolerance": 0.0}, "the tolerance is 0.0"),
        ({"tolerance": float("nan")}, "the tolerance is nan"),
        ({"planner_tolerance": 1e-16}, "the tolerance 1e-16 is out of reach of float64 at discount 0.99"),
        ({"reward": TabularReward(5)}, r"rewards of shape \(5,\), but the world has 36 states"),
        ({"temperatures": Temperatures(-1.0)}, "the player's temperature is -1.0"),
    ],
)
def test_bad_requests_are_named(options, message):
    world, rho = problem()
    with pytest.raises(InvalidInputError, match=message) as caught:
        fit(world, options.pop("occupancy", rho), **options)
    assert "\n" not in str(caught.value)


ENV = envs.make("gridworld-4")
WORLD, RHO = ENV.mdp(), np.full(36, 1 / 36)
MISTYPED: dict[str, Any] = {  # What is called, with what, by the beginning of the sentence.
    "steps is 2.5, but a whole number": (fit, [WORLD, RHO], {"steps": 2.5}),
    "alpha is '0.9', but a number": (fit, [WORLD, RHO], {"alpha": "0.9"}),
    "the optimizer is 'adam', but an Optax optimizer": (fit, [WORLD, RHO], {"optimizer": "adam"}),
    "a world is needed, but GridWorld was given": (fit, [ENV, RHO], {}),
    "the reward is not a reward model": (fit, [WORLD, RHO], {"reward": np.zeros(36)}),
    "the reward is True, but a reward model such as LinearReward(features) is needed": (
        fit,
        [WORLD, RHO],
        {"reward": True},
    ),
    "what is given as worlds is None, but a list with a world for each fit is needed": (fit_many, [None, [RHO]], {}),
    "what is given as occupancies is 5, but a list with an occupancy for each": (fit_many, [[WORLD], 5], {}),
    "an argument is lists in lists too deep": (fit, [WORLD, functools.reduce(lambda x, _: [x], range(2000), [])], {}),
    "the temperatures are 0.5, but two numbers": (fit, [WORLD, RHO], {"temperatures": 0.5}),
    "the uncertainty is float, but a set is needed": (fit, [WORLD, RHO], {"uncertainty": 0.1}),
    "the demonstrations are of the type int, but Recordings are needed": (
        fit_imitation,
        [envs.physics.make("pendulum"), 1],
        {"key": jax.random.key(0)},
    ),
    "reward is 'large', but one of auto, positive, negative, logit is needed": (
        ImitationConfig,
        [],
        {"reward": "large"},
    ),
    "a world is needed, but ThreeState was given": (planning.solve, [envs.ThreeState(), np.zeros(3)], {}),
    "max_steps is 2.5, but a whole number": (planning.solve, [WORLD, ENV.reward], {"max_steps": 2.5}),
    "the horizon is 2.5, but a whole number": (
        planning.total_return,
        [WORLD, np.full((36, 4), 0.25), ENV.reward],
        {"horizon": 2.5},
    ),
    "the noise is '0.1', but a probability": (ENV.mdp, ["0.1"], {}),
    "gridworld-1 cannot be made with the options gamma": (envs.make, ["gridworld-1"], {"gamma": 0.9}),
    "the goals are (0, 0), but a tuple of (row, column) pairs": (
        envs.GridWorld,
        ["g"],
        {"rewards": np.zeros((2, 2)), "goals": (0, 0)},
    ),
}


@pytest.mark.usefixtures("mistyped")
def test_values_of_the_wrong_type_are_named():
    for start, (function, given, options) in MISTYPED.items():
        with pytest.raises(InvalidInputError, match=f"^{re.escape(start)}"):
            function(*given, **options)
    numbers: Any = {"steps": np.int64(2), "temperatures": (np.float64(1.0), 0)}
    fit(*problem(), **numbers)  # Numbers of NumPy are numbers.


def test_bad_batches_are_named():
    world, rho = problem()
    with pytest.raises(InvalidInputError, match="2 worlds, 1 occupancies and 2 alphas"):
        fit_many([world] * 2, [rho], [1.0, 0.9])
    with pytest.raises(InvalidInputError, match="0 worlds"):
        fit_many([], [], [])
    with pytest.raises(InvalidInputError, match="the worlds of one batch differ"):
        fit_many([world, random_world(0)], [rho, np.full(6, 1 / 6)], [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="1 reward models were given for 2 fits"):
        fit_many([world] * 2, [rho] * 2, [1.0, 1.0], rewards=[TabularReward(36)])
