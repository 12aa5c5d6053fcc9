r"""Sets of kernels around a world's kernel T, and the member that makes an expected value lowest.

Three sets, all of one strength 1-α = δ/2, each contained in the one before (Section 4.1 and the appendix
on robust MDPs and Markov games); the strength may also differ from pair to pair:

    ball     { T' : ‖T'(·|s,a) - T(·|s,a)‖₁ <= δ }
    mixture  { α T + (1-α) T̄ : T̄ any kernel }                                     T^{L,α}
    game     { α T + (1-α) T̄ : T̄(s'|s) = Σ_a π_op(a|s) T(s'|s,a), π_op any policy }   the smaller T^{L,α}

Their inner problems, the lowest expected next value m(s,a) = min Σ_s' T'(s'|s,a) V(s'), have closed forms:

    ball     move δ/2 of the mass, from the highest-valued successors down, to the lowest-valued state
    mixture  α T(·|s,a)·V + (1-α) min_s' V(s')
    game     α T(·|s,a)·V + (1-α) min_a' T(·|s,a')·V     over the available actions a'

One kernel attains all of these minima at once, so that an adversary needs no memory and a policy's
worst case is the fixed point of a Bellman equation (`robustirl.theory.certificate`).

The paper calls ball and mixture the same set. They are when every row of T is certain, and for 0 < α < 1 only
then: a mixture leaves every successor at least the share α of its mass, where a ball of the same strength may take
all of it. The world that is missing is not a strange one: if T spreads mass where an expert's world puts
none, no α > 0 brings the expert's kernel into the mixture, though the ball of radius d_dyn holds it.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl._runtime import DeviceModule
from robustirl.mdp import MDP, AbstractKernel, DenseKernel


class AbstractUncertainty(DeviceModule):
    """A set of kernels around that of a world, by the lowest expected values it allows.

    Highest expected values need no methods of their own: they are -lowest(-V), attained by kernel(-V).

    Attributes:
        mdp: The world in the middle.
        strength: `[S, A]`, 1-α = δ/2 in [0, 1]: how much mass of a row may be moved.
    """

    mdp: eqx.AbstractVar[MDP]
    strength: eqx.AbstractVar[Float[Array, "S A"]]

    @abc.abstractmethod
    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        """m(s,a), the lowest expected next value of every pair."""

    @abc.abstractmethod
    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        """Return a kernel of the set that attains `lowest` for every pair."""


class Ball(AbstractUncertainty):
    """All kernels within ℓ1 distance δ = 2·strength of T at every pair."""

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self.kernel(value).expect(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        return self.mdp.kernel.worst_case(value, 2 * self.strength)


class Mixture(AbstractUncertainty):
    """T^{L,α}: with probability α the world moves, otherwise anything may happen (Section 4.1)."""

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        kernel = self.mdp.kernel
        return (1 - self.strength) * kernel.expect(value) + self.strength * kernel.row_sums() * jnp.min(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        lowest = jax.nn.one_hot(jnp.argmin(value), value.size, dtype=value.dtype)
        return _blended(self, jnp.broadcast_to(lowest, (value.size, value.size)))


class Game(AbstractUncertainty):
    """The smaller class: with probability α the player's action counts, otherwise an opponent's.

    It is the class of the appendix. The opponent sees the state but not the player's action, and has the actions that
    are available there.
    """

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        expected = self.mdp.kernel.expect(value)
        opposed = jnp.min(expected, axis=-1, keepdims=True, where=self.mdp.mask, initial=jnp.inf)
        return (1 - self.strength) * expected + self.strength * opposed

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        expected = jnp.where(self.mdp.mask, self.mdp.kernel.expect(value), jnp.inf)
        opponent = jax.nn.one_hot(jnp.argmin(expected, axis=-1), self.mdp.num_actions, dtype=value.dtype)
        return _blended(self, self.mdp.kernel.policy_matrix(opponent))


def _blended(uncertainty: AbstractUncertainty, other: Float[Array, "S S"]) -> DenseKernel:
    """α T(·|s,a) + (1-α) T̄(·|s) for every action that exists."""
    kernel, strength = uncertainty.mdp.kernel, uncertainty.strength[..., None]
    # The chain of "always a" holds the rows of action a, whatever way the kernel stores them.
    always = jnp.eye(kernel.num_actions, dtype=other.dtype)[:, None, :].repeat(kernel.num_states, axis=1)
    rows = jnp.stack([kernel.policy_matrix(policy) for policy in always], axis=1)
    exists = kernel.row_sums()[..., None]
    return DenseKernel((1 - strength) * rows + strength * exists * other[:, None, :])
