r"""An ℓ1 budget that the actions of a state share: Σ_a ‖T'(·|s,a) - T(·|s,a)‖₁ <= δ, an s-rectangular set.

The adversary, which chooses the kernel, divides the budget among the actions before the player draws one, so that the
player gains from being unpredictable even without an entropy bonus. The robust soft backup of a state is

    max_π min_T' Σ_a π(a) γ T'_a·V + τ H(π)  =  min_T' τ log Σ_a exp(γ T'_a·V / τ),

by the minimax theorem: the left side is concave in π and linear in T'. On the right, let mass be taken off the
successors of an action from the highest value down and put on the lowest. The n-th bit of mass of action a,
taken from a successor that is worth g more than the lowest, lowers the sum of exponentials at the rate

    ω_a g,     ω_a = exp(γ (T_a·V - G_a) / τ),    G_a what action a has lost so far,

which falls along the way, because ω_a and g do. So all bits whose rate is above a level t are taken, and those of a
successor j of value g_j above the lowest come to

    clip( (T_a·V - (τ/γ) log(t / g_j) - G_{a,<j}) / g_j,  0,  T_a(j) )

of mass, where G_{a,<j} is the loss through all higher successors. The level at which the budget is spent is found by
halving, one number a state.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl.mdp import MDP, AbstractKernel, DenseKernel
from robustirl.theory.uncertainty import AbstractUncertainty

HALVINGS = 64
NO_GAIN = 1e-12  # Of the range of values: successors this close to the lowest are left alone.


class SharedBall(AbstractUncertainty):
    """Kernels within an ℓ1 budget 2·strength of T, shared by the actions of a state.

    The player against them is soft. `lowest` is not the lowest of every pair, but what the saddle point with the player
    at this temperature leaves.

    Attributes:
        mdp: The world in the middle.
        strength: `[S, A]`, half of the budget of a state; the largest over its actions counts.
        temperature: τ of the player.
    """

    mdp: MDP
    strength: Float[Array, "S A"]
    temperature: float = eqx.field(static=True, default=1.0)

    def lowest(self, value: Float[Array, " S"]) -> Float[Array, "S A"]:
        return self.kernel(value).expect(value)

    def kernel(self, value: Float[Array, " S"]) -> AbstractKernel:
        falling = jnp.argsort(-value)  # One order of the states serves all rows.
        mass = self.mdp.kernel.to_array()[..., falling]
        gains = value[falling] - jnp.min(value)
        useful = gains > NO_GAIN * jnp.max(gains)
        safe = jnp.where(useful, gains, 1)
        lost = jnp.cumsum(mass * gains, -1) - mass * gains
        expected = mass @ value[falling]
        rate = self.mdp.discount / self.temperature
        budget = jnp.max(self.strength, -1, where=self.mdp.mask, initial=0)

        def taken(level: Float[Array, " S"]) -> Float[Array, "S A S"]:
            """Return the mass taken off every successor at t = exp(level)."""
            reach = expected[..., None] - (level[:, None, None] - jnp.log(safe)) / rate - lost
            wanted = jnp.clip(reach / safe, 0, mass)
            return jnp.where(useful & self.mdp.mask[..., None], wanted, 0)

        def halve(_, ends: tuple[Float[Array, " S"], Float[Array, " S"]]):
            low, high = ends
            middle = (low + high) / 2
            within = taken(middle).sum((-2, -1)) <= budget
            return jnp.where(within, low, middle), jnp.where(within, middle, high)

        size = jnp.log(jnp.maximum(jnp.max(gains), jnp.finfo(value.dtype).tiny))
        highest = rate * jnp.max(value) + size + 1
        least = rate * jnp.min(value) + size + jnp.log(NO_GAIN) - 1
        ends = (jnp.full_like(value, least), jnp.full_like(value, highest))
        _, level = jax.lax.fori_loop(0, HALVINGS, halve, ends)
        moved = taken(level)
        rows = (mass - moved).at[..., -1].add(moved.sum(-1))
        return DenseKernel(rows[..., jnp.argsort(falling)], leaky=self.mdp.kernel.leaky)
