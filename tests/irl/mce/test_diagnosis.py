"""Facts about a fit, by hand: how much is left to chance, what can be reached, and signs that look random."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.mce import diagnosis
from robustirl.irl.mce.certifiable import WORST_ERROR, WORST_ERROR_SINGLE
from robustirl.irl.mce.diagnosis import _signs, choice_randomness, diagnose, reachable_states
from robustirl.irl.mce.problem import LIKELIHOOD, OCCUPANCY, Problem, threshold
from robustirl.mdp import MDP
from robustirl.rewards import LinearReward, TabularReward

RNG = np.random.default_rng(0)
KERNEL = RNG.dirichlet(np.ones(4), size=(4, 3))
POLICY = RNG.dirichlet(np.ones(3), size=4)
VISITS = np.array([0.1, 0.2, 0.3, 0.1])


def _expected():
    together = np.einsum("sa,sat->st", POLICY, KERNEL)
    chance = 1 - (together**2).sum(-1) / np.einsum("sa,sat->s", POLICY, KERNEL**2)
    return VISITS @ chance / VISITS.sum()


def test_what_is_left_to_chance_is_the_formula():
    world = MDP(KERNEL, discount=0.9)
    found = choice_randomness(world, jnp.asarray(POLICY), jnp.asarray(VISITS))
    assert float(found) == pytest.approx(_expected())
    assert float(choice_randomness(world, jnp.asarray(POLICY), jnp.zeros(4))) == 0  # Nobody is anywhere.


def test_in_large_worlds_it_is_estimated_by_signs(monkeypatch):
    monkeypatch.setattr(diagnosis, "MOST_EXACT", 3)
    found = float(choice_randomness(MDP(KERNEL, discount=0.9), jnp.asarray(POLICY), jnp.asarray(VISITS)))
    signs = np.array([_signs(4, jnp.asarray(k)) for k in range(diagnosis.PROBES)], float)
    moved = np.einsum("sat,kt->ksa", KERNEL, signs)
    together = ((POLICY * moved).sum(-1) ** 2).sum(0)
    apart = (POLICY * moved**2).sum((0, 2))
    assert found == pytest.approx(VISITS @ np.clip(1 - together / apart, 0, 1) / VISITS.sum())
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


# From state 0 to 1 or to the end, 2; state 3 is an island. The expert has less than (1-γ) P₀ in state 0.
WALK = np.zeros((4, 2, 4))
WALK[0, 0, 1] = WALK[0, 1, 2] = WALK[1, :, 2] = WALK[2, :, 2] = WALK[3, :, 3] = 1.0
WALK_WORLD = MDP(WALK, discount=0.8, initial=[1.0, 0.0, 0.0, 0.0])
EXPERT, MIXED, ALONE = (
    np.array([0.15, 0.0, 0.75, 0.1]),
    np.array([0.2, 0.1, 0.7, 0.0]),
    np.array([0.2, 0.05, 0.75, 0.0]),
)
CHOSEN = np.array([[0.75, 0.25], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
FEATURES = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])


def _facts(
    model=None, *, alpha=1.0, uncertainty=None, objective=OCCUPANCY, expert=EXPERT, reward=(0.0, 3.0, 1.0, -1.0)
):
    problem = SimpleNamespace(
        game=SimpleNamespace(mdp=WALK_WORLD, alpha=jnp.asarray(alpha)),
        expert=jnp.asarray(expert),
        uncertainty=uncertainty,
        objective_name=objective,
        model=model or TabularReward(4),
    )
    solution = SimpleNamespace(player=jnp.asarray(CHOSEN))
    given = (jnp.asarray(MIXED), jnp.asarray(ALONE), jnp.array(0.25), jnp.array(reward))
    found = diagnose(problem, solution, *given, SimpleNamespace(dual=jnp.array([-0.3, -0.6])), jnp.array(1))
    return {name: float(value) for name, value in vars(found).items()}


def test_all_facts_by_hand():
    found = _facts()
    assert found == pytest.approx(
        {
            "matching_gap": 0.25,
            "least_gap": 0.6 / 2,  # The dual at the best step, for a reward scaled to |R| <= 1.
            "leavable_mass": 0.15,
            "leavable_gap": 0.05 + 0.1,
            "unvisited_mass": 0.1,
            "unreachable_mass": 0.1,
            "start_deficit": 0.2 - 0.15,
            "discount": 0.8,
            "player_gap": 0.05 + 0.05 + 0.0 + 0.1,
            "player_leavable_gap": 0.05 + 0.05,
            "randomness": 0.2 * (1 - 0.75**2 - 0.25**2) / 0.25,
        }
    )
    # Without an opponent alone does the dual bound the gap of every policy.
    assert _facts(alpha=0.9)["least_gap"] == 0
    assert _facts(uncertainty="some")["least_gap"] == 0
    assert _facts(reward=(1.0, 1.0, 1.0, 1.0))["least_gap"] == 0


def test_the_gap_of_the_player_is_one_of_what_is_matched():
    linear = LinearReward(FEATURES)
    # Σ φ (ρ - ρ_E) in units of the largest |φ|: 0.05 + 0 of the first, 2 · 0.05 / 2 of the second.
    assert _facts(linear)["player_gap"] == pytest.approx(0.1)
    assert _facts(linear, objective=LIKELIHOOD)["player_gap"] == pytest.approx(0.2)
    assert _facts(linear, objective=LIKELIHOOD)["least_gap"] == 0
    pairs = EXPERT[:, None] * np.array([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    found = _facts(TabularReward(4, 2), expert=pairs, reward=np.zeros((4, 2)))
    assert found["player_gap"] == pytest.approx(np.abs(ALONE[:, None] * CHOSEN - pairs).sum())
    assert found["leavable_mass"] == pytest.approx(0.15)
    assert _facts(linear, objective=LIKELIHOOD, expert=pairs)["player_gap"] == pytest.approx(0.2)


def test_a_relative_tolerance_is_one_of_the_mass_that_can_be_left():
    for expert in (EXPERT, EXPERT[:, None] / 2 * np.ones(2)):
        problem = SimpleNamespace(game=SimpleNamespace(mdp=WALK_WORLD), expert=jnp.asarray(expert), tolerance=0.01)
        for relative, expected in ((True, 0.0015), (False, 0.01)):
            problem.relative = jnp.asarray(relative)
            assert float(threshold(problem)) == pytest.approx(expected)


@pytest.mark.parametrize(("dtype", "worst"), [(jnp.float64, WORST_ERROR), (jnp.float32, WORST_ERROR_SINGLE)])
def test_a_plan_is_vouched_for_up_to_a_share_of_the_temperature(dtype, worst):
    def vouched(error, *, temperature=2.0, converged=True):
        verdict = SimpleNamespace(converged=jnp.asarray(converged), error_bound=jnp.asarray(error))
        solution = SimpleNamespace(value=jnp.zeros(3, dtype), verdict=verdict)
        return bool(Problem.vouched(SimpleNamespace(soft=(temperature, None)), solution))

    assert [vouched(share * worst) for share in (1.9, 2.1)] == [True, False]
    assert not vouched(0.0, converged=False)
    assert vouched(1e9, temperature=None)
