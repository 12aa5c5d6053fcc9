r"""The occupancies that policies have in the worlds within a radius, as linear constraints and as bounds.

Let B be the kernels T' with ‖T'(·|s,a) - T(·|s,a)‖₁ <= d(s,a), and σ = d/2 the mass of a row that may be moved. The
pairs (policy, T') together have just the occupancies ρ(s) = Σ_a x(s,a) of the polytope

    Σ_a x(s,a) = (1-γ) P₀(s) + γ ( Σ_{s',a'} T(s|s',a') x(s',a') - o(s',a',s) ) + γ g(s),
    o(s,a,s') <= T(s'|s,a) x(s,a),    Σ_s' o(s,a,s') <= σ(s,a) x(s,a),    Σ_s g(s) = Σ o,    x, o, g >= 0:

o takes mass off successors, g puts it down anywhere. Given g, whose mass comes from where does not matter: every row
receives it in the proportions of g, so that each x, o, g is that of a kernel of B, and each kernel of B has such an
o and g. With x(s,a) = ρ(s) π(a|s) the polytope is that of one policy.

The distance of the occupancies of any policy in T and in T' of B is at most κ = P₀ᵀh in total variation, where h is the
largest expected γ^τ over policies and couplings, τ the first time at which the two states differ:

    h(s) = max_a γ { σ(s,a) + max over sub-rows Q <= T(·|s,a) of mass 1-σ(s,a) of Σ Q h }.

For one σ everywhere κ = γσ / (1 - γ + γσ).
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP
from robustirl.theory.uncertainty_kinds import as_uncertainty
from robustirl.types import ArrayLike

MOST_ENTRIES = 4_000_000  # Of an array [S, A, S] on the host.
ROUNDS = 200  # Of the iteration for κ. Each of its iterates is a bound; further ones are closer.
SETTLED = 1e-10  # Residual of a value, relative to it.


@dataclasses.dataclass(frozen=True, eq=False)
class Surroundings:
    """A world and the radius around it, on the host.

    Attributes:
        rows: `[S, A, S]`, T, zero where an action is not available.
        mask: `[S, A]`, which are.
        start: `[S]`, P₀.
        discount: γ.
        strength: `[S, A]`, σ = d/2, zero where an action is not available.
    """

    rows: Float[np.ndarray, "S A S"]
    mask: Bool[np.ndarray, "S A"]
    start: Float[np.ndarray, " S"]
    discount: float
    strength: Float[np.ndarray, "S A"]

    @classmethod
    def of(cls, mdp: MDP, radius: ArrayLike) -> "Surroundings":
        """Return a world and its radius, checked; refuse worlds too large for an array."""
        uncertainty = as_uncertainty(mdp, radius=radius)
        if (entries := mdp.num_states**2 * mdp.num_actions) > MOST_ENTRIES:
            raise InvalidInputError(
                f"the world has {mdp.num_states} states and {mdp.num_actions} actions, so that its kernel has {entries}"
                f" entries; a guarantee is computed for up to {MOST_ENTRIES}."
            )
        mask = np.asarray(mdp.mask)
        rows = np.asarray(mdp.kernel.row_reader()(0, mdp.num_states), float) * mask[..., None]
        strength = np.where(mask, np.asarray(uncertainty.strength, float), 0)
        return cls(rows, mask, np.asarray(mdp.initial, float), float(mdp.discount), strength)

    @property
    def exact(self) -> bool:
        """Whether the radius is zero everywhere, so that the world is the only one."""
        return not self.strength.any()

    def lowest_rows(self, value: Float[np.ndarray, " S"]) -> Float[np.ndarray, "S A S"]:
        """Return the rows of the kernel of B with the lowest expected value of V."""
        order = np.argsort(-value, kind="stable")
        sorted_rows = self.rows[..., order]
        before = np.cumsum(sorted_rows, -1) - sorted_rows
        taken = np.clip(self.strength[..., None] - before, 0, sorted_rows)
        out = self.rows.copy()
        out[..., order] -= taken
        out[..., order[-1]] += taken.sum(-1)
        return out

    def lowest_return(self, policy: Float[np.ndarray, "S A"] | None, reward: Float[np.ndarray, " S"]) -> "Extreme":
        """Return a lower bound on the normalized return over B, of a policy or of all.

        The result also has the occupancy at the bound. Policy iteration on the kernel, as in
        `robustirl.theory.certificate`, and on the actions if there is no policy. What is left of the residual is taken
        off.
        """
        count = len(reward)
        value, identity = np.zeros(count), np.eye(count)
        chain, residual = identity, np.inf
        for _ in range(ROUNDS):
            rows = self.lowest_rows(value)
            expected = rows @ value
            acting = self._worst_actions(expected) if policy is None else policy
            backup = reward + self.discount * (acting * expected).sum(-1)
            residual = float(np.max(np.abs(backup - value)))
            if residual <= SETTLED * max(1.0, float(np.abs(value).max())):
                break
            chain = np.einsum("sa,sat->st", acting, rows)
            value = np.linalg.solve(identity - self.discount * chain, reward)
        else:
            raise ConvergenceError(
                f"the worst world for a policy was not found in {ROUNDS} steps, with a residual of {residual:.1e};"
                " use a smaller discount."
            )
        attained = np.linalg.solve((identity - self.discount * chain).T, (1 - self.discount) * self.start)
        # The fixed point is within residual / (1-γ) of V, and the return is (1-γ) P₀ᵀV.
        return Extreme((1 - self.discount) * float(self.start @ value) - residual, attained)

    def _worst_actions(self, expected: Float[np.ndarray, "S A"]) -> Float[np.ndarray, "S A"]:
        return np.eye(self.mask.shape[1])[np.where(self.mask, expected, np.inf).argmin(-1)]

    def occupancy_limits(
        self, policy: Float[np.ndarray, "S A"] | None = None
    ) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
        """Return the least and the largest occupancy of each state over B, of a policy or of all."""
        units = np.eye(len(self.start))
        least = np.array([self.lowest_return(policy, unit).value for unit in units])
        most = -np.array([self.lowest_return(policy, -unit).value for unit in units])
        return np.clip(least, 0, 1), np.clip(most, 0, 1)

    def deviation(self, policy: Float[np.ndarray, "S A"] | None = None) -> float:
        """Return κ, of all policies or of one.

        It is the most by which an occupancy moves over B, in total variation.
        """
        strongest = float(self.strength.max())
        value = np.full(len(self.start), self.discount * strongest / (1 - self.discount + self.discount * strongest))
        for _ in range(ROUNDS):
            # A sub-row of mass 1-σ with the largest expectation loses σ of the lowest successors.
            kept = self.lowest_rows(-value) @ value - self.strength * value.max()
            after = self.discount * (self.strength + kept)
            after = np.where(self.mask, after, -np.inf).max(-1) if policy is None else (policy * after).sum(-1)
            value = np.minimum(value, after)
        return float(self.start @ value)


@dataclasses.dataclass(frozen=True, eq=False)
class Extreme:
    """A bound on a return over a set of worlds, with an occupancy.

    The occupancy is that of the policy in the world that attains the bound.
    """

    value: float
    occupancy: Float[np.ndarray, " S"]
