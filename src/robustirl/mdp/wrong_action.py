r"""Kernels in which another action than the chosen one is executed now and then.

    T(·|s,a) = (1-ε(s)) B(·|s,a) + ε(s) mean_b B(·|s,b),        b over the actions that exist in s.

Written out as lists that would be |A| times as long as B. Here the columns of B are mixed instead, which costs one sum.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from robustirl._runtime import as_float
from robustirl.errors import InvalidInputError
from robustirl.mdp import checks
from robustirl.mdp.chains import AbstractChain
from robustirl.mdp.gathers import MOST_UNROLLED, by_action
from robustirl.mdp.halo import HaloKernel
from robustirl.mdp.listed import ListedKernel
from robustirl.mdp.successors import SuccessorKernel
from robustirl.types import ArrayLike

if TYPE_CHECKING:
    import scipy.sparse


class WrongActionKernel(ListedKernel):
    """A kernel of successor lists in which a random action is executed with some probability.

    Args:
        base: B, the kernel without mistakes.
        noise: `[S]`, ε(s), the chance of a random action in each state; or one number for all.

    Example:
        >>> base = SuccessorKernel([[[0], [1]], [[0], [1]]], [[[1.0], [1.0]], [[1.0], [1.0]]])
        >>> WrongActionKernel(base, 0.5).expect(jnp.array([0.0, 1.0]))[0].tolist()
        [0.25, 0.75]
    """

    base: SuccessorKernel | HaloKernel
    noise: Float[Array, " S"]
    exists: Bool[Array, "A S"]
    leaky: bool = eqx.field(static=True)

    def __init__(self, base: SuccessorKernel, noise: ArrayLike):
        if checks.concrete(noise):
            given = checks.as_floats("the chance of a wrong action", noise)
            if given.ndim:
                checks.require_shape("the chance of a wrong action", given, (base.num_states,), "states")
            noise = np.broadcast_to(given, (base.num_states,))
            if not ((noise >= 0) & (noise <= 1)).all():
                state = int(np.argmin((noise >= 0) & (noise <= 1)))
                raise InvalidInputError(
                    f"the chance of a wrong action in state {state} is {float(noise[state])!r}, but a probability is"
                    " needed."
                )
            if base.leaky:
                raise InvalidInputError("a leaky kernel cannot be disturbed; give one whose rows sum to 1.")
        self.base = base
        self.noise = as_float(noise)
        self.exists = base.row_sums().T > 0
        self.leaky = False

    @property
    def num_states(self) -> int:
        return self.base.num_states

    @property
    def num_actions(self) -> int:
        return self.base.num_actions

    def _share(self) -> Float[Array, " S"]:
        """Return ε(s) over the number of actions in s."""
        return self.noise / jnp.maximum(self.exists.sum(0), 1)

    def columns(self, value: Float[Array, " S"]) -> list[Float[Array, " S"]]:
        usual = self.base.columns(value)
        lost = self._share() * sum(usual[1:], usual[0])
        return [
            jnp.where(exists, (1 - self.noise) * column + lost, 0)
            for column, exists in zip(usual, self.exists, strict=True)
        ]

    def expect(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        if self.num_actions > MOST_UNROLLED:
            usual = self.base.expect(value).T
            lost = self._share() * usual.sum(0)
            return jnp.where(self.exists, (1 - self.noise) * usual + lost, 0).T
        return jnp.stack(self.columns(value), -1)

    def _executed(
        self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]
    ) -> list[Float[Array, " S"]] | Float[Array, "A S"]:
        """Return how often each action is executed where actions are chosen in these shares."""
        if isinstance(shares, jax.Array):
            taken = jnp.where(self.exists, shares, 0)
            return (1 - self.noise) * taken + jnp.where(self.exists, self._share() * taken.sum(0), 0)
        chosen = [jnp.where(exists, share, 0) for exists, share in zip(self.exists, shares, strict=True)]
        lost = self._share() * sum(chosen[1:], chosen[0])
        return [(1 - self.noise) * s + jnp.where(e, lost, 0) for s, e in zip(chosen, self.exists, strict=True)]

    def chain(self, shares: Sequence[Float[Array, " S"]] | Float[Array, "A S"]) -> AbstractChain:
        return self.base.chain(self._executed(shares))

    def push(self, measure: Float[Array, "S A"]) -> Float[Array, " S"]:
        return self.base.push(self._mixed(measure))

    def extended(self, states: int) -> "WrongActionKernel":
        base: Any = self.base.extended(states)
        return WrongActionKernel(base, np.pad(np.asarray(self.noise), (0, states - self.num_states)))

    def policy_matrix(self, policy: Float[Array, "S A"]) -> Float[Array, "S S"]:
        return self.base.policy_matrix(self._mixed(policy))

    def _mixed(self, measure: Float[Array, "S A"]) -> Float[Array, "S A"]:
        return jnp.stack(self._executed(by_action(measure)), -1)

    def row_sums(self) -> Float[Array, "S A"]:
        return self.base.row_sums()

    def self_transitions(self) -> Float[Array, "S A"]:
        usual = self.base.self_transitions()
        mixed = (1 - self.noise)[:, None] * usual + self._share()[:, None] * usual.sum(-1, keepdims=True)
        return jnp.where(self.exists.T, mixed, 0)

    def sample(self, states: Int[Array, "*n"], actions: Int[Array, "*n"], *, key: PRNGKeyArray) -> Int[Array, "*n"]:
        which, other, where = jax.random.split(key, 3)
        wrong = jax.random.uniform(which, states.shape, self.noise.dtype) < self.noise[states]
        drawn = jax.random.categorical(other, jnp.where(self.exists.T[states], 0.0, -jnp.inf))
        return self.base.sample(states, jnp.where(wrong, drawn, actions), key=where)

    def to_sparse(self) -> "scipy.sparse.csr_array":
        """Return M B, where M is the chance of executing b where a is chosen.

        This needs no lists of |A| times the length.
        """
        import scipy.sparse  # Here, so that `import robustirl` stays light.

        exists, noise = np.asarray(self.exists).T, np.asarray(self.noise)
        state, chosen, executed = np.nonzero(exists[:, :, None] & exists[:, None, :])
        mixed = noise[state] / exists.sum(-1)[state] + np.where(chosen == executed, 1 - noise[state], 0)
        rows, columns = state * self.num_actions + chosen, state * self.num_actions + executed
        mistakes = scipy.sparse.coo_array((mixed, (rows, columns)), shape=(exists.size, exists.size))
        matrix = scipy.sparse.csr_array(mistakes.tocsr() @ self.base.to_sparse())
        matrix.sort_indices()
        return matrix

    def to_lists(self) -> SuccessorKernel:
        """Return the same kernel as lists of successors, |A| times as long as those of the base."""
        base = self.base.successor_lists()
        places, chances = base.next_states, base.probabilities
        size, actions, length = chances.shape
        own = (1 - self.noise)[:, None, None] * jnp.eye(actions)
        mixed = (own + self._share()[:, None, None])[..., None] * chances[:, None]  # [S, A, B, K]
        weights = jnp.where(self.exists.T[..., None, None], mixed, 0)
        lists = jnp.broadcast_to(places[:, None], weights.shape)
        return SuccessorKernel(*(array.reshape(size, actions, actions * length) for array in (lists, weights)))

    def order_key(self) -> Array | None:
        return self.noise

    def neighbors(self) -> "scipy.sparse.csr_array":
        return self.base.neighbors()

    def reordered(self, order: Int[np.ndarray, " S"], rank: Int[np.ndarray, " S"]) -> "WrongActionKernel":
        changed = (self.base.reordered(order, rank), self.noise[order], self.exists[:, order])
        return eqx.tree_at(lambda k: (k.base, k.noise, k.exists), self, changed)
