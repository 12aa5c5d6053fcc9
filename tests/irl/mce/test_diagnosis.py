"""Facts about a fit, by hand: how much is left to chance, what can be reached, and signs that look random."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.mce import diagnosis
from robustirl.irl.mce.diagnosis import _signs, choice_randomness, reachable_states
from robustirl.mdp import MDP

RNG = np.random.default_rng(0)
KERNEL = RNG.dirichlet(np.ones(4), size=(4, 3))
POLICY = RNG.dirichlet(np.ones(3), size=4)
OCCUPANCY = np.array([0.1, 0.2, 0.3, 0.1])


def _expected():
    together = np.einsum("sa,sat->st", POLICY, KERNEL)
    chance = 1 - (together**2).sum(-1) / np.einsum("sa,sat->s", POLICY, KERNEL**2)
    return OCCUPANCY @ chance / OCCUPANCY.sum()


def test_what_is_left_to_chance_is_the_formula():
    world = MDP(KERNEL, discount=0.9)
    found = choice_randomness(world, jnp.asarray(POLICY), jnp.asarray(OCCUPANCY))
    assert float(found) == pytest.approx(_expected())
    assert float(choice_randomness(world, jnp.asarray(POLICY), jnp.zeros(4))) == 0  # Nobody is anywhere.


def test_in_large_worlds_it_is_estimated_by_signs(monkeypatch):
    monkeypatch.setattr(diagnosis, "MOST_EXACT", 3)
    found = float(choice_randomness(MDP(KERNEL, discount=0.9), jnp.asarray(POLICY), jnp.asarray(OCCUPANCY)))
    signs = np.array([_signs(4, jnp.asarray(k)) for k in range(diagnosis.PROBES)], float)
    moved = np.einsum("sat,kt->ksa", KERNEL, signs)
    together = ((POLICY * moved).sum(-1) ** 2).sum(0)
    apart = (POLICY * moved**2).sum((0, 2))
    assert found == pytest.approx(OCCUPANCY @ np.clip(1 - together / apart, 0, 1) / OCCUPANCY.sum())
    assert found == pytest.approx(_expected(), rel=0.5)


def test_signs_look_random_and_are_always_the_same():
    signs = np.array([_signs(2000, jnp.asarray(k)) for k in range(4)])
    assert set(np.unique(signs)) == {-1, 1}
    assert np.abs(signs.mean(1)).max() < 4 / np.sqrt(2000)
    assert np.abs(np.corrcoef(signs) - np.eye(4)).max() < 4 / np.sqrt(2000)
    # The hash in whole numbers of Python.
    expected = []
    for index in range(1, 31):
        bits = index * (2 * 3 + 1) * 0x9E3779B1 % 2**32
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            bits = (bits ^ (bits >> shift)) * factor % 2**32
        expected.append(1 - 2 * (bits >> 16 & 1))
    assert _signs(30, jnp.asarray(3)).tolist() == expected
    np.testing.assert_array_equal(_signs(30, jnp.asarray(3)), signs[3, :30])


def test_what_can_be_reached(monkeypatch):
    line = np.zeros((5, 2, 5))
    for state in range(4):
        line[state, :, state + 1] = 1.0
    line[4, :, 4] = 1.0
    line[2, 1] = np.eye(5)[0]
    mask = np.array([[True, True]] * 5)
    world = MDP(line, discount=0.9, initial=[0.0, 1.0, 0.0, 0.0, 0.0], mask=mask)
    assert reachable_states(world).tolist() == [True] * 5  # Back to the first by the second action of state 2.
    mask[2, 1] = False
    world = MDP(np.where(mask[..., None], line, 0), discount=0.9, initial=[0.0, 1.0, 0.0, 0.0, 0.0], mask=mask)
    assert reachable_states(world).tolist() == [False, True, True, True, True]
    monkeypatch.setattr(diagnosis, "MOST_ROUNDS", 2)  # Not found out: all.
    fresh = MDP(np.where(mask[..., None], line, 0), discount=0.8, initial=[0.0, 1.0, 0.0, 0.0, 0.0], mask=mask)
    assert reachable_states(fresh).tolist() == [True] * 5
