"""The rules for α: what they give, and what is left of the corollary's after its correction."""

import hypothesis
import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.envs import ThreeState, make
from robustirl.mdp import MDP, dynamics_distance
from robustirl.planning import expert_policy
from robustirl.theory import bounds
from robustirl.theory.alpha import choose_alpha, opponent_world, worst_opponent_world
from tests.strategies import policies, worlds
from tests.theory.test_bounds import pairs


@pytest.mark.parametrize(("learner", "expert"), [(0.0, 0.2), (0.1, 0.05)])
def test_on_the_grids_the_rule_is_the_difference_of_the_noises(learner, expert):
    env = make("gridworld-1")
    found = choose_alpha(env.mdp(learner), env.mdp(expert)).half_distance
    assert 1 - found == pytest.approx((1 - 1 / 100) * abs(learner - expert))


def test_the_corollarys_alpha_minimizes_the_bound_as_stated():
    env = ThreeState()
    learner, expert = env.mdp(0.0), env.mdp(0.4)
    star = worst_opponent_world(learner, env.reward, 0.9)
    # A T* close to the expert's world, so that the rule says something other than one.
    near = MDP(expert.kernel, discount=0.9, initial=expert.initial)
    chosen = choose_alpha(learner, expert, opponent_world=near).corollary
    assert chosen is not None
    assert chosen < 1
    assert choose_alpha(learner, expert, opponent_world=star).corollary == 1

    def stated(alpha):
        player = expert_policy(expert, env.reward)
        return bounds.infeasible_bound(
            learner, expert, near, env.reward, expert_policy=player, player=player, alpha=alpha, corrected=False
        ).value

    assert stated(chosen) <= min(stated(alpha) for alpha in np.linspace(0.05, 1, 96)) + 1e-9


@hypothesis.given(pairs(), st.data())
def test_the_corrected_bound_is_smallest_without_an_opponent(pair, data):
    learner, expert, reward = pair
    star = opponent_world(learner, data.draw(policies(learner)))
    player = data.draw(policies(learner))

    def corrected(alpha):
        return bounds.infeasible_bound(
            learner, expert, star, reward, expert_policy=player, player=player, alpha=alpha
        ).value

    alone = corrected(1.0)
    assert all(alone <= corrected(alpha) * (1 + 1e-9) + 1e-9 for alpha in (0.99, 0.7, 0.2))


@hypothesis.given(worlds(shapes=((5, 4),)), st.data())
def test_in_the_opponents_world_the_players_action_does_not_matter(world, data):
    opponent = data.draw(policies(world))
    star = opponent_world(world, opponent)
    value = jnp.arange(5.0)
    rows = star.kernel.expect(value)
    assert jnp.allclose(rows, rows[:, :1])
    assert jnp.allclose(rows[:, 0], world.kernel.policy_matrix(jnp.asarray(opponent, dtype=float)) @ value)


def test_worlds_that_share_nothing_leave_no_alpha(refused):
    there, elsewhere = (MDP([[[1 - e, e]], [[e, 1 - e]]], discount=0.5) for e in (0.0, 1.0))
    assert float(dynamics_distance(there, elsewhere)) == 2
    with refused("distance 2"):
        choose_alpha(there, elsewhere)
