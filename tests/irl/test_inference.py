"""Standard errors from given informations, by hand; those of fits are in `mce/test_choice_likelihood.py`."""

import dataclasses

import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl.errors import InvalidInputError
from robustirl.irl.inference import Inference

H = np.array([[4.0, 1.0], [1.0, 2.0]])
OUTER = np.array([[5.0, 0.5], [0.5, 1.0]])
GROUPED = np.array([[9.0, -1.0], [-1.0, 3.0]])
FOUND = Inference(("cost", "a longer name"), np.array([1.5, -0.25]), -12.0, -11.0, 40, 7, H, OUTER, GROUPED)


def _with(information, **changes):
    return dataclasses.replace(FOUND, information=np.array(information, float), **changes)


def test_covariances_are_those_of_the_formulas():
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
    low, high = FOUND.confidence_intervals(0.9)[0]
    half = 1.6448536269514722 * np.sqrt(inverse[0, 0])
    np.testing.assert_allclose([low, high], [1.5 - half, 1.5 + half])
    with pytest.raises(InvalidInputError, match="the kind of standard error is 'robust', but one of hessian, outer"):
        FOUND.covariance("robust")
    for confidence in (0.0, 1.0, np.nan):
        with pytest.raises(InvalidInputError, match=f"the confidence is {confidence}"):
            FOUND.confidence_intervals(confidence)


@pytest.mark.usefixtures("mistyped")
def test_what_is_not_identified_has_an_infinite_error():
    assert FOUND.unidentified == ()
    # Only the sum is told: both have a part in the direction without information.
    both = _with([[1.0, 1.0], [1.0, 1.0]])
    assert both.unidentified == ("cost", "a longer name")
    assert np.isinf(both.standard_errors()).all()
    np.testing.assert_allclose(both.covariance(), np.full((2, 2), 0.25))  # What is left is that of the sum.
    # In whatever units: a millionth of a unit is told as well, but nothing is not.
    apart = _with([[1e12, 0.0], [0.0, 1e-12]])
    assert apart.unidentified == ("a longer name",)
    assert _with([[1e4, 0.0], [0.0, 1e-4]]).unidentified == ()
    one = _with([[4.0, 0.0], [0.0, 0.0]])
    assert one.unidentified == ("a longer name",)
    np.testing.assert_allclose(one.standard_errors(), [0.5, np.inf])
    assert _with(np.zeros((2, 2))).unidentified == FOUND.names
    # A ten-billionth of the largest information is none, whatever its size.
    assert _with([[1e12, 0.0], [0.0, 99.0]]).unidentified == ("a longer name",)
    assert _with([[1e12, 0.0], [0.0, 101.0]]).unidentified == ()
    # One combination of three is told, and rounding does not tell the others.
    told = np.array([0.3, 0.7, 1.1])
    assert _with(np.outer(told, told), names=("a", "b", "c")).unidentified == ("a", "b", "c")
    # No maximum: nothing is said.
    np.testing.assert_array_equal(np.isnan(_with([[-4.0, 0.0], [0.0, 1.0]]).standard_errors()), [True, False])


def test_the_summary_is_a_table():
    assert FOUND.summary() == snapshot("""\
parameter         estimate   std. error   95 % interval (hessian)
cost                   1.5       0.5345   0.45236 to 2.5476
a longer name        -0.25       0.7559   -1.7316 to 1.2316\
""")
    assert FOUND.summary(0.5, "outer", most=1) == snapshot("""\
parameter     estimate   std. error   50 % interval (outer)
cost               1.5       0.4588   1.1905 to 1.8095
... and 1 more\
""")
