"""IRL over sets of kernels: the gradient of its dual, a case by hand, and what is refused."""

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.errors import InvalidInputError
from robustirl.irl import NEWTON, fit
from robustirl.mdp import MDP
from robustirl.planning import state_occupancy
from robustirl.theory import as_uncertainty, certify, robust_soft_value

COIN = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
WORLD = ThreeState().mdp(noise=0.0)  # γ = 0.9; state 0 leads to 1 or to 2, which are never left.
AT_START = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
KINDS = {"ball": 0.3, "mixture": 0.3, "game": 0.3, "kl": 0.1, "shared": 0.3}


def random_world(seed=0, states=3, actions=2):
    rng = np.random.default_rng(seed)
    return MDP(rng.dirichlet(np.ones(states), (states, actions)), discount=0.9, initial=rng.dirichlet(np.ones(states)))


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


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: as_uncertainty(COIN, alpha=0.9, kind="kl"), "a KL ball is given by a radius"),
        (lambda: as_uncertainty(COIN, radius=-1.0, kind="kl"), "not a finite number of at least 0"),
        (
            lambda: as_uncertainty(COIN, radius=np.linspace(-1, 1, COIN.mask.size).reshape(COIN.mask.shape), kind="kl"),
            "not a finite number of at least 0",
        ),
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
