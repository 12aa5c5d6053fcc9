"""The closed forms of the three-state example hold together before any algorithm meets them."""

import pytest

from robustirl.envs import ThreeState
from robustirl.errors import InvalidInputError
from robustirl.mdp import dynamics_distance
from robustirl.planning import discounted_return, expert_policy, state_occupancy

NOISES = (0.05, 0.2, 0.45)
DISCOUNTS = (0.3, 0.9, 0.99)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("discount", DISCOUNTS)
def test_expert_occupancy_is_the_papers(noise, discount):
    world = ThreeState(discount=discount).mdp(noise)
    expert = expert_policy(world, ThreeState().reward, kind="optimal")
    assert expert[0].tolist() == [1, 0]
    expected = [1 - discount, discount * (1 - noise), discount * noise]
    assert state_occupancy(world, expert).tolist() == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("discount", DISCOUNTS)
def test_gap_vanishes_at_the_right_alpha_and_is_proportional_to_the_mismatch_at_one(noise, discount):
    env = ThreeState(discount=discount)
    distance = float(dynamics_distance(env.mdp(0.0), env.mdp(noise)))
    assert distance == pytest.approx(2 * noise)
    assert env.performance_gap(noise, 1 - distance / 2) == pytest.approx(0, abs=1e-12)
    assert env.performance_gap(noise, 1.0) == pytest.approx(discount / (1 - discount) * distance)


@pytest.mark.parametrize("alpha", [0.85, 0.9, 1.0])
def test_the_gap_formula_is_the_return_of_the_closed_form_player(alpha):
    env = ThreeState(discount=0.9)
    learner = env.mdp(0.0)
    chance = env.player_probability(0.15, alpha)
    player = [[chance, 1 - chance], [0.5, 0.5], [0.5, 0.5]]
    ideal = discounted_return(learner, expert_policy(learner, env.reward, kind="optimal"), env.reward)
    assert float(ideal - discounted_return(learner, player, env.reward)) == pytest.approx(
        env.performance_gap(0.15, alpha), abs=1e-12
    )


def test_an_alpha_that_no_player_can_match_is_refused():
    with pytest.raises(InvalidInputError, match=r"alpha 0.8 is below 1 - ε_E = 0.9"):
        ThreeState().player_probability(0.1, 0.8)
