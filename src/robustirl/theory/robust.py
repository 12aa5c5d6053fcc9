r"""The robust soft Bellman equation: the best that a player can guarantee when an adversary chooses the kernel.

For a set of `robustirl.theory.uncertainty` with the lowest expected next values m_V(s,a), the fixed point of

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

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from robustirl._runtime import BoundedJit, ScopedModule, working_precision
from robustirl.mdp import MDP, AbstractKernel, MarkovGame, as_count, as_reward
from robustirl.planning import (
    Iterate,
    Solution,
    StoppingRule,
    Verdict,
    as_temperatures,
    checked,
    choose,
    iterate,
    most_sweeps,
    soft_maximum,
    solve_policy,
    stopping_rule,
    tie_margin,
    traced_temperatures,
)
from robustirl.theory.uncertainty import AbstractUncertainty
from robustirl.theory.uncertainty_kinds import as_uncertainty
from robustirl.types import ArrayLike

# What a player makes of γ m(s,a), the discounted expected next values that are left to it, and by which policy.
Answer = Callable[[Float[Array, "S A"]], tuple[Float[Array, " S"], Float[Array, "S A"]]]


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
    set `game` its right side. The arguments are those of `robustirl.theory.certificate.certify`; `shared` is a further
    set (`shared_ball.py`). `temperature` weighs the player's entropy: at 0 this is the robust MDP.

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


@BoundedJit
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

    def look(value: Float[Array, " S"], steps: Int[Array, ""]) -> Iterate:
        gain, policy = answer(mdp.discount * uncertainty.lowest(value))
        return iterate(value, reward + gain, policy, steps)

    def step(now: Iterate) -> Iterate:
        swept = look(now.backup, now.steps + 1)
        if not newton:
            return swept
        worst_case = eqx.tree_at(lambda m: m.kernel, mdp, uncertainty.kernel(now.value))
        correction = solve_policy(worst_case, now.attained, now.fault)
        solved = look(now.value + correction, now.steps + 1)
        better = solved.residual <= mdp.discount * now.residual
        return choose(better, solved, swept)

    def unsolved(now: Iterate) -> Bool[Array, ""]:
        return ~rule.satisfied(now.residual, now.value) & jnp.isfinite(now.residual) & (now.steps < cap)

    first = look(reward if start is None else start, jnp.asarray(0))
    cap = most_sweeps(rule, first.residual) if max_steps is None else jnp.asarray(max_steps)
    last = jax.lax.while_loop(unsolved, step, first)
    verdict = rule.verdict(last.residual, last.value, last.steps)
    # Against an adversary that chooses kernels the player's action is always executed, which is α = 1.
    return Solution(last.value, last.attained, last.attained, jnp.ones_like(verdict.error_bound), verdict)
