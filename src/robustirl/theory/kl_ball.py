r"""The Kullback-Leibler ball: kernels T' with KL(T'(·|s,a) ‖ T(·|s,a)) <= η at every pair.

The member with the lowest expected value is an exponential tilt, T'(s') ∝ T(s') exp(-β V(s')), with β >= 0 as large as
η allows: KL of the tilt grows with β, from 0 to -log T(argmin V), which leaves mass only where V is lowest. No mass
goes where T has none, unlike in the ℓ1 ball: an outcome that never happens in the learner's world never happens.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl.mdp import MDP, AbstractKernel, DenseKernel
from robustirl.theory.uncertainty import AbstractUncertainty

HALVINGS = 64
SMALLEST, LARGEST = 1e-8, 1e12  # β times the range of V: from no tilt at all to one that leaves the lowest alone.


class KLBall(AbstractUncertainty):
    """All kernels whose relative entropy to T is at most `strength` at every pair.

    Here the strength is η itself.

    Example:
        >>> from robustirl.mdp import MDP
        >>> coin = MDP([[[0.5, 0.5]], [[0.5, 0.5]]], discount=0.5)
        >>> ball = KLBall(coin, jnp.full((2, 1), float(jnp.log(2.0))))  # -log T(argmin V): all mass may go there.
        >>> round(ball.lowest(jnp.array([1.0, 0.0]))[0, 0].item(), 6)
        0.0
    """

    mdp: MDP
    strength: Float[Array, "S A"]

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self.kernel(value).expect(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        rows = self.mdp.kernel.to_array()
        there = rows > 0
        least = jnp.min(jnp.where(there, value, jnp.inf), -1, keepdims=True)
        above = jnp.where(there, value - least, 0.0)  # Rows of zeros stay.
        span = jnp.max(above, -1)
        scale = jnp.where(span > 0, span, 1)

        def tilted(log_factor: Float[Array, "S A"]) -> tuple[Float[Array, "S A S"], Float[Array, "S A"]]:
            """Return the rows at β = exp(log_factor) / range, and their relative entropy to T."""
            beta = (jnp.exp(log_factor) / scale)[..., None]
            weights = rows * jnp.exp(-beta * above)
            total = weights.sum(-1, keepdims=True)
            shares = weights / jnp.where(total > 0, total, 1)
            entropy = -(beta * shares * above).sum(-1) - jnp.log(jnp.where(total > 0, total, 1))[..., 0]
            return shares, entropy

        def halve(_, ends: tuple[Float[Array, "S A"], Float[Array, "S A"]]):
            low, high = ends
            middle = (low + high) / 2
            within = tilted(middle)[1] <= self.strength
            return jnp.where(within, middle, low), jnp.where(within, high, middle)

        ends = tuple(jnp.full(self.strength.shape, jnp.log(end), value.dtype) for end in (SMALLEST, LARGEST))
        low, _ = jax.lax.fori_loop(0, HALVINGS, halve, ends)
        found = jnp.where((self.strength > 0)[..., None], tilted(low)[0], rows)
        return DenseKernel(found, leaky=self.mdp.kernel.leaky)
