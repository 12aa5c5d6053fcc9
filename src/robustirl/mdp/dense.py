"""Kernels stored as one array `[S, A, S]`: for small worlds, and for those whose moves lead nearly anywhere."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._check import as_floats, concrete, in_host_memory, normalized, require_probabilities
from robustirl._jax import as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp.kernel import AbstractChain, AbstractKernel, require_row_sums
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse


class DenseChain(AbstractChain):
    """A chain stored as a matrix."""

    matrix: Float[Array, "S S"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.matrix @ value

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return measure @ self.matrix

    def dense(self) -> Float[Array, "S S"]:
        return self.matrix


class DenseKernel(AbstractKernel):
    """A kernel stored as one array `[S, A, S]`.

    Args:
        probabilities: T(s'|s,a) at `[s, a, s']`. A row of zeros says that the action does not exist there.
        leaky: Accept rows that sum to less than one. Only the paper's own published experiments need this
            (see `robustirl.envs.noise`); everywhere else such a row is an error.

    Example:
        >>> kernel = DenseKernel([[[0.75, 0.25]], [[0.0, 1.0]]])
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[1.5], [3.0]]
    """

    probabilities: Float[Array, "S A S"]
    leaky: bool = eqx.field(static=True)

    def __init__(self, probabilities: ArrayLike, *, leaky: bool = False):
        if concrete(probabilities):
            array = as_floats("the transition kernel", probabilities)
            require_kernel(array, leaky=leaky)
            probabilities = array if leaky else normalized(array)
        self.probabilities = as_float(probabilities)
        self.leaky = leaky

    @property
    def num_states(self) -> int:
        return self.probabilities.shape[-1]

    @property
    def num_actions(self) -> int:
        return self.probabilities.shape[-2]

    def _rows(self) -> Float[Array, "N S"]:
        return self.probabilities.reshape(-1, self.num_states)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return (self._rows() @ value).reshape(self.num_states, self.num_actions)

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        # As one vector-matrix product: XLA's CPU backend is seven times slower on the contraction as written.
        return measure.reshape(-1) @ self._rows()

    def chain(self, policy: Float[Array, "S A"]) -> DenseChain:
        # Action by action, in one pass over the array: the contraction would become |S| tiny matrix products.
        def add(action: Any, matrix: Float[Array, "S S"]) -> Float[Array, "S S"]:
            return matrix + policy[:, action, None] * self.probabilities[:, action]

        empty = jnp.zeros((self.num_states,) * 2, jnp.result_type(policy, self.probabilities))
        return DenseChain(jax.lax.fori_loop(0, self.num_actions, add, empty, unroll=min(self.num_actions, 4)))

    def available(self) -> Bool[Array, "S A"]:
        if in_host_memory(self.probabilities):  # Without a program for every size of world.
            return jax.device_put(np.asarray(self.probabilities).any(-1))
        return jnp.any(self.probabilities != 0, -1)

    def self_transitions(self) -> Float[Array, "S A"]:
        return jnp.diagonal(self.probabilities, axis1=0, axis2=2).T

    def dense(self) -> Float[Array, "S A S"]:
        return self.probabilities

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(np.asarray(self.probabilities).reshape(-1, self.num_states))

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "DenseKernel":
        falling = jnp.argsort(-value)  # One order of the states serves all rows.
        mass = self.probabilities[..., falling]
        higher = jnp.cumsum(mass, axis=-1) - mass
        taken = jnp.clip(radius[..., None] / 2 - higher, 0, mass)
        moved = (mass - taken).at[..., -1].add(taken.sum(-1))  # What the lowest itself gives it gets back.
        return DenseKernel(moved[..., jnp.argsort(falling)], leaky=self.leaky)


def require_kernel(array: Float[np.ndarray, "S A S"], *, leaky: bool) -> None:
    """Refuse an array that is no kernel."""
    shape = array.shape
    if array.ndim != 3 or shape[0] != shape[2] or 0 in shape:
        raise InvalidInputError(
            f"the transition kernel has shape {shape}, but (S, A, S) is needed with at least one state and action;"
            " entry [s, a, t] is the probability of moving from s to t by a."
        )
    require_probabilities("the transition kernel", array)
    require_row_sums(array.sum(-1), leaky=leaky)
