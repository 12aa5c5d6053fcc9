r"""Eliminate states that do not lead to one another from (I - γ P) x = b.

With the notation of `mdp/halves.py`, x_E = D_E⁻¹ (b_E + γ P_ER x_R) leaves

    x_R - D_R⁻¹ γ (P_RR x_R + P_RE D_E⁻¹ γ P_ER x_R) = D_R⁻¹ (b_R + γ P_RE D_E⁻¹ b_E),

a system of the same kind for the states of R. One of its products follows two moves of a grid, so that it contracts by
γ² where the whole contracts by γ: half as many iterations, of vectors half as long. Whatever x_R is, the equations of E
hold exactly, and the residual of the whole is D_R times that of this system, which is no larger.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from robustirl._runtime import unfused
from robustirl.mdp import AbstractChain

Vector = Float[Array, " S"]
Reduced = Float[Array, " R"]


class LinearSystem(NamedTuple):
    """A system x = M x + b, and how its solution belongs to another one.

    Attributes:
        move: x ↦ M x.
        right: b.
        expand: Returns the solution of the other system, given x.
        restrict: Returns the entries of a vector of the other system that x has.
    """

    move: Callable[[Reduced], Reduced]
    right: Reduced
    expand: Callable[[Reduced], Vector]
    restrict: Callable[[Vector], Reduced]

    def apply(self, x: Reduced) -> Reduced:
        """Return (I - M) x."""
        return x - self.move(x)


def reduced_system(chain: AbstractChain, discount: Float[Array, ""], right: Vector) -> LinearSystem:
    """Return x = γ P x + b without the states that can be eliminated.

    The result is the system itself where there are none.

    Example:
        >>> from robustirl.mdp import BandedChain
        >>> path = BandedChain((jnp.array([1.0, 1.0, 1.0, 0.0]),), (1,), row=1)  # From 0 to 1, 2, 3, and then nowhere.
        >>> system = reduced_system(path, jnp.asarray(0.5), jnp.array([0.0, 0.0, 0.0, 8.0]))
        >>> system.right.tolist(), system.move(system.right).tolist()
        ([0.0, 8.0], [2.0, 0.0])
        >>> system.expand(jnp.array([2.0, 8.0])).tolist()
        [1.0, 2.0, 4.0, 8.0]
    """
    rate = discount.astype(right.dtype)
    halves = chain.halves()
    if halves is None:
        return LinearSystem(lambda x: rate * chain.expect(x), right, _same, _same)
    first, second = halves.cut(right)
    inverse = tuple(1 / (1 - rate * stays) for stays in halves.stays)
    known = inverse[0] * first
    scaled = halves.scaled(rate * inverse[0], rate * inverse[1])

    def move(x: Reduced) -> Reduced:
        return scaled.from_second(unfused(rate >= 0, scaled.from_first, x), x)

    def expand(x: Reduced) -> Vector:
        return halves.join(known + scaled.from_first(x), x)

    return LinearSystem(
        move,
        inverse[1] * second + scaled.from_second(known, jnp.zeros_like(second)),
        expand,
        lambda vector: halves.cut(vector)[1],
    )


def _same(x: Vector) -> Vector:
    return x
