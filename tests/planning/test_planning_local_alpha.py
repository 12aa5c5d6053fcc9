"""Games whose α differs by state and action: closed forms, equality with one number, and all solvers alike."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame, mixture
from robustirl.planning import Newton, Temperatures, ValueIteration, solve, state_occupancy
from robustirl.planning.krylov import NewtonKrylov
from robustirl.theory import certify
from robustirl.theory.certify import robust_soft_value

WORLD = ThreeState().mdp(noise=0.0)  # State 0 leads to state 1 or 2, which are never left.
REWARD = np.array([0.5, 2.0, 1.0])
ALPHA = np.array([[0.8, 0.6], [0.9, 0.7], [0.5, 1.0]])


def test_one_decision_by_hand():
    """Worlds 1 and 2 are worth v1 > v2; the opponent in state 0 always leads to 2."""
    found = solve(MarkovGame(WORLD, ALPHA), REWARD)
    # In a state that is never left all actions are worth the same, so that entropy adds log 2 a step, whatever α.
    values = (REWARD[1:] + np.log(2)) / 0.1
    np.testing.assert_allclose(found.value[1:], values, rtol=1e-9)
    first, second = 0.9 * (0.8 * values[0] + 0.2 * values[1]), 0.9 * values[1]
    np.testing.assert_allclose(found.value[0], 0.5 + np.logaddexp(first, second), rtol=1e-9)
    player = 1 / (1 + np.exp(second - first))
    np.testing.assert_allclose(found.player[0], [player, 1 - player], rtol=1e-9)
    np.testing.assert_allclose(found.opponent[0], [0, 1])
    # The player's first action takes effect four times out of five; all else ends in the second one's outcome.
    np.testing.assert_allclose(found.mixture[0], [0.8 * player, 1 - 0.8 * player], rtol=1e-9)


@pytest.mark.parametrize("solver", [Newton(), pytest.param(NewtonKrylov(), marks=pytest.mark.slow)])
def test_a_constant_array_is_the_number(solver):
    number = solve(MarkovGame(WORLD, 0.7), REWARD, solver=solver)
    array = solve(MarkovGame(WORLD, np.full(3, 0.7)), REWARD, solver=solver)
    assert array.alpha.shape == (3, 2)
    for name in ("value", "player", "opponent", "mixture"):
        np.testing.assert_allclose(getattr(array, name), getattr(number, name), rtol=1e-9, atol=1e-12)


def test_all_solvers_agree_where_alpha_differs():
    reward = np.array([[0.5, 0.1], [2.0, 1.0], [1.0, -1.0]])
    temperatures = Temperatures(0.5, 0.25)
    found = [
        solve(MarkovGame(WORLD, ALPHA), reward, solver=solver, temperatures=temperatures)
        for solver in (Newton(), ValueIteration())
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.value, found[0].value, rtol=1e-8)
        np.testing.assert_allclose(other.mixture, found[0].mixture, atol=1e-8)
    # By hand, in state 2, which is never left: q(a) = R(2,a) + 0.9 V(2).
    value = float(found[0].value[2])
    q = np.array([1.0, -1.0]) + 0.9 * value
    lowest = -0.25 * np.logaddexp(*(-q / 0.25))
    left = ALPHA[2] * q + (1 - ALPHA[2]) * lowest
    assert value == pytest.approx(0.5 * np.logaddexp(*(left / 0.5)), rel=1e-8)


def test_the_robust_equation_of_the_set_game_is_the_same_game():
    found = robust_soft_value(WORLD, REWARD, alpha=ALPHA, kind="game")
    np.testing.assert_allclose(found.value, solve(MarkovGame(WORLD, ALPHA), REWARD).value, rtol=1e-9)


def test_a_certificate_with_alpha_by_state():
    """From state 0 the first action loses α's complement of its way to state 1; elsewhere α does not matter."""
    policy = np.array([[1.0, 0.0]] * 3)
    found = certify(WORLD, policy, REWARD, alpha=[0.6, 1.0, 1.0], kind="game")
    assert float(found.worst_return) == pytest.approx(0.5 + 0.9 * (0.6 * 20 + 0.4 * 10), rel=1e-9)
    same = certify(WORLD, policy, REWARD, radius=[[0.8, 0.8], [0, 0], [0, 0]], kind="game")
    assert float(found.worst_return) == pytest.approx(float(same.worst_return), rel=1e-12)


def test_the_gradient_of_the_value_is_the_occupancy_of_the_mixture():
    world = MDP(np.random.default_rng(3).dirichlet(np.ones(3), (3, 2)), discount=0.9, initial=[0.2, 0.3, 0.5])
    game = MarkovGame(world, ALPHA)

    def dual(reward):
        return 0.1 * float(np.asarray(world.initial) @ solve(game, reward).value)

    step = 1e-4
    numeric = [(dual(REWARD + step * e) - dual(REWARD - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(numeric, state_occupancy(world, solve(game, REWARD).mixture), atol=1e-7)


def test_the_mixture_of_batches_knows_what_its_alpha_is():
    player, opponent = jnp.array([[[0.5, 0.5]], [[1.0, 0.0]]]), jnp.array([[[0.0, 1.0]], [[0.0, 1.0]]])
    np.testing.assert_allclose(mixture(player, opponent, jnp.array([1.0, 0.5])), [[[0.5, 0.5]], [[0.5, 0.5]]])
    local = jnp.array([[[0.5, 1.0]], [[0.5, 1.0]]])
    np.testing.assert_allclose(mixture(player, opponent, local), [[[0.25, 0.75]], [[0.5, 0.5]]])


@pytest.mark.parametrize(
    ("alpha", "sentence"),
    [
        ([0.5, 1.0], "alpha has shape (2,), but (3,)"),
        ([[0.5, 1.0]], "alpha has shape (1, 2), but (3, 2)"),
        ([0.5, 0.0, 1.0], "alpha at state 1 is 0.0, but numbers with 0 < alpha <= 1 are needed."),
        ([[1, 1], [1, 1.5], [1, 1]], "alpha at state 1, action 1 is 1.5, but numbers with 0 < alpha <= 1 are needed."),
        ([0.5, float("nan"), 1.0], "alpha at state 1 is nan"),
    ],
)
def test_bad_arrays_are_refused(alpha, sentence):
    with pytest.raises(InvalidInputError) as error:
        MarkovGame(WORLD, alpha)
    assert sentence in str(error.value)


def test_one_number_takes_the_path_of_one_number():
    game = MarkovGame(WORLD, 0.7)
    assert game.alpha.shape == ()
    assert eqx.tree_equal(game.alpha, MarkovGame(WORLD, np.asarray(0.7)).alpha)
