"""The paper's optimizers, update by update."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl.irl import ADAM, DEEP_ADAM, LBFGS


def adam(gradients, rate, b1, b2, eps):
    first = second = np.zeros_like(gradients[0])
    for step, gradient in enumerate(gradients, start=1):
        first = b1 * first + (1 - b1) * gradient
        second = b2 * second + (1 - b2) * gradient**2
        yield -rate * (first / (1 - b1**step)) / (np.sqrt(second / (1 - b2**step)) + eps)


# Small gradients, beside which Adam's ε shows; and large ones, beside which it does not.
GRADIENTS = [np.array([1e-6, -3.0]), np.array([2e-6, 0.5]), np.array([-1e-7, 1.0])]


@pytest.mark.parametrize(
    ("optimizer", "decay", "settings"),
    [(ADAM, 0.0, (0.5, 0.9, 0.99, 1e-7)), (DEEP_ADAM, 0.01, (1e-3, 0.9, 0.999, 1e-8))],
)
def test_adam_has_the_papers_settings(optimizer, decay, settings):
    parameters = jnp.array([1e-5, 2.0])
    state = optimizer.init(parameters)
    found, met, here = [], [], parameters
    for gradient in GRADIENTS:
        met.append(gradient + decay * np.asarray(here))
        updates, state = optimizer.update(jnp.asarray(gradient), state, here)
        here = optax.apply_updates(here, updates)
        found.append(updates)
    np.testing.assert_allclose(found, list(adam(met, *settings)), rtol=1e-12)


def test_lbfgs_remembers_twenty_steps():
    memories = [leaf for leaf in jax.tree.leaves(LBFGS.init(jnp.zeros(3))) if leaf.shape == (20, 3)]
    assert len(memories) == 2  # Of differences of parameters, and of gradients.
