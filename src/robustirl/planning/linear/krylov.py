r"""(I - γ P) x = b and its transpose, for a chain P that is only a pair of functions.

Two loops. The inner one solves roughly, to a share of the right-hand side. The outer one computes the residual, hands
it to the inner loop, adds the correction, and repeats (iterative refinement), so that the answer is as exact as the
residual is. Before it, states that do not lead to one another are eliminated (`elimination.py`). Which inner loop
depends on the device and on the discount:

- On a CPU it is a few iterations of BiCGStab (van der Vorst, 1992), which suffice where chains mix fast, and then
  sweeps x ← b + γ P x, both in float32. On long grids information moves by one transition a product, whatever
  polynomial is taken, and a sweep reads and writes half as much as a product of BiCGStab.
- On a CPU with a discount close to 1 it is BiCGStab in full precision.
- On a GPU it is sweeps alone. They need no inner products, so that no thread waits for another, and a million states
  of a grid fit into the cache: an H200 takes seven microseconds a sweep, and fifty for a product of BiCGStab.

BiCGStab can break down or stall. Whenever a correction does not halve the residual, sweeps in full precision take its
place until they have. P contracts in the maximum norm, its transpose in the sum of magnitudes, so in these norms
log 2 / -log γ sweeps do it: the outer loop cannot fail, it can only be slow.

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
from robustirl.planning.linear.elimination import LinearSystem, reduced_system

REDUCTION = 1e-2  # The share of the residual that BiCGStab may leave.
MOST_INNER = 1000  # Its largest number of iterations, of two products each.
SWEPT_REDUCTION = 1e-3  # The share that sweeps may leave.
UNROLLED = 32  # Sweeps between two tests of what is left, on a GPU without a loop. There a test costs three sweeps.
F32_SWEEP_MAX_DISCOUNT = 0.9998  # Beyond this discount float32 has too few digits for sweeps.
F32_KRYLOV_MAX_DISCOUNT = 0.9995  # Beyond this discount BiCGStab in float64 is faster on a CPU.
F32_DIGITS = 16.0  # Of the rounding unit of float32, -log ε: sweeps beyond so many horizons 1 / (1 - γ) change nothing.
KRYLOV_FIRST = 0.3  # Iterations of BiCGStab before sweeps, as a share of the horizon 1 / (1 - γ). See large-worlds.md.
KRYLOV_LEAST = 16  # Such iterations at least: where chains mix fast they suffice.
CONSTANT_LEFT = 1e-6  # The share of a fault that a constant may leave to be taken for its correction.
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
    most: int | Int[Array, ""] = MOST_INNER,
    measure: Callable | None = None,
    whole: Float[Array, ""] | None = None,
) -> tuple[Vector, Int[Array, ""]]:
    """Solve roughly from zero; also return the number of products with the operator.

    It ends where the residual is a share of the first one, or of `whole`, in the 2-norm or in a measure of its
    magnitudes.

    The method works with a shadow of the first residual and breaks down when the present one has become orthogonal to
    it. It then starts again with the present one as the shadow. A solution worse than zero is replaced by zero.
    """
    dtype = right.dtype
    orthogonal = epsilon(right) ** 0.5

    def seen(residual: Vector, length: Float[Array, ""]) -> Float[Array, ""]:
        return length if measure is None else measure(jnp.abs(residual))

    def unfinished(state) -> Bool[Array, ""]:
        *_, size, count = state
        return (size > goal) & (count < most) & jnp.isfinite(size)

    def step(state):
        solution, residual, shadow, direction, overlap, shade, _, count = state
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
        broken = (jnp.abs(following) <= orthogonal * size * shade) | (slope == 0)
        shadow, direction = (jnp.where(broken, residual, old) for old in (shadow, direction))
        overlap, shade = jnp.where(broken, size**2, following), jnp.where(broken, size, shade)
        return solution, residual, shadow, direction, overlap, shade, seen(residual, size), count + 1

    length = jnp.sqrt(right @ right)
    first = seen(right, length)
    goal = reduction * (first if whole is None else whole)
    start = (jnp.zeros_like(right), right, right, right, length**2, length, first, jnp.asarray(0))
    solution, *_, size, count = jax.lax.while_loop(unfinished, step, start)
    return jnp.where(size < first, solution, jnp.zeros((), dtype)), 2 * count


def sweeps(
    move: Operator,
    right: Vector,
    measure: Callable,
    reduction: float | Float[Array, ""] = SWEPT_REDUCTION,
    most: float | Float[Array, ""] = 100_000,
    whole: Float[Array, ""] | None = None,
    start: Vector | None = None,
) -> Vector:
    """Solve x = M x + b roughly by sweeps x ← M x + b.

    The sweeps end when one changes x by no more than a share of b, or of `whole`. They start from b, or from a `start`
    that may be as good as asked for already.
    """
    goal = reduction * (measure(jnp.abs(right)) if whole is None else whole)

    def unfinished(state) -> Bool[Array, ""]:
        _, change, count = state
        return (change > goal) & (count < most)

    def several(state):
        x, _, count = state
        if jax.default_backend() == "cpu":
            x = jax.lax.fori_loop(0, UNROLLED - 1, lambda _, x: right + move(x), x)
        else:
            for _ in range(UNROLLED - 1):
                x = right + move(x)
        last = right + move(x)
        return last, measure(jnp.abs(last - x)), count + UNROLLED

    begin = (right, jnp.asarray(jnp.inf, right.dtype), jnp.asarray(0))
    if start is not None:
        once = right + move(start)
        begin = (once, measure(jnp.abs(once - start)), jnp.asarray(0))
    return jax.lax.while_loop(unfinished, several, begin)[0]


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
    """Return what to add to x where b - (I - γ P) x is `fault`, to a share.

    It is computed in units of the fault. With weights of the states the share is that of the weighted sum of
    magnitudes.
    """
    if transposed:
        return _correction(chain.transpose(), discount, fault, jnp.sum, reduction, most, weights=weights)
    # The same fault everywhere, as of a reward that is zero, has the same solution everywhere. It is returned without
    # an error that differs by state, which would break ties between actions.
    rate = discount.astype(fault.dtype)
    constant = jnp.full_like(fault, 0.5) * ((jnp.max(fault) + jnp.min(fault)) / (1 - rate))
    rest = jnp.max(jnp.abs(fault - (constant - rate * chain.expect(constant))))
    share = CONSTANT_LEFT if reduction is None else jnp.minimum(reduction, CONSTANT_LEFT)
    return jax.lax.cond(
        rest <= share * jnp.max(jnp.abs(fault)),
        lambda: constant,
        lambda: _correction(chain, discount, fault, jnp.max, reduction, most, weights=weights),
    )


def _correction(
    chain: AbstractChain,
    discount: Float[Array, ""],
    fault: Vector,
    norm: Callable,
    reduction: float | Float[Array, ""] | None = None,
    most: int = MOST_INNER,
    *,
    weights: Vector | None = None,
    by_norm: bool = False,
) -> Vector:
    """Return a correction for a chain that contracts in a norm.

    The norm is the maximum, or the sum for a transposed chain. BiCGStab ends by the 2-norm, which costs it nothing,
    unless there are weights or it is asked to end `by_norm`.
    """
    size = jnp.max(jnp.abs(fault))
    unit = jnp.where(size > 0, size, 1)  # Squares of tiny faults would vanish.
    scaled = fault / unit

    def measured(weights: Vector | None) -> Callable:
        return norm if weights is None else lambda magnitudes: weights.astype(magnitudes.dtype) @ magnitudes

    def reduced(chain: AbstractChain, right: Vector) -> tuple[LinearSystem, Callable, Float[Array, ""]]:
        """Return the system that is solved, the measure of its residuals, and the size of the fault.

        The size is by that measure.
        """
        system = reduced_system(chain, discount, right)
        part = None if weights is None else system.restrict(weights)
        return system, measured(part), measured(weights)(jnp.abs(right))

    def swept() -> Vector:
        """Solve in float32 by sweeps, on a CPU after some iterations of BiCGStab."""
        right = scaled.astype(jnp.float32)
        system, measure, whole = reduced(lower(chain), right)
        longest = F32_DIGITS / (1 - jnp.minimum(discount, F32_SWEEP_MAX_DISCOUNT))
        start = None
        if on_cpu:
            own = measure if by_measure else None
            measure, whole = (measure, whole) if by_measure else (jnp.linalg.norm, jnp.linalg.norm(right))
            few = jnp.maximum(KRYLOV_LEAST, KRYLOV_FIRST / (1 - discount)).astype(int)
            iterations = jnp.where(low_is_enough, jnp.minimum(few, most), most)
            longest = jnp.where(low_is_enough, longest, 0)
            start = bicgstab(system.apply, system.right, share, iterations, own, whole)[0]
        found = sweeps(system.move, system.right, measure, share, longest, whole, start)
        return system.expand(found).astype(fault.dtype)

    def krylov() -> Vector:
        """Solve by BiCGStab in the precision of the fault."""
        system, measure, whole = reduced(chain, scaled)
        measure, whole = (measure, whole) if by_measure else (None, jnp.linalg.norm(scaled))
        return system.expand(bicgstab(system.apply, system.right, share, most, measure, whole)[0])

    on_cpu, by_measure = jax.default_backend() == "cpu", by_norm or weights is not None
    low_is_enough = discount <= (F32_KRYLOV_MAX_DISCOUNT if on_cpu else F32_SWEEP_MAX_DISCOUNT)
    share = (REDUCTION if on_cpu else SWEPT_REDUCTION) if reduction is None else reduction
    if fault.dtype == jnp.float32:
        return unit * swept()
    return unit * jax.lax.cond(low_is_enough, swept, krylov)


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
        after = look(x + _correction(chain, discount, fault, measure, share, by_norm=rough))
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
