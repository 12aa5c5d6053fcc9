r"""Newton's method for the game's fixed point V = B(V), with one explicit inverse that is kept while it works.

The derivative of B at V is γ P_mix, the chain of the mixture α π_pl + (1-α) π_op of the policies that attain the
backup, so a Newton step is a policy evaluation,

    V⁺ = V + (I - γ P_mix)⁻¹ (B(V) - V).

For one player this is policy iteration. With an opponent B is neither convex nor concave and has kinks where the
opponent is indifferent (the method is semismooth), so the plain iteration may cycle.

One rule governs all steps: a step is taken only if it brings the residual ‖B(V) - V‖∞ down by a fixed factor.
- As long as the inverse at hand quarters it, that inverse is kept, though the mixture has changed (chord steps): an
  application costs O(S²), an inverse O(S³), and over the steps of learning the mixture moves little.
- When it does not, the inverse is renewed at the current V: a Newton step proper, which must halve the residual.
- When even that does not, value-iteration sweeps are taken until they have. They contract, so that every round at
  least halves the residual: the method cannot diverge, and at worst does the work of value iteration.

One player is an exception: B is convex then, and every Newton step proper is taken. From the second step on values rise
towards V*, and ‖V* - V‖∞ falls by γ at least, though the residual may rise for a while. Sweeps would halve it in
log 2 / -log γ rounds.

The same matrix gives, transposed, the occupancy (by refinement) and all products with the curvature of learning.
Every use corrects a residual that is itself computed exactly, so that an old inverse costs steps, not accuracy.
"""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.policy import mixture
from robustirl.planning.operators import Backup
from robustirl.planning.problem import NEWTON_MAX_STEPS, AbstractSolver, Operator, PlanningProblem, Vector
from robustirl.planning.verdict import Solution
from robustirl.types import HeldArray

CHORD_RATE = 0.25
"""The share of the residual that a step with an old inverse may leave, or a new one is made."""
NEWTON_RATE = 0.5
"""The share that a step with a new inverse may leave, or sweeps take its place."""
LOOK, CHORD, FRESH, SWEEP = range(4)
"""What the next step does: back up the start, use the inverse at hand, renew it first, or sweep."""


class Inverse(eqx.Module):
    """(I - γ P_π)⁻¹ of some policy, perhaps an earlier one; `made` is false before the first."""

    matrix: Float[HeldArray, "S S"]
    made: Bool[HeldArray, ""]


def invert(mdp: MDP, policy: Float[Array, "S A"]) -> Inverse:
    """Return the inverse for a policy. Its norm is at most 1/(1-γ), so I - γ P_π is never singular."""
    chain = mdp.kernel.chain(policy).dense()
    unit = identity(len(chain), chain.dtype)
    return Inverse(jnp.linalg.solve(unit - mdp.discount * chain, unit), jnp.asarray(True))


def identity(size: int, dtype: np.dtype) -> Float[Array, "S S"]:
    """Return the identity; `jnp.eye` counts in 64 bits, which a caller's own `jax.jit` refuses in JAX's default."""
    places = jnp.arange(size, dtype=jnp.int32)
    return (places[:, None] == places).astype(dtype)


class _State(NamedTuple):
    """Where Newton's method stands."""

    value: Vector
    backup: Backup
    residual: Float[Array, ""]
    inverse: Inverse
    mode: Int[Array, ""]
    goal: Float[Array, ""]  # The residual at which sweeps end.
    steps: Int[Array, ""]
    falling: Bool[Array, ""]  # Whether the last step brought the residual down.


class Newton(AbstractSolver):
    """Take Newton steps with the inverse of I - γ P_mix as a matrix.

    This is for up to some thousand states.

    Example:
        >>> from robustirl.mdp import MDP, MarkovGame
        >>> from robustirl.planning import solve
        >>> game = MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=0.9)
        >>> solution = solve(game, [1.0], solver=Newton())
        >>> bool(solution.verdict.converged), round(solution.value.item(), 6)
        (True, 3.386294)
    """

    description: ClassVar[str] = "Newton's method"

    def begin(self, game: MarkovGame) -> Inverse:
        size = game.mdp.num_states  # On the host, where zeros need no program.
        return Inverse(np.zeros((size, size), game.mdp.initial.dtype), np.asarray(False))

    def steps(self, problem: PlanningProblem, memory: Inverse, max_steps: Int[Array, ""]) -> tuple[Solution, Inverse]:
        game, rule, size = problem.game, problem.rule, problem.game.mdp.mask.shape
        max_steps = jnp.where(max_steps < 0, NEWTON_MAX_STEPS, max_steps)
        alone = jnp.all(game.alpha == 1)

        def unfinished(now: _State) -> Bool[Array, ""]:
            unsolved = (now.mode == LOOK) | ~rule.satisfied(now.residual, now.value)
            if problem.cold:  # The inverse is used to its end, which costs little.
                unsolved = unsolved | ((now.mode == CHORD) & now.falling)
            # Rounding can hold the residual just above the goal: sweeps that no longer bring it down end the method.
            stuck = (now.mode == SWEEP) & ~now.falling
            return unsolved & ~stuck & (now.steps < max_steps) & jnp.isfinite(now.residual)

        def renewed(now: _State) -> Inverse:
            return invert(game.mdp, mixture(now.backup.player, now.backup.opponent, game.alpha))

        def step(now: _State) -> _State:
            mode, fault = now.mode, now.backup.value - now.value
            inverse = jax.lax.cond(mode == FRESH, lambda: renewed(now), lambda: now.inverse)
            moved = jnp.where(mode == SWEEP, now.backup.value, now.value + inverse.matrix @ fault)
            value = jnp.where(mode == LOOK, now.value, moved)
            backup = problem.backup(value)
            residual = jnp.max(jnp.abs(backup.value - value))
            share = residual / now.residual
            enough = (share <= NEWTON_RATE) | alone
            taken = (mode == LOOK) | (mode == SWEEP) | (share <= NEWTON_RATE) | (alone & (mode == FRESH))
            after_newton = jnp.where(share <= CHORD_RATE, CHORD, jnp.where(enough, FRESH, SWEEP))
            # An old inverse that fails is renewed; a new one that fails gives way to sweeps.
            after_chord = jnp.minimum(after_newton, FRESH)
            after_sweep = jnp.where(residual <= now.goal, FRESH, SWEEP)
            first = jnp.where(now.inverse.made, CHORD, FRESH)
            tried = jnp.where(mode == CHORD, after_chord, jnp.where(mode == FRESH, after_newton, after_sweep))
            following = jnp.where(mode == LOOK, first, tried)
            begun = (mode == FRESH) & (following == SWEEP)
            kept = jax.lax.cond(taken, lambda: (value, backup, residual), lambda: (now.value, now.backup, now.residual))
            return _State(
                *kept,
                inverse=inverse,
                mode=following,
                goal=jnp.where(begun, NEWTON_RATE * now.residual, now.goal),
                steps=now.steps
                + ((mode == CHORD) | (mode == FRESH)),  # A round of sweeps counts with the step that failed.
                falling=(share < 1) | (mode != SWEEP),
            )

        nothing = jnp.zeros(size, problem.start.dtype)
        unknown = jnp.full_like(rule.unit, jnp.finfo(problem.start.dtype).max)
        start = _State(
            problem.start,
            Backup(problem.start, nothing, nothing),
            unknown,
            memory,
            jnp.asarray(LOOK),
            unknown,
            jnp.asarray(0),
            jnp.asarray(True),
        )
        now = jax.lax.while_loop(unfinished, step, start)
        return problem.solution(now.value, now.backup, now.steps), now.inverse

    def occupancy(
        self, mdp: MDP, policy: Float[Array, "S A"], start: Vector, tolerance: Float[Array, ""], memory: Inverse
    ) -> tuple[Vector, Bool[Array, ""], Inverse]:
        """Refine ρ = (1-γ) P₀ + γ P_πᵀ ρ with the inverse at hand, and with a new one where that does not halve it."""
        source, goal = (1 - mdp.discount) * mdp.initial, tolerance * (1 - mdp.discount)

        def remainder(occupancy: Vector) -> Vector:
            return source - occupancy + mdp.discount * mdp.kernel.push(policy * occupancy[:, None])

        def size(fault: Vector) -> Float[Array, ""]:
            return jnp.abs(fault).sum()

        def unfinished(state) -> Bool[Array, ""]:
            _, fault, _, mode = state
            return (size(fault) > goal) & (mode != SWEEP)

        def step(state):
            occupancy, fault, inverse, mode = state
            inverse = jax.lax.cond(mode == FRESH, lambda: invert(mdp, policy), lambda: inverse)
            trial = occupancy + fault @ inverse.matrix
            left = remainder(trial)
            better = size(left) <= NEWTON_RATE * size(fault)
            following = jnp.where(better, jnp.where(mode == FRESH, CHORD, mode), jnp.where(mode == FRESH, SWEEP, FRESH))
            return jnp.where(better, trial, occupancy), jnp.where(better, left, fault), inverse, following

        begin = (start, remainder(start), memory, jnp.where(memory.made, CHORD, FRESH))
        occupancy, fault, inverse, _ = jax.lax.while_loop(unfinished, step, begin)
        return jnp.maximum(occupancy, 0), size(fault) <= goal, inverse

    def products(self, mdp: MDP, policy: Float[Array, "S A"], memory: Inverse) -> tuple[Operator, Operator]:
        """Multiply by the inverse at hand, which is that of a policy close by."""
        del mdp, policy
        return lambda x: memory.matrix @ x, lambda x: x @ memory.matrix
