r"""(I - γ P) x = b and its transpose, for a chain P that is only a pair of functions.

Two loops. The inner one solves roughly, to a share of the right-hand side. The outer one computes the residual, hands
it to the inner loop, adds the correction, and repeats (iterative refinement), so that the answer is as exact as the
residual is. Which inner loop depends on the device:

- On a CPU it is BiCGStab (van der Vorst, 1992): in float32, which moves half the bytes, or in full precision for
  discounts close to 1.
- On a GPU it is sweeps x ← b + γ P x in float32. They need no inner products, so that no thread waits for another, and
  a million states of a grid fit into the cache: an H200 takes seven microseconds a sweep, and fifty for a product of
  BiCGStab, which gets twice as far.

BiCGStab can break down or stall. Whenever a correction does not halve the residual, sweeps in full precision take its
place until they have. P contracts in the maximum norm, its transpose in the sum of magnitudes, so in these norms
log 2 / -log γ sweeps do it: the outer loop cannot fail, it can only be slow.

Information moves by one transition a product, so that discounts near 1 on long grids need many products. In float32
BiCGStab stalls there: at γ = 0.999 on 316 x 316 cells it takes five times as long as in float64.

Lineax's BiCGStab is not used because its stopping rule is elementwise, which a right-hand side with zeros in it never
meets, and because it does not run in float32 (as the first approach to a solution does) where float64 is switched on.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import epsilon
from robustirl.mdp import AbstractChain
from robustirl.planning.columns import lower

REDUCTION = 1e-2  # The share of the residual that BiCGStab may leave.
MOST_INNER = 1000  # Its largest number of iterations, of two products each.
SWEPT_REDUCTION = 1e-3  # The share that sweeps may leave.
UNROLLED = 32  # Sweeps between two tests of what is left. On a GPU a test costs three sweeps.
F32_SWEEP_MAX_DISCOUNT = 0.9998  # Beyond this discount float32 has too few digits for sweeps.
F32_KRYLOV_MAX_DISCOUNT = 0.995  # Beyond this discount float32 has too few digits for BiCGStab.
MOST_REFINEMENTS = 200
MOST_LEFT = 0.4  # The largest share of a residual that a rough correction may leave.
AIM = 0.5  # Times the goal: where a rough correction ends.
ROUNDING = 16  # Times the rounding unit and the size of the terms of a residual: what rounding may leave of it.

Vector = Float[Array, " S"]
Operator = Callable[[Vector], Vector]


def system(chain: AbstractChain, discount: Float[Array, ""], *, transposed: bool = False) -> Operator:
    """Return the function x ↦ (I - γ P) x, or its transpose."""
    chain = chain.transpose() if transposed else chain

    def apply(x: Vector) -> Vector:
        return x - discount.astype(x.dtype) * chain.expect(x)

    return apply


def bicgstab(
    operator: Operator,
    right: Vector,
    reduction: float | Float[Array, ""] = REDUCTION,
    most: int = MOST_INNER,
    measure: Callable | None = None,
) -> tuple[Vector, Int[Array, ""]]:
    """Solve roughly from zero; also return the number of products with the operator.

    It ends where the residual is a share of the first one, in the 2-norm or in a measure of its magnitudes.

    The method works with a shadow of the first residual and breaks down when the present one has become orthogonal to
    it. It then starts again with the present one as the shadow. A solution worse than zero is replaced by zero.
    """
    dtype = right.dtype
    orthogonal = epsilon(right) ** 0.5

    def seen(residual: Vector, length: Float[Array, ""]) -> Float[Array, ""]:
        return length if measure is None else measure(jnp.abs(residual))

    def unfinished(state) -> Bool[Array, ""]:
        *_, size, count = state
        return (size > reduction * first) & (count < most) & jnp.isfinite(size)

    def step(state):
        solution, residual, shadow, direction, overlap, _, count = state
        image = operator(direction)
        length = overlap / (shadow @ image)
        half = residual - length * image
        half_image = operator(half)
        norm = half_image @ half_image
        slope = (half_image @ half) / jnp.where(norm > 0, norm, 1)
        solution = solution + length * direction + slope * half
        residual = half - slope * half_image
        following = shadow @ residual
        size = jnp.sqrt(residual @ residual)
        turn = (following / overlap) * (length / slope)
        direction = residual + turn * (direction - slope * image)
        broken = (jnp.abs(following) <= orthogonal * size * jnp.sqrt(shadow @ shadow)) | (slope == 0)
        shadow, direction = (jnp.where(broken, residual, old) for old in (shadow, direction))
        overlap = jnp.where(broken, size**2, following)
        return solution, residual, shadow, direction, overlap, seen(residual, size), count + 1

    whole = jnp.sqrt(right @ right)
    first = seen(right, whole)
    start = (jnp.zeros_like(right), right, right, right, whole**2, first, jnp.asarray(0))
    solution, *_, size, count = jax.lax.while_loop(unfinished, step, start)
    return jnp.where(size < first, solution, jnp.zeros((), dtype)), 2 * count


def sweeps(
    operator: Operator,
    right: Vector,
    measure: Callable,
    reduction: float | Float[Array, ""] = SWEPT_REDUCTION,
    most: int = 100_000,
) -> Vector:
    """Solve roughly by x ← b + γ P x from b, until a sweep changes x by no more than a share of b."""
    goal = reduction * measure(jnp.abs(right))

    def unfinished(state) -> Bool[Array, ""]:
        _, change, count = state
        return (change > goal) & (count < most)

    def several(state):
        x, _, count = state
        for _ in range(UNROLLED - 1):
            x = x + (right - operator(x))
        last = right - operator(x)
        return x + last, measure(jnp.abs(last)), count + UNROLLED

    start = (right, jnp.asarray(jnp.inf, right.dtype), jnp.asarray(0))
    return jax.lax.while_loop(unfinished, several, start)[0]


def correction(
    chain: AbstractChain,
    discount: Float[Array, ""],
    fault: Vector,
    *,
    transposed: bool = False,
    reduction: float | Float[Array, ""] | None = None,
    most: int = MOST_INNER,
    weights: Vector | None = None,
) -> Vector:
    """Return what to add to x where b - (I - γ P) x is `fault`, to a share; computed in units of the fault.

    With weights of the states the share is that of the weighted sum of magnitudes.
    """
    chain = chain.transpose() if transposed else chain
    if weights is None:
        return _correction(chain, discount, fault, jnp.sum if transposed else jnp.max, reduction, most)

    def weighted(magnitudes: Vector) -> Float[Array, ""]:
        return weights.astype(magnitudes.dtype) @ magnitudes

    return _correction(chain, discount, fault, weighted, reduction, most, by_measure=True)


def _correction(
    chain: AbstractChain,
    discount: Float[Array, ""],
    fault: Vector,
    measure: Callable,
    reduction: float | Float[Array, ""] | None = None,
    most: int = MOST_INNER,
    *,
    by_measure: bool = False,
) -> Vector:
    """Return a correction for a chain that contracts in the measure: the maximum, or a transposed one in the sum.

    BiCGStab ends by the 2-norm, which costs it nothing, or `by_measure`.
    """
    size = jnp.max(jnp.abs(fault))
    unit = jnp.where(size > 0, size, 1)  # Squares of tiny faults would vanish.
    scaled = fault / unit

    def swept() -> Vector:
        operator = system(lower(chain), discount)
        share = SWEPT_REDUCTION if reduction is None else reduction
        rough = sweeps(operator, scaled.astype(jnp.float32), measure, share)
        return rough.astype(fault.dtype)

    def krylov(chain: AbstractChain, right: Vector) -> Vector:
        operator = system(chain, discount)
        own = measure if by_measure else None
        return bicgstab(operator, right, REDUCTION if reduction is None else reduction, most, own)[0]

    def full() -> Vector:
        return krylov(chain, scaled)

    def low() -> Vector:
        return krylov(lower(chain), scaled.astype(jnp.float32)).astype(fault.dtype)

    if fault.dtype == jnp.float32:
        return unit * (full() if jax.default_backend() == "cpu" else swept())
    if jax.default_backend() == "cpu":
        return unit * jax.lax.cond(discount <= F32_KRYLOV_MAX_DISCOUNT, low, full)
    return unit * jax.lax.cond(discount <= F32_SWEEP_MAX_DISCOUNT, swept, full)


def solve_chain(
    chain: AbstractChain,
    discount: Float[Array, ""],
    right: Vector,
    start: Vector,
    goal: Float[Array, ""] | float = 0.0,
    *,
    transposed: bool = False,
    rough: bool = False,
) -> tuple[Vector, Float[Array, ""], Bool[Array, ""]]:
    """Solve until the residual is within the goal, or as small as rounding lets it be.

    With `rough`, for goals of few digits, corrections are solved to half of what the goal asks for, and no further.

    Returns the solution, the size of its residual (the maximum, or for the transposed system the sum of magnitudes),
    and whether it is within the goal or what rounding explains.
    """
    measure = jnp.sum if transposed else jnp.max
    chain = chain.transpose() if transposed else chain
    apply = system(chain, discount)
    contraction = -jnp.log(jnp.maximum(discount, 1e-3))
    patience = (jnp.log(2.0) / contraction).astype(int) + 2

    def look(x: Vector) -> tuple[Vector, Vector, Float[Array, ""]]:
        fault = right - apply(x)
        return x, fault, measure(jnp.abs(fault))

    def floor(x: Vector) -> Float[Array, ""]:
        return ROUNDING * epsilon(right) * (measure(jnp.abs(right)) + measure(jnp.abs(x)))

    def unfinished(state) -> Bool[Array, ""]:
        x, _, size, falling, count = state
        return falling & (size > goal) & (size > floor(x) / ROUNDING) & (count < MOST_REFINEMENTS) & jnp.isfinite(size)

    def refine(state):
        x, fault, size, _, count = state
        share = jnp.clip(AIM * goal / size, REDUCTION, MOST_LEFT) if rough else None
        after = look(x + _correction(chain, discount, fault, measure, share, by_measure=rough))
        good = after[2] <= size / 2

        def sweep(inner):
            (y, rest, _), swept = inner
            return look(y + rest), swept + 1

        def wanting(inner) -> Bool[Array, ""]:
            (_, _, rest), swept = inner
            return ~good & (rest > size / 2) & (swept < patience)

        plain, _ = jax.lax.while_loop(wanting, sweep, ((x, fault, size), jnp.asarray(0)))
        best = jax.tree.map(lambda new, old: jnp.where(good, new, old), after, plain)
        return *best, best[2] < size, count + 1

    x, _, size, *_ = jax.lax.while_loop(unfinished, refine, (*look(start), jnp.asarray(True), jnp.asarray(0)))
    return x, size, (size <= goal) | (size <= floor(x))
