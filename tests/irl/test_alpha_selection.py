"""The choice of α by comparing fits: its rules by hand, and its choices in worlds where the right one is known."""

import functools

import jax
import numpy as np
import pytest

from robustirl import envs, planning
from robustirl.demonstrations import sample_demonstrations
from robustirl.irl import alpha_selection, select_alpha
from robustirl.irl.alpha_selection import admissible_candidates, choose

THREE = np.array([1.0, 0.9, 0.8])
PLANNED = np.ones(3, bool)


@pytest.mark.parametrize(
    ("gap", "distance", "excess", "planned", "expected"),
    [
        ([0.0, 0.04, 0.09], [0.0, 0.1, 0.2], [0, 0, 0], [1, 1, 1], [1, 1, 1]),
        ([0.0, 0.06, 0.09], [0.0, 0.1, 0.2], [0, 0, 0], [1, 1, 1], [1, 0, 0]),  # What follows a refusal is refused.
        ([0.02, 0.03, 0.04], [0.02, 0.02, 0.02], [0, 0, 0], [1, 1, 1], [1, 0, 0]),  # A calmer expert.
        ([0.0, 0.01, 0.02], [0.0, 0.3, 1.5], [0, 0.01, 0.1], [1, 1, 1], [1, 1, 0]),  # A player that waits.
        ([0.0, 0.01, 0.02], [0.0, 0.3, 0.5], [0, 0.01, 0.06], [1, 1, 1], [1, 1, 0]),
        ([0.0, 0.0, 0.0], [0.0, 0.1, 0.2], [0, 0, 0], [1, 0, 1], [1, 0, 0]),
        ([0.2, 0.1, 0.1], [0.2, 0.3, 0.4], [0, 0, 0], [1, 1, 1], [1, 0, 0]),  # Standard IRL has failed itself.
    ],
)
def test_an_opponent_may_miss_half_of_what_it_explains(gap, distance, excess, planned, expected):
    gaps, distances, excesses = (np.array(x, float) for x in (gap, distance, excess))
    found = admissible_candidates(gaps, distances, excesses, np.array(planned, bool))
    assert found.tolist() == [bool(x) for x in expected]


@pytest.mark.parametrize(
    ("gain", "error", "admissible", "place", "decisive", "why"),
    [
        ([0, 8.5, 10], [0, 1, 1], [1, 1, 1], 1, True, "higher by 8.5 ± 1"),  # Enough, and closer to 1.
        ([0, 5, 10], [0, 1, 1], [1, 1, 1], 2, True, "α is 0.8"),
        ([0, 5, 10], [0, 1, 1], [1, 1, 0], 1, True, "α is 0.9"),
        ([0, 5, 10], [0, 1, 1], [1, 0, 0], 0, True, "already at α = 0.9"),
        ([0, 5, 10], [0, 6, 11], [1, 1, 1], 0, False, "than the two halves of the data differ"),
        ([0, -1, -2], [0, 0, 0], [1, 1, 1], 0, False, "than the two halves of the data differ"),
    ],
)
def test_the_gain_decides_among_the_admissible(gain, error, admissible, place, decisive, why):
    gap, distance = np.array([0.0, 0.01, 0.02]), np.array([0.0, 0.1, 0.2])
    arrays = np.array(gain, float), np.array(error, float), np.array(admissible, bool)
    found = choose(THREE, gap, distance, *arrays, episodes=100)
    assert found[:2] == (place, decisive)
    assert why in found[2]


@functools.cache
def demos(name, noise, model, episodes=300, kind="soft"):
    env = envs.make(name)
    world = env.mdp(noise, model)
    expert = planning.expert_policy(world, env.reward, kind=kind)
    return sample_demonstrations(world, expert, episodes=episodes, horizon=200, key=jax.random.key(0))


def lost(name, learner, model, players):
    """Return what each player loses against the learner's optimum."""
    env = envs.make(name)
    world = env.mdp(learner, model)
    best = planning.total_return(world, planning.expert_policy(world, env.reward, kind="optimal"), env.reward)
    return [float(best - planning.total_return(world, player, env.reward)) for player in players]


@pytest.mark.parametrize(
    ("name", "model", "learner", "expert", "kind", "least"),
    [
        ("gridworld-4", "uniform-action", 0.0, 0.2, "soft", 0.4),  # Noise that looks like the learner's own moves.
        ("gridworld-4", "uniform-state", 0.0, 0.2, "soft", 0.5),
        ("gridworld-4", "uniform-state", 0.2, 0.0, "soft", 0.0),  # A calmer expert.
        ("frozen-lake-8x8", "slip", 0.0, 0.2, "optimal", 0.5),  # A push is final.
        ("frozen-lake-8x8", "slip", 0.0, 2 / 3, "optimal", 0.0),
    ],
)
def test_the_choice_removes_a_share_of_what_standard_irl_loses(name, model, learner, expert, kind, least):
    world = envs.make(name).mdp(learner, model)
    found = select_alpha(world, demos(name, expert, model, kind=kind))
    chosen, at_one = lost(name, learner, model, [found.fit.player, found.fits[0].player])
    assert 1 - chosen / at_one >= least
    assert (found.alpha < 1) == (least > 0)
    assert found.note.startswith(f"α is {found.alpha:g}" if found.alpha < 1 else "α stays 1")


def test_the_curves_belong_to_the_candidates():
    found = select_alpha(envs.make("gridworld-4").mdp(), demos("gridworld-4", 0.2, "uniform-state"), candidates=[0.9])
    assert found.candidates.tolist() == [1.0, 0.9]
    assert found.gap[0] == pytest.approx(found.distance[0], abs=1e-6)  # At α = 1 the player is the mixture.
    assert found.gain[0] == 0
    assert found.gain_error[0] == 0
    assert found.gap[list(found.candidates).index(found.alpha)] == float(found.fit.verdict.occupancy_gap)
    assert np.isfinite(found.log_likelihood).all()
    assert (found.log_likelihood_error > 0).all()


def test_large_worlds_have_fewer_candidates():
    assert alpha_selection._as_candidates(None, 100) == list(alpha_selection.CANDIDATES)
    assert alpha_selection._as_candidates(None, 10**6) == list(alpha_selection.FEW_CANDIDATES)


@pytest.mark.parametrize(
    ("candidates", "culprit"), [([], "there are no candidates for alpha"), ([0.5, 1.5], "alpha is 1.5, but")]
)
def test_bad_candidates_are_named(candidates, culprit, refused):
    with refused(culprit):
        select_alpha(envs.make("gridworld-4").mdp(), demos("gridworld-4", 0.2, "uniform-state"), candidates=candidates)
