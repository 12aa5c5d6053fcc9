"""Our lake, cliff and taxi against Gymnasium's, at every slip that Gymnasium knows; the three-state example."""

import numpy as np
import pytest

from robustirl.envs import ThreeState
from robustirl.envs.gymnasium import from_gymnasium
from robustirl.envs.toy_text import LAKES, cliff_walking, frozen_lake, taxi
from robustirl.mdp import dynamics_distance
from robustirl.planning import discounted_return, expert_policy, state_occupancy, total_return

pytest.importorskip("gymnasium")


def rows(mdp):
    """The kernel as an array `[S, A, S]`."""
    return mdp.kernel.to_sparse().toarray().reshape(*mdp.mask.shape, -1)


@pytest.mark.parametrize("noise", [0.0, 0.25, 2 / 3, 1.0])
@pytest.mark.parametrize("lake", LAKES)
def test_the_lake_slips_as_gymnasiums(lake, noise):
    options = {"success_rate": 1 - noise} if noise != 2 / 3 else {}  # Its default.
    theirs = from_gymnasium("FrozenLake-v1", map_name=lake, **options).outcomes.dense()
    ours = rows(frozen_lake(lake=lake).mdp(noise))
    size = len(theirs)
    live = np.einsum("sas->sa", theirs).min(-1) < 1
    np.testing.assert_allclose(ours[:size, :, :size][live], theirs[live], atol=1e-15)
    np.testing.assert_array_equal(ours[:size][~live][..., size], 1)
    assert frozen_lake(lake=lake).mdp().initial.tolist()[0] == 1


@pytest.mark.parametrize("noise", [0.0, 0.3, 2 / 3])
def test_the_return_on_the_lake_is_gymnasiums(noise):
    env, theirs = frozen_lake(), from_gymnasium("FrozenLake-v1", success_rate=1 - noise)
    policy = np.random.default_rng(1).dirichlet(np.ones(4), size=17)
    # A step that enters the goal is paid by the next one here, so that one more counts.
    for horizon in (0, 3, 50):
        ours = total_return(env.mdp(noise), policy, env.reward, horizon=horizon + 1)
        np.testing.assert_allclose(ours, total_return(theirs.mdp(), policy[:16], theirs.reward, horizon=horizon))


@pytest.mark.parametrize("model", ["slip", "uniform-state", "uniform-action"])
def test_the_goal_of_the_lake_pays_once_at_any_noise(model):
    env = frozen_lake()
    kernel = rows(env.mdp(0.9, model))
    np.testing.assert_array_equal(kernel[[5, 7, 11, 12, 15, 16], :, 16], 1)


@pytest.mark.parametrize(("noise", "slippery"), [(0.0, False), (2 / 3, True)])
def test_the_cliff_is_gymnasiums_with_falls_told_apart_from_steps_back(noise, slippery):
    env, theirs = cliff_walking(), from_gymnasium("CliffWalking-v1", is_slippery=slippery)
    ours = rows(env.mdp(noise))
    cliff = np.arange(37, 47)
    np.testing.assert_allclose(ours[cliff], np.broadcast_to(ours[36], (10, 4, 48)))
    merged = ours.copy()
    merged[..., 36] += merged[..., cliff].sum(-1)
    merged[..., cliff] = 0
    walked = np.r_[:37, 47]
    np.testing.assert_allclose(merged[walked], theirs.outcomes.dense()[walked], atol=1e-15)
    # A fall costs 100, any other step 1: what Gymnasium's R(s,a) expects.
    fall = ours[..., cliff].sum(-1)
    np.testing.assert_allclose((-1 - 99 * fall)[:37], theirs.reward[:37], atol=1e-12)


def test_the_return_of_a_walk_along_the_cliff_is_gymnasiums():
    env, theirs = cliff_walking(), from_gymnasium("CliffWalkingSlippery-v1")
    world = env.mdp(2 / 3)
    policy = expert_policy(world, env.reward, kind="optimal")
    ours = total_return(world, policy, env.reward, horizon=5000)
    np.testing.assert_allclose(ours, total_return(theirs.mdp(), policy, theirs.reward, horizon=5000), rtol=1e-9)
    assert ours < -20


def test_a_gust_blows_one_cell_down_after_the_move():
    kernel = rows(cliff_walking().mdp(0.25, "wind"))
    up, right = 0, 1
    assert (kernel[13, right, 14], kernel[13, right, 26]) == (0.75, 0.25)
    assert (kernel[25, right, 26], kernel[25, right, 38]) == (0.75, 0.25)  # Off the edge, into the cliff.
    assert (kernel[36, up, 24], kernel[36, up, 36]) == (0.75, 0.25)
    assert (kernel[34, right, 35], kernel[34, right, 47]) == (0.75, 0.25)  # Into the goal.
    assert kernel[47, :, 47].tolist() == [1, 1, 1, 1]
    assert kernel[26, 2, 38] == 1  # Who falls is no longer blown about.


def test_wind_keeps_the_expert_off_the_edge():
    env = cliff_walking()
    calm, windy = (np.asarray(expert_policy(env.mdp(e, "wind"), env.reward, kind="optimal")) for e in (0.0, 0.2))
    assert calm[24].tolist() == [0, 1, 0, 0]  # Above the start: straight along the edge.
    assert windy[24].tolist() == [1, 0, 0, 0]  # Up and away.


@pytest.mark.parametrize("noise", [0.0, 0.2, 0.75])
def test_the_taxi_is_gymnasiums_in_any_rain(noise):
    env = taxi()
    theirs = from_gymnasium("Taxi-v4", is_rainy=noise > 0, rainy_probability=1 - noise)
    ours = env.mdp(noise)
    np.testing.assert_allclose(rows(ours), theirs.outcomes.dense(), atol=1e-15)
    np.testing.assert_array_equal(env.reward, theirs.reward)
    np.testing.assert_allclose(ours.initial, theirs.mdp().initial, atol=1e-15)


@pytest.mark.parametrize("lake", ["16x16", ("SF", "G"), ("SX", "FG"), ("FF", "FG"), ()])
def test_a_bad_map_is_refused(lake, refused):
    with refused("lake", repr(lake)):
        frozen_lake(lake=lake)


def test_no_noise_leads_out_of_the_end_of_the_lake():
    for model in ("uniform-state", "uniform-action", "slip"):
        array = rows(frozen_lake().mdp(0.5, model))
        assert array[-1, :, -1].tolist() == [1.0] * 4


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
