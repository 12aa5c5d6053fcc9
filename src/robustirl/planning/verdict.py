"""What every planner returns: the solution, and a verdict on how good it is."""

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from robustirl._check import as_positive, concrete
from robustirl._jax import ScopedModule, as_float, epsilon, smallest_tolerance, solver_tolerance, working_precision
from robustirl._show import html_table, joined, short_value
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.mdp import LEAST_DIGIT
from robustirl.mdp.policy import as_reward, mixture
from robustirl.planning.operators import Reward, Temperatures, is_zero
from robustirl.types import ArrayLike, HeldArray


class Verdict(ScopedModule):
    """How a planner ended.

    Attributes:
        converged: Whether the error bound is within the tolerance asked for; by default also within the temperature.
        iterations: Backups of value iteration, or steps of Newton's method.
        residual: ‖B(V) - V‖∞ of the returned value V, B the Bellman operator.
        error_bound: A bound on ‖V - V*‖∞: the residual, and the rounding in it, over 1 - γ. It holds
            because B is a γ-contraction with the fixed point V*.
    """

    converged: Bool[HeldArray, "*batch"]
    iterations: Int[HeldArray, "*batch"]
    residual: Float[HeldArray, "*batch"]
    error_bound: Float[HeldArray, "*batch"]


class Solution(ScopedModule):
    """The saddle point of a game: value, both players' policies, and the verdict on them.

    Attributes:
        value: `[S]`, V.
        player: `[S, A]`, π_pl.
        opponent: `[S, A]`, π_op.
        alpha: α of the game that was solved, or α(s,a) `[S, A]`.
        verdict: How the solver ended.
    """

    value: Float[HeldArray, "*batch S"]
    player: Float[HeldArray, "*batch S A"]
    opponent: Float[HeldArray, "*batch S A"]
    alpha: Float[HeldArray, "*batch"] | Float[HeldArray, "*batch S A"]
    verdict: Verdict

    @property
    def mixture(self) -> Float[Array, "*batch S A"]:
        """α π_pl + (1-α) π_op."""
        return mixture(self.player, self.opponent, self.alpha)

    def __repr__(self) -> str:
        return joined("Solution", [f"{name}: {text}" for name, text in self._rows()])

    def _repr_html_(self) -> str:
        return html_table("Solution", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        """Return what a prompt shows: names and texts."""
        size = f"{self.player.shape[-2]} states, {self.player.shape[-1]} actions"
        return [
            ("world", f"{size}, α = {short_value(self.alpha)}"),
            ("values", short_value(self.value)),
            ("converged", short_value(self.verdict.converged)),
            ("iterations", short_value(self.verdict.iterations)),
            ("error at most", short_value(self.verdict.error_bound)),
        ]


class StoppingRule(ScopedModule):
    """Stop as soon as ‖V - V*‖∞ <= tolerance · max(unit, ‖V‖∞) is certain.

    Attributes:
        tolerance: The relative error asked for.
        discount: γ.
        unit: The smallest size of V that errors are relative to.
        magnitude: The size of what cancels in V, where it may be larger than V itself.
        limit: The largest absolute error of a converged solution, if there is one: policies change by a factor of up
            to exp(2 error / temperature).
    """

    tolerance: Float[Array, ""]
    discount: Float[Array, ""]
    unit: Float[Array, ""]
    magnitude: Float[Array, ""] | None = None
    limit: Float[Array, ""] | None = None

    def error_bound(self, residual: Float[Array, ""], value: Float[Array, " S"]) -> Float[Array, ""]:
        """Return the contraction bound (residual + rounding) / (1-γ)."""
        size = jnp.max(jnp.abs(value))
        rounding = 4 * epsilon(value) * (size if self.magnitude is None else jnp.maximum(size, self.magnitude))
        return (residual + rounding) / (1 - self.discount)

    def satisfied(self, residual: Float[Array, ""], value: Float[Array, " S"]) -> Bool[Array, ""]:
        """Return whether to stop: at the goal, or where rounding lets no solver get further.

        The answer is false for NaN.
        """
        goal = self.tolerance * self.scale(value)
        if self.limit is not None:
            goal = jnp.maximum(jnp.minimum(goal, self.limit), self.attainable(value))
        return self.error_bound(residual, value) <= goal

    def scale(self, value: Float[Array, " S"]) -> Float[Array, ""]:
        """Return the size of V that errors are relative to."""
        return jnp.maximum(self.unit, jnp.max(jnp.abs(value)))

    def attainable(self, value: Float[Array, " S"]) -> Float[Array, ""]:
        """Return the smallest error that this precision can certify for a value of this size."""
        return smallest_tolerance(value, self.discount) * self.scale(value)

    def verdict(self, residual: Float[Array, ""], value: Float[Array, " S"], steps: Int[Array, ""]) -> Verdict:
        """Return the verdict on a value with this residual."""
        bound = self.error_bound(residual, value)
        converged = self.satisfied(residual, value)
        if self.limit is not None:
            converged = converged & (bound <= self.limit)
        return Verdict(converged, steps, residual, bound)


@working_precision
def stopping_rule(
    game: MarkovGame,
    reward: Reward,
    tolerance: float | Float[Array, ""] | None,
    temperatures: Temperatures | None = None,
) -> StoppingRule:
    """Return the rule for a game.

    If no tolerance is given, it is the default one of the game's precision and discount. The unit is the larger
    temperature, in which entropies count. Without entropies there is none but the reward's own size, of which V* has at
    least half: R = V* - γ(...) is at most twice as large as V*. For a reward of states and actions, R stands for what a
    single step of the game is worth, α max_a R(s,a) + (1-α) min_a R(s,a): an action that neither side would take says
    nothing about V*.

    Without a tolerance the limit is the smaller temperature that is not zero. Without temperatures the unit is 1 and
    there is no limit: for callers that judge the error bound themselves.
    """
    discount, magnitude = game.mdp.discount, None
    if reward.ndim == 2:
        best, worst = _single_step(game, reward)
        magnitude = jnp.maximum(jnp.max(jnp.abs(best)), jnp.max(jnp.abs(worst)))
        reward = best + worst
    soft = [1.0] if temperatures is None else [t for t in temperatures if not is_zero(t)]
    unit = as_float(_extreme(max, jnp.maximum, soft)) if soft else _unit_of(reward)
    if tolerance is None:
        if concrete(discount) and smallest_tolerance(reward, float(discount)) > LEAST_DIGIT:
            raise InvalidInputError(
                f"the discount {float(discount)!r} is so close to 1 that {reward.dtype} cannot certify a single digit"
                " of a value; use a smaller discount, or pass a tolerance."
            )
        limit = as_float(_extreme(min, jnp.minimum, soft)) if soft and temperatures is not None else None
        return StoppingRule(solver_tolerance(reward, discount), discount, unit, magnitude, limit)
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


def _unit_of(reward: Float[Array, " S"]) -> Float[Array, ""]:
    """Return half the largest reward; 1 if all are zero."""
    if concrete(reward) and jax.default_backend() == "cpu":
        size = np.max(np.abs(np.asarray(reward))) / 2  # On the host, without a program for every size.
        return jnp.asarray(size if size > 0 else np.ones_like(size))
    size = jnp.max(jnp.abs(reward)) / 2
    return jnp.where(size > 0, size, 1)


def _single_step(game: MarkovGame, reward: Float[Array, "S A"]) -> tuple[Float[Array, " S"], Float[Array, " S"]]:
    """Return what the player and what the opponent contribute to the worth of a single step."""
    mask, alpha = game.mdp.mask, game.alpha
    worst = jnp.min(reward, -1, where=mask, initial=jnp.inf)
    if alpha.ndim == 0:
        return alpha * jnp.max(reward, -1, where=mask, initial=-jnp.inf), (1 - alpha) * worst
    gained = jnp.max(alpha * (reward - worst[:, None]), -1, where=mask, initial=-jnp.inf)
    return gained, worst


def _extreme(of_numbers: Callable, of_arrays: Callable, temperatures: list) -> float | Float[Array, ""]:
    """Return the largest or smallest of numbers, or of arrays inside compiled code."""
    return of_numbers(temperatures) if concrete(temperatures) else functools.reduce(of_arrays, temperatures)


def as_start(value: ArrayLike | None, mdp: MDP, name: str) -> Float[Array, " S"]:
    """Return a checked value to start from, `[S]`; zeros if none is given."""
    return as_float(np.zeros(mdp.num_states)) if value is None else as_reward(value, mdp, name)


def checked(solution: Solution, *, throw: bool, solver: str, rule: StoppingRule | None = None) -> Solution:
    """Return `solution`, or raise `ConvergenceError` if it is not converged and `throw` is set."""
    if not throw:
        return solution
    verdict = solution.verdict
    if not concrete(verdict):
        value = eqx.error_if(solution.value, ~verdict.converged, f"{solver} did not converge; see its verdict.")
        return eqx.tree_at(lambda s: s.value, solution, value)
    failed = ~np.asarray(verdict.converged)
    if failed.any():
        first = tuple(np.argwhere(failed)[0]) if failed.ndim else ()
        residual, bound = (float(np.asarray(number)[first]) for number in (verdict.residual, verdict.error_bound))
        raise ConvergenceError(
            f"{solver} stopped after {int(np.asarray(verdict.iterations)[first])} steps with residual {residual:.3e}"
            f" and error bound {bound:.3e}: {_remedy(solution.value[first], residual, rule)},"
            " or pass throw=False to look at the unfinished solution."
        )
    return solution


def _remedy(value: Float[Array, " S"], residual: float, rule: StoppingRule | None) -> str:
    """Return what is wrong and what to do, as far as it can be told from the solution."""
    if not np.isfinite(residual):
        return f"the residual is not a finite number in {value.dtype}; scale the reward down"
    if rule is not None and rule.limit is not None and (least := float(rule.attainable(value))) > float(rule.limit):
        wider = "" if value.dtype == jnp.float64 else "use double precision, or "
        return (
            f"at discount {float(rule.discount)!r} {value.dtype} can certify values of size"
            f" {float(jnp.max(jnp.abs(value))):.1e} to no better than {least:.1e}, which is more than the temperature"
            f" {float(rule.limit)!r} that decides the policies; {wider}use a smaller discount or a smaller reward"
        )
    return "raise max_steps or the tolerance"
