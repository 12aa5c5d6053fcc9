r"""The Markov chain a policy makes of a kernel, P_π(s'|s) = Σ_a π(a|s) T(s'|s,a), stored as its kernel is stored.

Solvers multiply with it and with its transpose hundreds of times for one policy, so it is worth adding up the actions
once. Nothing here allocates |S|² numbers but the chain of an array.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class AbstractChain(eqx.Module):
    """P_π, as two functions."""

    @abc.abstractmethod
    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        """The expected next value, Σ_s' P(s'|s) V(s')."""

    @abc.abstractmethod
    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        """Where a measure goes in one step, Σ_s μ(s) P(s'|s): the adjoint of `expect`."""


class DenseChain(AbstractChain):
    """A chain stored as a matrix."""

    matrix: Float[Array, "S S"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.matrix @ value

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return measure @ self.matrix


class ListChain(AbstractChain):
    """A chain stored as J successors of every state."""

    places: Int[Array, "S J"]
    weights: Float[Array, "S J"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return (self.weights * value[self.places]).sum(-1)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        arriving = (measure[:, None] * self.weights).ravel()
        return jax.ops.segment_sum(arriving, self.places.ravel(), num_segments=measure.shape[0])


class BandedChain(AbstractChain):
    """A chain that moves by few fixed distances: P(s+d_j|s) = w(j,s), zero where s+d_j is no state.

    Both products are sums of shifted vectors. They read memory in order, and need neither gather nor scatter. The
    diagonals are vectors of their own, not rows of an array: XLA would work out all of an array's rows for each.
    """

    weights: tuple[Float[Array, " S"], ...]
    offsets: tuple[int, ...] = eqx.field(static=True)

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return sum(w * jnp.roll(value, -d) for w, d in zip(self.weights, self.offsets, strict=True))  # pyright: ignore[reportReturnType]

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return sum(jnp.roll(w * measure, d) for w, d in zip(self.weights, self.offsets, strict=True))  # pyright: ignore[reportReturnType]


class DisturbedChain(AbstractChain):
    """A chain with a rank-one part, P(s'|s) = B(s'|s) + w(s) u(s')."""

    base: AbstractChain
    weights: Float[Array, " S"]
    distribution: Float[Array, " S"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.base.expect(value) + self.weights * (self.distribution @ value)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.base.push(measure) + (self.weights @ measure) * self.distribution
