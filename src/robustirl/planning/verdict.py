"""What every planner returns: the solution, and a verdict on how good it is."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import ScopedModule, as_float, epsilon, smallest_tolerance, solver_tolerance, working_precision
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP, MarkovGame, as_positive, as_reward, concrete, mixture
from robustirl.planning.operators import Reward, Temperatures
from robustirl.types import ArrayLike

LEAST_DIGIT = 0.1  # A relative error that is still an answer, where no tolerance was asked for.


class Verdict(ScopedModule):
    """How a planner ended.

    Attributes:
        converged: Whether the error bound is within the tolerance asked for.
        iterations: Backups of value iteration, or steps of Newton's method.
        residual: ‖B(V) - V‖∞ of the returned value V, B the Bellman operator.
        error_bound: A bound on ‖V - V*‖∞: the residual, and the rounding in it, over 1 - γ. It holds
            because B is a γ-contraction with the fixed point V*.
    """

    converged: Bool[Array, "*batch"]
    iterations: Int[Array, "*batch"]
    residual: Float[Array, "*batch"]
    error_bound: Float[Array, "*batch"]


class Solution(ScopedModule):
    """The saddle point of a game: value, both players' policies, and the verdict on them.

    Attributes:
        value: `[S]`, V.
        player: `[S, A]`, π_pl.
        opponent: `[S, A]`, π_op.
        alpha: α of the game that was solved.
        verdict: How the solver ended.
    """

    value: Float[Array, "*batch S"]
    player: Float[Array, "*batch S A"]
    opponent: Float[Array, "*batch S A"]
    alpha: Float[Array, "*batch"]
    verdict: Verdict

    @property
    def mixture(self) -> Float[Array, "*batch S A"]:
        """α π_pl + (1-α) π_op."""
        return mixture(self.player, self.opponent, self.alpha)


class StoppingRule(ScopedModule):
    """Stop as soon as ‖V - V*‖∞ <= tolerance · max(unit, ‖V‖∞) is certain."""

    tolerance: Float[Array, ""]
    discount: Float[Array, ""]
    unit: Float[Array, ""]
    magnitude: Float[Array, ""] | None = None  # Of what cancels in V, where it may be larger than V itself.

    def error_bound(self, residual: Float[Array, ""], value: Float[Array, " S"]) -> Float[Array, ""]:
        """The contraction bound (residual + rounding) / (1-γ)."""
        size = jnp.max(jnp.abs(value))
        rounding = 4 * epsilon(value) * (size if self.magnitude is None else jnp.maximum(size, self.magnitude))
        return (residual + rounding) / (1 - self.discount)

    def satisfied(self, residual: Float[Array, ""], value: Float[Array, " S"]) -> Bool[Array, ""]:
        """Whether the value is good enough; false for anything that is not a number."""
        scale = jnp.maximum(self.unit, jnp.max(jnp.abs(value)))
        return self.error_bound(residual, value) <= self.tolerance * scale


@working_precision
def stopping_rule(
    game: MarkovGame,
    reward: Reward,
    tolerance: float | Float[Array, ""] | None,
    temperatures: Temperatures = Temperatures(),
) -> StoppingRule:
    """The rule for a game, with the default tolerance of its precision and discount when none is given.

    The unit is the larger temperature, in which entropies count. Without entropies there is none but the reward's
    own size, of which V* has at least half: R = V* - γ(...) is at most twice as large as V*. For a reward of states
    and actions, R stands for what a single step of the game is worth, α max_a R(s,a) + (1-α) min_a R(s,a): an action
    that nobody would take says nothing about V*.
    """
    discount, magnitude = game.mdp.discount, None
    if reward.ndim == 2:
        best = game.alpha * jnp.max(reward, -1, where=game.mdp.mask, initial=-jnp.inf)
        worst = (1 - game.alpha) * jnp.min(reward, -1, where=game.mdp.mask, initial=jnp.inf)
        magnitude = jnp.maximum(jnp.max(jnp.abs(best)), jnp.max(jnp.abs(worst)))
        reward = best + worst
    size = jnp.max(jnp.abs(reward)) / 2
    unit = as_float(max(temperatures)) if max(temperatures) > 0 else jnp.where(size > 0, size, 1)
    if tolerance is None:
        if concrete(discount) and smallest_tolerance(reward, float(discount)) > LEAST_DIGIT:
            raise InvalidInputError(
                f"the discount {float(discount)!r} is so close to 1 that {reward.dtype} cannot certify a single digit"
                " of a value; use a smaller discount, or ask for a tolerance in so many words."
            )
        return StoppingRule(solver_tolerance(reward, discount), discount, unit, magnitude)
    if concrete(tolerance):
        tolerance = as_positive("the tolerance", tolerance)
    if concrete(discount, tolerance):
        least = float(smallest_tolerance(reward, float(discount)))
        if not tolerance >= least:
            raise InvalidInputError(
                f"the tolerance {tolerance!r} is out of reach of {reward.dtype} at discount {float(discount)!r};"
                f" ask for at least {least:.1e}."
            )
    return StoppingRule(as_float(tolerance), discount, unit, magnitude)


def as_start(value: ArrayLike | None, mdp: MDP, name: str) -> Float[Array, " S"]:
    """A checked value to start from, `[S]`; zero when none is given."""
    return as_float(np.zeros(mdp.num_states)) if value is None else as_reward(value, mdp, name)


def checked(solution: Solution, *, throw: bool, solver: str) -> Solution:
    """`solution` itself, or an error when it is not converged and `throw` is set."""
    if not throw:
        return solution
    verdict = solution.verdict
    if not concrete(verdict):
        value = eqx.error_if(solution.value, ~verdict.converged, f"{solver} did not converge; see its verdict.")
        return eqx.tree_at(lambda s: s.value, solution, value)
    failed = ~np.asarray(verdict.converged)
    if failed.any():
        first = tuple(np.argwhere(failed)[0]) if failed.ndim else ()
        residual = float(np.asarray(verdict.residual)[first])
        cause = (
            "the residual is not a finite number, so the reward or the world holds one that is not"
            if not np.isfinite(residual)
            else "raise max_steps or the tolerance"
        )
        raise ConvergenceError(
            f"{solver} stopped after {int(np.asarray(verdict.iterations)[first])} steps with residual {residual:.3e}"
            f" and error bound {float(np.asarray(verdict.error_bound)[first]):.3e}: {cause},"
            " or pass throw=False to look at the unfinished solution."
        )
    return solution
