"""The likelihood of recorded choices: its gradient, its relation to occupancy matching, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime.precision import double_precision
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl import ADAM, NEWTON, SCORING, JointModel, MixtureDynamics, RobustIRL, fit, infer
from robustirl.irl.mce.objective import Neighbor
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.mdp import MDP, uniform_policy
from robustirl.planning import Temperatures, invert_policy, solve, state_action_occupancy, stopping_rule
from robustirl.rewards import LinearReward, TabularReward

# Three states in a ring: action 0 stays with probability 0.8, action 1 moves on with probability 0.9.
STAY, MOVE = np.eye(3), np.roll(np.eye(3), 1, axis=1)
KERNEL = np.stack([0.8 * STAY + 0.2 * MOVE, 0.1 * STAY + 0.9 * MOVE], 1)
WORLD = MDP(KERNEL, discount=0.9, initial=[1.0, 0.0, 0.0])
FEATURES = np.array([[[1.0, 0.0], [0.0, 0.5]], [[0.3, 1.0], [0.0, 0.0]], [[0.0, 0.2], [1.0, 1.0]]])
CHOICES = Choices([0, 0, 0, 1, 1, 2, 2, 2, 2], [1, 1, 0, 0, 1, 1, 0, 0, 0])
ONE_STATE = MDP([[[1.0], [1.0]]], discount=0.9)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "temperatures"), [(1.0, (1.0, 0.0)), (0.8, (0.5, 0.0)), (0.8, (1.0, 0.3))])
def test_the_gradient_is_the_derivative_of_the_likelihood(alpha, temperatures):
    with double_precision():
        settings = Settings(None, 5, None, False, Temperatures(*temperatures), None, "likelihood", 0.5)
        (problem,), _ = prepare([WORLD], [CHOICES], [alpha], LinearReward(FEATURES), None, settings)
        rule = stopping_rule(problem.game, WORLD.initial, None)
        inverse = invert_policy(WORLD, uniform_policy(WORLD.mask))
        near = Neighbor(jnp.zeros(3), WORLD.initial, inverse, jnp.zeros(()))
        evaluate = jax.jit(jax.value_and_grad(lambda t: problem.objective.evaluate(problem, t, near, rule)[0]))
        theta = jnp.array([0.7, -1.3])
        value, gradient = evaluate(theta)
        step = 1e-5
        for j in range(2):
            aside = step * jnp.eye(2)[j]
            slope = (evaluate(theta + aside)[0] - evaluate(theta - aside)[0]) / (2 * step)
            assert float(gradient[j]) == pytest.approx(float(slope), rel=1e-7)
        reward = FEATURES @ np.asarray(theta)
        found = solve(problem.game, reward, temperatures=Temperatures(*temperatures))
        logs = np.log(np.asarray(found.mixture))[CHOICES.states, CHOICES.actions]
        assert float(value) == pytest.approx(-logs.mean() + 0.5 / 9 * float(theta @ theta) / 2, rel=1e-9)


def test_both_objectives_are_one_where_the_flow_is_that_of_the_world():
    """-τ Σ ρ(s,a) log π(a|s) = (1-γ) P₀ᵀV - ⟨ρ,R⟩ for every ρ that some policy has in this world."""
    reward = np.array([[0.3, -1.0], [0.0, 2.0], [-0.5, 0.25]])
    plan = solve(WORLD, reward)
    rho = np.asarray(state_action_occupancy(WORLD, np.array([[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])))
    dual = 0.1 * float(np.asarray(plan.value)[0]) - (rho * reward).sum()
    assert -(rho * np.log(np.asarray(plan.player))).sum() == pytest.approx(dual, abs=1e-9)
    elsewhere = np.full((3, 2), 1 / 6)  # No policy of this world visits all pairs alike from this start.
    apart = 0.1 * float(np.asarray(plan.value)[0]) - (elsewhere * reward).sum()
    assert abs(-(elsewhere * np.log(np.asarray(plan.player))).sum() - apart) > 0.01


def test_one_state_is_a_logit():
    """75 of 100 choices: the bonus is log 3; with a penalty λ it solves λ b = 75 - 100 / (1 + exp(-b))."""
    rows = Choices([0] * 100, [1] * 75 + [0] * 25, groups=[0] * 50 + [1] * 50)
    bonus = LinearReward([[[0.0], [1.0]]], names=["bonus"])
    model = RobustIRL(1.0, reward=bonus, objective="likelihood").fit(ONE_STATE, rows)
    assert float(model.parameters_[0]) == pytest.approx(np.log(3), abs=1e-8)
    assert model.log_likelihood_ == pytest.approx(75 * np.log(0.75) + 25 * np.log(0.25))
    assert model.standard_errors_[0] == pytest.approx((100 * 0.75 * 0.25) ** -0.5)
    found = model.inference_
    # Scores are 1/4 for the chosen bonus and -3/4 otherwise; the first group has 50 and 0, the second 25 and 25.
    assert found.outer_product[0, 0] == pytest.approx(75 / 16 + 25 * 9 / 16)
    assert found.grouped_outer_product[0, 0] == pytest.approx((50 / 4) ** 2 + (25 / 4 - 75 / 4) ** 2)
    assert found.standard_errors("sandwich")[0] == pytest.approx(np.sqrt(75 / 16 + 225 / 16) / 18.75)
    assert found.standard_errors("grouped")[0] == pytest.approx(np.sqrt(2 * 12.5**2) / 18.75)
    held = fit(ONE_STATE, rows, reward=bonus, objective="likelihood", penalty=10.0)
    taken = np.asarray(held.history.planner_steps)
    assert taken[0] >= 1  # Both plans together, from a start that is no better than any other.
    assert (taken >= 0).all()
    b = float(held.parameters[0])
    assert 10 * b == pytest.approx(75 - 100 / (1 + np.exp(-b)), abs=1e-6)
    # α = 0.8: the opponent takes the action without the bonus, so that 0.8 p = 0.75.
    robust = fit(ONE_STATE, rows, alpha=0.8, reward=bonus, objective="likelihood")
    assert float(robust.player[0, 1]) == pytest.approx(0.75 / 0.8, abs=1e-7)


@pytest.mark.slow
def test_what_the_choices_do_not_identify_is_named():
    rows = Choices([0] * 4, [1, 1, 1, 0])
    both = LinearReward([[[0.0, 1.0], [1.0, 0.0]]], names=["second", "first"])  # Only the difference counts.
    found = infer(fit(ONE_STATE, rows, reward=both, objective="likelihood"), ONE_STATE, rows, both)
    assert found.unidentified == ("second", "first")
    assert np.isinf(found.standard_errors()).all()
    assert "inf" in found.summary()


@pytest.mark.slow
def test_a_reward_of_pairs_matches_an_occupancy_of_pairs():
    rho = np.asarray(state_action_occupancy(WORLD, np.array([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])))
    result = fit(WORLD, rho, reward=TabularReward(3, 2), tolerance=1e-5)
    reached = np.asarray(result.occupancy)[:, None] * np.asarray(result.mixture)
    assert np.abs(reached - rho).sum() < 1e-5
    robust = fit(WORLD, rho, reward=LinearReward(FEATURES), alpha=0.9, tolerance=1e-6)
    reached = np.asarray(robust.occupancy)[:, None] * np.asarray(robust.mixture)
    assert np.tensordot(reached - rho, FEATURES, 2) == pytest.approx(0, abs=1e-5)
    walks = Demonstrations.from_arrays([[0, 1, 2, 0], [0, 0, 1, 1]], [[1, 1, 0], [0, 1, 0]], terminated=False)
    assert RobustIRL(1.0, reward=TabularReward(3, 2), throw=False).fit(WORLD, walks).reward_.shape == (3, 2)
    chosen = RobustIRL(reward=TabularReward(3, 2), throw=False).fit(WORLD, walks)
    assert chosen.alpha_ == 1  # Two episodes are too few to compare fits.
    assert chosen.reward_.shape == (3, 2)


ROW = r"row 1 of the choices"
DRIFT = MixtureDynamics([np.stack([STAY] * 2, 1), np.stack([MOVE] * 2, 1)], outcomes=[0, 1])


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (
            lambda: fit(WORLD, Choices([0, 3], [0, 0]), objective="likelihood"),
            f"{ROW} has state 3, but the world has 3",
        ),
        (
            lambda: fit(WORLD, Choices([0, 0], [0, 2]), objective="likelihood"),
            f"{ROW} has action 2, but the world has 2",
        ),
        (
            lambda: fit(
                MDP(KERNEL, discount=0.9, mask=[[True, True], [True, False], [True, True]]),
                Choices([0, 1], [0, 1]),
                objective="likelihood",
            ),
            f"{ROW} takes action 1 in state 1, which the world does not offer there: its probability is zero",
        ),
        (
            lambda: fit(
                WORLD, Demonstrations.from_arrays([[0, 1, 2], [0, 3, 0]], [[0, 0], [1, 1]]), objective="likelihood"
            ),
            r"row 3 of the choices \(choice 1 of group 1, counted from 0\) has state 3",
        ),
        (
            lambda: RobustIRL(reward=TabularReward(3, 2)).fit(WORLD, Demonstrations.from_arrays([[0, 1]])),
            "the reward is one of states and actions, but the demonstrations have no actions",
        ),
        (lambda: fit(WORLD, [0.2, 0.3, 0.5], objective="likelihood"), "needs recorded choices, but list was given"),
        (
            lambda: fit(WORLD, Demonstrations.from_arrays([[0, 1]]), objective="likelihood"),
            "the demonstrations have no actions, so that there are no choices",
        ),
        (lambda: fit(WORLD, CHOICES, objective="odds"), "the objective is 'odds', but 'occupancy' or 'likelihood'"),
        (lambda: fit(WORLD, CHOICES, objective="likelihood", penalty=-1.0), "the penalty is -1.0, but a finite number"),
        (lambda: fit(WORLD, CHOICES, objective="likelihood", optimizer=NEWTON), "use SCORING or LBFGS"),
        (lambda: fit(WORLD, [0.2, 0.3, 0.5], optimizer=SCORING), "SCORING is for objective='likelihood'"),
        (lambda: fit(WORLD, [0.2, 0.3, 0.5], penalty=1.0), "a penalty is for objective='likelihood'"),
        (lambda: fit(WORLD, [0.2, 0.3, 0.5], reward=TabularReward(3, 2)), "but the occupancy is one of states"),
        (
            lambda: fit(WORLD, [0.2, 0.3, 0.5], reward=JointModel(TabularReward(3), DRIFT)),
            "a JointModel is learned from recorded outcomes",
        ),
        (
            lambda: fit(WORLD, CHOICES, reward=JointModel(TabularReward(3), DRIFT), objective="likelihood"),
            "2 outcomes, but the world has .* 9 choices were recorded; give one outcome a choice",
        ),
        (lambda: MixtureDynamics(np.stack([KERNEL] * 2), [0, 2]), "row 1 of the outcomes is 2, which none of the 2"),
        (lambda: MixtureDynamics(np.stack([KERNEL] * 2), [0, 0]), "outcome 1 never occurs"),
        (lambda: MixtureDynamics(np.stack([KERNEL] * 2), [0.0, 1.0]), "the outcomes are no row of whole numbers"),
        (lambda: MixtureDynamics(np.stack([KERNEL] * 2), [[0, 1]]), "the outcomes are no row of whole numbers"),
        (lambda: MixtureDynamics(np.stack([KERNEL] * 2), np.zeros(0, int)), "the outcomes are no row of whole numbers"),
        (lambda: Choices([0, 1], [0]), "there are 2 states, 1 actions and 2 groups"),
        (lambda: LinearReward(FEATURES, names=["one"]), "but 2 different words are needed"),
    ],
)
def test_bad_requests_are_one_sentence(attempt, message):
    with pytest.raises(InvalidInputError, match=message):
        attempt()


def test_a_maximum_that_was_not_found_raises():
    rows = Choices([0] * 100, [1] * 75 + [0] * 25)
    with pytest.raises(ConvergenceError, match=r"the gradient of the mean log-likelihood is .* no maximum was found"):
        fit(ONE_STATE, rows, reward=LinearReward([[[0.0], [1.0]]]), objective="likelihood", steps=1)
    with pytest.raises(InvalidInputError, match="standard errors come from a likelihood"):
        infer(fit(ONE_STATE, [1.0], steps=0, optimizer=ADAM, throw=False), ONE_STATE, rows, TabularReward(1))
