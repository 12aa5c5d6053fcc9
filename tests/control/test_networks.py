"""A network is tanh of affine layers."""

import jax
import jax.numpy as jnp
import numpy as np

from robustirl.control.networks import Network, Scale


def test_a_network_is_tanh_of_affine_layers():
    network = Network.create(2, (3,), key=jax.random.key(0))
    first, last = network.layers
    inputs = jnp.array([[0.3, -1.0]])
    hidden = np.tanh(inputs @ np.asarray(first.weight).T + np.asarray(first.bias))
    np.testing.assert_allclose(network(inputs), hidden @ np.asarray(last.weight)[0] + np.asarray(last.bias), rtol=1e-6)
    scale = Scale(jnp.array([1.0]), jnp.array([1e-9]), jnp.array(4.0))
    np.testing.assert_allclose(scale(jnp.array([1.002])), [2.0], rtol=1e-9)  # A deviation is at least a thousandth.
