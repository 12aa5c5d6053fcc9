"""Wrong actions: what is sampled, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.errors import InvalidInputError
from robustirl.mdp import SuccessorKernel, WrongActionKernel

# Action a leads to state a from anywhere; the third action does not exist in state 0.
LISTS = SuccessorKernel([[[0], [1], [2]]] * 3, [[[1.0], [1.0], [0.0]], [[1.0]] * 3, [[1.0]] * 3])


def test_wrong_actions_are_drawn_among_those_that_exist():
    kernel = WrongActionKernel(LISTS, [0.5, 0.3, 0.0])
    states, actions = jnp.repeat(jnp.arange(3), 2000), jnp.full(6000, 1)
    found = np.asarray(jax.jit(lambda key: kernel.sample(states, actions, key=key))(jax.random.key(0))).reshape(3, 2000)
    shares = np.stack([np.bincount(row, minlength=3) / 2000 for row in found])
    # Half of the time one of two actions, three tenths of the time one of three; 0.04 are four deviations.
    np.testing.assert_allclose(shares, [[0.25, 0.75, 0], [0.1, 0.8, 0.1], [0, 1, 0]], atol=0.04)
    assert not (shares == 0)[[0, 1, 1], [0, 0, 2]].any()
    assert shares[0, 2] == shares[2, 0] == 0


@pytest.mark.parametrize("noise", [-0.1, 1.1])
def test_a_chance_that_is_none_is_refused(noise):
    with pytest.raises(InvalidInputError) as refusal:
        WrongActionKernel(LISTS, [0.0, noise, 1.0])
    expected = f"the chance of a wrong action in state 1 is {noise}, but a probability is needed."
    assert str(refusal.value) == expected
