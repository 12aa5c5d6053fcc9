"""What is refused for want of memory is estimated before it is made: eight bytes a number."""

import numpy as np
import pytest

from robustirl.mdp import KroneckerKernel, kronecker, successors


@pytest.fixture
def asked(monkeypatch):
    """The bytes that were asked for."""
    found = []
    for module in (kronecker, successors):
        monkeypatch.setattr(module, "require_memory", lambda needed, what, remedy: found.append((needed, what)))
    return found


def test_arrays_and_chains_ask_for_eight_bytes_a_number(asked):
    parts = KroneckerKernel(np.stack([np.eye(3)] * 2, 1), np.stack([np.eye(2)] * 5, 1))
    parts.to_array()
    assert asked[-1] == (8.0 * 6 * 10 * 6, "the kernel as an array of 6 x 10 x 6 numbers")
    successors.require_matrix(70)
    assert asked[-1] == (8.0 * 4900, "the chain of a policy as a matrix of 70 x 70 numbers")
