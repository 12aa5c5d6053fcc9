r"""The linear program behind `robustirl.theory.guarantee`: an outer bound over rewards, worlds and experts.

What is looked for is the maximum of ⟨ρ_E, R⟩ - ⟨ρ, R⟩ over

- rewards R in [0,1]^S;
- the expert's occupancy ρ_E, one of the polytope of `reachable.py`, and within the error of the demonstrations:
  l <= ρ_E <= u and ‖ρ_E - ρ̂‖₁ <= e;
- the policy's occupancy ρ in a world of the radius, one of its polytope;
- such that ρ_E is optimal for R, within ε, in some world of the radius.

Optimality. In the learner's own world max_π ⟨ρ_π, R⟩ = min { (1-γ) P₀ᵀV : V >= R + γ T_a V for all a }, by duality. In
any world of the radius the maximum is smaller by at most κ (`reachable.py`). So whatever the expert's world is, there
is a V with

    V >= R + γ T_a V,    (1-γ) P₀ᵀV <= ⟨ρ_E, R⟩ + κ + ε.

Products. ⟨ρ_E, R⟩ and ⟨ρ, R⟩ are bilinear. Each product ρ(s) R(s) is replaced by a variable in its convex envelope on
the box l <= ρ <= u, 0 <= R <= 1 (McCormick, 1976):

    w_s <= u_s R_s,   w_s <= ρ_E(s) - l_s (1 - R_s),        z_s >= l_s R_s,   z_s >= ρ(s) - u_s (1 - R_s),

which is exact where R(s) is 0 or 1 or l_s = u_s. Two further inequalities hold for all R in [0,1]^S and are added:
Σ w <= ⟨ρ̂, R⟩ + e/2, and Σ z >= ⟨ρ_π, R⟩ - κ_π. Everything is linear then, and each relaxation only enlarges the
maximum: the result is an upper bound. With d = 0 and an exact ρ_E nothing was relaxed, and it is the maximum.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl.theory.linear_program import Rows
from robustirl.theory.reachable import Surroundings


@dataclasses.dataclass(frozen=True, eq=False)
class ExpertRegion:
    """Where the expert's occupancy is: l <= ρ_E <= u, ‖ρ_E - ρ̂‖₁ <= e.

    Attributes:
        occupancy: `[S]`, ρ̂.
        lower: `[S]`, l.
        upper: `[S]`, u.
        error: e.
    """

    occupancy: Float[np.ndarray, " S"]
    lower: Float[np.ndarray, " S"]
    upper: Float[np.ndarray, " S"]
    error: float

    def within(self, other: "ExpertRegion") -> "ExpertRegion":
        """Return the region with the limits of another one, too.

        Where they contradict, the program says so.
        """
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        return ExpertRegion(self.occupancy, lower, upper, self.error)

    def shrunk(self, factor: float) -> "ExpertRegion":
        """Return the region with all errors multiplied by a factor."""
        lower, upper = (self.occupancy + factor * (side - self.occupancy) for side in (self.lower, self.upper))
        return ExpertRegion(self.occupancy, lower, upper, factor * self.error)


@dataclasses.dataclass(frozen=True, eq=False)
class LearnerRegion:
    """Where the policy's occupancy is over the worlds of the radius.

    Attributes:
        policy: `[S, A]`, π.
        occupancy: `[S]`, ρ_π in the learner's own world.
        lower: `[S]`, the least ρ(s) in any world.
        upper: `[S]`, the largest.
        deviation: κ_π.
    """

    policy: Float[np.ndarray, "S A"]
    occupancy: Float[np.ndarray, " S"]
    lower: Float[np.ndarray, " S"]
    upper: Float[np.ndarray, " S"]
    deviation: float

    @classmethod
    def of(cls, around: Surroundings, policy: Float[np.ndarray, "S A"]) -> "LearnerRegion":
        """Return the region of a policy."""
        chain = np.einsum("sa,sat->st", policy, around.rows)
        system = np.eye(len(around.start)) - around.discount * chain
        occupancy = np.linalg.solve(system.T, (1 - around.discount) * around.start)
        if around.exact:
            return cls(policy, occupancy, occupancy, occupancy, 0.0)
        lower, upper = around.occupancy_limits(policy)
        limits = np.minimum(lower, occupancy), np.maximum(upper, occupancy)
        return cls(policy, occupancy, *limits, around.deviation(policy))


def guarantee_rows(
    around: Surroundings, learner: LearnerRegion, expert: ExpertRegion, *, slack: float, expert_return: float | None
) -> Rows:
    """Return the constraints of the program.

    `slack` is κ + ε, and `expert_return` is a lower limit on Σ w.
    """
    import scipy.sparse

    program, count = Rows(), len(around.start)
    one, sums = scipy.sparse.eye_array(count), np.ones((1, count))
    pairs = np.argwhere(around.mask)
    moves = scipy.sparse.csr_array(around.rows[around.mask])  # [n, S]
    owner = scipy.sparse.csr_array((np.ones(len(pairs)), (pairs[:, 0], np.arange(len(pairs)))), (count, len(pairs)))
    gamma, zeros = around.discount, np.zeros(count)
    program.variable("reward", count, high=1.0)
    program.variable("value", count)
    program.variable("w", count, high=1.0)
    program.variable("expert", len(pairs))
    program.variable("off", count)
    _flow(program, "expert", owner, moves, pairs, around)
    program.below += [
        ({"expert": owner, "off": -one}, expert.occupancy),
        ({"expert": -owner, "off": -one}, -expert.occupancy),
        ({"off": sums}, np.array([expert.error])),
        ({"expert": owner}, expert.upper),
        ({"expert": -owner}, -expert.lower),
        ({"reward": owner.T, "value": gamma * moves - owner.T}, np.zeros(len(pairs))),
        ({"value": (1 - gamma) * around.start[None], "w": -sums}, np.array([slack])),
        ({"w": one, "reward": -scipy.sparse.diags_array(expert.upper)}, zeros),
        ({"w": one, "expert": -owner, "reward": -scipy.sparse.diags_array(expert.lower)}, -expert.lower),
        ({"w": sums, "reward": -expert.occupancy[None]}, np.array([expert.error / 2])),
    ]
    if expert_return is not None:
        program.below.append(({"w": -sums}, np.array([-expert_return])))
    program.variable("z", count, high=1.0)
    if around.exact:
        program.equal.append(({"z": one, "reward": -scipy.sparse.diags_array(learner.occupancy)}, zeros))
        return program
    # Only pairs that the policy takes: x(s,a) = ρ(s) π(a|s).
    taken = learner.policy[around.mask] > 0
    weights = learner.policy[around.mask][taken]
    program.variable("learner", count)
    spread = scipy.sparse.csr_array(owner[:, taken] * weights)
    _flow(program, "learner", spread, moves[taken], pairs[taken], around)
    program.below += [
        ({"z": -one, "reward": scipy.sparse.diags_array(learner.lower)}, zeros),
        ({"z": -one, "learner": one, "reward": scipy.sparse.diags_array(learner.upper)}, learner.upper),
        ({"z": -sums, "reward": learner.occupancy[None]}, np.array([learner.deviation])),
    ]
    return program


def _flow(
    program: Rows,
    name: str,
    owner: Any,
    moves: Any,
    pairs: np.ndarray,
    around: Surroundings,
) -> None:
    """Add the polytope of occupancies.

    It is that of x(s,a) for the expert, and of ρ(s) and a policy's weights for the learner.
    """
    import scipy.sparse

    gamma, start = around.discount, (1 - around.discount) * around.start
    count = len(start)
    by_pair = name == "expert"
    # From the block's variables to x(s,a) of the pairs at hand.
    measure = scipy.sparse.eye_array(len(pairs)) if by_pair else scipy.sparse.csr_array(owner.T)
    own = owner if by_pair else scipy.sparse.eye_array(count)
    arriving = scipy.sparse.csr_array(gamma * (moves.T @ measure))
    strength = around.strength[pairs[:, 0], pairs[:, 1]]
    if not strength.any():
        program.equal.append(({name: own - arriving}, start))
        return
    entries = scipy.sparse.coo_array(moves)
    chosen = strength[entries.row] > 0
    row, column, share = entries.row[chosen], entries.col[chosen], entries.data[chosen]
    size = len(row)
    out, put = f"{name} out", f"{name} in"
    program.variable(out, size)
    program.variable(put, count)
    where = np.arange(size)
    leaving = scipy.sparse.csr_array((np.full(size, gamma), (column, where)), (count, size))
    flow = {name: own - arriving, out: leaving, put: -gamma * scipy.sparse.eye_array(count)}
    program.equal += [(flow, start), ({out: np.ones((1, size)), put: -np.ones((1, count))}, np.zeros(1))]
    pick = scipy.sparse.csr_array((share, (where, row)), (size, len(pairs)))
    total = scipy.sparse.csr_array((np.ones(size), (row, where)), (len(pairs), size))
    limit = scipy.sparse.csr_array(scipy.sparse.diags_array(strength) @ measure)
    program.below += [
        ({out: scipy.sparse.eye_array(size), name: -(pick @ measure)}, np.zeros(size)),
        ({out: total, name: -limit}, np.zeros(len(pairs))),
    ]
