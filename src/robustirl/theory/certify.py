r"""What a policy is sure to achieve, and what a player can guarantee, over a set of kernels around a world's.

For a set of `robustirl.theory.uncertainty` with the lowest expected next values m_V(s,a), the worst-case value
of a policy π is the fixed point of

    V(s) = R(s) + γ Σ_a π(a|s) m_V(s,a),

and the best case for R is minus the worst case for -R. One kernel attains all minima, so the worst case is
the return of π in that kernel and not merely a bound on it. The right side is concave in V, so that Newton's
method (below) is policy iteration on the kernel: every step evaluates one kernel
exactly, and after the first the values only fall.

**The robust soft Bellman equation.** If an adversary chooses the kernel, the fixed point of

    V(s) = R(s) + log Σ_a exp(γ m_V(s,a))

is max_π min_T' E[G], G = Σ_t γ^t (R(s_t) + H(π(·|s_t))). Neither order of the two choices is an advantage: in the
sets ball and mixture every pair has its own row, and in the set game the choice is the same for all
actions of a state. With the set mixture this is the left side of inequality (7). Its right side, the
value of the Markov game, is the same equation for the set game: m_V is then α e(s,a) + (1-α) min_a' e(s,a'),
which makes the equation that of Algorithm 2 (`robustirl.planning.operators`).

The derivative of the right side at V is γ P, P the chain that the player's policy makes of the kernel that is
worst for V, so that a Newton step is an exact evaluation of the two,

    V⁺ = V + (I - γ P)⁻¹ (B(V) - V).

B is a γ-contraction, so V is within ‖B(V) - V‖∞ / (1-γ) of the fixed point, and a Newton step that does not bring
the residual down by the factor γ is replaced by a sweep V⁺ = B(V), which does.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Bool, Float, Int

from robustirl._check import as_count
from robustirl._jax import ScopedModule, jit, working_precision
from robustirl._show import draw, html_table, joined, short_value
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame
from robustirl.mdp.kernel import AbstractKernel
from robustirl.mdp.policy import as_policy, as_reward
from robustirl.planning.evaluation import solve_policy
from robustirl.planning.operators import (
    Temperatures,
    as_temperatures,
    soft_maximum,
    tie_margin,
    traced_temperatures,
)
from robustirl.planning.verdict import Solution, StoppingRule, Verdict, checked, stopping_rule
from robustirl.theory.uncertainty import AbstractUncertainty, as_uncertainty
from robustirl.types import ArrayLike

# What a player makes of γ m(s,a), the discounted expected next values that are left to it, and by which policy.
Answer = Callable[[Float[Array, "S A"]], tuple[Float[Array, " S"], Float[Array, "S A"]]]


class Certificate(ScopedModule):
    """The range of a policy's discounted return over a set of kernels; both ends are attained.

    Attributes:
        worst_return: The lowest E[Σ γ^t R(s_t)] from P₀.
        best_return: The highest.
        nominal_return: That in the world itself.
        worst_value: `[S]`, the lowest return from every state.
        best_value: `[S]`, the highest.
        nominal_value: `[S]`, that in the world itself.
        worst_verdict: How the solver for the worst case ended; its error bound holds for return and values.
        best_verdict: The same for the best case.
        uncertainty: The set of kernels.
    """

    worst_return: Float[Array, ""]
    best_return: Float[Array, ""]
    nominal_return: Float[Array, ""]
    worst_value: Float[Array, " S"]
    best_value: Float[Array, " S"]
    nominal_value: Float[Array, " S"]
    worst_verdict: Verdict
    best_verdict: Verdict
    uncertainty: AbstractUncertainty

    def plot(self, *, shape: tuple[int, int] | None = None) -> Any:
        """Return a figure of the range of returns, in all and by state.

        Args:
            shape: Rows and columns, if the first states are the cells of a grid; found in the moves if omitted.
        """
        return draw("plot_certificate", self, shape=shape)

    def __repr__(self) -> str:
        return joined("Certificate", [f"{name}: {text}" for name, text in self._rows()])

    def _repr_html_(self) -> str:
        return html_table("Certificate (discounted returns)", self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        """Return what a prompt shows: names and texts."""
        error = max(float(verdict.error_bound) for verdict in (self.worst_verdict, self.best_verdict))
        converged = bool(self.worst_verdict.converged) and bool(self.best_verdict.converged)
        return [
            ("worst return", short_value(self.worst_return)),
            ("in the world itself", short_value(self.nominal_return)),
            ("best", short_value(self.best_return)),
            ("over", f"{type(self.uncertainty).__name__} of ℓ1 radius {_radius(self.uncertainty.strength)}"),
            ("converged", f"{converged}, error at most {short_value(error)}"),
        ]

    @property
    def worst_kernel(self) -> AbstractKernel:
        """A kernel of the set in which the policy's return is the worst, from every state."""
        return self.uncertainty.kernel(self.worst_value)

    @property
    def best_kernel(self) -> AbstractKernel:
        """A kernel of the set in which the policy's return is the best, from every state."""
        return self.uncertainty.kernel(-self.best_value)


def _radius(strength: Float[Array, "S A"]) -> str:
    """Return twice the strength: one number, or its range."""
    radius = 2 * np.asarray(strength)
    low, high = float(radius.min()), float(radius.max())
    return short_value(low) if low == high else f"{low:.4g} to {high:.4g}"


@working_precision
def certify(
    mdp: MDP,
    policy: ArrayLike,
    reward: ArrayLike,
    *,
    radius: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    kind: str = "ball",
    entropy: bool = False,
    tolerance: float | None = None,
    max_steps: int | None = None,
    newton: bool = True,
    throw: bool = True,
) -> Certificate:
    """Return the exact worst and best discounted return of a policy over a set of kernels.

    The set is one around the kernel of a world.

    Args:
        mdp: The world in the middle.
        policy: π, `[S, A]`.
        reward: R(s), `[S]`.
        radius: δ, the ℓ1 distance within which kernels are considered: one number, or one a pair `[S, A]`.
        alpha: α = 1 - δ/2, in place of the radius: one number, or `[S]`, or `[S, A]`.
        kind: The set: `ball`, `mixture` or `game`, each contained in the one before; or `kl`, whose radius is a
            relative entropy.
        entropy: Add the policy's entropy H(π(·|s)) to the reward, as G of inequality (7) does.
        tolerance: The guaranteed error of a value, relative to ‖V‖∞. By default 1e-10 in float64.
        max_steps: The largest number of steps; by default as many as the contraction can need.
        newton: Take Newton steps, each with a solve of size |S|; without them, sweeps alone, for large worlds.
        throw: Raise `ConvergenceError` if the tolerance is not reached.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> certificate = certify(world, [[1.0], [1.0]], [0.0, 1.0], radius=0.5)
        >>> [round(x.item(), 6) for x in (certificate.worst_return, certificate.nominal_return)]
        [0.75, 1.0]
        >>> certificate.worst_kernel.expect(jnp.array([0.0, 1.0])).tolist()
        [[0.75], [0.75]]
    """
    if kind == "shared":
        raise InvalidInputError(
            "a shared budget has no certificate of its own; use kind='ball' of the same radius, which contains it."
        )
    uncertainty = as_uncertainty(mdp, radius=radius, alpha=alpha, kind=kind)
    policy, reward = as_policy(policy, mdp), as_reward(reward, mdp)
    gain = reward + entr(policy).sum(-1) if entropy else reward
    rule = stopping_rule(MarkovGame(mdp), gain, tolerance, Temperatures(0.0, 0.0))
    max_steps = None if max_steps is None else as_count("max_steps", max_steps, 1)
    worst, best, nominal = (
        checked(solution, throw=throw, solver="the robust evaluation of a policy")
        for solution in _extremes(uncertainty, policy, gain, rule, max_steps, newton)
    )
    return Certificate(
        mdp.initial @ worst.value,
        mdp.initial @ best.value,
        mdp.initial @ nominal.value,
        worst.value,
        best.value,
        nominal.value,
        worst.verdict,
        best.verdict,
        uncertainty,
    )


@jit
def _extremes(
    uncertainty: AbstractUncertainty,
    policy: Float[Array, "S A"],
    gain: Float[Array, " S"],
    rule: StoppingRule,
    max_steps: int | None,
    newton: bool,
) -> tuple[Solution, Solution, Solution]:
    """Return the worst, best and nominal value of a policy."""

    def answer(expected: Float[Array, "S A"]) -> tuple[Float[Array, " S"], Float[Array, "S A"]]:
        return jnp.sum(policy * expected, axis=-1), policy

    def worst(task: tuple[Float[Array, " S"], Float[Array, "S A"]]) -> Solution:
        gain, strength = task
        around = eqx.tree_at(lambda u: u.strength, uncertainty, strength)
        return robust_fixed_point(around, gain, answer, rule, max_steps, newton)

    strength = uncertainty.strength
    tasks = (jnp.stack([gain, -gain, gain]), jnp.stack([strength, strength, jnp.zeros_like(strength)]))
    found = jax.lax.map(worst, tasks)
    low, high, nominal = (jax.tree.map(lambda leaf, i=i: leaf[i], found) for i in range(3))
    return low, eqx.tree_at(lambda s: s.value, high, 0 - high.value), nominal


class RobustPlan(ScopedModule):
    """The saddle point of a player against an adversary that chooses the kernel.

    Attributes:
        worst_return: max_π min_T' E[G] from P₀.
        value: `[S]`, the same from every state.
        player: `[S, A]`, the policy that attains it.
        verdict: How the solver ended.
        uncertainty: The set of kernels.
    """

    worst_return: Float[Array, ""]
    value: Float[Array, " S"]
    player: Float[Array, "S A"]
    verdict: Verdict
    uncertainty: AbstractUncertainty

    @property
    def worst_kernel(self) -> AbstractKernel:
        """The other half of the saddle point: a kernel of the set that is worst for the player."""
        return self.uncertainty.kernel(self.value)


@working_precision
def robust_soft_value(
    mdp: MDP,
    reward: ArrayLike,
    *,
    radius: ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    kind: str = "ball",
    temperature: float = 1.0,
    tolerance: float | None = None,
    max_steps: int | None = None,
    newton: bool = True,
    throw: bool = True,
) -> RobustPlan:
    """Return the largest entropy-regularized return that a policy can be sure of.

    The kernel may be any of a set around that of a world. The set `mixture` gives the left side of inequality (7), the
    set `game` its right side. The arguments are those of `certify`; `shared` is a further
    set. `temperature` weighs the player's entropy: at 0 this is the robust MDP.

    Example:
        >>> world = MDP([[[0.0, 1.0]], [[0.0, 1.0]]], discount=0.5, initial=[1.0, 0.0])
        >>> for kind in ("ball", "mixture", "game"):
        ...     print(kind, round(robust_soft_value(world, [0.0, 1.0], alpha=0.75, kind=kind).worst_return.item(), 6))
        ball 0.75
        mixture 0.75
        game 1.0
    """
    temperatures = as_temperatures((temperature, 0.0))
    uncertainty = as_uncertainty(mdp, radius=radius, alpha=alpha, kind=kind, temperature=temperature)
    reward = as_reward(reward, mdp)
    rule = stopping_rule(MarkovGame(mdp), reward, tolerance, temperatures)
    max_steps = None if max_steps is None else as_count("max_steps", max_steps, 1)
    solution = checked(
        _plan(uncertainty, reward, traced_temperatures(temperatures).player, rule, max_steps, newton),
        throw=throw,
        solver="robust planning",
    )
    return RobustPlan(mdp.initial @ solution.value, solution.value, solution.player, solution.verdict, uncertainty)


@jit
def _plan(
    uncertainty: AbstractUncertainty,
    reward: Float[Array, " S"],
    temperature: float | Float[Array, ""],
    rule: StoppingRule,
    max_steps: int | None,
    newton: bool,
) -> Solution:
    return robust_soft_solution(uncertainty, reward, temperature, rule, max_steps, newton)


def robust_soft_solution(
    uncertainty: AbstractUncertainty,
    reward: Float[Array, " S"],
    temperature: float | Float[Array, ""],
    rule: StoppingRule,
    max_steps: int | None = None,
    newton: bool = True,
    start: Float[Array, " S"] | None = None,
) -> Solution:
    """Solve the robust soft Bellman equation inside compiled code; check nothing.

    The solver starts from a value if there is one.
    """
    mdp = uncertainty.mdp

    def answer(expected: Float[Array, "S A"]) -> tuple[Float[Array, " S"], Float[Array, "S A"]]:
        return soft_maximum(expected, mdp.mask, temperature, tie_margin(expected, mdp.mask))

    return robust_fixed_point(uncertainty, reward, answer, rule, max_steps, newton, start)


def robust_fixed_point(
    uncertainty: AbstractUncertainty,
    reward: Float[Array, " S"],
    answer: Answer,
    rule: StoppingRule,
    max_steps: int | None,
    newton: bool,
    start: Float[Array, " S"] | None = None,
) -> Solution:
    """Solve V = R + answer(γ m_V), by Newton steps, or sweeps where they are better.

    If `max_steps` is None, it takes as many as needed.
    """
    mdp = uncertainty.mdp

    def look(value: Float[Array, " S"]) -> tuple[Array, Array, Array, Array]:
        """Return a value, its backup, the policy that attains it and the residual."""
        gain, policy = answer(mdp.discount * uncertainty.lowest(value))
        backup = reward + gain
        return value, backup, policy, jnp.max(jnp.abs(backup - value))

    def step(now: tuple[tuple[Array, Array, Array, Array], Int[Array, ""]]):
        (value, backup, policy, residual), steps = now
        swept = look(backup)
        if not newton:
            return swept, steps + 1
        worst_case = eqx.tree_at(lambda m: m.kernel, mdp, uncertainty.kernel(value))
        solved = look(value + solve_policy(worst_case, policy, backup - value))
        better = solved[3] <= mdp.discount * residual
        return jax.tree.map(lambda a, b: jnp.where(better, a, b), solved, swept), steps + 1

    def unsolved(now: tuple[tuple[Array, Array, Array, Array], Int[Array, ""]]) -> Bool[Array, ""]:
        (value, _, _, residual), steps = now
        return ~rule.satisfied(residual, value) & jnp.isfinite(residual) & (steps < cap)

    first = look(reward if start is None else start)
    # As many sweeps as the contraction can need from this residual, with a tenth and ten more as a margin.
    ratio = jnp.maximum(first[3] / (rule.tolerance * rule.unit * (1 - rule.discount)), 1)
    sweeps = jnp.log(ratio) / -jnp.log(jnp.maximum(rule.discount, 1e-3))
    most = jnp.where(jnp.isfinite(sweeps), 1.1 * sweeps + 10, 0).astype(int)
    cap = most if max_steps is None else jnp.asarray(max_steps)
    (value, _, policy, residual), steps = jax.lax.while_loop(unsolved, step, (first, jnp.asarray(0)))
    verdict = rule.verdict(residual, value, steps)
    # Against an adversary that chooses kernels the player's action is always executed, which is α = 1.
    return Solution(value, policy, policy, jnp.ones_like(verdict.error_bound), verdict)
