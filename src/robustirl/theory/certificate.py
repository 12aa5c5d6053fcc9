r"""What a policy is sure to achieve: its worst and best return over a set of kernels around a world's.

For a set of `robustirl.theory.uncertainty` with the lowest expected next values m_V(s,a), the worst-case value
of a policy π is the fixed point of

    V(s) = R(s) + γ Σ_a π(a|s) m_V(s,a),

and the best case for R is minus the worst case for -R. One kernel attains all minima, so the worst case is
the return of π in that kernel and not merely a bound on it. The right side is concave in V, so that Newton's
method (`robustirl.theory.robust`) is policy iteration on the kernel: every step evaluates one kernel
exactly, and after the first the values only fall.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float

from robustirl._runtime import BoundedJit, ScopedModule, draw, html_table, joined, short_value, working_precision
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, AbstractKernel, MarkovGame, as_count, as_policy, as_reward
from robustirl.planning import Solution, StoppingRule, Temperatures, Verdict, checked, stopping_rule
from robustirl.theory.robust import robust_fixed_point
from robustirl.theory.uncertainty import AbstractUncertainty
from robustirl.theory.uncertainty_kinds import as_uncertainty
from robustirl.types import ArrayLike


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


@BoundedJit
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
