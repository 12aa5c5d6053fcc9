"""Functions of NumPy arrays in compiled programs: one call for all entries of a batch, and with one thread no wait."""

import logging
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime.host_functions import call_on_host

ONE_THREAD = """
import os
os.environ["NPROC"] = "1"
import jax, jax.numpy as jnp, numpy as np
from robustirl._runtime.host_functions import call_on_host

def step(state, shift):
    return call_on_host(lambda x, y: x / 2 + y, jax.ShapeDtypeStruct(state.shape, state.dtype), state, shift)

@jax.jit
def run(states, shifts):
    def body(carry, shift):
        carry = jax.vmap(step)(carry @ jnp.eye(carry.shape[-1]), shift[1:])
        return carry, carry.sum()
    return jax.lax.scan(body, states, shifts)[0]

states, shifts = jnp.ones((5001, 27)), jnp.ones((30, 5002, 27))
for _ in range(10):
    states = run(states, shifts)
print(float(states.mean()))
"""


def test_a_batch_is_one_call_with_axes_in_front():
    shapes = []

    def total(matrix, weight):
        shapes.append((type(matrix), matrix.shape, weight.shape))
        return (matrix * weight[..., None]).sum(-1)

    def one(matrix, weight):
        return call_on_host(total, jax.ShapeDtypeStruct((3,), matrix.dtype), matrix, weight)

    matrices, weight = jnp.arange(48.0).reshape(2, 4, 3, 2), jnp.array([1.0, 2.0, 3.0])
    inner = jax.vmap(one, in_axes=(0, None))
    found = jax.jit(jax.vmap(inner, in_axes=(0, None)))(matrices, weight)
    np.testing.assert_allclose(found, (np.asarray(matrices) * np.asarray(weight)[:, None]).sum(-1))
    assert shapes == [(np.ndarray, (2, 4, 3, 2), (2, 4, 3))]
    np.testing.assert_allclose(one(matrices[0, 0], weight), found[0, 0])


def test_calls_of_one_function_are_one_program(caplog):
    def half(x):
        return x / 2

    run = lambda x: call_on_host(half, jax.ShapeDtypeStruct(x.shape, x.dtype), x)  # noqa: E731
    run(jnp.asarray(np.ones(3)))
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        assert run(jnp.asarray(np.full(3, 4.0))).tolist() == [2, 2, 2]
    assert [line for line in caplog.messages if "Compiling" in line] == []


def test_one_thread_does_not_wait_for_itself():
    done = subprocess.run([sys.executable, "-c", ONE_THREAD], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout == "2.0\n", done.stderr
