"""Where a push is final, waiting is not to be had; where it is not, it teaches caution."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.mdp import MDP
from robustirl.paper.studies import final_push
from robustirl.paper.studies.final_push import against, cliff_walking, frozen_lake


def test_an_opponent_that_keeps_its_policy_is_part_of_the_world():
    stay_or_go = np.stack([np.eye(2), 1 - np.eye(2)], 1)
    world = MDP(stay_or_go, discount=0.5, initial=[0.25, 0.75])
    game = against(world, SimpleNamespace(alpha=0.75, opponent=jnp.array([[0.0, 1.0], [1.0, 0.0]])))  # pyright: ignore
    # The opponent leaves the first state and stays in the other: a quarter of the time it has its way.
    assert np.asarray(game.kernel.to_array()).tolist() == [[[0.75, 0.25], [0.0, 1.0]], [[0.0, 1.0], [0.75, 0.25]]]
    assert float(game.discount) == 0.5
    assert np.asarray(game.initial).tolist() == [0.25, 0.75]


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the fits; the slip or the wind of a world is the chance of what its first action misses."""
    calls = []

    def fit_many(worlds, targets, alphas, *, throw, **settings):
        calls.append((worlds, targets, tuple(alphas), throw, settings == final_push.PAPER_SETTINGS))
        return [
            SimpleNamespace(alpha=alpha, player=f"player {alpha}", verdict=SimpleNamespace(occupancy_gap=alpha / 8))
            for alpha in alphas
        ]

    def make(name):
        return SimpleNamespace(
            mdp=lambda noise, model: SimpleNamespace(noise=noise, model=model, num_states=65, discount=0.75),
            reward=np.zeros(65),
        )

    def occupancy(world, policy):
        assert policy == f"optimal at {world.noise}"
        calls.append((world.noise, world.model))
        return jnp.zeros(65).at[jnp.array([47, 55, 3])].set(jnp.array([0.125, 0.25, 0.625]))

    def total(world, player, paid, horizon=None):
        return float(np.sum(paid[37:47])) + 100 * float(np.sum(paid)) + (0.5 if horizon == 1000 else 0.0)

    stand_ins = {
        "envs": SimpleNamespace(make=make),
        "expert_policy": lambda world, reward, kind: (
            f"{kind} at {world.noise}" if reward.sum() == 0 else np.array(reward)
        ),
        "state_occupancy": occupancy,
        "fit_many": fit_many,
        "against": lambda world, fit: SimpleNamespace(noise=fit.alpha),
        "total_return": total,
        "closest_occupancy": lambda game, rho: SimpleNamespace(gap=game.noise / 16),
        "discounted_return": lambda game, policy, there: float(policy[47] + 2 * there[55] + policy.sum()),
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(final_push, name, stand_in)
    return calls


def test_what_is_written_of_a_lake(asked):
    first, second = frozen_lake(0.25, (1.0, 0.5))
    assert second == {
        "slip": 0.25,
        "alpha": 0.5,
        "return": 0.0,
        "gap": 0.0625,
        "smallest gap": 0.03125,
        "expert waits": 1.5,  # (0.125 + 0.25) / (1 - 0.75).
        "longest wait": 5.0,  # The reward of waiting is 1 in both cells.
    }
    assert first["alpha"] == 1.0
    expert, (learners, targets, alphas, throw, usual) = asked
    assert expert == (0.25, "slip")
    assert [(world.noise, world.model) for world in learners] == [(0.0, "slip")] * 2
    assert (len(targets), alphas, throw, usual) == (2, (1.0, 0.5), False, True)


def test_what_is_written_of_a_cliff(asked):
    (row,) = cliff_walking(0.25, (0.5,))
    assert row == {"wind": 0.25, "alpha": 0.5, "return": 0.0, "falls": 1010.5}  # Ten cells of the cliff, no others.
    expert, (learners, targets, alphas, throw, usual) = asked
    assert expert == (0.0, "wind")
    assert [(world.noise, world.model) for world in learners] == [(0.25, "wind")]
    assert (len(targets), alphas, throw, usual) == (1, (0.5,), False, True)


@pytest.mark.slow
def test_a_strong_opponent_leaves_no_time_to_wait():
    standard, mild, strong = frozen_lake(0.2, (1.0, 0.95, 0.9))
    assert mild["return"] > standard["return"] > 0.8
    assert strong["return"] < 1e-6
    assert strong["longest wait"] < strong["expert waits"] < mild["longest wait"]
    # As the page of the studies has them.
    assert [row["return"] for row in (standard, mild, strong)] == pytest.approx([0.89, 0.99, 0.0], abs=0.005)
    assert [row["gap"] for row in (standard, mild, strong)] == pytest.approx([0.0, 0.011, 0.051], abs=5e-4)
    assert [row["smallest gap"] for row in (standard, mild, strong)] == pytest.approx([0.0, 0.009, 0.05], abs=5e-4)
    assert [row["expert waits"] for row in (standard, strong)] == pytest.approx([8.49, 8.49], abs=0.005)
    assert [row["longest wait"] for row in (mild, strong)] == pytest.approx([14.6, 7.7], abs=0.05)
    assert [(row["slip"], row["alpha"]) for row in (standard, strong)] == [(0.2, 1.0), (0.2, pytest.approx(0.9))]
    for row in (standard, mild, strong):  # The fit reaches what is possible, and no more.
        assert row["smallest gap"] - 1e-9 <= row["gap"] <= row["smallest gap"] + 0.01


@pytest.mark.slow
def test_an_opponent_keeps_one_off_the_edge():
    standard, robust = cliff_walking(0.1, (1.0, 0.8))
    assert robust["falls"] < standard["falls"] / 5
    assert [row["return"] for row in (standard, robust)] == pytest.approx([-134.6, -29.5], abs=0.05)
    assert [row["falls"] for row in (standard, robust)] == pytest.approx([1.15, 0.12], abs=0.005)
    assert (robust["wind"], robust["alpha"]) == (0.1, pytest.approx(0.8))
