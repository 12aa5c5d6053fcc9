"""Discounts so close to 1 that no plan can be certified are refused, with the remedy."""

import numpy as np
import pytest

from robustirl import envs, single_precision
from robustirl.errors import InvalidInputError
from robustirl.irl import fit
from robustirl.irl.mce import certifiable
from robustirl.irl.mce.certifiable import _discount, _entropy_despite_opponent, require_certifiable
from robustirl.mdp import MDP, MarkovGame
from robustirl.planning import Temperatures


def staying(actions, discount):
    return MarkovGame(MDP([[[1.0]] * actions], discount=discount))


def test_the_limit_is_where_rounding_reaches_a_thousandth_of_the_temperature():
    # V = log 4 / (1-γ), and its bound 4 eps V / (1-γ) is 1e-3 at 1-γ = sqrt(4 eps log 4 / 1e-3).
    limit = np.sqrt(4 * np.finfo(float).eps * np.log(4) / 1e-3)
    require_certifiable(staying(4, 1 - 1.01 * limit), Temperatures())
    with pytest.raises(InvalidInputError, match=r"use a smaller discount, such as 0\.99999"):
        require_certifiable(staying(4, 1 - 0.99 * limit), Temperatures())
    require_certifiable(staying(1, 1 - 0.1 * limit), Temperatures())  # Without a choice there is no entropy.


def test_a_fit_names_the_discount_and_the_remedy():
    world = envs.make("gridworld-1", discount=0.999999).mdp()
    with pytest.raises(InvalidInputError) as caught:
        fit(world, np.full(100, 0.01))
    assert str(caught.value).startswith("at discount 0.999999 float64 can certify values of size 1.3e+06 to no better")
    assert "smaller or fewer steps" not in str(caught.value)


def test_against_an_opponent_the_least_entropy_decides():
    # Two states, with four choices and with two: at least α log 2 a step, wherever the opponent leads.
    kernel = np.full((2, 4, 2), 0.5)
    mask = np.array([[True] * 4, [True, True, False, False]])
    limit = np.sqrt(4 * np.finfo(float).eps * 0.5 * np.log(2) / 1e-3)

    def game(distance, alpha=0.5):
        return MarkovGame(MDP(kernel, discount=1 - distance, mask=mask), alpha)

    require_certifiable(game(1.01 * limit), Temperatures())
    with pytest.raises(InvalidInputError, match=r"use a smaller discount, such as 0\.99999\.$"):
        require_certifiable(game(0.99 * limit), Temperatures())
    # An opponent whose entropy counts may take all of it away.
    require_certifiable(game(0.1 * limit), Temperatures(opponent=1.0))


def test_no_step_is_blamed_before_the_first():
    world = envs.make("gridworld-4").mdp()
    found = fit(world, np.full(36, 1 / 36), steps=1, initial_parameters=np.linspace(0, 1e14, 36), throw=False)
    assert found.verdict.status == "failed"
    text = found.explain_failure("")
    assert text.startswith("at discount 0.99 ")
    assert "steps" not in text
    assert "smaller" in text


def test_the_opponents_entropy_counts_against_the_value_in_units_of_the_players_temperature():
    world = MDP([[[1.0]] * 4], discount=0.5)
    found = _entropy_despite_opponent(MarkovGame(world, alpha=0.9), Temperatures(player=2.0, opponent=0.5))
    assert np.isclose(found, (0.9 - 0.1 * 0.5 / 2) * np.log(4) / 0.5)


def test_a_discount_is_proposed_as_a_row_of_nines(monkeypatch):
    # Values of one unit of entropy a step can be certified from the root of the ratio on.
    assert [_discount(1.0, ratio) for ratio in (2e-4, 0.9e-4, 1.1e-6, 0.9e-6)] == ["0.9", "0.99", "0.99", "0.999"]
    # Four choices have log 4 of entropy a step.
    monkeypatch.setattr(certifiable, "_entropy_to_come", lambda mdp: np.log(4) / (1 - float(mdp.discount)))
    with single_precision(), pytest.raises(InvalidInputError) as caught:
        require_certifiable(staying(4, 0.998), Temperatures())
    assert str(caught.value).startswith("at discount 0.998")
    assert str(caught.value).endswith(
        "but a fit needs 0.1 of the temperature 1; use double precision, or use a smaller discount, such as 0.99."
    )
