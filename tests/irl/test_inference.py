"""Standard errors: of given informations by hand, of closed forms, and by finite differences."""

import dataclasses

import numpy as np
import pytest

from robustirl.demonstrations import Choices, Demonstrations, estimate_occupancy
from robustirl.irl import fit, infer
from robustirl.irl.inference import Inference
from robustirl.mdp import MDP
from robustirl.planning import solve
from robustirl.rewards import LinearReward, NetworkReward

H = np.array([[4.0, 1.0], [1.0, 2.0]])
OUTER = np.array([[5.0, 0.5], [0.5, 1.0]])
GROUPED = np.array([[9.0, -1.0], [-1.0, 3.0]])
FOUND = Inference(("cost", "a longer name"), np.array([1.5, -0.25]), -12.0, -11.0, 40, 7, H, OUTER, GROUPED)
DISCOUNT = 0.5


def _with(information, **changes):
    return dataclasses.replace(FOUND, information=np.array(information, float), **changes)


def test_covariances_are_those_of_the_formulas(refused):
    inverse = np.linalg.inv(H)
    expected = {
        "hessian": inverse,
        "outer": np.linalg.inv(OUTER),
        "sandwich": inverse @ OUTER @ inverse,
        "grouped": inverse @ GROUPED @ inverse,
    }
    for kind, matrix in expected.items():
        np.testing.assert_allclose(FOUND.covariance(kind), matrix, rtol=1e-12)
        np.testing.assert_allclose(FOUND.standard_errors(kind), np.sqrt(np.diag(matrix)), rtol=1e-12)
    half = 1.6448536269514722 * np.sqrt(inverse[0, 0])
    np.testing.assert_allclose(FOUND.confidence_intervals(0.9)[0], [1.5 - half, 1.5 + half])
    row = FOUND.table()[1]
    assert (row["name"], row["estimate"], row["high"]) == ("a longer name", -0.25, FOUND.confidence_intervals()[1, 1])
    with refused("the kind of standard error is 'robust', but one of hessian, outer"):
        FOUND.covariance("robust")


def test_what_is_not_identified_has_an_infinite_error():
    assert FOUND.unidentified == ()
    # Only the sum is told: both have a part in the direction without information.
    both = _with([[1.0, 1.0], [1.0, 1.0]])
    assert both.unidentified == ("cost", "a longer name")
    assert np.isinf(both.standard_errors()).all()
    np.testing.assert_allclose(both.covariance(), np.full((2, 2), 0.25))  # What is left is that of the sum.
    # In whatever units: a millionth of a unit is told as well, but nothing is not.
    assert _with([[1e12, 0.0], [0.0, 1e-12]]).unidentified == ("a longer name",)
    assert _with([[1e4, 0.0], [0.0, 1e-4]]).unidentified == ()
    np.testing.assert_allclose(_with([[4.0, 0.0], [0.0, 0.0]]).standard_errors(), [0.5, np.inf])
    # One combination of three is told, and rounding does not tell the others.
    told = np.array([0.3, 0.7, 1.1])
    assert _with(np.outer(told, told), names=("a", "b", "c")).unidentified == ("a", "b", "c")
    # No maximum: nothing is said.
    np.testing.assert_array_equal(np.isnan(_with([[-4.0, 0.0], [0.0, 1.0]]).standard_errors()), [True, False])


def test_features_that_are_nearly_the_same_are_named():
    assert FOUND.collinear == ()
    assert _with([[1.0, 0.97], [0.97, 1.0]]).collinear == (("cost", "a longer name"),)
    apart = np.array([[1.0, 0.97, 0.0], [0.97, 1.0, 0.0], [0.0, 0.0, 1.0]]) * np.outer([1, 100, 1], [1, 100, 1])
    found = _with(apart, names=("repair", "order", "wait"), parameters=np.zeros(3))
    assert found.collinear == (("repair", "order"),)
    assert "hardly told apart: repair, order" in str(found)


def test_the_information_is_the_second_derivative_of_the_likelihood():
    """By finite differences of a likelihood that plans anew, in a world of four states and two features."""
    rng = np.random.default_rng(0)
    world = MDP(rng.dirichlet(np.ones(4), (4, 3)), discount=0.8)
    features = rng.normal(size=(4, 3, 2))
    rows = Choices(rng.integers(0, 4, 200), rng.integers(0, 3, 200), rng.integers(0, 20, 200))
    model = LinearReward(features)
    found = fit(world, rows, reward=model, objective="likelihood", penalty=0.5)
    inference = infer(found, world, rows, model, penalty=0.5)

    def each(theta):
        policy = np.asarray(solve(world, features @ theta, tolerance=1e-12).player)
        return np.log(policy[rows.states, rows.actions])

    theta, step = inference.parameters, 1e-4
    scores = np.stack([(each(theta + e) - each(theta - e)) / (2 * step) for e in step * np.eye(2)], 1)
    np.testing.assert_allclose(inference.outer_product, scores.T @ scores, rtol=1e-4, atol=1e-4)
    sums = np.zeros((20, 2))
    np.add.at(sums, rows.groups, scores)
    np.testing.assert_allclose(inference.grouped_outer_product, sums.T @ sums, rtol=1e-4, atol=1e-4)
    steps = 1e-3 * np.eye(2)
    hessian = [
        [sum(s * t * each(theta + s * a + t * b).sum() for s in (1, -1) for t in (1, -1)) / 4e-6 for a in steps]
        for b in steps
    ]
    np.testing.assert_allclose(inference.information, 0.5 * np.eye(2) - np.array(hessian), rtol=1e-3)
    assert inference.log_likelihood == pytest.approx(each(theta).sum())


def test_matched_visits_of_a_fork_have_the_variance_of_a_log_odds_ratio(refused):
    """One goes to state 1 or 2 and stays: the log-odds of 1 are θ γ/(1-γ), of variance 1 / (n p (1-p))."""
    table = np.zeros((3, 2, 3))
    table[0, [0, 1], [1, 2]] = table[[1, 2], :, [1, 2]] = 1
    world, model = MDP(table, discount=DISCOUNT, initial=[1.0, 0.0, 0.0]), LinearReward([[0.0], [1.0], [0.0]])
    for first, second in ((75, 25), (30, 10)):
        walks = Demonstrations.from_arrays([[0, 1]] * first + [[0, 2]] * second, terminated=True)
        found = fit(world, estimate_occupancy(walks, world).occupancy, alpha=1.0, reward=model, tolerance=1e-9)
        inference = infer(found, world, walks, model)
        share, count = first / (first + second), first + second
        expected = ((1 - DISCOUNT) / DISCOUNT) ** 2 / ((count - 1) * share * (1 - share))
        np.testing.assert_allclose(inference.covariance(), [[expected]], rtol=1e-3)
    with refused("one of grouped is needed"):
        inference.covariance("hessian")
    with refused("two or more episodes"):
        infer(found, world, walks[:1], model)
    deep = NetworkReward(np.eye(3), key=__import__("jax").random.key(0))
    other = fit(world, [0.5, 0.3, 0.2], alpha=1.0, reward=deep, steps=1, throw=False)
    with refused("NetworkReward", "linear in its parameters"):
        infer(other, world, walks, deep)
    same = LinearReward([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]], names=["a", "b"])
    twice = fit(world, estimate_occupancy(walks, world).occupancy, alpha=1.0, reward=same, throw=False)
    assert infer(twice, world, walks, same).unidentified == ("a", "b")
