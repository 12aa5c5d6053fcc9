r"""Kernels of worlds made of independent parts: T((t₁,…,tₙ)|(s₁,…,sₙ),(a₁,…,aₙ)) = Π_i T_i(t_i|s_i,a_i).

A part with one action is exogenous: a price, a season, a machine's wear. States are numbered with the last part
fastest, s = (s₁ |S₂| + s₂) |S₃| + …, and actions likewise. Expected values are taken part by part, where lists of the
whole would hold |S| |A| K₁ ⋯ Kₙ numbers.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from robustirl._runtime import require_memory
from robustirl.errors import InvalidInputError
from robustirl.mdp.chains import AbstractChain
from robustirl.mdp.kernel import AbstractKernel, DenseKernel, require_same_size
from robustirl.mdp.listed import ListedKernel
from robustirl.mdp.successors import SuccessorKernel, require_matrix
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse


class KroneckerKernel(ListedKernel):
    """A kernel of independent parts, each with a kernel and actions of its own.

    Args:
        *parts: The kernels of the parts, or arrays `[S, A, S]`; at least one.

    Example:
        >>> coin = [[[0.5, 0.5]], [[0.5, 0.5]]]
        >>> switch = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
        >>> kernel = KroneckerKernel(switch, coin)
        >>> kernel.num_states, kernel.num_actions, kernel.expect(jnp.array([0.0, 1.0, 2.0, 3.0]))[0].tolist()
        (4, 2, [0.5, 2.5])
    """

    parts: tuple[AbstractKernel, ...]
    leaky: bool = eqx.field(static=True)

    def __init__(self, *parts: AbstractKernel | ArrayLike):
        if not parts:
            raise InvalidInputError("no parts were given, but a world needs at least one; give their kernels.")
        if (
            len(parts) == 1
            and isinstance(parts[0], list | tuple)
            and any(isinstance(p, AbstractKernel) for p in parts[0])
        ):
            raise InvalidInputError("the parts were given as one list; give them one by one: KroneckerKernel(*parts).")
        self.parts = tuple(part if isinstance(part, AbstractKernel) else DenseKernel(part) for part in parts)
        self.leaky = any(part.leaky for part in self.parts)

    @property
    def num_states(self) -> int:
        return math.prod(part.num_states for part in self.parts)

    @property
    def num_actions(self) -> int:
        return math.prod(part.num_actions for part in self.parts)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        # One part after the other: its axis of states is replaced by its own state and, at the end, its action.
        array = value.reshape([part.num_states for part in self.parts])
        for axis, part in enumerate(self.parts):
            rows = jnp.moveaxis(array, axis, -1)
            outer = rows.shape[:-1]
            found = jax.vmap(part.expect)(rows.reshape(-1, part.num_states))
            array = jnp.moveaxis(found.reshape(*outer, part.num_states, part.num_actions), -2, axis)
        return array.reshape(self.num_states, self.num_actions)

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        # The adjoint of `expect`, in the opposite order.
        sizes = [part.num_states for part in self.parts]
        array = measure.reshape(*sizes, *(part.num_actions for part in self.parts))
        for axis in reversed(range(len(self.parts))):
            part = self.parts[axis]
            rows = jnp.moveaxis(array, axis, -2)
            outer = rows.shape[:-2]
            found = jax.vmap(part.push)(rows.reshape(-1, part.num_states, part.num_actions))
            array = jnp.moveaxis(found.reshape(*outer, part.num_states), -1, axis)
        return array.reshape(-1)

    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> "PolicyChain":
        return PolicyChain(self, jnp.stack(shares, -1))

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        require_matrix(self.num_states)
        return jnp.einsum("sa,sat->st", policy, self.to_array())

    def row_sums(self) -> Float[Array, "S A"]:
        return self._product([part.row_sums() for part in self.parts])

    def self_transitions(self) -> Float[Array, "S A"]:
        return self._product([part.self_transitions() for part in self.parts])

    def _product(self, tables: list[Float[Array, "_ _"]]) -> Float[Array, "S A"]:
        """Return Π_i x_i(s_i, a_i)."""
        found = tables[0]
        for table in tables[1:]:
            found = jnp.einsum("sa,tb->stab", found, table).reshape(len(found) * len(table), -1)
        return found

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        require_same_size(self, other)
        return super().row_distances(other)

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        here = jnp.unravel_index(states, [part.num_states for part in self.parts])
        taken = jnp.unravel_index(actions, [part.num_actions for part in self.parts])
        keys = jax.random.split(key, len(self.parts))
        drawn = [p.sample(s, a, key=k) for p, s, a, k in zip(self.parts, here, taken, keys, strict=True)]
        found = drawn[0]
        for part, state in zip(self.parts[1:], drawn[1:], strict=True):
            found = found * part.num_states + state
        return found

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        matrix = self.parts[0].to_sparse()
        states, actions = self.parts[0].num_states, self.parts[0].num_actions
        for part in self.parts[1:]:
            matrix = scipy.sparse.csr_array(scipy.sparse.kron(matrix, part.to_sparse(), format="csr"))
            # Rows of the product are numbered (s, a, t, b), those of a kernel (s, t, a, b).
            rows = np.arange(states * actions * part.num_states * part.num_actions)
            rows = rows.reshape(states, actions, part.num_states, part.num_actions).transpose(0, 2, 1, 3).ravel()
            matrix = matrix[rows]
            states, actions = states * part.num_states, actions * part.num_actions
        return matrix

    def to_array(self) -> Float[Array, "S A S"]:
        what = f"the kernel as an array of {self.num_states} x {self.num_actions} x {self.num_states} numbers"
        require_memory(8.0 * self.num_states**2 * self.num_actions, what, "this is for smaller worlds")
        shape = (self.num_states, self.num_actions, self.num_states)
        found = self.parts[0].to_array()
        for part in self.parts[1:]:
            both = jnp.einsum("sau,tbv->stabuv", found, part.to_array())
            size = found.shape[0] * part.num_states
            found = both.reshape(size, -1, size)
        return found.reshape(shape)

    def to_lists(self) -> SuccessorKernel:
        """Return the same kernel as lists of successors, built on the host."""
        from robustirl.mdp.sparse import from_sparse  # That file is built on kernels of lists.

        return from_sparse(self.to_sparse(), num_actions=self.num_actions).successor_lists()  # pyright: ignore


class PolicyChain(AbstractChain):
    """The chain of a policy as a product with the kernel and a sum over actions.

    It is for kernels without a shorter form.
    """

    kernel: AbstractKernel
    policy: Float[Array, "S A"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return (self.policy * self.kernel.expect(value)).sum(-1)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.kernel.push(measure[:, None] * self.policy)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        states, actions = self.policy.shape
        rows = np.repeat(np.arange(states), actions)
        chosen = scipy.sparse.csr_array(
            (np.asarray(self.policy).ravel(), np.arange(rows.size), np.arange(0, rows.size + 1, actions)),
            shape=(states, rows.size),
        )
        return scipy.sparse.csr_array(chosen @ self.kernel.to_sparse())
