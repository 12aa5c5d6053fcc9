"""Transition kernels T(s'|s,a) behind one interface.

Algorithms need three products of a kernel: the expected next value of every state-action pair, where a measure over
pairs goes in one step, and the Markov chain of a policy. Direct solvers and estimators also ask how it is stored
(`diagonals`, `rank_one`, `successor_lists`). No module outside this package asks for the type of a kernel.
"""

import abc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import DeviceModule, as_float, sum_tolerance, warn_renamed
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.chains import AbstractChain, DenseChain, RankOne
from robustirl.mdp.halves import AbstractHalves
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse

    from robustirl.mdp.successors import SuccessorKernel


MOST_WRITTEN_OUT = 64  # Actions whose sum is written out; longer sums would take minutes to compile.


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

    def columns(self, value: Float[Array, " S"]) -> list[Float[Array, " S"]]:
        """Return `expect` as one vector for each action, the fastest layout for large worlds."""
        expected = self.expect(value)
        return [expected[:, a] for a in range(self.num_actions)]

    @abc.abstractmethod
    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        """Return where a measure over pairs goes in one step, Σ_{s,a} μ(s,a) T(s'|s,a).

        This is the adjoint of `expect`.
        """

    @abc.abstractmethod
    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> AbstractChain:
        """Return Σ_a μ_a(s) T(s'|s,a): the chain of the policy whose columns π(a|·) are the shares."""

    @abc.abstractmethod
    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        """Return the chain of a policy as a matrix, P_π(s,s') = Σ_a π(a|s) T(s'|s,a)."""

    @abc.abstractmethod
    def row_sums(self) -> Float[Array, "S A"]:
        """Return Σ_s' T(s'|s,a): one, or zero where there is no such action."""

    def available(self) -> Bool[Array, "S A"]:
        """Return which actions exist: those whose rows are not all zeros."""
        sums = self.row_sums()
        return jax.device_put(np.asarray(sums) > 0) if checks.in_host_memory(sums) else sums > 0

    @abc.abstractmethod
    def self_transitions(self) -> Float[Array, "S A"]:
        """Return T(s|s,a), the probability of staying in a state."""

    @abc.abstractmethod
    def row_distances(self, other: "AbstractKernel") -> Float[Array, "S A"]:
        """Return ‖T(·|s,a) - T'(·|s,a)‖₁ for every pair."""

    @abc.abstractmethod
    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        """Draw a successor of each (state, action)."""

    @abc.abstractmethod
    def to_sparse(self) -> "scipy.sparse.csr_array":
        """Return one sparse matrix `[S·A, S]` on the host whose row s·|A| + a is T(·|s,a).

        Do not call it inside `jit`.
        """

    @abc.abstractmethod
    def to_array(self) -> Float[Array, "S A S"]:
        """Return the kernel as an array, which takes |S|² |A| numbers."""

    @abc.abstractmethod
    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "AbstractKernel":
        """Return the kernel of lowest expected next values within ℓ1 distance `radius` of each row.

        Half the radius is the mass of a row that moves: away from its successors of highest value, to the
        one state of lowest value. Rows of zeros stay; `worst_case(-value, radius)` has the highest expected values.
        """

    @property
    def diagonals(self) -> tuple[int, ...] | None:
        """Return the distances s' - s of all moves, if the kernel is stored by them.

        Moves of the rank-one part are left out.
        """
        return None

    def rank_one(self) -> RankOne | None:
        """Return the rank-one part, if the kernel is stored with one.

        Then T = (1-w) B + w u wherever there is an action.
        """
        return None

    def halves(self) -> AbstractHalves | None:
        """Return the kernel cut by a set of states that do not lead to one another (`halves.py`).

        The result is None if no such set is known.
        """
        return None

    def successor_lists(self) -> "SuccessorKernel | None":
        """Return B, the kernel without its rank-one part, as lists of successors.

        The result is None if B has no short lists.
        """
        return None

    def row_reader(self) -> Callable[[int, int], Float[np.ndarray, "n A S"]]:
        """Return a function of `first` and `last` that gives the rows of these states.

        The rows are an array on the host.
        """
        matrix = self.to_sparse()
        actions, states = self.num_actions, self.num_states

        def read(first: int, last: int) -> Float[np.ndarray, "n A S"]:
            return matrix[first * actions : last * actions].toarray().reshape(last - first, actions, states)

        return read

    def padded(self, states: int, actions: int) -> "AbstractKernel | None":
        """Return this kernel among more states and actions, built on the host.

        The result is None if the kernel cannot be padded. The further states are reached from nowhere else and are left
        by nothing: action 0 stays in them. Further actions have rows of zeros.
        """
        del states, actions
        return None

    def extended(self, states: int) -> "AbstractKernel":
        """Return this kernel among more states, as it is stored and built on the host.

        See `padded` for what the further states do. In difference to `padded` it is for worlds of any size, and raises
        where a kernel cannot be extended.
        """
        del states
        raise InvalidInputError(f"a {type(self).__name__} cannot be given further states; make lists of it first.")

    def order_key(self) -> Array | None:
        """Return an array that exists as long as this kernel; None if the order is fixed.

        A kernel that returns an array implements `reordered`.
        """
        return None

    def neighbors(self) -> "scipy.sparse.csr_array":
        """Return which states lead to which, as a sparse matrix `[S, S]` on the host.

        Do not call it inside `jit`.
        """
        raise NotImplementedError(f"{type(self).__name__} has a fixed order of states")

    def reordered(self, order: Int[np.ndarray, " S"], rank: Int[np.ndarray, " S"]) -> "AbstractKernel":
        """Return the kernel in another order of states.

        Place i has state `order[i]`, and state s has place `rank[s]`.
        """
        raise NotImplementedError(f"{type(self).__name__} has a fixed order of states")

    def staying(self) -> Float[Array, "S A"]:
        """Return `self_transitions()`, under its name of version 0.1."""
        warn_renamed("kernel.staying()")
        return self.self_transitions()

    def tilted(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "AbstractKernel":
        """Return `worst_case(value, radius)`, under its name of version 0.1."""
        warn_renamed("kernel.tilted(value, radius)")
        return self.worst_case(value, radius)


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
        if checks.concrete(probabilities):
            array = checks.as_floats("the transition kernel", probabilities)
            _check_kernel(array, leaky)
            probabilities = array if leaky else checks.normalized(array)
        self.probabilities = as_float(probabilities)
        self.leaky = leaky

    @property
    def num_states(self) -> int:
        return self.probabilities.shape[0]

    @property
    def num_actions(self) -> int:
        return self.probabilities.shape[1]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return jnp.einsum("sat,t->sa", self.probabilities, value)

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        # As one vector-matrix product: XLA's CPU backend is seven times slower on the contraction as written.
        return measure.reshape(-1) @ self.probabilities.reshape(-1, self.num_states)

    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> DenseChain:
        return DenseChain(self.policy_matrix(jnp.stack(shares, -1)))

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        rows, actions = self.probabilities, range(self.num_actions)
        if checks.concrete(policy, rows) and jax.default_backend() == "cpu":  # Without ten programs for every size.
            shares, table = np.asarray(policy), np.asarray(rows)
            return jax.device_put(sum(shares[:, a, None] * table[:, a] for a in actions))
        if self.num_actions > MOST_WRITTEN_OUT:
            return jnp.einsum("sa,sat->st", policy, rows)
        # A sum over few actions, written out: XLA fuses it into one pass over the array, where the
        # contraction would become |S| tiny matrix products.
        return sum(policy[:, a, None] * rows[:, a] for a in actions)  # pyright: ignore[reportReturnType]

    def row_sums(self) -> Float[Array, "S A"]:
        return self.probabilities.sum(-1)

    def available(self) -> Bool[Array, "S A"]:
        if not checks.concrete(self.probabilities) or jax.default_backend() != "cpu":
            return super().available()
        return jax.device_put(np.asarray(self.probabilities).any(-1))  # Without a program for every size of world.

    def padded(self, states: int, actions: int) -> "DenseKernel":
        size, width, _ = self.probabilities.shape
        array = np.zeros((states, actions, states), self.probabilities.dtype)
        array[:size, :width, :size] = self.probabilities
        further = np.arange(size, states)
        array[further, 0, further] = 1
        return eqx.tree_at(lambda kernel: kernel.probabilities, self, as_float(array))

    def self_transitions(self) -> Float[Array, "S A"]:
        if checks.in_host_memory(self.probabilities):
            return jax.device_put(np.diagonal(self.probabilities, axis1=0, axis2=2).T)
        return jnp.diagonal(self.probabilities, axis1=0, axis2=2).T

    def row_distances(self, other: AbstractKernel) -> Float[Array, "S A"]:
        require_same_size(self, other)
        if not isinstance(other, DenseKernel):
            return other.row_distances(self)
        return jnp.abs(self.probabilities - other.probabilities).sum(-1)

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        if self.leaky:
            raise InvalidInputError(
                "a leaky kernel cannot be sampled, because its rows sum to less than 1;"
                " sample the evaluation world of the same environment instead."
            )
        return jax.random.categorical(key, jnp.log(self.probabilities[states, actions]))

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(np.asarray(self.probabilities).reshape(-1, self.num_states))

    def to_array(self) -> Float[Array, "S A S"]:
        return self.probabilities

    def row_reader(self) -> Callable[[int, int], Float[np.ndarray, "n A S"]]:
        array = np.asarray(self.probabilities)
        return lambda first, last: array[first:last]

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> "DenseKernel":
        falling = jnp.argsort(-value)  # One order of the states serves all rows.
        mass = self.probabilities[..., falling]
        higher = jnp.cumsum(mass, axis=-1) - mass
        taken = jnp.clip(radius[..., None] / 2 - higher, 0, mass)
        moved = (mass - taken).at[..., -1].add(taken.sum(-1))  # What the lowest itself gives it gets back.
        return DenseKernel(moved[..., jnp.argsort(falling)], leaky=self.leaky)


def require_same_size(first: AbstractKernel, second: AbstractKernel) -> None:
    """Refuse two kernels over different state or action spaces."""
    one, two = ((k.num_states, k.num_actions) for k in (first, second))
    if one != two:
        raise InvalidInputError(
            f"the worlds differ in size: {one} against {two} (states, actions);"
            " only worlds over the same states and actions can be compared."
        )


def _check_kernel(array: np.ndarray, leaky: bool) -> None:
    shape = array.shape
    if array.ndim != 3 or shape[0] != shape[2] or 0 in shape:
        raise InvalidInputError(
            f"the transition kernel has shape {shape}, but (S, A, S) is needed with at least one state and action;"
            " entry [s, a, t] is the probability of moving from s to t by a."
        )
    checks.require_probabilities("the transition kernel", array)
    require_row_sums(array.sum(-1), leaky)


def require_row_sums(sums: np.ndarray, leaky: bool) -> None:
    """Refuse rows T(·|s,a) that sum to neither one nor zero.

    In a leaky kernel, refuse only rows that sum to more than one.
    """
    tolerance = sum_tolerance(sums.dtype)
    bad = sums > 1 + tolerance if leaky else (np.abs(sums - 1) > tolerance) & (sums != 0)
    if bad.any():
        state, action = (int(i) for i in np.argwhere(bad)[0])
        raise InvalidInputError(
            f"the transition row of state {state}, action {action} sums to {float(sums[state, action])!r} instead of"
            f" {'at most 1' if leaky else '1'};"
            " divide it by its sum, or set it to zeros if the action does not exist there."
        )
