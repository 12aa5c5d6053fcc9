"""Verdicts in words: each fact that should keep one from a policy does.

`WRITE_GOLDENS=1 pytest` writes the golden judgments anew.
"""

import dataclasses

import equinox as eqx
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import OccupancyEstimate
from robustirl.demonstrations.alpha import AlphaEstimate
from robustirl.irl import Trust, fit, judge, least_gap
from robustirl.irl._result import Status
from robustirl.irl.judgment import decisive_gap
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, state_occupancy
from tests.fingerprints import require_golden_parts

# Two states to move between, an end that can be reached from both, and an island that cannot be reached.
KERNEL = np.zeros((4, 2, 4))
KERNEL[0, 0] = KERNEL[1, 0] = [0.5, 0.5, 0.0, 0.0]
KERNEL[0, 1] = KERNEL[1, 1] = [0.0, 0.0, 1.0, 0.0]
KERNEL[2, :, 2] = KERNEL[3, :, 3] = 1.0


def world(discount=0.9):
    return MDP(KERNEL, discount=discount, initial=[1.0, 0.0, 0.0, 0.0])


def occupancy(discount=0.9, leaving=0.5):
    policy = np.tile([1 - leaving, leaving], (4, 1))
    return np.asarray(state_occupancy(world(discount), policy))


def estimate(error, rho, bias=0.0):
    return OccupancyEstimate(
        occupancy=rho,
        lower=rho,
        upper=rho,
        reliable=rho > 0,
        error=error,
        bias=bias,
        episodes=50,
        discount=0.9,
        tail="hold",
        confidence=0.95,
    )


def test_a_matched_expert_is_trusted():
    found = judge(fit(world(), occupancy(leaving=1.0)))
    assert found.trust == Trust.TRUST
    assert "behaves like the expert" in found.why
    assert found.advice == ""


def test_states_out_of_reach_are_named():
    rho = 0.4 * occupancy() + 0.6 * np.eye(4)[3]
    found = judge(fit(world(), rho))
    assert found.trust == Trust.DO_NOT_USE
    assert "60 % of its time in states that the learner's world never reaches" in found.why


def test_a_start_with_too_little_mass_is_named():
    rho = np.array([0.02, 0.02, 0.96, 0.0])  # Whoever starts in state 0 has at least 1 - γ = 0.1 there.
    found = judge(fit(world(), rho))
    assert found.trust != Trust.TRUST
    texts = [finding.why for finding in _all(rho)]
    assert any("80 % of the learner's starts" in text for text in texts)


def _all(rho):
    from robustirl.irl.judgment import _Case, _judgments

    return list(_judgments(_Case(fit(world(), rho), None, None, None)))


def test_few_data_are_no_comfort():
    rho = occupancy(leaving=1.0)
    found = judge(fit(world(), rho), estimate(0.82, rho))
    assert found.trust == Trust.DOUBT
    assert found.why == (
        "50 episodes cannot tell occupancies closer than 0.82 apart; record more before trusting this fit."
    )
    # The bound is vacuous, which says nothing against the fit.
    assert judge(fit(world(), rho), estimate(1.9, rho)).trust == Trust.DOUBT
    assert "record longer episodes" in judge(fit(world(), rho), estimate(0.82, rho, bias=0.9)).why
    assert judge(fit(world(), rho), estimate(0.1, rho)).trust == Trust.TRUST


def test_close_to_one_the_gap_is_measured_before_the_end():
    # Of the 2 steps that the first iterate takes before the end one is wrong: a tiny share of the occupancy.
    discount = 0.99999
    moved = fit(world(discount), occupancy(discount, leaving=1.0), steps=0)
    assert float(moved.verdict.occupancy_gap) < 1e-4
    assert decisive_gap(moved) > 0.5
    assert judge(moved).trust == Trust.DO_NOT_USE
    assert "steps of an episode" in judge(moved).why


def test_a_fit_of_version_0_1_is_doubted():
    found = fit(world(), occupancy())
    unknown = eqx.tree_at(lambda f: f.diagnosis.matching_gap, found, np.asarray(np.nan))
    assert judge(unknown).trust == Trust.DOUBT


def test_an_expert_of_another_world_names_the_least_gap():
    env = envs.make("gridworld-4")
    calm, noisy = env.mdp(0.0), env.mdp(0.9)
    rho = state_occupancy(calm, expert_policy(calm, env.reward, kind="optimal"))
    found = judge(fit(noisy, rho))
    assert found.trust == Trust.DO_NOT_USE
    assert "no policy of the learner's world, at any alpha, has an occupancy gap below" in found.why
    assert "try a lower alpha" in found.advice


@pytest.mark.parametrize("trust", list(Trust))
def test_a_judgment_reads_as_a_sentence(trust):
    from robustirl.irl import Judgment

    text = str(Judgment(trust, "because.", "Try."))
    assert text == f"{trust.value}: because. Try."
    assert dataclasses.is_dataclass(Judgment)


def test_below_alpha_one_the_player_alone_is_judged():
    # Against the opponent a player must wait where it would walk on alone: the mixture is close, the player is not.
    env = envs.make("frozen-lake-8x8")
    slipping = env.mdp(0.2)
    rho = state_occupancy(slipping, expert_policy(slipping, env.reward, temperature=0))
    found = fit(env.mdp(), rho, alpha=0.9)
    assert float(found.verdict.occupancy_gap) < 0.06
    own = np.abs(np.asarray(state_occupancy(env.mdp(), found.player)) - np.asarray(rho)).sum()
    assert float(found.diagnosis.player_gap) == pytest.approx(own, rel=1e-6)
    assert judge(found).trust == Trust.DO_NOT_USE
    assert "without the opponent" in judge(found).why


def test_an_opponent_that_only_disturbs_the_mixture_is_no_reason_against_the_player():
    found = fit(world(), occupancy(leaving=0.9), alpha=0.9)
    same = fit(world(), occupancy(leaving=0.9))
    assert float(same.diagnosis.player_gap) == pytest.approx(float(same.verdict.occupancy_gap), abs=1e-9)
    assert judge(found).trust != Trust.DO_NOT_USE


def test_a_player_that_leaves_much_to_chance_is_doubted():
    # In both states that can be left two tries lead to different states with probability 1/2 in mean:
    # staying is (1/2, 1/2, 0), leaving (0, 0, 1), so that 1 - (1/16 + 1/16 + 1/4) / (1/2 (1/2) + 1/2) = 1/2.
    found = fit(world(), occupancy(leaving=0.5))
    assert float(found.diagnosis.randomness) == pytest.approx(0.5, abs=1e-3)
    verdict = judge(found)
    assert verdict.trust == Trust.DOUBT
    assert "behaves like the expert" in verdict.why
    assert "leaves 50 % of its steps to chance" in verdict.why
    assert "try a lower alpha, and compare with the most likely action" in verdict.advice
    sampled = judge(found, estimate(0.1, occupancy()))
    assert 'let alpha="auto" choose, and compare with the most likely action' in sampled.advice  # Data can choose it.
    # Leaving at once is decided, and what happens in the end and on the island does not count.
    assert float(fit(world(), occupancy(leaving=1.0)).diagnosis.randomness) < 0.01


def test_the_advice_does_not_contradict_an_alpha_that_the_data_chose():
    found = fit(world(), occupancy(leaving=0.9), alpha=0.8)
    far = eqx.tree_at(lambda f: (f.diagnosis.player_gap, f.verdict.occupancy_gap), found, (0.4, 0.02))
    decided = eqx.tree_at(lambda f: f.diagnosis.randomness, far, 0.01)
    assert judge(decided).trust == Trust.DOUBT
    assert "Fit with alpha=1 as well" in judge(decided).advice
    assert 'Compare with alpha="auto"' in judge(decided, estimate(0.1, occupancy())).advice
    chosen = AlphaEstimate(0.8, 0.7, 1.0, True, "the opponent explains it.", "fits", 0.1, 100, 0.95)
    trusted = judge(decided, alpha_estimate=chosen)
    assert trusted.trust == Trust.TRUST
    assert "explains the expert" in trusted.why
    assert "alpha" not in judge(far, alpha_estimate=chosen).advice
    apart = eqx.tree_at(lambda f: f.verdict.occupancy_gap, decided, 0.3)
    missed = judge(apart, alpha_estimate=chosen)
    assert missed.trust == Trust.DOUBT
    assert "alpha" not in missed.advice
    undecided = dataclasses.replace(chosen, decisive=False)
    assert judge(decided, alpha_estimate=undecided).trust == Trust.DOUBT


@pytest.mark.parametrize("alpha", [1.0, 0.9])
def test_the_least_gap_is_the_same_at_every_alpha(alpha, monkeypatch):
    # The expert's first action never fails, the learner's with probability 1/5: 2 · 0.9 · 1/5 = 0.36.
    made = envs.make("three-state").mdp(0.2)
    found = fit(made, [0.1, 0.9, 0.0], alpha=alpha)
    assert "at any alpha, has an occupancy gap below 0.36" in judge(found, world=made).why
    # By the learned reward, as in large worlds, it is a bound from below.
    monkeypatch.setattr(least_gap, "MOST_STATES", 2)
    unknown = eqx.tree_at(lambda f: f.diagnosis.least_gap, found, 0.0)
    bound = float(least_gap.with_least_gap(unknown, made).diagnosis.least_gap)
    assert 0.3 < bound <= 0.36 + 1e-9


# Of every fact, values on both sides of what decides, and the very value that does.
FACTS = {
    "player_gap": (0.0, 0.05, 0.0501, 0.1, 0.8, 0.81),
    "leavable_mass": (0.0, 0.5, 1.0),
    "player_leavable_gap": (0.0, 0.02, 0.03, 0.5, 1.5),
    "unreachable_mass": (0.0, 0.0, 0.0, 0.01, 0.011, 0.1, 0.11),
    "unvisited_mass": (0.0, 0.05, 0.051, 0.3),
    "start_deficit": (0.0, 0.0, 0.004, 0.006),
    "discount": (0.9, 0.9, 0.998, 0.999),
    "randomness": (0.0, 0.06, 0.061, np.nan),
    "least_gap": (0.0, 0.025, 0.06, 0.4),
}
GAPS = (0.0, 0.05, 0.1, 0.11, 0.5)
STATUSES = ("converged", "settled", "budget", "budget", "failed")


def _judged(fits, rng):
    """The judgment of a fit whose facts are drawn."""
    choose = lambda values: values[rng.integers(len(values))]  # noqa: E731
    robust = int(rng.integers(2))
    gap = choose(GAPS)
    facts = {name: choose(values) for name, values in FACTS.items()}
    facts["matching_gap"] = gap if rng.random() < 0.8 else gap + 0.3
    parts = lambda f: (f.verdict.occupancy_gap, *(getattr(f.diagnosis, name) for name in facts))  # noqa: E731
    made = eqx.tree_at(parts, fits[robust], (gap, *facts.values()))
    made = eqx.tree_at(lambda f: f.verdict, made, _Ended(made.verdict, choose(STATUSES)))
    measured = estimate(choose((0.1, 0.6, 0.61)), occupancy(), bias=2 * choose((0.0, 0.05, 0.4)))
    method = choose(("fits", "moves"))
    chosen = AlphaEstimate(0.8, 0.7, 1.0, bool(rng.integers(2)), "a note.", method, 0.1, 100, 0.95)
    return judge(made, choose((None, measured)), choose((None, 0.123)), alpha_estimate=choose((None, None, chosen)))


class _Ended:
    """A verdict with another status."""

    def __init__(self, verdict, status):
        self._verdict, self.status = verdict, Status(status)

    def __getattr__(self, name):
        return getattr(self._verdict, name)


def test_every_fact_decides_where_it_should():
    fits = [fit(world(), occupancy(leaving=0.9), alpha=alpha) for alpha in (1.0, 0.8)]
    rng = np.random.default_rng(0)
    found = {str(number): str(_judged(fits, rng)) for number in range(160)}
    require_golden_parts("judgments.json", {"judgments": found})


@pytest.mark.usefixtures("mistyped")
def test_what_is_no_fit_is_not_judged(refused):
    with refused("the fit is None, but what robustirl.irl.fit returns is needed."):
        judge(None)
