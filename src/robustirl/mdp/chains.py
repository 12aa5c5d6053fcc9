r"""The Markov chain of a policy, P_π(s'|s) = Σ_a π(a|s) T(s'|s,a), stored as its kernel is stored.

Solvers multiply with it and with its transpose hundreds of times for one policy, so the actions are summed once.
Only the chain of an array allocates |S|² numbers.
"""

import abc
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from robustirl._runtime import DeviceModule
from robustirl.mdp.gathers import gather_sum
from robustirl.mdp.halves import AbstractHalves, HalvedLists, shifted_halves
from robustirl.mdp.shifts import shifted_sum

if TYPE_CHECKING:
    import scipy.sparse


class RankOne(NamedTuple):
    """The rank-one part w(s) u(s') of a kernel or a chain: noise that leads anywhere.

    Attributes:
        weights: `[S]`, w. For a kernel, the chance of the noise; the rest of a row is then scaled by 1 - w.
        distribution: `[S]`, u, where it leads.
    """

    weights: Float[Array, " S"]
    distribution: Float[Array, " S"]


class AbstractChain(DeviceModule):
    """P_π, as two products, and as a sparse matrix for direct solvers."""

    @abc.abstractmethod
    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        """Return the expected next value, Σ_s' P(s'|s) V(s')."""

    @abc.abstractmethod
    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        """Return where a measure goes in one step, Σ_s μ(s) P(s'|s): the adjoint of `expect`."""

    def transpose(self) -> "AbstractChain":
        """Return the chain whose `expect` is `push`, made ready for many products."""
        return TransposedChain(self)

    @abc.abstractmethod
    def sparse_part(self) -> "scipy.sparse.csr_array":
        """Return the chain without its rank-one part as a sparse matrix `[S, S]` on the host.

        Do not call it inside `jit`.
        """

    def rank_one(self) -> RankOne | None:
        """Return the rank-one part, P = B + w uᵀ, if the chain is stored with one."""
        return None

    def halves(self) -> AbstractHalves | None:
        """Return the chain cut by a set of states that do not lead to one another (`halves.py`).

        The result is None if no such set is known.
        """
        return None


@runtime_checkable
class Inflow(Protocol):
    """Where a measure comes from: what turns the weights of a list chain round; see `inflow.py`."""

    def transposed(self, chain: AbstractChain, weights: Float[Array, "J S"]) -> AbstractChain:
        """Return the transpose of a chain over successors, whose weights are given as one array."""
        ...


class TransposedChain(AbstractChain):
    """A chain with `expect` and `push` exchanged."""

    chain: AbstractChain

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.chain.push(value)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.chain.expect(measure)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(self.chain.sparse_part().T)


class DenseChain(AbstractChain):
    """A chain stored as a matrix."""

    matrix: Float[Array, "S S"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.matrix @ value

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return measure @ self.matrix

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        return scipy.sparse.csr_array(np.asarray(self.matrix))


class ListChain(AbstractChain):
    """A chain stored as J successors of every state, one vector of them for each j.

    Products are J gathers of whole vectors: on a CPU forty times as fast as one gather whose results are summed over a
    short last axis. The other way round, a list of predecessors makes a gather of what would be a scatter.
    """

    places: Int[Array, "J S"]
    weights: tuple[Float[Array, " S"], ...] | Float[Array, "J S"]
    inflow: Inflow | None = None
    halved: HalvedLists | None = None

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return gather_sum(self.places, self.weights, value)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        if self.inflow is not None:
            return self.transpose().expect(measure)
        weights = self.weights
        if isinstance(weights, jax.Array):
            arriving = (weights * measure).ravel()
        else:
            arriving = jnp.concatenate([weight * measure for weight in weights])
        return jax.ops.segment_sum(arriving, self.places.ravel(), num_segments=measure.shape[0])

    def transpose(self) -> AbstractChain:
        if self.inflow is None:
            return super().transpose()
        stacked = self.weights if isinstance(self.weights, jax.Array) else jnp.stack(self.weights)
        return self.inflow.transposed(self, stacked)

    def halves(self) -> AbstractHalves | None:
        return None if self.halved is None else self.halved.halves(self.weights)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        width, size = self.places.shape
        start = np.arange(0, size * width + 1, width)
        content = (
            np.stack([np.asarray(weight) for weight in self.weights]).T.ravel(),
            np.array(self.places).T.ravel(),
            start,
        )
        matrix = scipy.sparse.csr_array(content, shape=(size, size))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return matrix


class BandedChain(AbstractChain):
    """A chain that moves by few fixed distances: P(s+d_j|s) = w(j,s).

    The weight w(j,s) is zero where s+d_j is no state. Both products are sums of shifted vectors. They read memory in
    order, and need neither gather nor scatter. The diagonals are separate vectors, not rows of an array: XLA would
    compute all rows of an array for each of them.
    """

    weights: tuple[Float[Array, " S"], ...]
    offsets: tuple[int, ...] = eqx.field(static=True)
    row: int | None = eqx.field(static=True, default=None)
    spread: bool = eqx.field(static=True, default=False)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return shifted_sum(self.weights, self.offsets, value, rotate=self.spread)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return sum(jnp.roll(w * measure, d) for w, d in zip(self.weights, self.offsets, strict=True))  # pyright: ignore[reportReturnType]

    def transpose(self) -> "BandedChain":
        weights = tuple(jnp.roll(w, d) for w, d in zip(self.weights, self.offsets, strict=True))
        return BandedChain(weights, tuple(-d for d in self.offsets), self.row, self.spread)

    def halves(self) -> AbstractHalves | None:
        return None if self.row is None else shifted_halves(self.weights, self.offsets, self.row)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        # SciPy keeps a diagonal's entry under its column; ours stands under its row.
        diagonals = [np.roll(np.asarray(w), d) for w, d in zip(self.weights, self.offsets, strict=True)]
        size = len(diagonals[0])
        return scipy.sparse.dia_array((np.stack(diagonals), self.offsets), shape=(size, size)).tocsr()


class DisturbedChain(AbstractChain):
    """A chain with a rank-one part, P(s'|s) = B(s'|s) + w(s) u(s')."""

    base: AbstractChain
    weights: Float[Array, " S"]
    distribution: Float[Array, " S"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.base.expect(value) + self.weights * (self.distribution @ value)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.base.push(measure) + (self.weights @ measure) * self.distribution

    def transpose(self) -> "DisturbedChain":
        return DisturbedChain(self.base.transpose(), self.distribution, self.weights)

    def sparse_part(self) -> "scipy.sparse.csr_array":
        return self.base.sparse_part()

    def rank_one(self) -> RankOne:
        return RankOne(self.weights, self.distribution)
