"""Value iteration, and the verdicts that every solver gives."""

import functools
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustirl.errors import ConvergenceError
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures, solve, two_player_backup
from robustirl.planning.verdict import stopping_rule
from tests.planners import newton, value_iteration
from tests.strategies import games

SOLVERS = pytest.mark.parametrize("solver", [value_iteration, newton])
MODERATE = (0.0, 0.5, 0.9, 0.99)
GAME = MarkovGame(MDP([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.9), alpha=0.8)
REWARD = [1.0, -1.0]


def one_way_out(discount, alpha=1.0):
    """State 0 may stay or leave for state 1, which has one action and absorbs."""
    return MarkovGame(MDP([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=discount), alpha)


@SOLVERS
@pytest.mark.parametrize("reward", [-3.0, 0.0, 2.0])
def test_the_soft_value_of_the_way_out_is_the_root_of_a_quadratic(solver, reward):
    # V = r + log(exp(V/2) + 1), so that y = exp(V/2) solves y² = exp(r) (y + 1).
    c = np.exp(reward)
    exact = 2 * np.log((c + np.sqrt(c * c + 4 * c)) / 2)
    np.testing.assert_allclose(solver(one_way_out(0.5), [reward, 0.0]).value, [exact, 0], atol=1e-10)


@SOLVERS
@pytest.mark.parametrize(("discount", "alpha"), [(0.6, 2 / 3), (0.8, 0.25)])
def test_an_opponent_who_keeps_the_player_in_misery_has_a_closed_form(solver, discount, alpha):
    # With V < 0 the opponent stays: V = r + log(exp(αγV) + 1) + (1-α)γV, a quadratic again because αγ = 1-γ.
    c, rest = np.exp(-3.0), 1 - (1 - alpha) * discount
    exact = 2 / rest * np.log((c + np.sqrt(c * c + 4 * c)) / 2)
    assert exact < 0
    solution = solver(one_way_out(discount, alpha), [-3.0, 0.0])
    np.testing.assert_allclose(solution.value, [exact, 0], atol=1e-9)
    assert solution.opponent.tolist() == [[1.0, 0.0], [1.0, 0.0]]


@SOLVERS
@pytest.mark.parametrize("scale", [1e6, 1.0, 1e-12])
@pytest.mark.parametrize("discount", [0.0, 0.9, 0.999])
def test_a_single_state_with_a_single_action_collects_its_reward_for_ever(solver, discount, scale):
    solution = solver(MarkovGame(MDP([[[1.0]]], discount=discount), alpha=0.5), [scale])
    exact = scale / (1 - discount)
    assert abs(solution.value.item() - exact) <= 1e-10 * max(1, exact)
    assert solution.player.tolist() == solution.opponent.tolist() == [[1.0]]


@SOLVERS
@pytest.mark.parametrize("scale", [1e6, 1e-12])
@pytest.mark.parametrize("temperature", [Temperatures(1.0, 0.0), Temperatures(0.0, 0.0)])
def test_rewards_of_any_scale_are_solved_to_the_promised_accuracy(solver, temperature, scale):
    reward = scale * np.array(REWARD)
    solution = solver(GAME, reward, temperatures=temperature)
    tight = value_iteration(GAME, reward, temperatures=temperature, tolerance=4e-14)
    error = np.abs(solution.value - tight.value).max()
    assert error <= 1.1e-10 * max(temperature.player, np.abs(tight.value).max())
    assert error <= solution.verdict.error_bound + tight.verdict.error_bound


@SOLVERS
def test_a_player_with_hardly_any_control_still_chooses_and_gets_the_worst_value(solver):
    # The opponent decides, and stays where a step costs one; the player, asked once in a million steps, is indifferent.
    tiny = solver(one_way_out(0.9, alpha=1e-6), [-1.0, 0.0], temperatures=Temperatures(0.0, 0.0))
    np.testing.assert_allclose(tiny.value, [-1 / (1 - 0.9 * (1 - 1e-6)), 0], rtol=1e-9)
    assert tiny.player[0].tolist() == [0.0, 1.0]
    assert tiny.opponent[0].tolist() == [1.0, 0.0]


@SOLVERS
def test_without_a_future_the_value_is_the_reward_and_the_entropy_of_a_free_choice(solver):
    game = MarkovGame(MDP(GAME.mdp.kernel, discount=0.0), alpha=0.5)
    solution = solver(game, REWARD)
    np.testing.assert_allclose(solution.value, [1 + np.log(2), -1], atol=1e-12)
    np.testing.assert_allclose(solution.player, [[0.5, 0.5], [1, 0]])
    assert solution.verdict.iterations <= 2


@given(games(shapes=((5, 4),), discounts=MODERATE), st.sampled_from([1e-1, 1e-3, 1e-6]))
@pytest.mark.parametrize("solver", [value_iteration, newton])
def test_the_error_bound_holds_and_keeps_the_promise(solver, drawn, tolerance):
    game, reward = drawn
    loose = solver(game, reward, tolerance=tolerance)
    tight = value_iteration(game, reward, tolerance=1e-12)
    error = np.abs(loose.value - tight.value).max()
    assert error <= loose.verdict.error_bound + tight.verdict.error_bound
    assert loose.verdict.error_bound <= tolerance * max(1, np.abs(loose.value).max())


@given(games(shapes=((5, 4),), discounts=MODERATE))
def test_the_verdict_describes_the_value_that_is_returned(drawn):
    game, reward = drawn
    solution = value_iteration(game, reward, tolerance=1e-3)
    again = two_player_backup(game, jnp.asarray(reward), solution.value)
    residual = np.abs(again.value - solution.value).max()
    assert solution.verdict.converged
    np.testing.assert_allclose(solution.verdict.residual, residual, rtol=1e-6, atol=1e-13)
    assert solution.verdict.error_bound >= residual / (1 - float(game.mdp.discount)) * (1 - 1e-6)
    np.testing.assert_allclose(solution.player, again.player, atol=1e-12)
    np.testing.assert_allclose(solution.opponent, again.opponent, atol=1e-12)
    assert solution.alpha == game.alpha
    mixed = game.alpha * solution.player + (1 - game.alpha) * solution.opponent
    np.testing.assert_allclose(solution.mixture, mixed, atol=1e-15)


def test_value_iteration_counts_its_backups():
    value = jnp.zeros(2)
    for _ in range(7):
        value = two_player_backup(GAME, jnp.array(REWARD), value).value
    solution = value_iteration(GAME, REWARD, max_steps=7, throw=False)
    assert solution.verdict.iterations == 7
    np.testing.assert_allclose(solution.value, value, rtol=1e-14)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.99, 0.999])
def test_the_default_cap_is_enough_for_the_tightest_tolerance(discount):
    game = MarkovGame(MDP(GAME.mdp.kernel, discount=discount), alpha=0.8)
    tightest = 1.01 * 16 * np.finfo(float).eps / (1 - discount)
    assert value_iteration(game, REWARD, tolerance=tightest).verdict.converged
    assert newton(game, REWARD, tolerance=tightest).verdict.converged


@SOLVERS
def test_a_start_at_the_solution_stays_there(solver):
    solution = solver(GAME, REWARD)
    again = solver(GAME, REWARD, initial_value=solution.value)
    assert again.verdict.iterations <= 1
    np.testing.assert_allclose(again.value, solution.value, rtol=1e-9)


def test_the_default_cap_is_that_of_the_first_residual():
    # From -2/3 the backup of a state that pays 1 is 2/3: the residual is 4/3, although both are of one size.
    world = MDP([[[1.0]]], discount=0.5)
    for start in (-2 / 3, 0.0, 100.0):
        np.testing.assert_allclose(value_iteration(MarkovGame(world), [1.0], initial_value=[start]).value, [2.0])


@SOLVERS
def test_a_far_start_leads_to_the_same_solution(solver):
    far = solver(GAME, REWARD, initial_value=[1e4, -1e4])
    np.testing.assert_allclose(far.value, solver(GAME, REWARD).value, atol=1e-8)


@SOLVERS
def test_too_few_steps_raise_and_say_so(solver):
    with pytest.raises(ConvergenceError, match=r"stopped after 1 steps with residual .* raise max_steps") as caught:
        solver(GAME, REWARD, max_steps=1)
    assert "\n" not in str(caught.value)


@SOLVERS
def test_too_few_steps_return_an_unfinished_solution_on_request(solver):
    solution = solver(GAME, REWARD, max_steps=1, throw=False)
    error = np.abs(solution.value - solver(GAME, REWARD).value).max()
    assert not solution.verdict.converged
    assert 1e-9 < error <= solution.verdict.error_bound


@SOLVERS
def test_a_poisoned_reward_ends_the_loop_at_once(solver):
    compiled = eqx.filter_jit(lambda reward: solver(GAME, reward, max_steps=1000, throw=False))
    for poison in (jnp.nan, jnp.inf, -jnp.inf):
        verdict = compiled(jnp.array([1.0, poison])).verdict
        assert not verdict.converged
        assert verdict.iterations <= 1


@SOLVERS
def test_compiled_code_raises_too(solver):
    with pytest.raises(eqx.EquinoxRuntimeError, match="did not converge"):
        jax.block_until_ready(eqx.filter_jit(lambda reward: solver(GAME, reward))(jnp.array([1.0, float("nan")])))


@SOLVERS
def test_values_beyond_the_range_of_floats_are_reported(solver):
    with pytest.raises(ConvergenceError, match=r"error bound (inf|nan)"):
        solver(GAME, [1.7e308, 1.7e308])


@SOLVERS
def test_a_batch_under_vmap_gives_the_solutions_of_its_members(solver):
    alphas = jnp.array([1.0, 0.7, 0.3])
    batch = eqx.filter_jit(jax.vmap(lambda alpha: solver(MarkovGame(GAME.mdp, alpha), REWARD, throw=False)))(alphas)
    assert batch.verdict.converged.all()
    for index, alpha in enumerate(alphas):
        single = solver(MarkovGame(GAME.mdp, alpha), REWARD)
        np.testing.assert_allclose(batch.value[index], single.value, rtol=1e-9)
        np.testing.assert_allclose(batch.mixture[index], single.mixture, atol=1e-9)
        assert batch.verdict.iterations[index] == single.verdict.iterations


@SOLVERS
@pytest.mark.parametrize("tolerance", [0.0, -1.0, 1e-18, float("nan")])
def test_a_tolerance_out_of_reach_is_refused(solver, tolerance, refused):
    with refused("tolerance", repr(tolerance), *(("float64", "0.9") if tolerance > 0 else ("above 0",))):
        solver(GAME, REWARD, tolerance=tolerance)


@SOLVERS
@pytest.mark.parametrize(
    ("reward", "culprit"), [([1.0], "(1,)"), ([float("nan"), 0.0], "state 0"), (["a", "b"], "reward")]
)
def test_a_bad_reward_is_refused(solver, reward, culprit, refused):
    with refused("the reward", culprit):
        solver(GAME, reward)


@SOLVERS
@pytest.mark.parametrize("steps", [0, -1, 2.5, "3"])
def test_a_number_of_steps_that_is_none_is_refused(solver, steps, refused):
    unchecked = functools.partial(inspect.unwrap(solve), **solver.keywords)  # Without the type checks of tests.
    with refused("max_steps", repr(steps), "whole number of at least 1"):
        unchecked(GAME, REWARD, max_steps=steps)


def test_a_tolerance_in_words_is_refused(refused):
    with refused("the tolerance", "'1e-3'"):
        inspect.unwrap(stopping_rule)(GAME, jnp.array(REWARD), "1e-3")


@SOLVERS
def test_a_world_is_solved_as_the_game_without_an_opponent(solver):
    alone, game = solver(GAME.mdp, REWARD), solver(MarkovGame(GAME.mdp, 1.0), REWARD)
    np.testing.assert_array_equal(alone.value, game.value)
    np.testing.assert_array_equal(alone.mixture, game.player)


@SOLVERS
def test_a_bad_temperature_is_refused(solver, refused):
    with refused("the player's temperature", "-1.0"):
        solver(GAME, REWARD, temperatures=Temperatures(player=-1.0))


@SOLVERS
@pytest.mark.parametrize("start", [[0.0], [float("nan"), 0.0]])
def test_a_bad_start_is_refused_by_its_own_name(solver, start, refused):
    with refused("initial value"):
        solver(GAME, REWARD, initial_value=start)
