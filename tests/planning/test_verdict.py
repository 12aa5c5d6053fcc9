"""Verdicts: the arithmetic of the bound and of the rule, and the sentences of those who did not arrive."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl._runtime import as_float
from robustirl.errors import ConvergenceError
from robustirl.mdp import MDP, MarkovGame, replace_parts
from robustirl.planning import Temperatures
from robustirl.planning.solvers.value_iteration import most_sweeps
from robustirl.planning.verdict import Solution, StoppingRule, Verdict, _single_step, checked, stopping_rule

EPS = float(np.finfo(float).eps)
HARD = Temperatures(0.0, 0.0)
GAME = MarkovGame(MDP(np.ones((2, 2, 2)) / 2, discount=0.75), 0.8)


def rule(discount=0.75, magnitude=None):
    canceling = None if magnitude is None else jnp.asarray(magnitude)
    return StoppingRule(jnp.asarray(1e-3), jnp.asarray(discount), jnp.asarray(2.0), canceling)


def test_the_bound_is_the_residual_and_its_rounding_over_one_minus_the_discount():
    value = jnp.array([1.0, -3.0])
    assert float(rule().error_bound(jnp.asarray(0.5), value)) == (0.5 + 4 * EPS * 3) / 0.25
    assert float(rule(magnitude=100.0).error_bound(jnp.asarray(0.0), value)) == 4 * EPS * 100 / 0.25
    assert float(rule(magnitude=2.0).error_bound(jnp.asarray(0.0), value)) == 4 * EPS * 3 / 0.25


@pytest.mark.parametrize(("value", "scale"), [([1.0, -0.5], 2.0), ([1.0, -8.0], 8.0)])
def test_the_rule_is_relative_to_the_value_or_to_the_unit(value, scale):
    just = 0.25 * 1e-3 * scale
    assert rule().satisfied(jnp.asarray(just * (1 - 1e-9)), jnp.array(value))
    assert not rule().satisfied(jnp.asarray(just * (1 + 1e-9)), jnp.array(value))
    assert not rule().satisfied(jnp.asarray(jnp.nan), jnp.array(value))


def test_a_limit_is_an_error_that_no_solution_may_exceed_unless_rounding_makes_it():
    value = jnp.array([1.0, -8.0])  # The goal is 8e-3, and 16 · 8 · EPS / 0.25 is the least that can be certified.
    least = 16 * EPS * 8 / 0.25

    def ends(residual, limit):
        bounded = StoppingRule(jnp.asarray(1e-3), jnp.asarray(0.75), jnp.asarray(2.0), limit=jnp.asarray(limit))
        verdict = bounded.verdict(jnp.asarray(residual), value, jnp.asarray(3))
        return bool(bounded.satisfied(jnp.asarray(residual), value)), bool(verdict.converged)

    assert ends(0.25 * 7e-3, limit=1.0) == (True, True)
    assert ends(0.25 * 9e-3, limit=1.0) == (False, False)  # A large limit does not loosen the goal,
    assert ends(0.25 * 7e-3, limit=5e-3) == (False, False)  # and a small one tightens it,
    assert ends(0.25 * 4e-3, limit=5e-3) == (True, True)
    assert ends(0.0, limit=least / 8) == (
        True,
        False,
    )  # down to what rounding allows, which does not count as converged.
    assert ends(0.25 * least, limit=least / 8) == (False, False)


@pytest.mark.parametrize(
    ("temperatures", "reward", "unit"),
    [
        (Temperatures(), [7.0, -9.0], 1.0),
        (Temperatures(0.5, 3.0), [7.0, -9.0], 3.0),
        (HARD, [7.0, -9.0], 4.5),
        (HARD, [0.0, 0.0], 1.0),
        (HARD, [1e-3, 0.0], 5e-4),
        # What a step is worth: 0.8 of the best action and 0.2 of the worst.
        (HARD, [[10.0, -5.0], [1.0, 1.0]], (0.8 * 10 - 0.2 * 5) / 2),
    ],
)
def test_the_unit_is_the_temperature_or_half_of_the_reward(temperatures, reward, unit):
    found = stopping_rule(GAME, jnp.array(reward), None, temperatures)
    assert float(found.unit) == pytest.approx(unit, rel=1e-15)
    assert float(found.discount) == 0.75
    assert float(found.tolerance) == 1e-10
    assert (found.magnitude is None) == (np.ndim(reward) == 1)


def test_the_limit_is_the_smaller_temperature_if_no_tolerance_is_asked_for():
    def limit(temperatures, tolerance=None):
        return stopping_rule(GAME, jnp.ones(2), tolerance, temperatures).limit

    assert [limit(Temperatures(0.5, 3.0)), limit(Temperatures(3.0, 0.5)), limit(Temperatures(0.0, 3.0))] == [
        0.5,
        0.5,
        3,
    ]
    assert [limit(HARD), limit(None), limit(Temperatures(), 1e-3)] == [None] * 3


def test_a_single_step_where_alpha_differs_from_action_to_action():
    """α(s,a) of the gain over the worst action is the player's; an action that is not to be had counts for nothing."""
    mask = np.array([[True, True], [True, False]])
    game = MarkovGame(MDP(np.ones((2, 2, 2)) / 2 * mask[..., None], discount=0.75, mask=mask), [[0.9, 0.5], [0.8, 1.0]])
    gained, worst = _single_step(game, jnp.array([[4.0, 8.0], [-3.0, 99.0]]))
    assert worst.tolist() == [4.0, -3.0]
    assert gained.tolist() == [2.0, 0.0]
    gained, worst = _single_step(game, jnp.array([[8.0, 4.0], [5.0, -99.0]]))
    assert worst.tolist() == [4.0, 5.0]
    assert gained.tolist() == pytest.approx([3.6, 0.0])


def test_what_cancels_is_remembered():
    assert float(stopping_rule(GAME, jnp.array([[10.0, -5.0], [1.0, 1.0]]), 1e-3).magnitude) == 8.0  # pyright: ignore[reportArgumentType]
    weak = MarkovGame(GAME.mdp, 0.2)
    assert float(stopping_rule(weak, jnp.array([[10.0, -50.0], [1.0, 1.0]]), 1e-3).magnitude) == 40.0  # pyright: ignore[reportArgumentType]


def test_unavailable_actions_do_not_count_for_the_unit():
    mask = np.array([[True, False], [True, True]])
    game = MarkovGame(MDP(np.ones((2, 2, 2)) / 2, discount=0.75, mask=mask), 0.8)
    found = stopping_rule(game, jnp.array([[10.0, 1e9], [1.0, 1.0]]), None, HARD)
    assert (float(found.unit), float(found.magnitude)) == (5.0, 8.0)  # pyright: ignore[reportArgumentType]


def test_the_tightest_tolerance_is_sixteen_units_of_rounding_over_one_minus_the_discount(refused):
    least = 16 * EPS / 0.25
    assert float(stopping_rule(GAME, jnp.ones(2), least).tolerance) == least
    with refused(
        f"the tolerance {0.999 * least!r} is out of reach of float64 at discount 0.75; ask for at least 1.4e-14"
    ):
        stopping_rule(GAME, jnp.ones(2), 0.999 * least)


def at(discount):
    return MarkovGame(MDP(np.ones((2, 2, 2)) / 2, discount=discount))


def test_a_discount_at_which_not_one_digit_is_certain_is_refused(refused):
    # 16 units of rounding over 1 - γ are a tenth at 1 - γ = 3.6e-14.
    assert float(stopping_rule(at(1 - 3.7e-14), jnp.ones(2), None).tolerance) == pytest.approx(0.096, abs=0.003)
    with refused("the discount 0.99999999999996", "cannot certify a single digit", "float64"):
        stopping_rule(MarkovGame(replace_parts(at(0.5).mdp, discount=as_float(1 - 3.4e-14))), jnp.ones(2), None)


def test_sweeps_are_allowed_as_many_as_the_contraction_can_need_and_a_tenth_more():
    needed = np.log(5.0 / (1e-3 * 2 * 0.25)) / -np.log(0.75)
    assert int(most_sweeps(rule(), jnp.asarray(5.0))) == int(1.1 * needed + 10)
    assert int(most_sweeps(rule(), jnp.asarray(1e-9))) == 10
    assert int(most_sweeps(rule(), jnp.asarray(jnp.nan))) == 0
    assert int(most_sweeps(rule(discount=0.0), jnp.asarray(5.0))) == int(1.1 * np.log(2500) / np.log(1000) + 10)


def solution(converged, residual=0.5):
    shape = np.shape(converged)
    many = jnp.full(shape, residual)
    verdict = Verdict(jnp.asarray(converged), jnp.full(shape, 7), many, 4 * many)
    policy = jnp.full((*shape, 2, 2), 0.5)
    return Solution(jnp.zeros((*shape, 2)), policy, policy, jnp.ones(shape), verdict)


def test_who_did_not_arrive_says_how_far_it_came():
    sentence = (
        "Somebody stopped after 7 steps with residual 5.000e-01 and error bound 2.000e+00: raise max_steps or the"
        " tolerance, or pass throw=False to look at the unfinished solution."
    )
    with pytest.raises(ConvergenceError) as caught:
        checked(solution(False), throw=True, solver="Somebody")
    assert str(caught.value) == sentence
    with pytest.raises(ConvergenceError, match="the residual is not a finite number in float64; scale the reward down"):
        checked(solution(False, np.nan), throw=True, solver="Somebody")
    assert checked(solution(False), throw=False, solver="Somebody").verdict.iterations == 7
    assert checked(solution(True), throw=True, solver="Somebody").verdict.iterations == 7


def test_a_precision_that_cannot_resolve_the_temperature_is_told():
    def told(dtype, limit):
        bounded = StoppingRule(jnp.asarray(1e-3), jnp.asarray(0.75), jnp.asarray(2.0), limit=jnp.asarray(limit))
        found = eqx.tree_at(lambda s: s.value, solution(False), jnp.array([1.0, -8.0], dtype))
        with pytest.raises(ConvergenceError) as caught:
            checked(found, throw=True, solver="Somebody", rule=bounded)
        return str(caught.value).split(": ", 1)[1]

    assert told(jnp.float64, 1e-16) == snapshot(
        "at discount 0.75 float64 can certify values of size 8.0e+00 to no better than 1.1e-13, which is more than"
        " the temperature 1e-16 that decides the policies; use a smaller discount or a smaller reward, or pass"
        " throw=False to look at the unfinished solution."
    )
    assert told(jnp.float32, 1e-6) == snapshot(
        "at discount 0.75 float32 can certify values of size 8.0e+00 to no better than 6.1e-05, which is more than"
        " the temperature 1e-06 that decides the policies; use double precision, or use a smaller discount or a"
        " smaller reward, or pass throw=False to look at the unfinished solution."
    )
    assert told(jnp.float64, 1e-6).startswith("raise max_steps or the tolerance,")


def test_of_a_batch_the_first_that_failed_is_told():
    batch = solution([True, False, False])
    verdict = Verdict(batch.verdict.converged, jnp.array([1, 2, 3]), jnp.array([0.1, 0.2, 0.3]), jnp.ones(3))
    with pytest.raises(ConvergenceError, match=r"after 2 steps with residual 2\.000e-01"):
        checked(Solution(batch.value, batch.player, batch.opponent, batch.alpha, verdict), throw=True, solver="All")
    checked(solution([True, True]), throw=True, solver="All")


def test_the_limit_is_the_smaller_temperature_also_if_both_are_traced():
    def limit(player, opponent):
        return stopping_rule(GAME, jnp.ones(2), None, Temperatures(player, opponent)).limit

    assert [float(jax.jit(limit)(*pair)) for pair in ((0.5, 2.0), (2.0, 0.5))] == [0.5, 0.5]
    assert [float(limit(*pair)) for pair in ((0.5, 2.0), (2.0, 0.0))] == [0.5, 2.0]
