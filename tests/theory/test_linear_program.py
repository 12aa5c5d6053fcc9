"""Linear programs by hand."""

import numpy as np
import pytest

from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.theory.linear_program import Rows, largest


def test_a_linear_program_by_hand():
    program = Rows()
    program.variable("x", 2, high=1.0)
    program.variable("y", 1, low=-2.0)
    assert (program.size, program.places) == (3, {"x": slice(0, 2), "y": slice(2, 3)})
    program.below.append(({"x": np.array([[1.0, 1.0]]), "y": np.array([[1.0]])}, np.array([0.5])))
    program.equal.append(({"y": np.array([[1.0]])}, np.array([-1.0])))
    # x₁ + x₂ <= 3/2: all of x₂, half of x₁, and twice y = -1; a millionth is added.
    bound, found = largest(program, {"x": np.array([1.0, 3.0]), "y": 2.0})
    assert bound == pytest.approx(1.5 + 1e-6, abs=1e-8)
    assert found["x"] == pytest.approx([0.5, 1.0])
    assert found["y"] == pytest.approx([-1.0])
    program.below.append(({"x": np.array([[1.0, 0.0]])}, np.array([-1.0])))
    with pytest.raises(InvalidInputError, match="no expert in a world within the radius"):
        largest(program, {"x": 1.0})
    endless = Rows()
    endless.variable("x", 1)
    with pytest.raises(ConvergenceError, match="did not end in a solution"):
        largest(endless, {"x": 1.0})
