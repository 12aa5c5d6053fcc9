"""The KL ball and the shared budget: closed forms, brute force, and the gradient of robust IRL's dual."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from robustirl._runtime import working_precision
from robustirl.envs import ThreeState
from robustirl.errors import InvalidInputError
from robustirl.irl import NEWTON, fit
from robustirl.mdp import MDP
from robustirl.planning import state_occupancy
from robustirl.theory import as_uncertainty, certify, robust_soft_value
from robustirl.theory.kl_ball import KLBall
from robustirl.theory.shared_ball import SharedBall
from robustirl.theory.uncertainty import Ball

COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
WORLD = ThreeState().mdp(noise=0.0)  # γ = 0.9; state 0 leads to 1 or to 2, which are never left.
AT_START = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
KINDS = {"ball": 0.3, "mixture": 0.3, "game": 0.3, "kl": 0.1, "shared": 0.3}


def random_world(seed=0, states=3, actions=2):
    rng = np.random.default_rng(seed)
    return MDP(rng.dirichlet(np.ones(states), (states, actions)), discount=0.9, initial=rng.dirichlet(np.ones(states)))


@working_precision
@pytest.mark.parametrize("chance", [0.01, 0.2, 0.4])
def test_a_tilted_coin(chance):
    """A coin that shows heads with chance p has relative entropy p log 2p + (1-p) log 2(1-p) to a fair one."""
    entropy = chance * np.log(2 * chance) + (1 - chance) * np.log(2 * (1 - chance))
    ball = as_uncertainty(COIN, radius=entropy, kind="kl")
    assert isinstance(ball, KLBall)
    value = jnp.array([3.0, 1.0])
    np.testing.assert_allclose(ball.lowest(value), 1 + 2 * chance, rtol=1e-12)
    np.testing.assert_allclose(ball.kernel(value).to_array()[0, 0], [chance, 1 - chance], rtol=1e-11)


@working_precision
def test_the_ends_of_the_kl_ball():
    value = jnp.array([1.0, 0.0])
    assert as_uncertainty(COIN, radius=0.0, kind="kl").lowest(value)[0, 0] == 0.5
    assert as_uncertainty(COIN, radius=1.0, kind="kl").lowest(value)[0, 0] == pytest.approx(0, abs=1e-11)  # 1 > log 2.
    np.testing.assert_allclose(as_uncertainty(COIN, radius=0.3, kind="kl").lowest(jnp.ones(2)), 1)  # Nothing to lose.


@working_precision
def test_no_member_of_the_kl_ball_is_lower():
    world, rng, value = random_world(), np.random.default_rng(1), np.array([0.3, -1.0, 2.0])
    ball = as_uncertainty(world, radius=0.1, kind="kl")
    lowest, rows = np.asarray(ball.lowest(jnp.asarray(value))), np.asarray(world.kernel.to_array())
    worst = np.asarray(ball.kernel(jnp.asarray(value)).to_array())
    np.testing.assert_allclose((worst * np.log(worst / rows)).sum(-1), 0.1, atol=1e-9)
    for other in rng.dirichlet(np.ones(3), 3000):
        inside = (other * np.log(other / rows)).sum(-1) <= 0.1
        assert np.all((lowest <= other @ value + 1e-12)[inside])


@working_precision
def test_a_shared_budget_of_one_action_is_the_ball():
    value = jnp.array([1.0, 0.0])
    shared, ball = (as_uncertainty(COIN, radius=0.4, kind=kind) for kind in ("shared", "ball"))
    assert (type(shared), type(ball)) == (SharedBall, Ball)
    np.testing.assert_allclose(shared.lowest(value), ball.lowest(value), rtol=1e-12)


@working_precision
def test_like_actions_share_evenly():
    twice = MDP([[[0.5, 0.5]] * 2, [[0.5, 0.5]] * 2], discount=0.5)
    found = as_uncertainty(twice, radius=0.4, kind="shared").lowest(jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(found, 0.4, rtol=1e-12)  # Each loses 0.1 of its 0.5.


@working_precision
def test_a_budget_that_is_split_by_hand():
    """Mass of the first action counts double until it has lost (τ/γ) log 2; what is left takes as much from both."""
    rows = [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]  # Both are worth 1 under V = (2, 1, 0).
    world = MDP([rows] * 3, discount=0.5)
    found = as_uncertainty(world, radius=0.5, kind="shared", temperature=0.3).lowest(jnp.array([2.0, 1.0, 0.0]))
    first = 0.6 * np.log(2)
    second_loss = (0.25 - first / 2) / 1.5  # Of the mass 0.25: (first + x) / 2 off the first action, x off the second.
    np.testing.assert_allclose(found[0], [1 - first - second_loss, 1 - second_loss], rtol=1e-12)


@working_precision
@pytest.mark.parametrize("temperature", [0.3, 2.0])
def test_a_shared_budget_against_brute_force(temperature):
    """min τ log Σ exp(γ T'_a·V / τ) over all rows within the budget, by a general solver."""
    world, value = random_world(2), np.array([0.3, -1.0, 2.0])
    shared = as_uncertainty(world, radius=0.5, kind="shared", temperature=temperature)
    kernel = np.asarray(shared.kernel(jnp.asarray(value)).to_array())
    rows = np.asarray(world.kernel.to_array())
    np.testing.assert_allclose(np.abs(kernel - rows).sum((-2, -1)), 0.5, atol=1e-9)
    assert np.all(kernel >= -1e-15)

    def objective(rows):
        return temperature * np.log(np.exp(0.9 * rows @ value / temperature).sum())

    for state in range(3):
        # Variables: mass taken off each successor of each action; it goes to the state of the lowest value, 1.
        def moved(taken, own=rows[state]):
            out = own - taken.reshape(2, 3)
            out[:, 1] += taken.reshape(2, 3).sum(-1)
            return objective(out)

        found = scipy.optimize.minimize(
            moved,
            np.full(6, 0.01),
            bounds=[(0, mass) for mass in rows[state].ravel()],
            constraints={"type": "ineq", "fun": lambda taken: 0.25 - taken.sum()},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert objective(kernel[state]) <= found.fun + 1e-9
        assert objective(kernel[state]) == pytest.approx(found.fun, abs=1e-6)


@pytest.mark.parametrize(
    "kind", ["kl", "shared", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("ball", "mixture", "game"))]
)
def test_the_gradient_of_the_robust_dual_is_an_occupancy_in_the_worst_world(kind):
    world, reward, step = random_world(), np.array([0.5, 2.0, -1.0]), 1e-4

    def dual(reward):
        return 0.1 * float(robust_soft_value(world, reward, radius=KINDS[kind], kind=kind).worst_return)

    numeric = [(dual(reward + step * e) - dual(reward - step * e)) / (2 * step) for e in np.eye(3)]
    plan = robust_soft_value(world, reward, radius=KINDS[kind], kind=kind)
    worst = MDP(np.asarray(plan.worst_kernel.to_array()), discount=0.9, initial=world.initial)
    np.testing.assert_allclose(numeric, state_occupancy(worst, plan.player), atol=1e-7)


@pytest.mark.parametrize("kind", ["ball", pytest.param("shared", marks=pytest.mark.slow)])
def test_irl_against_the_worst_world_by_hand(kind):
    """The worst kernel leads the first action astray with 0.05 (all of a shared budget): the player tries 8/9/0.95."""
    around = as_uncertainty(WORLD, radius=0.1 * AT_START, kind=kind)
    found = fit(WORLD, [0.1, 0.8, 0.1], uncertainty=around, steps=500)
    assert found.player[0, 0] == pytest.approx(8 / 9 / 0.95, abs=1e-3)
    assert found.occupancy[1] == pytest.approx(0.8, abs=1e-3)
    assert float(found.diagnosis.least_gap) == 0  # The bound of standard IRL does not hold here.


def test_a_certificate_over_the_kl_ball():
    """From state 0 of a coin: V = r + γ (p V0 + (1-p) V1), p of the tilted coin in every step."""
    chance = 0.2
    entropy = chance * np.log(2 * chance) + (1 - chance) * np.log(2 * (1 - chance))
    found = certify(COIN, [[1.0], [1.0]], [1.0, 0.0], radius=entropy, kind="kl")
    np.testing.assert_allclose(found.worst_value, [1.2, 0.2], rtol=1e-9)
    np.testing.assert_allclose(found.nominal_value, [1.5, 0.5], rtol=1e-9)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: as_uncertainty(COIN, alpha=0.9, kind="kl"), "a KL ball is given by a radius"),
        (lambda: as_uncertainty(COIN, radius=-1.0, kind="kl"), "not a finite number of at least 0"),
        (lambda: as_uncertainty(COIN, radius=0.1, kind="shared", temperature=0.0), "a finite number above 0 is needed"),
        (lambda: as_uncertainty(COIN, radius=0.1, temperature=-1.0), "a finite number of at least 0 is needed"),
        (lambda: as_uncertainty(COIN, radius=0.1, kind="cube"), "but one of ball, mixture, game, kl, shared is needed"),
        (lambda: certify(COIN, [[1.0], [1.0]], [1.0, 0.0], radius=0.1, kind="shared"), "use kind='ball'"),
        (lambda: fit(WORLD, [0.1, 0.8, 0.1], uncertainty=as_uncertainty(COIN, radius=0.1)), "around another world"),
        (
            lambda: fit(WORLD, [0.1, 0.8, 0.1], alpha=0.9, uncertainty=as_uncertainty(WORLD, radius=0.1)),
            "takes the opponent's place",
        ),
        (
            lambda: fit(WORLD, [0.1, 0.8, 0.1], optimizer=NEWTON, uncertainty=as_uncertainty(WORLD, radius=0.1)),
            "NEWTON is for the game",
        ),
    ],
)
def test_refusals(make, sentence):
    with pytest.raises(InvalidInputError) as error:
        make()
    assert sentence in str(error.value)
