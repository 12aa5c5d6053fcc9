"""The choice of α by comparing fits: its rules by hand, and its choices in worlds where the right one is known."""

import dataclasses
import functools
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from robustirl import envs, planning
from robustirl.demonstrations import Demonstrations, sample_demonstrations
from robustirl.demonstrations.alpha import estimate_alpha
from robustirl.irl import RobustIRL, alpha_selection, select_alpha
from robustirl.irl.alpha_rules import AlphaCurves, admissible_candidates, choose_candidate
from robustirl.mdp import MDP
from tests.invented import selection

ALPHAS = np.array([1.0, 0.9, 0.8])


def curves(**given):
    """Return curves of three candidates that nothing speaks against, but for what is given."""
    columns = {"gap": [0.0, 0.01, 0.02], "distance": [0.0, 0.1, 0.2], "excess": [0, 0, 0], "arrival": [1, 1, 1]}
    columns |= {"reach": [1, 1, 1]}
    columns |= {"gain": [0, 5, 10], "gain_error": [0, 1, 1], "own_gains": np.zeros((3, 3))}
    single = {"avoidable_gap": 0.0, "sampling_error": 0.0, "direction": "unknown"}
    columns |= {k: v for k, v in given.items() if k not in ("planned", *single)}
    numbers = {name: np.array(values, float) for name, values in columns.items()}
    single |= {k: v for k, v in given.items() if k in single}
    return AlphaCurves(candidates=ALPHAS, planned=np.array(given.get("planned", [1, 1, 1]), bool), **numbers, **single)


@pytest.mark.parametrize(
    ("given", "expected", "why"),
    [
        ({"gap": [0.0, 0.07, 0.15]}, [1, 1, 1], ""),
        # What follows a refusal is refused.
        ({"gap": [0.0, 0.09, 0.15]}, [1, 0, 0], "moves the player by 0.1 in l1 and misses the expert's visits by 0.09"),
        ({"gap": [0.02, 0.03, 0.04], "distance": [0.02] * 3}, [1, 0, 0], "moves the player by 0 in l1"),  # Calmer.
        ({"gap": [0.02] * 3, "distance": [0.02, 0.01, 0.0]}, [1, 0, 0], "moves the player by -0.01"),  # A better fit.
        ({"distance": [0.0, 1.1, 1.5]}, [1, 0, 0], "the player is 1.1 from the expert's visits"),
        ({"distance": [0.0, 0.3, 1.5]}, [1, 1, 0], ""),
        ({"excess": [0, 0.06, 0.06]}, [1, 0, 0], "spends 0.06 more of its time in states that the expert rarely"),
        ({"excess": [0.1, 0.16, 0.16]}, [1, 0, 0], "spends 0.06 more of its time in states that the expert rarely"),
        (
            {"gap": [0.02] * 3, "distance": [0.02] * 3, "excess": [0, 0.06, 0]},
            [1, 0, 0],
            "spends 0.06 more of its time",
        ),
        ({"arrival": [1, 0.98, 0.5]}, [1, 0, 0], "arrives at the expert's ends later or less often"),  # It waits.
        ({"arrival": [1, 0.98, 1]}, [1, 0, 1], ""),
        ({"reach": [1, 0.998, 0.5]}, [1, 0, 0], "arrives at the expert's ends later or less often"),  # For ever.
        ({"planned": [1, 0, 1]}, [1, 0, 0], "the planner could not reach its accuracy"),
        (
            {"gap": [0.2, 0.1, 0.1], "distance": [0.2, 0.3, 0.4]},
            [1, 0, 0],
            "standard IRL itself misses the expert's visits by 0.2 in",
        ),
        # The opponent misses 0.01 and 0.02 and explains nothing, which is allowed
        ({"distance": [0.0] * 3, "sampling_error": 0.1}, [1, 1, 0], ""),  # up to a tenth of the sampling error,
        ({"distance": [0.0] * 3, "sampling_error": 0.1, "direction": "calmer"}, [1, 0, 0], "moves the player by 0"),
        ({"distance": [0.0] * 3, "sampling_error": 0.02, "direction": "noisier"}, [1, 1, 1], ""),  # or all of it,
        ({"distance": [0.0] * 3, "avoidable_gap": 0.06, "direction": "calmer"}, [1, 0, 0], "moves the player by 0"),
        ({"distance": [0.0] * 3, "avoidable_gap": 0.06}, [1, 1, 0], ""),  # a fifth of what a longer fit would match,
        # and, if noise is proved, 0.6 of what no policy can match.
        ({"gap": [0.02, 0.03, 0.04], "distance": [0.02] * 3, "direction": "noisier"}, [1, 1, 0], ""),
    ],
)
def test_an_opponent_is_refused_for_what_the_learner_can_see(given, expected, why):
    assert admissible_candidates(curves(**given)).tolist() == [bool(x) for x in expected]
    place, decisive, note = choose_candidate(curves(**given), episodes=100)
    assert (place == 0) == (sum(expected) == 1)
    assert decisive == (place > 0 or given.get("direction") == "calmer")
    assert why in note


@pytest.mark.parametrize(
    ("gain", "error", "gap", "place", "decisive", "why"),
    [
        ([0, 9.5, 10], [0, 1, 1], 0.02, 1, True, "higher by 9.5 ± 1"),  # Enough, and closer to 1.
        ([0, 5, 10], [0, 1, 1], 0.02, 2, True, "α is 0.8"),
        ([0, 5, 10], [0, 1, 1], 0.2, 1, True, "α is 0.9"),
        ([0, 5, 10], [0, 6, 11], 0.02, 0, False, "than the two halves of the data differ"),
        ([0, 5, 10], [0, 1, 7], 0.02, 1, True, "higher by 5 ± 1"),  # 4 against 3, less one error.
        ([0, -1, -2], [0, 0, 0], 0.02, 0, False, "than the two halves of the data differ"),
    ],
)
def test_the_gain_decides_among_the_admissible(gain, error, gap, place, decisive, why):
    found = choose_candidate(curves(gain=gain, gain_error=error, gap=[0.0, 0.01, gap]), episodes=100)
    assert found[:2] == (place, decisive)
    assert why in found[2]


def test_the_slack_by_hand():
    def slack(**given):
        return curves(gap=[0.1, 0.2, 0.3], **given).slack

    assert slack() == 1e-3
    assert slack(avoidable_gap=0.5, sampling_error=0.2) == pytest.approx(0.1)  # A fifth, beside a tenth of 0.2.
    assert slack(avoidable_gap=0.05, sampling_error=0.2) == pytest.approx(0.02)
    assert slack(sampling_error=0.2, direction="noisier") == pytest.approx(0.2 + 0.06)
    assert slack(direction="noisier") == pytest.approx(1e-3 + 0.06)
    assert slack(avoidable_gap=0.5, sampling_error=0.2, direction="calmer") == 1e-3
    found = curves(gap=[0.1, 0.2, 0.05], distance=[0.1, 0.05, 0.6])
    np.testing.assert_allclose([found.missed, found.explained], [[0, 0.1, -0.05], [0, -0.05, 0.5]])
    np.testing.assert_allclose(found.most_missed, [1e-3, 1e-3, 0.4 + 1e-3])


def test_a_second_judge_is_heard():
    gains = {"gain": [0, 8, 10], "gain_error": [0, 1, 1]}
    assert choose_candidate(curves(**gains), 100)[0] == 2
    own = np.zeros((3, 3))
    own[2] = [0, 3, 2]  # By the reward of the fit that the first judge chooses.
    assert choose_candidate(curves(**gains, own_gains=own), 100)[0] == 1  # .8 and 1 against 1 and 2/3.
    assert choose_candidate(curves(**gains, own_gains=-own), 100)[0] == 2  # Nothing to compare with.
    assert choose_candidate(curves(**gains, own_gains=own[::-1]), 100)[0] == 2  # The others are not heard.
    # Shares of the largest are added, whatever the units: 1/2 and 1 against 1 and 1/2, or -1/2.
    gains["gain"] = [0, 6, 11]
    assert choose_candidate(curves(**gains), 100)[0] == 2
    for second in ([0, 4, 2], [0, 0.4, 0.2], [0, 4, -2]):
        own[2] = second
        assert choose_candidate(curves(**gains, own_gains=own), 100)[0] == 1
    own[2] = [0, 2, 4]
    assert choose_candidate(curves(**gains, own_gains=own), 100)[0] == 2  # 1/2 and 1/2 against 1 and 1.


def test_an_opponent_that_misses_less_than_standard_irl_misses_nothing():
    note = choose_candidate(curves(gap=[0.02, 0.01, 0.01], distance=[0.02, 0.1, 0.2]), 100)[2]
    assert note == (
        "α is 0.8: the opponent explains 0.18 of the expert's visits in l1, misses 0, and the player's return is higher"
        " by 10 ± 1 under the rewards of both halves of the data."
    )


def test_a_calmer_expert_needs_a_clearer_gain():
    gains = {"gain": [0, 5, 5], "gain_error": [0, 4, 4]}  # 1.25 standard errors.
    assert choose_candidate(curves(**gains), 100)[0] == 1
    assert choose_candidate(curves(**gains, direction="calmer"), 100)[0] == 0


def test_staying_at_one_is_a_finding_only_for_a_calmer_expert():
    refused = {"gap": [0.0, 0.09, 0.15]}
    assert choose_candidate(curves(**refused), 100)[1] is False
    assert choose_candidate(curves(**refused, direction="calmer"), 100)[1] is True


def test_few_episodes_and_a_single_candidate_decide_nothing():
    assert choose_candidate(curves(), episodes=9)[:2] == (0, False)
    one = {name: value[:1] for name, value in vars(curves()).items() if isinstance(value, np.ndarray)}
    one["own_gains"] = np.zeros((1, 1))
    assert choose_candidate(dataclasses.replace(curves(), **one), 100) == (
        0,
        False,
        "α stays 1: there is no other candidate.",
    )


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
        # A push is final.
        pytest.param("frozen-lake-8x8", "slip", 0.0, 0.2, "optimal", 0.5, marks=pytest.mark.slow),
        pytest.param("frozen-lake-8x8", "slip", 0.0, 2 / 3, "optimal", 0.0, marks=pytest.mark.slow),
    ],
)
def test_the_choice_removes_a_share_of_what_standard_irl_loses(name, model, learner, expert, kind, least):
    world = envs.make(name).mdp(learner, model)
    found = select_alpha(world, demos(name, expert, model, kind=kind))
    chosen, at_one = lost(name, learner, model, [found.fit.player, found.fits[0].player])
    assert 1 - chosen / at_one >= least
    assert found.alpha < 1 or least == 0
    assert found.note.startswith(f"α is {found.alpha:g}" if found.alpha < 1 else "α stays 1")


def test_the_curves_belong_to_the_candidates():
    world, walks = envs.make("gridworld-4").mdp(), demos("gridworld-4", 0.2, "uniform-state")
    found = select_alpha(world, walks)
    assert found.candidates.tolist() == list(alpha_selection.CANDIDATES)
    assert found.gap[0] == pytest.approx(found.distance[0], abs=1e-6)  # At α = 1 the player is the mixture.
    assert found.gain[0] == 0
    assert found.gain_error[0] == 0
    assert found.gap[list(found.candidates).index(found.alpha)] == float(found.fit.verdict.occupancy_gap)
    assert np.isfinite(found.log_likelihood).all()
    assert (found.log_likelihood_error > 0).all()


def test_what_was_compared_is_what_the_estimator_returns():
    world, walks = envs.make("gridworld-4").mdp(), demos("gridworld-4", 0.2, "uniform-state")
    model, found = RobustIRL().fit(world, walks), select_alpha(world, walks)
    again = RobustIRL(alpha=found.alpha).fit(world, walks)
    assert model.alpha_ == found.alpha < 1
    assert {type(array) for array in (model.policy_, model.reward_, found.fit.player, found.judges[0])} == {np.ndarray}
    np.testing.assert_array_equal(model.policy_, found.fit.player)
    np.testing.assert_allclose(again.policy_, found.fit.player, atol=1e-9)
    assert model.alpha_estimate_.note == found.note  # pyright: ignore[reportOptionalMemberAccess]


def test_the_interval_is_that_of_the_moves_and_holds_the_choice():
    world, walks = envs.make("gridworld-4").mdp(), demos("gridworld-4", 0.2, "uniform-state")
    found = select_alpha(world, walks)
    stated, moves = found.as_estimate(), estimate_alpha(world, walks)
    assert (found.mismatch.low, found.mismatch.high) == (moves.low, moves.high)
    assert stated.low == min(moves.low, found.alpha) <= stated.alpha <= stated.high == max(moves.high, found.alpha)
    assert stated.low <= 1 - 0.2 * 35 / 36 <= stated.high  # 1 - d/2.
    assert (stated.method, stated.moves, stated.direction) == ("fits", moves.moves, "noisier")
    assert select_alpha(world, walks, actions=False).mismatch.method == "states"


def test_large_worlds_have_fewer_candidates():
    assert alpha_selection._as_candidates(None, 100) == list(alpha_selection.CANDIDATES)
    assert alpha_selection._as_candidates(None, 10**6) == list(alpha_selection.FEW_CANDIDATES)


@pytest.mark.parametrize(
    ("candidates", "culprit"), [([], "there are no candidates for alpha"), ([0.5, 1.5], "alpha is 1.5, but")]
)
def test_bad_candidates_are_named(candidates, culprit, refused):
    with refused(culprit):
        select_alpha(envs.make("gridworld-4").mdp(), demos("gridworld-4", 0.2, "uniform-state"), candidates=candidates)


def _fit(gap, player, valid=True):
    verdict = SimpleNamespace(occupancy_gap=gap, valid=valid)
    return SimpleNamespace(verdict=verdict, player=np.array(player, float), reward=np.zeros(3))


@pytest.mark.parametrize("pairs", [False, True])
def test_the_curves_by_hand(pairs):
    # State 2 is the end: one action leads there, the other stays, and the expert is there for most of its time.
    kernel = np.zeros((3, 2, 3))
    kernel[0, 0, 1] = kernel[1, 0, 2] = kernel[:2, 1, 0] = kernel[2, :, 2] = 1.0
    mdp = MDP(kernel, discount=0.5, initial=[1.0, 0.0, 0.0])
    players = [[[1, 0], [1, 0], [0.5, 0.5]], [[0.5, 0.5], [1, 0], [0.5, 0.5]]]
    fits = [_fit(0.001, players[0]), _fit(0.04, players[1], valid=False)]
    # ρ = (1-γ) Σ γᵗ: in states 0, 1 and 2 of the first player; the second leaves state 0 every other time.
    alone = np.array([[0.5, 0.25, 0.25], [2 / 3, 1 / 6, 1 / 6]])
    states = np.array([0.5, 0.05, 0.45])
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5]])
    matched = states[:, None] * shares if pairs else states
    halves = [matched, matched + (np.full((3, 2), 0.01) if pairs else np.array([0.02, -0.01, 0.03]))]
    gains = [np.array([0.0, 3.0]), np.array([0.0, 2.0])]
    found = alpha_selection._curves(mdp, [1.0, 0.9], fits, alone, gains, np.eye(2), [matched, *halves], "unknown")
    own = alone[:, :, None] * np.array(players) if pairs else alone
    np.testing.assert_allclose(found.distance, [np.abs(one - matched).sum() for one in own])
    np.testing.assert_allclose(found.excess, [0.25 - 0.15, 1 / 6 - 0.15], atol=1e-12)
    # State 2 is the only end, so that arrivals are visits there: 1/6 beside 1/4.
    np.testing.assert_allclose(found.arrival, [1.0, 2 / 3])
    np.testing.assert_allclose(found.reach, [1.0, 1.0])
    assert found.planned.tolist() == [True, False]
    np.testing.assert_allclose([found.gain, found.gain_error], [[0.0, 2.5], [0.0, 0.5]])
    assert found.sampling_error == pytest.approx(0.03)
    assert found.avoidable_gap == 0
    without = alpha_selection._curves(mdp, [1.0, 0.9], fits, alone, [], np.eye(2), [matched], "calmer")
    assert without.gain.tolist() == [0, 0]
    assert without.gain_error.tolist() == [np.inf, np.inf]
    assert (without.sampling_error, without.direction) == (0.0, "calmer")
    pay = np.array([[1.0, 2.0], [0.0, 4.0], [1.0, 0.0]])
    expected = [0, (1 / 3 * 1 + 1 / 3 * 2 + 1 / 12 - 0.5 - 0.125) / 0.5]
    np.testing.assert_allclose(alpha_selection.player_gains(alone, players, pay, mdp), expected, atol=1e-12)
    np.testing.assert_allclose(alpha_selection.player_gains(alone, players, np.arange(3.0), mdp), [0, -0.5])


def test_the_likelihood_of_episodes_without_moves_is_unknown(monkeypatch):
    walks = Demonstrations.from_arrays([[0, 1], [0, 1, 1]])
    told = {"found": np.zeros(0), "episodes": np.zeros(0, int)}
    monkeypatch.setattr(alpha_selection, "move_log_likelihoods", lambda *_: tuple(told.values()))
    assert alpha_selection._per_episode(None, None, walks) == (0.0, np.inf)
    # Deviations from the mean, -2, are 1 in the first episode and 0 - 1 in the second.
    told |= {"found": np.array([-1.0, -2.0, -3.0]), "episodes": np.array([0, 1, 1])}
    assert alpha_selection._per_episode(None, None, walks) == (-2.0, pytest.approx(np.sqrt(2) / 3))


@pytest.mark.parametrize(
    ("gap", "least", "axes", "avoidable"),
    [
        (0.5, 0.2, 1, 0.3),
        (0.5, 0.6, 1, 0.0),  # The bound is as good as its solver.
        (alpha_selection.SMALL_GAP, 0.0, 1, 0.0),  # Too small to look at.
        (alpha_selection.SMALL_GAP * 1.5, 0.0, 1, alpha_selection.SMALL_GAP * 1.5),
        (0.5, 0.2, 2, 0.0),  # States and actions are not looked at.
    ],
)
def test_the_avoidable_gap_is_what_is_beyond_the_closest_policy(gap, least, axes, avoidable, monkeypatch):
    found = SimpleNamespace(diagnosis=SimpleNamespace(least_gap=np.array(least)))
    monkeypatch.setattr(alpha_selection, "with_least_gap", lambda fit, mdp: found)
    standard = SimpleNamespace(reward=np.zeros((3,) * axes))
    world: Any = None
    assert alpha_selection._avoidable_gap(world, standard, gap) == pytest.approx(avoidable)  # pyright: ignore


def test_a_selection_says_whether_it_is_decisive():
    for decisive, words in ((True, "α = {:g}, decisive"), (False, "α = {:g}, not decisive")):
        one = dataclasses.replace(selection(), decisive=decisive)
        assert words.format(one.alpha) in repr(one)
