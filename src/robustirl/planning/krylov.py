r"""Newton's method without matrices, for worlds too large for an inverse: systems with I - γ P by BiCGStab and sweeps.

(I - γ P) x = b and its transpose are solved in two loops. The inner one solves roughly, to a share of the right-hand
side. The outer one computes the residual, hands it to the inner loop, adds the correction, and repeats (iterative
refinement), so that the answer is as exact as the residual is. The inner loop depends on the device and the discount:

- On a CPU it is a few iterations of BiCGStab (van der Vorst, 1992), which suffice where chains mix fast, and then
  sweeps x ← b + γ P x, both in float32. On long grids information moves by one transition a product, whatever
  polynomial is taken, and a sweep reads and writes half as much as a product of BiCGStab.
- On a CPU with a discount close to 1 it is BiCGStab in full precision.
- On a GPU it is sweeps alone. They need no inner products, so that no thread waits for another.

BiCGStab can break down or stall. Whenever a correction does not halve the residual, sweeps in full precision take its
place until they have. P contracts in the maximum norm, its transpose in the sum of magnitudes, so in these norms
log 2 / -log γ sweeps do it: the outer loop cannot fail, it can only be slow.

`NewtonKrylov` takes the steps of `newton.py`, with two things that large worlds need besides.

- **Sweeps in between.** From far away a Newton step is a policy evaluation, and the policy it evaluates is wrong
  beyond some front that moves by about one state a step. A sweep of value iteration moves it as far for a hundredth of
  the price, so that a cold start takes a few of them after every step (modified policy iteration; Puterman and Shin,
  1978), and more the longer nothing is gained.
- **Two precisions.** A cold start runs in float32 until that has no more to give, and only then, close to the solution,
  in full. Every residual that decides, and so the verdict, is computed in full.

Far away, residuals may rise before they fall, so that single steps are not undone. The best iterate is kept, and when
many steps in a row have not halved its residual, value iteration goes on from there to the end.
"""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._jax import epsilon
from robustirl.mdp import MDP
from robustirl.mdp.policy import mixture
from robustirl.planning.operators import Backup
from robustirl.planning.problem import NEWTON_MAX_STEPS, AbstractSolver, Memory, Operator, PlanningProblem, Vector
from robustirl.planning.value_iteration import most_sweeps
from robustirl.planning.verdict import Solution
from robustirl.types import Tree

REDUCTION = 1e-2
"""The share of a residual that BiCGStab may leave."""
SWEPT_REDUCTION = 1e-3
"""The share that sweeps may leave."""
MOST_INNER = 1000
"""The largest number of iterations of BiCGStab, of two products each."""
SWEEPS_A_TEST = 32
"""Sweeps between two tests of what is left. On a GPU a test costs three sweeps."""
F32_SWEEP_MAX_DISCOUNT = 0.9998
"""Beyond this discount float32 has too few digits for sweeps."""
F32_KRYLOV_MAX_DISCOUNT = 0.9995
"""Beyond this discount BiCGStab in float64 is faster on a CPU."""
F32_DIGITS = 16.0
"""Of the rounding unit of float32, -log ε: sweeps beyond so many horizons 1 / (1 - γ) change nothing."""
KRYLOV_FIRST, KRYLOV_LEAST = 0.3, 16
"""Iterations of BiCGStab before sweeps, as a share of the horizon, and at least."""
MOST_REFINEMENTS = 200
ROUNDING = 16
"""Times the rounding unit and the size of the terms of a residual: what rounding may leave of it."""
MOST_LEFT = 0.4
"""The largest share of a residual that a correction may leave: more would not halve it."""
PRODUCT_SHARE = 1e-3
"""The share of the right-hand side that products for directions of steps may leave."""


def bicgstab(
    operator: Operator, right: Vector, reduction: float | Float[Array, ""], most: int | Int[Array, ""]
) -> Vector:
    """Solve roughly from zero, until the residual is a share of the first one in the 2-norm.

    The method works with a shadow of the first residual and breaks down when the present one has become orthogonal to
    it. It then starts again with the present one as the shadow. A solution worse than zero is replaced by zero.
    """
    orthogonal = epsilon(right) ** 0.5

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
        return solution, residual, shadow, direction, overlap, shade, size, count + 1

    first = jnp.sqrt(right @ right)
    goal = reduction * first
    start = (jnp.zeros_like(right), right, right, right, first**2, first, first, jnp.asarray(0))
    solution, *_, size, _ = jax.lax.while_loop(unfinished, step, start)
    return jnp.where(size < first, solution, jnp.zeros_like(solution))


def _swept(move: Operator, right: Vector, start: Vector, share: Float[Array, ""], most: Float[Array, ""]) -> Vector:
    """Solve x = M x + b roughly by sweeps, until one changes x by no more than a share of b."""
    goal = share * jnp.max(jnp.abs(right))

    def several(state):
        x, _, count = state
        x = jax.lax.fori_loop(0, SWEEPS_A_TEST - 1, lambda _, x: right + move(x), x)
        last = right + move(x)
        return last, jnp.max(jnp.abs(last - x)), count + SWEEPS_A_TEST

    once = right + move(start)
    begin = (once, jnp.max(jnp.abs(once - start)), jnp.asarray(0))
    return jax.lax.while_loop(lambda s: (s[1] > goal) & (s[2] < most), several, begin)[0]


class System(NamedTuple):
    """x - M x = b for a chain, or for its transpose.

    Attributes:
        move: x ↦ γ P x, or x ↦ γ Pᵀ x.
        move_low: The same in float32.
        measure: The norm in which M contracts by γ, of magnitudes.
        discount: γ.
    """

    move: Operator
    move_low: Operator
    measure: Callable[[Array], Float[Array, ""]]
    discount: Float[Array, ""]

    def correction(
        self, fault: Vector, share: Float[Array, ""] | float | None = None, most: int = MOST_INNER
    ) -> Vector:
        """Return roughly what to add to x where b - x + M x is `fault`."""
        size = jnp.max(jnp.abs(fault))
        unit = jnp.where(size > 0, size, 1)  # Squares of tiny faults would vanish.
        scaled, on_cpu = fault / unit, jax.default_backend() == "cpu"
        share = (REDUCTION if on_cpu else SWEPT_REDUCTION) if share is None else share

        def low() -> Vector:
            right = scaled.astype(jnp.float32)
            longest = F32_DIGITS / (1 - jnp.minimum(self.discount, F32_SWEEP_MAX_DISCOUNT))
            start = jnp.zeros_like(right)
            if on_cpu:
                few = jnp.maximum(KRYLOV_LEAST, KRYLOV_FIRST / (1 - self.discount)).astype(int)
                start = bicgstab(lambda x: x - self.move_low(x), right, share, jnp.minimum(few, most))
            share_low = jnp.asarray(share, jnp.float32)
            return _swept(self.move_low, right, start, share_low, longest).astype(fault.dtype)

        def full() -> Vector:
            return bicgstab(lambda x: x - self.move(x), scaled, share, most)

        enough = self.discount <= (F32_KRYLOV_MAX_DISCOUNT if on_cpu else F32_SWEEP_MAX_DISCOUNT)
        return unit * (low() if fault.dtype == jnp.float32 else jax.lax.cond(enough, low, full))

    def solve(
        self, right: Vector, start: Vector, goal: Float[Array, ""] | float = 0.0
    ) -> tuple[Vector, Float[Array, ""], Bool[Array, ""]]:
        """Solve until the residual is within the goal, or as small as rounding lets it be.

        Return the solution, the size of its residual, and whether it is within the goal or what rounding explains.
        """
        contraction = -jnp.log(jnp.maximum(self.discount, 1e-3))
        patience = (jnp.log(2.0) / contraction).astype(int) + 2

        def look(x: Vector) -> tuple[Vector, Vector, Float[Array, ""]]:
            fault = right - x + self.move(x)
            return x, fault, self.measure(jnp.abs(fault))

        def floor(x: Vector) -> Float[Array, ""]:
            return ROUNDING * epsilon(right) * (self.measure(jnp.abs(right)) + self.measure(jnp.abs(x)))

        def unfinished(state) -> Bool[Array, ""]:
            x, _, size, falling, count = state
            rest = (size > goal) & (size > floor(x) / ROUNDING) & jnp.isfinite(size)
            return falling & rest & (count < MOST_REFINEMENTS)

        def refine(state):
            x, fault, size, _, count = state
            after = look(x + self.correction(fault, jnp.clip(goal / (2 * size), REDUCTION, MOST_LEFT)))
            good = after[2] <= size / 2

            def plain(inner):
                (y, rest, _), swept = inner
                return look(y + rest), swept + 1

            def wanting(inner) -> Bool[Array, ""]:
                (_, _, rest), swept = inner
                return ~good & (rest > size / 2) & (swept < patience)

            swept, _ = jax.lax.while_loop(wanting, plain, ((x, fault, size), jnp.asarray(0)))
            best = jax.tree.map(lambda new, old: jnp.where(good, new, old), after, swept)
            return *best, best[2] < size, count + 1

        x, _, size, *_ = jax.lax.while_loop(unfinished, refine, (*look(start), jnp.asarray(True), jnp.asarray(0)))
        return x, size, (size <= goal) | (size <= floor(x))


def system(mdp: MDP, policy: Float[Array, "S A"], *, transposed: bool = False) -> System:
    """Return the system of a policy's chain, or the transposed one."""
    chain, rate = mdp.kernel.chain(policy), mdp.discount
    low, low_rate = lower(chain), rate.astype(jnp.float32)
    if transposed:
        return System(lambda x: rate * chain.push(x), lambda x: low_rate * low.push(x), jnp.sum, rate)
    return System(lambda x: rate * chain.expect(x), lambda x: low_rate * low.expect(x), jnp.max, rate)


def lower(tree: Tree) -> Tree:
    """Return a copy of a tree with its floating-point arrays in float32."""
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if eqx.is_inexact_array(leaf) else leaf, tree)


class _State(NamedTuple):
    """An iterate, and the best one so far, for methods whose residuals may rise before they fall."""

    value: Vector
    backup: Backup
    residual: Float[Array, ""]
    best: Vector  # The value of the last milestone.
    milestone: Float[Array, ""]  # The residual to halve.
    waiting: Int[Array, ""]  # How many steps have not halved it.
    steps: Int[Array, ""]
    looked: Bool[Array, ""]  # Whether the start was backed up.


class NewtonKrylov(AbstractSolver):
    """Take Newton steps whose systems are solved by BiCGStab or sweeps, without a matrix.

    This is for large worlds.

    Attributes:
        sweeps: Value-iteration sweeps between the steps of a cold start.
        doubling: The number of steps without progress after which these sweeps double.
        inner_tol: The share of the residual that the solution of a system may leave in a cold start.
        max_inner: The iterations after which such a system is left as it is: float32 does not get further with more.
        f32_tol: The relative residual at which a cold start changes from float32 to full precision.
        f64_inner_tol: The share left then. Further digits would be those of a chain that the next step replaces.
        patience: Steps that may pass before the best residual is halved; after them sweeps take over.

    Example:
        >>> from robustirl.mdp import MDP
        >>> from robustirl.planning import solve
        >>> round(solve(MDP([[[1.0]]], discount=0.5), [1.0], solver=NewtonKrylov()).value.item(), 6)
        2.0
    """

    sweeps: int = 10
    doubling: int = 4
    inner_tol: float = 0.1
    max_inner: int = 250
    f32_tol: float = 1e-5
    f64_inner_tol: float = 0.03
    patience: int = 24
    description: ClassVar[str] = "Newton's method with BiCGStab"

    def steps(self, problem: PlanningProblem, memory: Memory, max_steps: Int[Array, ""]) -> tuple[Solution, Memory]:
        rule, start, steps = problem.rule, problem.start, jnp.asarray(0)
        most = jnp.where(max_steps < 0, NEWTON_MAX_STEPS, max_steps)
        if problem.cold:
            start, steps = self._approach(lower(problem), start.astype(jnp.float32), most)
            start = start.astype(problem.start.dtype)

        def failing(now: _State) -> Bool[Array, ""]:
            """Say that steps get no further, so that sweeps go on from the best value."""
            return (now.waiting >= self.patience) | ~jnp.isfinite(now.residual)

        def unfinished(now: _State) -> Bool[Array, ""]:
            cap = jnp.where(failing(now), most_sweeps(rule, now.milestone), most)
            cap = jnp.where(max_steps < 0, cap, most)
            return ~now.looked | (~rule.satisfied(now.residual, now.value) & (now.steps < cap))

        def step(now: _State) -> _State:
            beyond = failing(now)
            first_sweep = beyond & (now.waiting == self.patience)
            plain = jnp.where(first_sweep, now.best, now.backup.value)
            moved = jax.lax.cond(
                beyond | ~now.looked,
                lambda: jnp.where(now.looked, plain, now.value),
                lambda: now.value + self._correction(problem, now, self.f64_inner_tol, MOST_INNER),
            )
            swept = jnp.where((now.waiting > 0) & ~beyond, self.sweeps * 2 ** (now.waiting // self.doubling), 0)
            moved = jax.lax.fori_loop(0, swept, lambda _, v: problem.backup(v).value, moved)
            return self._look(problem, moved, now)

        now = jax.lax.while_loop(unfinished, step, self._begin(problem, start, steps))
        if problem.cold:
            finer = step(now)  # Ties are shared by a finer measure than values are asked for.
            now = jax.tree.map(lambda new, old: jnp.where(finer.residual < now.residual, new, old), finer, now)
        return problem.solution(now.value, now.backup, now.steps), memory

    def _approach(self, problem: PlanningProblem, start: Vector, most: Int[Array, ""]) -> tuple[Vector, Int[Array, ""]]:
        """Iterate from any start to the limit of float32, by steps and sweeps in turn."""

        def unfinished(now: _State) -> Bool[Array, ""]:
            far = now.residual > self.f32_tol * jnp.maximum(1, jnp.max(jnp.abs(now.value)))
            going = (now.waiting < self.patience) & (now.steps < most) & jnp.isfinite(now.residual)
            return ~now.looked | (far & going)

        def step(now: _State) -> _State:
            moved = jax.lax.cond(
                now.looked,
                lambda: now.value + self._correction(problem, now, self.inner_tol, self.max_inner),
                lambda: now.value,
            )
            count = self.sweeps * 2 ** (now.waiting // self.doubling)
            moved = jax.lax.fori_loop(0, count, lambda _, v: problem.backup(v).value, moved)
            return self._look(problem, moved, now)

        now = jax.lax.while_loop(unfinished, step, self._begin(problem, start, jnp.asarray(0)))
        return jnp.where(now.residual <= now.milestone, now.value, now.best), now.steps

    def _begin(self, problem: PlanningProblem, start: Vector, steps: Int[Array, ""]) -> _State:
        nothing = jnp.zeros(problem.game.mdp.mask.shape, start.dtype)
        none, no = jnp.full((), jnp.finfo(start.dtype).max, start.dtype), jnp.asarray(False)
        return _State(start, Backup(start, nothing, nothing), none, start, none, jnp.asarray(0), steps, no)

    def _look(self, problem: PlanningProblem, value: Vector, before: _State) -> _State:
        backup = problem.backup(value)
        residual = jnp.max(jnp.abs(backup.value - value))
        halved = residual <= before.milestone / 2
        return _State(
            value=value,
            backup=backup,
            residual=residual,
            best=jnp.where(halved, value, before.best),
            milestone=jnp.where(halved, residual, before.milestone),
            waiting=jnp.where(halved, 0, before.waiting + 1),
            steps=before.steps + before.looked,
            looked=jnp.asarray(True),
        )

    def _correction(self, problem: PlanningProblem, now: _State, share: float, most: int) -> Vector:
        game = problem.game
        linear = system(game.mdp, mixture(now.backup.player, now.backup.opponent, game.alpha))
        fault = now.backup.value - now.value
        # The same fault everywhere has the same solution everywhere: an error that differs by state breaks ties.
        level = jnp.full_like(fault, 0.5) * ((jnp.max(fault) + jnp.min(fault)) / (1 - linear.discount))
        return level + linear.correction(fault - level + linear.move(level), share, most)

    def occupancy(
        self, mdp: MDP, policy: Float[Array, "S A"], start: Vector, tolerance: Float[Array, ""], memory: Memory
    ) -> tuple[Vector, Bool[Array, ""], Memory]:
        goal, source = tolerance * (1 - mdp.discount), (1 - mdp.discount) * mdp.initial
        occupancy, left, _ = system(mdp, policy, transposed=True).solve(source, start, goal)
        return jnp.maximum(occupancy, 0), left <= goal, memory

    def products(self, mdp: MDP, policy: Float[Array, "S A"], memory: Memory) -> tuple[Operator, Operator]:
        del memory

        def product(transposed: bool) -> Operator:
            linear = system(mdp, policy, transposed=transposed)
            return lambda b: linear.correction(b, PRODUCT_SHARE)

        return product(False), product(True)
