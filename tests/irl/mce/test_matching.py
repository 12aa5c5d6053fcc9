"""Occupancy matching, part by part, by hand; the dual itself is in `test_loop.py`."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.irl.mce.landscape import Landscape, feature_scales
from robustirl.irl.mce.matching import Matching, as_matched, for_reward
from robustirl.irl.mce.objective import Evaluation, Neighbor
from robustirl.planning import StoppingRule
from robustirl.rewards import LinearReward, TabularReward

POLICY = jnp.array([[0.25, 0.75], [1.0, 0.0]])
RHO = jnp.array([0.4, 0.6])
RULE = StoppingRule(*(jnp.asarray(number) for number in (1e-8, 0.9, 2.0)), limit=jnp.asarray(0.5))


def test_occupancies_are_compared_as_the_expert_has_them():
    assert as_matched(RHO, POLICY, jnp.zeros(2)) is RHO
    np.testing.assert_allclose(as_matched(RHO, POLICY, jnp.zeros((2, 2))), [[0.1, 0.3], [0.6, 0.0]])


def test_rewards_of_actions_may_cancel_in_the_value():
    assert for_reward(RULE, jnp.array([-7.0, 1.0])) is RULE
    for size, unit in ((7.0, 7.0), (1.5, 2.0)):
        found = for_reward(RULE, jnp.array([[-size, 1.0], [0.0, 0.5]]))
        assert [float(x) for x in (found.tolerance, found.discount, found.limit)] == [1e-8, 0.9, 0.5]
        assert (float(found.unit), float(found.magnitude)) == (unit, size)


@pytest.mark.parametrize("pairs", [False, True])
def test_what_cancels_in_the_dual_is_told_for_its_rounding(pairs):
    mdp = SimpleNamespace(discount=jnp.asarray(0.75), initial=jnp.array([0.5, 0.5]))
    model = TabularReward(2, 2) if pairs else LinearReward([[1.0, 0.0], [0.0, 2.0]])
    parameters = jnp.array([[1.0, -2.0], [3.0, 4.0]]) if pairs else jnp.array([-3.0, 2.0])
    expert = RHO[:, None] * POLICY if pairs else RHO
    problem = SimpleNamespace(
        game=SimpleNamespace(mdp=mdp), expert=expert, model=model, temperatures=SimpleNamespace(player=0.5)
    )
    solution = SimpleNamespace(value=jnp.array([-8.0, 4.0]), player=POLICY, opponent=POLICY, mixture=POLICY)
    near = Neighbor(solution.value, RHO, None, jnp.asarray(0.0))
    found = Matching().landscape(problem, parameters, solution, near, RULE)
    # (1-γ) P₀ᵀ|V| is 0.25 · (4 + 2). Rewards are -3 and 4, or the four above where actions count.
    earned = 0.1 * 1 + 0.3 * 2 + 0.6 * 3 if pairs else 0.4 * 3 + 0.6 * 4
    assert float(found.magnitude) == pytest.approx(1.5 + earned)
    assert found.curvature.of_pairs is pairs
    assert found.entropy == pytest.approx(0.5 * np.log(2))
    assert np.asarray(found.scales()).tolist() == (1.0 if pairs else [1.0, 2.0])


def test_a_single_action_counts_as_two_for_the_entropy():
    curvature = SimpleNamespace(player=jnp.ones((3, 1)), temperature=2.0, features=None)
    assert Landscape(curvature, None, None).entropy == pytest.approx(2 * np.log(2))
    assert np.asarray(feature_scales(jnp.array([[[-3.0], [1.0]], [[0.0], [2.0]]]))).tolist() == [3.0]


def test_gaps_are_those_of_features_and_of_occupancies():
    difference = jnp.array([0.1, -0.3])
    found = Evaluation(None, None, None, difference)
    problem = SimpleNamespace(model=LinearReward([[2.0, 0.0], [2.0, 4.0]]))
    # Σ φ d is (-0.4, -1.2), in units of 2 and 4.
    gap, recorded = Matching().gaps(problem, None, found)
    assert (float(gap), float(recorded)) == (pytest.approx(0.2 + 0.3), pytest.approx(0.4))
    better = Matching().is_better
    assert [bool(better(0, jnp.asarray(gap), 0, jnp.asarray(0.5))) for gap in (0.4, 0.5, 0.6)] == [True, False, False]
