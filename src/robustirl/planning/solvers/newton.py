r"""Newton's method for the game's fixed point V = B(V), with reused inverses and a safeguard.

The derivative of B at V is γ P_mix, the chain of the mixture α π_pl + (1-α) π_op of the policies that
attain the backup, so a Newton step is a policy evaluation,

    V⁺ = V + (I - γ P_mix)⁻¹ (B(V) - V).

For one player this is policy iteration. With an opponent B is neither convex nor concave and has kinks
where the opponent is indifferent (the method is semismooth), so the plain iteration may cycle.

One rule governs all steps: a step is taken only if it brings the residual ‖B(V) - V‖∞ down by a fixed factor.
- As long as the inverse at hand quarters it, that inverse is kept, though the mixture has changed (chord
  steps): an application costs O(S²), an inverse O(S³), and over the outer steps of IRL the mixture moves little.
- When it does not, the inverse is renewed at the current V: a Newton step proper, which must halve the residual.
- When even that does not, value-iteration sweeps are taken until they have. They contract, so that every
  round at least halves the residual: the method cannot diverge, and at worst does the work of value iteration.

On a GPU, where inverses are updated by products (`linear.dense.renew_inverse`), there are no chord steps. The first
steps are taken without a test in between, and a step that did not help is followed by a few sweeps from its result
before it is undone. The result is judged by the same rule.

That is for worlds small enough for an S x S matrix. Large ones are solved by `newton_krylov.py`.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import BoundedJit
from robustirl.mdp import MarkovGame, mixture
from robustirl.planning.iterates import Iterate, choose, iterate
from robustirl.planning.linear.dense import (
    STRAIGHT,
    PolicyInverse,
    newton_schulz_update,
    renew_inverse,
    use_matmul_updates,
    writes_matrices,
)
from robustirl.planning.operators import Reward, Temperatures, two_player_backup
from robustirl.planning.problem import PlanningProblem
from robustirl.planning.solvers.base import NEWTON_MAX_STEPS, AbstractSolver
from robustirl.planning.solvers.following import MeanAccuracy, follow
from robustirl.planning.solvers.newton_krylov import NewtonKrylov
from robustirl.planning.verdict import Solution, StoppingRule


class Newton(AbstractSolver):
    """Take Newton steps with the inverse of I - γ P_mix as a matrix.

    This is for up to some hundred states.

    Attributes:
        chord_rate: The factor by which a step with an old inverse must reduce the residual, or a new one is made. An
            inverse of 100 states costs as much as some forty chord steps on a CPU, where 0.25 is fastest.
        matmul_updates: Whether to update old inverses by matrix products before factoring anew. None decides by
            device: GPUs do.
        ahead_sweeps: With such updates, sweeps in a round after a step that did not halve the residual.
        ahead_rounds: The largest number of these rounds.

    Example:
        >>> from robustirl.mdp import MDP, MarkovGame
        >>> from robustirl.planning import solve
        >>> game = MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=0.9)
        >>> solution = solve(game, [1.0], solver=Newton())
        >>> bool(solution.verdict.converged), round(solution.value.item(), 6)
        (True, 3.386294)
    """

    chord_rate: float = 0.25
    matmul_updates: bool | None = None
    ahead_sweeps: int = 8
    ahead_rounds: int = 4
    description: ClassVar[str] = "Newton's method"

    def run(self, problem: PlanningProblem, max_steps: int | None) -> Solution:
        return _run(self, problem, jnp.asarray(NEWTON_MAX_STEPS if max_steps is None else max_steps))

    def steps(
        self, problem: PlanningProblem, inverse: PolicyInverse | None, max_steps: Int[Array, ""] | int
    ) -> tuple[Solution, PolicyInverse]:
        """Solve inside compiled code, perhaps from a neighbor's inverse.

        Also returns the inverse in use at the end. Where inverses are updated by products there is no point in steps
        with an old one. There the first steps from a neighbor's inverse are taken without a test, and those that did
        not help are undone: loops whose end depends on their result make a GPU wait for the host.
        """
        game, rule = problem.game, problem.rule
        by_products = use_matmul_updates() if self.matmul_updates is None else self.matmul_updates

        def look(value: Float[Array, " S"], steps: Int[Array, ""]) -> Iterate:
            backup = two_player_backup(game, problem.reward, value, problem.temperatures)
            return iterate(value, backup.value, (backup.player, backup.opponent), steps)

        def step(now: Iterate, inverse: PolicyInverse) -> Iterate:
            return look(now.value + inverse.apply(now.fault), now.steps + 1)

        def unsolved(now: Iterate) -> Bool[Array, ""]:
            return ~rule.satisfied(now.residual, now.value) & unfinished(now)

        def unfinished(now: Iterate) -> Bool[Array, ""]:
            return jnp.isfinite(now.residual) & (now.steps < max_steps)

        def mixed(now: Iterate) -> Float[Array, "S A"]:
            player, opponent = now.attained
            return mixture(player, opponent, game.alpha)

        def chord(now: Iterate, inverse: PolicyInverse, wanting=unsolved) -> Iterate:
            """Take steps with the inverse at hand, for as long as each is worth it."""

            def attempt(state: tuple[Iterate, Bool[Array, ""]]) -> tuple[Iterate, Bool[Array, ""]]:
                before, _ = state
                after = step(before, inverse)
                better = after.residual <= self.chord_rate * before.residual
                return choose(better, after, before), better

            return jax.lax.while_loop(lambda s: s[1] & wanting(s[0]), attempt, (now, jnp.asarray(True)))[0]

        def renew(now: Iterate, old: PolicyInverse | None) -> tuple[Iterate, PolicyInverse]:
            """Take a Newton step proper, or sweeps in its place, then steps with the new inverse."""
            inverse = renew_inverse(game.mdp, mixed(now), old, matmul_updates=by_products)
            after = step(now, inverse)
            if by_products:
                after = self._sweep_ahead(look, now, after, unsolved)
            after = _sweep_unless(after.residual <= now.residual / 2, look, now, after, unsolved)
            return (after if by_products else chord(after, inverse)), inverse

        def straight(now: Iterate, inverse: PolicyInverse) -> tuple[Iterate, PolicyInverse]:
            for _ in range(STRAIGHT):
                fresher, close, _ = newton_schulz_update(game.mdp, mixed(now), inverse)
                inverse = PolicyInverse(jnp.where(close, fresher.matrix, inverse.matrix))
                after = step(now, inverse)
                now = choose((after.residual <= now.residual / 2) & (now.steps < max_steps), after, now)
            return now, inverse

        first = look(problem.start, jnp.asarray(0))
        fresh = inverse is None
        if inverse is None:
            state = renew(first, None)
        else:
            state = straight(first, inverse) if by_products else (chord(first, inverse), inverse)
        now, inverse = jax.lax.while_loop(lambda s: unsolved(s[0]), lambda s: renew(*s), state)
        if fresh:
            # Ties are shared by a finer measure than values are asked for, so the inverse is used to its end, which
            # costs little. Inside a loop of thousands of solutions they come from neighbors that are as fine.
            now = chord(now, inverse, unfinished).counted_as(now.steps)
        player, opponent = now.attained
        verdict = rule.verdict(now.residual, now.value, now.steps)
        return Solution(now.value, player, opponent, game.alpha, verdict), inverse

    def _sweep_ahead(self, look, now: Iterate, after: Iterate, unsolved) -> Iterate:
        """Sweep from the result of a step that did not halve the residual, until it is halved.

        From far away a Newton step evaluates a policy that is wrong in a few places, where the residual rises. A few
        sweeps repair that, where sweeps from before the step halve the residual in log 2 / -log γ.
        """

        def wanting(current: Iterate) -> Bool[Array, ""]:
            return (current.residual > now.residual / 2) & unsolved(current)

        def several(state: tuple[Iterate, Int[Array, ""], Bool[Array, ""]]):
            current, rounds, _ = state
            for _ in range(self.ahead_sweeps):
                current = look(current.backup, current.steps)
            return current, rounds + 1, wanting(current)

        start = (after, jnp.asarray(0), wanting(after))
        return jax.lax.while_loop(lambda s: s[2] & (s[1] < self.ahead_rounds), several, start)[0]


def newton_steps(
    game: MarkovGame,
    reward: Reward,
    start: Float[Array, " S"],
    inverse: PolicyInverse | None,
    rule: StoppingRule,
    temperatures: Temperatures = Temperatures(),
    max_steps: Int[Array, ""] | int = NEWTON_MAX_STEPS,
    cold: bool = False,
    accuracy: MeanAccuracy | None = None,
) -> tuple[Solution, PolicyInverse | None]:
    """Solve inside compiled code, by `Newton` or `NewtonKrylov`; check nothing.

    The size of the world decides which solver is used. `inverse` is that of an earlier solution nearby, if there is
    one; `cold` says that the start is no better than any other; `accuracy` that few digits suffice, which large worlds
    make use of. Also returns the inverse in use at the end, for the next solution, the occupancy, and the derivative of
    the value in the reward. Worlds too large for matrices have none.
    """
    problem = PlanningProblem(game, reward, start, rule, temperatures, cold)
    if not writes_matrices(game.mdp):
        if accuracy is not None:
            return follow(problem, accuracy, max_steps), None
        return NewtonKrylov().steps(problem, max_steps), None
    return Newton().steps(problem, inverse, max_steps)


def _sweep_unless(better: Bool[Array, ""], look, now: Iterate, after: Iterate, unsolved) -> Iterate:
    """Return `after` if it is better, else sweep from `now` until the residual is halved.

    In exact arithmetic log 2 / -log γ sweeps suffice. Rounding can hold the residual just above the goal,
    so the sweeps also end when one no longer brings the residual down. In a batch every member passes
    here until the slowest is done, so a member that is solved must not sweep.
    """

    def unfinished(state: tuple[Iterate, Bool[Array, ""]]) -> Bool[Array, ""]:
        current, falling = state
        return falling & ~better & (current.residual > now.residual / 2) & unsolved(current)

    def sweep(state: tuple[Iterate, Bool[Array, ""]]) -> tuple[Iterate, Bool[Array, ""]]:
        current, _ = state
        following = look(current.backup, current.steps)
        return following, following.residual < current.residual

    swept, _ = jax.lax.while_loop(unfinished, sweep, (now, jnp.asarray(True)))
    return choose(better, after, swept.counted_as(after.steps))


@BoundedJit
def _run(solver: Newton, problem: PlanningProblem, max_steps: Int[Array, ""]) -> Solution:
    return solver.steps(problem, None, max_steps)[0]
