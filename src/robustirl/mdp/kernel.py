"""Transition kernels T(s'|s,a) behind one interface.

A kernel is three products, all linear and all in working precision:

    expect(V)(s,a) = Σ_s' T(s'|s,a) V(s')          what comes next is worth
    push(μ)(s')    = Σ_{s,a} μ(s,a) T(s'|s,a)      where a measure over pairs goes: the adjoint of `expect`
    chain(π)       = Σ_a π(a|s) T(s'|s,a)          the Markov chain P_π of a policy

How it is stored (`dense`, `lists`, `mixtures`) is chosen once, by `robustirl.mdp.builders`; nobody outside this package
asks for it. A kernel is a pytree and an argument of compiled programs, never a constant in them.
"""

import abc
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._check import concrete, require_memory, sum_tolerance
from robustirl._jax import DeviceModule, as_float
from robustirl.errors import InvalidInputError

if TYPE_CHECKING:
    import scipy.sparse


class AbstractChain(DeviceModule):
    """The Markov chain of a policy, P_π(s'|s) = Σ_a π(a|s) T(s'|s,a), made for many products."""

    @abc.abstractmethod
    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        """Return Σ_s' P_π(s'|s) V(s')."""

    @abc.abstractmethod
    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        """Return Σ_s μ(s) P_π(s'|s), the adjoint of `expect`."""

    @abc.abstractmethod
    def dense(self) -> Float[Array, "S S"]:
        """Return the chain as a matrix."""

    def to_sparse(self) -> "scipy.sparse.csr_array":
        """Return the chain as a sparse matrix `[S, S]` on the host; do not call it inside `jit`."""
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(np.asarray(self.dense()))


class AbstractKernel(DeviceModule):
    """How a world moves: T(s'|s,a) for every state s and action a.

    A row T(·|s,a) is a distribution over successors, or all zeros where the world has no such action.
    """

    leaky: eqx.AbstractVar[bool]
    """Whether rows may sum to less than one; only the paper's published experiments need that."""

    @property
    @abc.abstractmethod
    def num_states(self) -> int:
        """|S|."""

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """|A|."""

    def __repr__(self) -> str:
        leaky = ", rows may sum to less than one" if self.leaky else ""
        return f"{type(self).__name__}({self.num_states} states, {self.num_actions} actions{leaky})"

    @abc.abstractmethod
    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        """Return the expected next value, Σ_s' T(s'|s,a) V(s')."""

    @abc.abstractmethod
    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        """Return where a measure over pairs goes in one step, Σ_{s,a} μ(s,a) T(s'|s,a): the adjoint of `expect`."""

    @abc.abstractmethod
    def chain(self, policy: Float[Array, "S A"]) -> AbstractChain:
        """Return Σ_a π(a|s) T(s'|s,a); the weights of the actions may be any numbers."""

    @abc.abstractmethod
    def available(self) -> Bool[Array, "S A"]:
        """Return which actions exist: those whose rows are not all zeros."""

    @abc.abstractmethod
    def dense(self) -> Float[Array, "S A S"]:
        """Return the kernel as an array, which takes |S|² |A| numbers."""

    @abc.abstractmethod
    def to_sparse(self) -> "scipy.sparse.csr_array":
        """Return a sparse matrix `[S·A, S]` on the host whose row s·|A| + a is T(·|s,a); not inside `jit`."""

    def row_sums(self) -> Float[Array, "S A"]:
        """Return Σ_s' T(s'|s,a): one, or zero where there is no such action."""
        return self.expect(jnp.ones(self.num_states, as_float(0).dtype))

    def self_transitions(self) -> Float[Array, "S A"]:
        """Return T(s|s,a), the probability of staying in a state; not inside `jit`."""
        shape = self.num_states, self.num_actions
        rows = np.arange(self.num_states * self.num_actions)
        return as_float(np.asarray(self.to_sparse()[rows, rows // self.num_actions]).reshape(shape))

    def row_distances(self, other: "AbstractKernel") -> Float[Array, "S A"]:
        """Return ‖T(·|s,a) - T'(·|s,a)‖₁ for every pair: from sparse rows on the host, or inside `jit` from arrays."""
        require_same_size(self, other)
        if not concrete(self, other):
            return jnp.abs(self.dense() - other.dense()).sum(-1)
        (own, weight, anywhere), (theirs, other_weight, elsewhere) = self.split(), other.split()
        if anywhere is None or elsewhere is None or np.array_equal(anywhere, elsewhere):
            shared = elsewhere if anywhere is None else anywhere
            apart = _distances(own - theirs, weight - other_weight, shared)
        else:
            apart = np.asarray(abs(self.to_sparse() - other.to_sparse()).sum(1)).ravel()
        return as_float(apart.reshape(self.num_states, self.num_actions))

    def split(self) -> "tuple[scipy.sparse.csr_array, np.ndarray, np.ndarray | None]":
        """Return B `[S·A, S]`, w `[S·A]` and u `[S]` with T = B + w uᵀ; u is None where w is zero."""
        return self.to_sparse(), np.zeros(self.num_states * self.num_actions), None

    @abc.abstractmethod
    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "AbstractKernel":
        """Return the kernel of lowest expected next values within ℓ1 distance `radius` of each row.

        Half the radius is the mass of a row that moves: away from its successors of highest value, to the
        one state of lowest value. Rows of zeros stay; `worst_case(-value, radius)` has the highest expected values.
        """


def _distances(difference: Any, weight: np.ndarray, anywhere: np.ndarray | None) -> Float[np.ndarray, " N"]:
    """Return the ℓ1 norms of the rows of D + w uᵀ without writing them out; u sums to one."""
    if anywhere is None:
        return np.asarray(abs(difference).sum(1)).ravel()
    entries = difference.tocoo()
    rows, columns = entries.coords
    spread = weight[rows] * anywhere[columns]
    return np.abs(weight) + np.bincount(
        rows, np.abs(entries.data + spread) - np.abs(spread), minlength=difference.shape[0]
    )


def require_same_size(first: AbstractKernel, second: AbstractKernel) -> None:
    """Refuse two kernels over different state or action spaces."""
    one, two = ((k.num_states, k.num_actions) for k in (first, second))
    if one != two:
        raise InvalidInputError(
            f"the worlds differ in size: {one} against {two} (states, actions);"
            " only worlds over the same states and actions can be compared."
        )


def require_row_sums(sums: Float[np.ndarray, "S A"], *, leaky: bool) -> None:
    """Refuse rows T(·|s,a) that sum to neither one nor zero; in a leaky kernel only those that sum to more than one."""
    tolerance = sum_tolerance(sums.dtype)
    bad = sums > 1 + tolerance if leaky else (np.abs(sums - 1) > tolerance) & (sums != 0)
    if bad.any():
        state, action = (int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"the transition row of state {state}, action {action} sums to {float(sums[state, action])!r} instead of"
            f" {'at most 1' if leaky else '1'};"
            " divide it by its sum, or set it to zeros if the action does not exist there."
        )


def require_dense(states: int, rows: int) -> None:
    """Refuse a matrix of so many rows that memory will not hold."""
    require_memory(8.0 * rows * states, f"a matrix of {rows} x {states} numbers", "this is for smaller worlds")
