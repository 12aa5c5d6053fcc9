"""The KL ball: closed forms, brute force, and a certificate over it."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import working_precision
from robustirl.mdp import MDP
from robustirl.theory import as_uncertainty, certify
from robustirl.theory.kl_ball import KLBall

COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)


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


def test_a_certificate_over_the_kl_ball():
    """From state 0 of a coin: V = r + γ (p V0 + (1-p) V1), p of the tilted coin in every step."""
    chance = 0.2
    entropy = chance * np.log(2 * chance) + (1 - chance) * np.log(2 * (1 - chance))
    found = certify(COIN, [[1.0], [1.0]], [1.0, 0.0], radius=entropy, kind="kl")
    np.testing.assert_allclose(found.worst_value, [1.2, 0.2], rtol=1e-9)
    np.testing.assert_allclose(found.nominal_value, [1.5, 0.5], rtol=1e-9)
