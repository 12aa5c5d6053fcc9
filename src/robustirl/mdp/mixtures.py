r"""Kernels that are another kernel disturbed now and then, for noise whose own rows would be long.

Noise that leads anywhere makes every row full, but it is one distribution u for all of them. Noise that executes
another action than the chosen one makes rows |A| times as long, but only mixes rows that are there:

    T(·|s,a) = (1-w(s)) B(·|s,a) + w(s) u                       where action a exists in s
    T(·|s,a) = (1-w(s)) B(·|s,a) + w(s) Σ_b q(b|s) B(·|s,b)

Products with T are those of B and a few operations on vectors; the kernel B is stored as it likes.
"""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from robustirl._check import as_floats, concrete, require_distributions, require_probabilities, require_shape
from robustirl._jax import as_float, sum_tolerance
from robustirl.errors import InvalidInputError
from robustirl.mdp.dense import DenseKernel
from robustirl.mdp.kernel import AbstractChain, AbstractKernel, require_dense
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse


class MixtureKernel(AbstractKernel):
    """A kernel disturbed by draws of a state, or by actions other than the chosen one.

    Args:
        base: B, the kernel without the disturbance.
        weights: `[S]`, w(s), the chance of a disturbance in each state.
        distribution: `[S]`, u, where it leads.
        shares: `[S, A]`, q(b|s), which action is executed instead; give either this or a distribution.
        leaky: Accept shares that sum to less than one; only the paper's own published experiments need that.

    Example:
        >>> base = DenseKernel([[[0.0, 1.0]], [[0.0, 1.0]]])
        >>> kernel = MixtureKernel(base, [0.5, 0.0], distribution=[0.5, 0.5])
        >>> kernel.expect(jnp.array([1.0, 3.0])).tolist()
        [[2.5], [3.0]]
    """

    base: AbstractKernel
    weights: Float[Array, " S"]
    distribution: Float[Array, " S"] | None
    shares: Float[Array, "S A"] | None
    exists: Bool[Array, "S A"]
    leaky: bool = eqx.field(static=True)

    def __init__(
        self,
        base: AbstractKernel,
        weights: ArrayLike,
        distribution: ArrayLike | None = None,
        *,
        shares: ArrayLike | None = None,
        leaky: bool = False,
    ):
        if (distribution is None) == (shares is None):
            raise InvalidInputError("a disturbance is a distribution of states or shares of actions; give one of them.")
        if base.leaky:
            raise InvalidInputError("a leaky kernel cannot be disturbed; give one whose rows sum to 1.")
        self.exists = base.available()
        given = [part for part in (distribution, shares) if part is not None]
        if concrete(weights, given, base):
            weights = as_floats("the chances of a disturbance", weights)
            require_shape("the chances of a disturbance", weights, (base.num_states,), "states")
            require_probabilities("the chance of a disturbance", weights)
            if weights.max() > 1:
                raise InvalidInputError(
                    f"the chance of a disturbance in state {int(weights.argmax())} is {float(weights.max())!r}, but a"
                    " probability of at most 1 is needed."
                )
            if distribution is not None:
                distribution = as_floats("the distribution of a disturbance", distribution)
                require_shape("the distribution of a disturbance", distribution, weights.shape, "states")
                require_distributions("the distribution of a disturbance", distribution)
            else:
                shares = _checked_shares(given[0], weights, np.asarray(self.exists), leaky)
        self.base, self.leaky = base, leaky
        self.weights = as_float(weights)
        self.distribution = None if distribution is None else as_float(distribution)
        self.shares = None if shares is None else as_float(shares)

    @property
    def num_states(self) -> int:
        return self.base.num_states

    @property
    def num_actions(self) -> int:
        return self.base.num_actions

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        anywhere = None if self.distribution is None else self.distribution @ value
        return self._blended(self.base.expect(value), anywhere)

    def _blended(self, usual: Float[Array, "S A"], anywhere: Any) -> Float[Array, "S A"]:
        """Return what is expected with the disturbance, where draws of states give what they do anywhere."""
        other = over_actions(self.shares * usual)[:, None] if self.shares is not None else anywhere
        weights = self.weights[:, None]
        return (1 - weights) * usual + jnp.where(self.exists, weights * other, 0)

    def _thrown(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        """Return how much of a measure over pairs is disturbed in each state."""
        return self.weights * over_actions(jnp.where(self.exists, measure, 0))

    def _executed(self, measure: Float[Array, "S A"]) -> Float[Array, "S A"]:
        """Return how often the base executes each action; draws of states are left out."""
        usual = (1 - self.weights[:, None]) * measure
        return usual if self.shares is None else usual + self._thrown(measure)[:, None] * self.shares

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        usual = self.base.push(self._executed(measure))
        return usual if self.distribution is None else usual + self._thrown(measure).sum() * self.distribution

    def chain(self, policy: Float[Array, "S A"]) -> AbstractChain:
        usual = self.base.chain(self._executed(policy))
        return usual if self.distribution is None else MixtureChain(usual, self._thrown(policy), self.distribution)

    def available(self) -> Bool[Array, "S A"]:
        return self.exists

    def self_transitions(self) -> Float[Array, "S A"]:
        anywhere = None if self.distribution is None else self.distribution[:, None]
        return self._blended(self.base.self_transitions(), anywhere)

    def dense(self) -> Float[Array, "S A S"]:
        require_dense(self.num_states, self.num_states * self.num_actions)
        usual = self.base.dense()
        other: Any = self.distribution
        if self.shares is not None:
            other = jnp.einsum("sa,sat->st", self.shares, usual)[:, None]
        weights = self.weights[:, None, None]
        return (1 - weights) * usual + jnp.where(self.exists[..., None], weights * other, 0)

    def to_sparse(self) -> "scipy.sparse.csr_array":
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        matrix, thrown, distribution = self.split()
        if distribution is None:
            return matrix
        require_dense(self.num_states, 2 * self.num_states * self.num_actions)
        return scipy.sparse.csr_array(matrix.toarray() + thrown[:, None] * distribution)

    def split(self) -> "tuple[scipy.sparse.csr_array, np.ndarray, np.ndarray | None]":
        import scipy.sparse

        base, weights = self.base.to_sparse(), np.asarray(self.weights, float)
        exists = np.asarray(self.exists)
        if self.shares is None:
            usual = scipy.sparse.diags_array(np.repeat(1 - weights, self.num_actions)) @ base
            return scipy.sparse.csr_array(usual), (weights[:, None] * exists).ravel(), np.asarray(self.distribution)
        # M B, where M is the chance of executing b where a is chosen.
        state, chosen, executed = np.nonzero(exists[:, :, None] & exists[:, None, :])
        mixed = weights[state] * np.asarray(self.shares)[state, executed]
        mixed += np.where(chosen == executed, 1 - weights[state], 0)
        places = state * self.num_actions + chosen, state * self.num_actions + executed
        mistakes = scipy.sparse.csr_array(scipy.sparse.coo_array((mixed, places), shape=(exists.size, exists.size)))
        matrix = scipy.sparse.csr_array(mistakes @ base)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix, np.zeros(exists.size), None

    def worst_case(self, value: Float[Array, " S"], radius: Float[Array, "S A"]) -> DenseKernel:
        """Return an array `[S, A, S]`: rows of the worst case have no noise in common."""
        return DenseKernel(self.dense(), leaky=self.leaky).worst_case(value, radius)


def over_actions(measure: Float[Array, "S A"]) -> Float[Array, " S"]:
    """Return Σ_a μ(s,a) as a product: XLA's CPU backend takes five times longer for a sum over a short last axis."""
    return measure @ jnp.ones(measure.shape[-1], measure.dtype)


class MixtureChain(AbstractChain):
    """A chain with a rank-one part, P(s'|s) = B(s'|s) + w(s) u(s')."""

    base: AbstractChain
    weights: Float[Array, " S"]
    distribution: Float[Array, " S"]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.base.expect(value) + self.weights * (self.distribution @ value)

    def push(self, measure: Float[Array, " S"]) -> Float[Array, " S"]:
        return self.base.push(measure) + (self.weights @ measure) * self.distribution

    def dense(self) -> Float[Array, "S S"]:
        return self.base.dense() + self.weights[:, None] * self.distribution


def _checked_shares(
    shares: ArrayLike, weights: Float[np.ndarray, " S"], exists: Bool[np.ndarray, "S A"], leaky: bool
) -> Float[np.ndarray, "S A"]:
    array = as_floats("the shares of a disturbance", shares)
    require_shape("the shares of a disturbance", array, exists.shape, "states, actions")
    require_probabilities("the share of a disturbance", array)
    sums = np.where(weights > 0, np.where(exists, array, 0).sum(-1), 1)
    bad = np.abs(sums - 1) > sum_tolerance(array.dtype)
    if leaky:
        bad &= sums > 1
    if bad.any():
        state = int(np.argmax(bad))
        raise InvalidInputError(
            f"the shares of actions that exist in state {state} sum to {float(sums[state])!r}, but"
            f" {'at most 1' if leaky else '1'} is needed; divide them by their sum."
        )
    return array
