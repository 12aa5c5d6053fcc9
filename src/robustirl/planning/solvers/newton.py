r"""Newton's method for the game's fixed point V = B(V), with old factors put to use and a safeguard.

The derivative of B at V is γ P_mix, the chain of the mixture α π_pl + (1-α) π_op of the policies that
attain the backup, so a Newton step is a policy evaluation,

    V⁺ = V + (I - γ P_mix)⁻¹ (B(V) - V).

For one player this is policy iteration. With an opponent B is neither convex nor concave and has kinks
where the opponent is indifferent (the method is semismooth), so the plain iteration may cycle.

One rule governs all steps: a step is taken only if it brings the residual ‖B(V) - V‖∞ down by a fixed factor.
- As long as the inverse at hand quarters it, that inverse is kept, though the mixture has moved on (chord
  steps): an application costs O(S²), an inverse O(S³), and over the outer steps of IRL the mixture moves little.
- When it does not, the inverse is renewed at the current V: a Newton step proper, which must halve the residual.
- When even that does not, value-iteration sweeps are taken until they have. They contract, so that every
  round at least halves the residual: the method cannot diverge, and at worst does the work of value iteration.

On a GPU, where inverses are brought up to date by products (`linear.renew_inverse`), there are no chord steps. The
first steps are taken without a look in between, and a step that did not help is given a few sweeps from where it led
before it is given up; what counts in the end is the same.

That is for worlds small enough for an S x S matrix. Large ones are solved by `newton_krylov.py`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import working_precision
from robustirl.mdp import MDP, MarkovGame, as_action_reward, as_count, as_game, mixture
from robustirl.planning.linear.dense import (
    STRAIGHT,
    PolicyInverse,
    prefers_products,
    renew_inverse,
    squared_inverse,
    writes_matrices,
)
from robustirl.planning.operators import Backup, Reward, Temperatures, as_temperatures, two_player_backup
from robustirl.planning.solvers.newton_krylov import newton_krylov_steps
from robustirl.planning.verdict import Solution, StoppingRule, Verdict, as_start, checked, stopping_rule
from robustirl.types import ArrayLike

CHORD_RATE = 0.25  # Fastest for 100 states on a CPU, where an inverse costs as much as some forty chord steps.
AHEAD, AHEAD_ROUNDS = 8, 4  # After a step that did not help: sweeps a round, and rounds at most.
DEFAULT_MAX_STEPS = 500  # Each halves the residual, so that this is out of reach in float64.


@working_precision
def newton(
    game: MarkovGame | MDP,
    reward: ArrayLike,
    *,
    temperatures: Temperatures = Temperatures(),
    initial_value: ArrayLike | None = None,
    tolerance: float | None = None,
    max_steps: int = DEFAULT_MAX_STEPS,
    throw: bool = True,
) -> Solution:
    """Solve the game by safeguarded Newton steps; the arguments are those of `value_iteration`.

    Example:
        >>> from robustirl.mdp import MDP
        >>> game = MarkovGame(MDP([[[1.0], [1.0]]], discount=0.5), alpha=0.9)
        >>> solution = newton(game, [1.0])
        >>> bool(solution.verdict.converged), round(solution.value.item(), 6)
        (True, 3.386294)
    """
    game, temperatures = as_game(game), as_temperatures(temperatures)
    reward, start = as_action_reward(reward, game.mdp), as_start(initial_value, game.mdp, "the initial value")
    rule = stopping_rule(game, reward, tolerance, temperatures)
    most, cold = as_count("max_steps", max_steps, 1), initial_value is None
    solution, _ = _newton(game, reward, start, None, rule, temperatures, most, cold)
    return checked(solution, throw=throw, solver="Newton's method")


class _Iterate(eqx.Module):
    value: Float[Array, " S"]
    backup: Backup
    residual: Float[Array, ""]
    steps: Int[Array, ""]


def newton_steps(
    game: MarkovGame,
    reward: Reward,
    start: Float[Array, " S"],
    inverse: PolicyInverse | None,
    rule: StoppingRule,
    temperatures: Temperatures = Temperatures(),
    max_steps: int = DEFAULT_MAX_STEPS,
    cold: bool = False,
) -> tuple[Solution, PolicyInverse | None]:
    """The method itself, for use inside compiled code: no checks of the input, no exceptions.

    `inverse` is that of an earlier solution nearby, if there is one; `cold` says that the start is no better than any
    other. Also returns the inverse in use at the end, for the next solution, the occupancy, and the derivative of
    the value in the reward. Worlds too large for matrices have none.
    """
    if not writes_matrices(game.mdp):
        return newton_krylov_steps(game, reward, start, rule, temperatures, max_steps, cold=cold), None
    return matrix_steps(game, reward, start, inverse, rule, temperatures, max_steps)


def matrix_steps(
    game: MarkovGame,
    reward: Reward,
    start: Float[Array, " S"],
    inverse: PolicyInverse | None,
    rule: StoppingRule,
    temperatures: Temperatures = Temperatures(),
    max_steps: int = DEFAULT_MAX_STEPS,
    products: bool | None = None,
) -> tuple[Solution, PolicyInverse]:
    """`newton_steps` with matrices, whatever the size of the world.

    Where inverses are brought up to date by products (see `renew_inverse`; by device when left out) there is no point
    in steps with an old one. There the first steps from a neighbour's inverse are taken straight ahead, and those that
    did not help undone: loops whose end hangs on their outcome make a GPU wait for the host.
    """
    products = prefers_products() if products is None else products

    def look(value: Float[Array, " S"], steps: Int[Array, ""]) -> _Iterate:
        backup = two_player_backup(game, reward, value, temperatures)
        return _Iterate(value, backup, jnp.max(jnp.abs(backup.value - value)), steps)

    def step(now: _Iterate, inverse: PolicyInverse) -> _Iterate:
        return look(now.value + inverse.apply(now.backup.value - now.value), now.steps + 1)

    def unsolved(now: _Iterate) -> Bool[Array, ""]:
        solved = rule.satisfied(now.residual, now.value)
        return ~solved & jnp.isfinite(now.residual) & (now.steps < max_steps)

    def unfinished(now: _Iterate) -> Bool[Array, ""]:
        return jnp.isfinite(now.residual) & (now.steps < max_steps)

    def chord(now: _Iterate, inverse: PolicyInverse, wanting=unsolved) -> _Iterate:
        """Steps with the inverse at hand, for as long as each is worth it."""

        def attempt(state: tuple[_Iterate, Bool[Array, ""]]) -> tuple[_Iterate, Bool[Array, ""]]:
            before, _ = state
            after = step(before, inverse)
            better = after.residual <= CHORD_RATE * before.residual
            return _choose(better, after, before), better

        return jax.lax.while_loop(lambda s: s[1] & wanting(s[0]), attempt, (now, jnp.asarray(True)))[0]

    def renew(now: _Iterate, old: PolicyInverse | None) -> tuple[_Iterate, PolicyInverse]:
        """A Newton step proper, or sweeps in its place, then steps with the new inverse."""
        policy = mixture(now.backup.player, now.backup.opponent, game.alpha)
        inverse = renew_inverse(game.mdp, policy, old, products=products)
        after = step(now, inverse)
        if products:
            after = _sweep_ahead(look, now, after, unsolved)
        after = _sweep_unless(after.residual <= now.residual / 2, look, now, after, unsolved)
        return (after if products else chord(after, inverse)), inverse

    def straight(now: _Iterate, inverse: PolicyInverse) -> tuple[_Iterate, PolicyInverse]:
        for _ in range(STRAIGHT):
            policy = mixture(now.backup.player, now.backup.opponent, game.alpha)
            fresher, close, _ = squared_inverse(game.mdp, policy, inverse)
            inverse = PolicyInverse(jnp.where(close, fresher.matrix, inverse.matrix))
            after = step(now, inverse)
            now = _choose((after.residual <= now.residual / 2) & (now.steps < max_steps), after, now)
        return now, inverse

    first = look(start, jnp.asarray(0))
    fresh = inverse is None
    if inverse is None:
        state = renew(first, None)
    else:
        state = straight(first, inverse) if products else (chord(first, inverse), inverse)
    now, inverse = jax.lax.while_loop(lambda s: unsolved(s[0]), lambda s: renew(*s), state)
    if fresh:
        # To the end of what the inverse can do, for next to nothing: ties are shared by a finer measure than values are
        # asked for. Within a loop, where thousands of solutions are wanted, they come from neighbours just as fine.
        fine = chord(now, inverse, unfinished)
        now = eqx.tree_at(lambda it: it.steps, fine, now.steps)
    verdict = Verdict(
        rule.satisfied(now.residual, now.value), now.steps, now.residual, rule.error_bound(now.residual, now.value)
    )
    return Solution(now.value, now.backup.player, now.backup.opponent, game.alpha, verdict), inverse


def _sweep_ahead(look, now: _Iterate, after: _Iterate, unsolved) -> _Iterate:
    """Some sweeps from where a step led that did not halve the residual, as long as they have not.

    From far away a Newton step evaluates a policy that is wrong in a few places, where the residual rises. Sweeps mend
    that soon, where those from before the step halve the residual in log 2 / -log γ.
    """

    def wanting(iterate: _Iterate) -> Bool[Array, ""]:
        return (iterate.residual > now.residual / 2) & unsolved(iterate)

    def several(state: tuple[_Iterate, Int[Array, ""], Bool[Array, ""]]):
        iterate, rounds, _ = state
        for _ in range(AHEAD):
            iterate = look(iterate.backup.value, iterate.steps)
        return iterate, rounds + 1, wanting(iterate)

    start = (after, jnp.asarray(0), wanting(after))
    return jax.lax.while_loop(lambda s: s[2] & (s[1] < AHEAD_ROUNDS), several, start)[0]


def _sweep_unless(better: Bool[Array, ""], look, now: _Iterate, after: _Iterate, unsolved) -> _Iterate:
    """`after` if it is better, else value iteration from `now` until the residual is halved.

    In exact arithmetic log 2 / -log γ sweeps suffice. Rounding can hold the residual just above the goal,
    so the sweeps also end when one no longer brings the residual down. In a batch every member passes
    here until the slowest is done, so whoever is solved must not sweep.
    """

    def unfinished(state: tuple[_Iterate, Bool[Array, ""]]) -> Bool[Array, ""]:
        iterate, falling = state
        return falling & ~better & (iterate.residual > now.residual / 2) & unsolved(iterate)

    def sweep(state: tuple[_Iterate, Bool[Array, ""]]) -> tuple[_Iterate, Bool[Array, ""]]:
        iterate, _ = state
        following = look(iterate.backup.value, iterate.steps)
        return following, following.residual < iterate.residual

    swept, _ = jax.lax.while_loop(unfinished, sweep, (now, jnp.asarray(True)))
    swept = eqx.tree_at(lambda s: s.steps, swept, after.steps)
    return _choose(better, after, swept)


def _choose(condition: Bool[Array, ""], yes: _Iterate, no: _Iterate) -> _Iterate:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


_newton = eqx.filter_jit(newton_steps)
