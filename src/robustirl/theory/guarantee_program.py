r"""Bound by linear programs what rewards, worlds and experts allow: the programs behind `robustirl.theory.guarantee`.

**The worlds within a radius.** Let B be the kernels T' with ‖T'(·|s,a) - T(·|s,a)‖₁ <= d(s,a), and σ = d/2 the mass of
a row that may be moved. The pairs (policy, T') together have just the occupancies ρ(s) = Σ_a x(s,a) of the polytope

    Σ_a x(s,a) = (1-γ) P₀(s) + γ ( Σ_{s',a'} T(s|s',a') x(s',a') - o(s',a',s) ) + γ g(s),
    o(s,a,s') <= T(s'|s,a) x(s,a),    Σ_s' o(s,a,s') <= σ(s,a) x(s,a),    Σ_s g(s) = Σ o,    x, o, g >= 0:

o takes mass off successors, g puts it down anywhere. Given g, whose mass comes from where does not matter: every row
receives it in the proportions of g, so that each x, o, g is that of a kernel of B, and each kernel of B has such an
o and g. With x(s,a) = ρ(s) π(a|s) the polytope is that of one policy.

The distance of the occupancies of any policy in T and in T' of B is at most κ = P₀ᵀh in total variation, where h is the
largest expected γ^τ over policies and couplings, τ the first time at which the two states differ:

    h(s) = max_a γ { σ(s,a) + max over sub-rows Q <= T(·|s,a) of mass 1-σ(s,a) of Σ Q h }.

For one σ everywhere κ = γσ / (1 - γ + γσ).

**The outer bound.** What is looked for is the maximum of ⟨ρ_E, R⟩ - ⟨ρ, R⟩ over

- rewards R in [0,1]^S;
- the expert's occupancy ρ_E, one of the polytope, and within the error of the demonstrations:
  l <= ρ_E <= u and ‖ρ_E - ρ̂‖₁ <= e;
- the policy's occupancy ρ in a world of the radius, one of its polytope;
- such that ρ_E is optimal for R, within ε, in some world of the radius.

Optimality. In the learner's own world max_π ⟨ρ_π, R⟩ = min { (1-γ) P₀ᵀV : V >= R + γ T_a V for all a }, by duality. In
any world of the radius the maximum is smaller by at most κ. So whatever the expert's world is, there
is a V with

    V >= R + γ T_a V,    (1-γ) P₀ᵀV <= ⟨ρ_E, R⟩ + κ + ε.

Products. ⟨ρ_E, R⟩ and ⟨ρ, R⟩ are bilinear. Each product ρ(s) R(s) is replaced by a variable in its convex envelope on
the box l <= ρ <= u, 0 <= R <= 1 (McCormick, 1976):

    w_s <= u_s R_s,   w_s <= ρ_E(s) - l_s (1 - R_s),        z_s >= l_s R_s,   z_s >= ρ(s) - u_s (1 - R_s),

which is exact where R(s) is 0 or 1 or l_s = u_s. Two further inequalities hold for all R in [0,1]^S and are added:
Σ w <= ⟨ρ̂, R⟩ + e/2, and Σ z >= ⟨ρ_π, R⟩ - κ_π. Everything is linear then, and each relaxation only enlarges the
maximum: the result is an upper bound. With d = 0 and an exact ρ_E nothing was relaxed, and it is the maximum.

**The inner side**, a shortfall that does occur. For an occupancy ρ_E that a policy has in the learner's own world and
that the demonstrations allow, the rewards it is optimal for, within ε, are a polytope by duality (with κ = 0), and for
an occupancy ρ of the learner's policy in some world of the radius

    max_R ⟨ρ_E - ρ, R⟩

is a linear program. Its reward explains the expert, with T^E = T. For the next reward ρ becomes the occupancy in the
worst world for this one, which only raises the shortfall. Each of them is attained; none is claimed to be the largest.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.mdp import MDP
from robustirl.theory.uncertainty import as_uncertainty
from robustirl.types import ArrayLike

MOST_ENTRIES = 4_000_000  # Of the rows on the host, zeros that pad shorter rows included.
ROUNDS = 200  # Of the iteration for κ. Each of its iterates is a bound; further ones are closer.
SETTLED = 1e-10  # Residual of a value, relative to it.
DIGITS = 1e-6  # Added to an optimum, far above what the solver's tolerances leave open.
REWARDS_TRIED = 3  # For the inner side.


@dataclasses.dataclass(frozen=True, eq=False)
class Surroundings:
    """A world and the radius around it, on the host: its available pairs, and where each of them leads.

    Attributes:
        places: `[n, K]`, the successors of each pair.
        chances: `[n, K]`, T; zeros pad shorter rows.
        owner: `[n]`, the state of each pair.
        mask: `[S, A]`, which pairs are available.
        start: `[S]`, P₀.
        discount: γ.
        strength: `[n]`, σ = d/2.
    """

    places: Int[np.ndarray, "n K"]
    chances: Float[np.ndarray, "n K"]
    owner: Int[np.ndarray, " n"]
    mask: Bool[np.ndarray, "S A"]
    start: Float[np.ndarray, " S"]
    discount: float
    strength: Float[np.ndarray, " n"]

    @classmethod
    def of(cls, mdp: MDP, radius: ArrayLike) -> "Surroundings":
        """Return a world and its radius, checked; refuse worlds too large for the programs."""
        strength, mask = np.asarray(as_uncertainty(mdp, radius=radius).strength, float), np.asarray(mdp.mask)
        rows = mdp.kernel.to_sparse()[np.flatnonzero(mask)].tocsr()
        rows.sort_indices()
        counts = np.diff(rows.indptr)
        longest = max(int(counts.max(initial=0)), 1)
        if (entries := len(counts) * longest) > MOST_ENTRIES:
            raise InvalidInputError(
                f"the kernel of the world has {entries} entries; a guarantee is computed for up to {MOST_ENTRIES}."
            )
        place = np.repeat(np.arange(len(counts)), counts), np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], counts)
        places, chances = np.zeros((len(counts), longest), np.int64), np.zeros((len(counts), longest))
        places[place], chances[place] = rows.indices, rows.data
        owner = np.nonzero(mask)[0]
        return cls(places, chances, owner, mask, np.asarray(mdp.initial, float), float(mdp.discount), strength[mask])

    @property
    def exact(self) -> bool:
        """Whether the radius is zero everywhere, so that the world is the only one."""
        return not self.strength.any()

    def rows(self) -> Any:
        """Return T as a sparse matrix `[n, S]`."""
        return self._matrix(self.chances, np.zeros(len(self.owner)), 0)

    def owners(self) -> Any:
        """Return a sparse matrix `[S, n]`, one where a pair is of a state."""
        import scipy.sparse

        count = len(self.owner)
        return scipy.sparse.csr_array((np.ones(count), (self.owner, np.arange(count))), (len(self.start), count))

    def of_pairs(self, policy: Float[np.ndarray, "S A"]) -> Float[np.ndarray, " n"]:
        """Return the probabilities of a policy at the available pairs."""
        return policy[self.mask]

    def _matrix(self, chances: Float[np.ndarray, "n K"], moved: Float[np.ndarray, " n"], lowest: int) -> Any:
        """Return rows of these chances, with mass `moved` at one state, as a sparse matrix `[n, S]`."""
        import scipy.sparse

        count, longest = chances.shape
        values = np.concatenate([chances, moved[:, None]], 1).ravel()
        columns = np.concatenate([self.places, np.full((count, 1), lowest)], 1).ravel()
        pointers = np.arange(count + 1) * (longest + 1)
        return scipy.sparse.csr_array((values, columns, pointers), (count, len(self.start)))

    def lowest_rows(self, value: Float[np.ndarray, " S"]) -> tuple[Float[np.ndarray, "n K"], Float[np.ndarray, " n"]]:
        """Return what is left of the rows in the kernel of B with the lowest expected value of V, and what moved."""
        if self.exact:
            return self.chances, np.zeros(len(self.owner))
        order = np.argsort(-value[self.places], axis=-1, kind="stable")
        falling = np.take_along_axis(self.chances, order, -1)
        taken = np.clip(self.strength[:, None] - (np.cumsum(falling, -1) - falling), 0, falling)
        left = np.empty_like(falling)
        np.put_along_axis(left, order, falling - taken, -1)
        return left, taken.sum(-1)

    def lowest_return(self, policy: Float[np.ndarray, "S A"] | None, reward: Float[np.ndarray, " S"]) -> "Extreme":
        """Return a lower bound on the normalized return over B, of a policy or of all.

        The result also has the occupancy at the bound. Policy iteration on the kernel, as in
        `robustirl.theory.certify`, and on the actions if there is no policy. What is left of the residual is taken off.
        """
        import scipy.sparse
        import scipy.sparse.linalg

        # SuperLU, whatever the filling: threads of a dense solver cost a hundred times the work at these sizes.
        count = len(reward)
        value, identity = np.zeros(count), scipy.sparse.eye_array(count, format="csc")
        system, residual = scipy.sparse.linalg.splu(identity), np.inf
        for _ in range(ROUNDS):
            left, moved = self.lowest_rows(value)
            lowest = int(value.argmin())
            expected = (left * value[self.places]).sum(-1) + moved * value[lowest]
            acting = self._worst_actions(expected) if policy is None else self.of_pairs(policy)
            gained = np.bincount(self.owner, acting * expected, count)
            backup = reward + self.discount * gained
            residual = float(np.max(np.abs(backup - value)))
            if residual <= SETTLED * max(1.0, float(np.abs(value).max())):
                break
            chain = scipy.sparse.csc_array((self.owners() * acting) @ self._matrix(left, moved, lowest))
            system = scipy.sparse.linalg.splu(scipy.sparse.csc_array(identity - self.discount * chain))
            value = system.solve(reward)
        else:
            raise ConvergenceError(
                f"the worst world for a policy was not found in {ROUNDS} steps, with a residual of {residual:.1e};"
                " use a smaller discount."
            )
        attained = system.solve((1 - self.discount) * self.start, trans="T")
        # The fixed point is within residual / (1-γ) of V, and the return is (1-γ) P₀ᵀV.
        return Extreme((1 - self.discount) * float(self.start @ value) - residual, attained)

    def _worst_actions(self, expected: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return one for the first pair of each state with the lowest expectation, zero for its others."""
        table = np.full(self.mask.shape, np.inf)
        table[self.mask] = expected
        return np.eye(self.mask.shape[1])[table.argmin(-1)][self.mask]

    def occupancy_limits(
        self, policy: Float[np.ndarray, "S A"] | None = None, report: Callable[[], None] = lambda: None
    ) -> tuple[Float[np.ndarray, " S"], Float[np.ndarray, " S"]]:
        """Return the least and the largest occupancy of each state over B, of a policy or of all.

        `report` is called after each of them.
        """

        def bound(unit: Float[np.ndarray, " S"]) -> float:
            found = self.lowest_return(policy, unit).value
            report()
            return found

        units = np.eye(len(self.start))
        least, most = (np.array([sign * bound(sign * unit) for unit in units]) for sign in (1, -1))
        return np.clip(least, 0, 1), np.clip(most, 0, 1)

    def deviation(self, policy: Float[np.ndarray, "S A"] | None = None) -> float:
        """Return κ, the most by which an occupancy moves over B, in total variation: of all policies or of one."""
        strongest, size = float(self.strength.max()), len(self.start)
        value = np.full(size, self.discount * strongest / (1 - self.discount + self.discount * strongest))
        table = np.full(self.mask.shape, -np.inf)
        for _ in range(ROUNDS):
            # A sub-row of mass 1-σ with the largest expectation loses σ of the lowest successors.
            left, _ = self.lowest_rows(-value)
            table[self.mask] = self.discount * (self.strength + (left * value[self.places]).sum(-1))
            after = table.max(-1) if policy is None else (policy * np.where(self.mask, table, 0)).sum(-1)
            value = np.minimum(value, after)
        return float(self.start @ value)


@dataclasses.dataclass(frozen=True, eq=False)
class Extreme:
    """A bound on a return over a set of worlds, with an occupancy.

    The occupancy is that of the policy in the world that attains the bound.
    """

    value: float
    occupancy: Float[np.ndarray, " S"]


class Rows:
    """A linear program under construction.

    It has named blocks of variables, and rows as sums of matrices of them.
    """

    def __init__(self) -> None:
        self.size: int = 0
        self.places: dict[str, slice] = {}
        self.limits: list[tuple[float, float | None]] = []
        self.equal: list[tuple[dict[str, Any], np.ndarray]] = []
        self.below: list[tuple[dict[str, Any], np.ndarray]] = []

    def variable(self, name: str, count: int, low: float = 0.0, high: float | None = None) -> None:
        """Add a block of variables."""
        self.places[name] = slice(self.size, self.size + count)
        self.size += count
        self.limits += [(low, high)] * count

    def matrix(self, rows: list[tuple[dict[str, Any], np.ndarray]]) -> tuple[Any, np.ndarray | None]:
        """Return rows as one sparse matrix and its right side."""
        import scipy.sparse

        if not rows:
            return None, None
        table = []
        for blocks, right in rows:
            line = []
            for name, place in self.places.items():
                empty = scipy.sparse.csr_array((len(right), place.stop - place.start))
                block = blocks.get(name)
                line.append(empty if block is None else scipy.sparse.csr_array(block))
            table.append(scipy.sparse.hstack(line))
        return scipy.sparse.csr_array(scipy.sparse.vstack(table)), np.concatenate([right for _, right in rows])


def largest(program: Rows, objective: Mapping[str, float | np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """Return an upper bound on the maximum of a weighted sum of blocks, by HiGHS.

    Also return the variables that attain it. HiGHS satisfies constraints to 1e-9; `DIGITS` is added to the optimum so
    that this is no matter.
    """
    import scipy.optimize

    cost, message = np.zeros(program.size), ""
    for name, weight in objective.items():
        cost[program.places[name]] = -weight
    (above, right), (equal, target) = program.matrix(program.below), program.matrix(program.equal)
    for method in ("highs-ds", "highs-ipm"):
        found = scipy.optimize.linprog(
            cost,
            A_ub=above,
            b_ub=right,
            A_eq=equal,
            b_eq=target,
            bounds=program.limits,
            method=method,
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        message = " ".join(found.message.split())
        if found.status == 2:
            raise InvalidInputError(
                "no expert in a world within the radius has the occupancy of the demonstrations, within their error;"
                " raise the radius, or check that the states have the same numbers and starts in both worlds."
            )
        if found.status == 0:
            bound = -float(found.fun) + DIGITS
            return bound, {name: found.x[place] for name, place in program.places.items()}
    raise ConvergenceError(
        f"the linear program of the guarantee did not end in a solution ({message}); use a smaller world."
    )


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
    def of(
        cls, around: Surroundings, policy: Float[np.ndarray, "S A"], report: Callable[[], None] = lambda: None
    ) -> "LearnerRegion":
        """Return the region of a policy."""
        import scipy.sparse.linalg

        chain = (around.owners() * around.of_pairs(policy)) @ around.rows()
        system = scipy.sparse.csc_array(scipy.sparse.eye_array(len(around.start)) - around.discount * chain)
        occupancy = scipy.sparse.linalg.splu(system).solve((1 - around.discount) * around.start, trans="T")
        if around.exact:
            return cls(policy, occupancy, occupancy, occupancy, 0.0)
        lower, upper = around.occupancy_limits(policy, report)
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
    moves, owner, pairs = around.rows(), around.owners(), len(around.owner)
    moves.sum_duplicates()
    moves.eliminate_zeros()
    gamma, zeros = around.discount, np.zeros(count)
    program.variable("reward", count, high=1.0)
    program.variable("value", count)
    program.variable("w", count, high=1.0)
    program.variable("expert", pairs)
    program.variable("off", count)
    _flow(program, "expert", owner, moves, around.strength, around)
    program.below += [
        ({"expert": owner, "off": -one}, expert.occupancy),
        ({"expert": -owner, "off": -one}, -expert.occupancy),
        ({"off": sums}, np.array([expert.error])),
        ({"expert": owner}, expert.upper),
        ({"expert": -owner}, -expert.lower),
        ({"reward": owner.T, "value": gamma * moves - owner.T}, np.zeros(pairs)),
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
    weights = around.of_pairs(learner.policy)
    taken = weights > 0
    program.variable("learner", count)
    spread = scipy.sparse.csr_array(owner[:, taken] * weights[taken])
    _flow(program, "learner", spread, moves[taken], around.strength[taken], around)
    program.below += [
        ({"z": -one, "reward": scipy.sparse.diags_array(learner.lower)}, zeros),
        ({"z": -one, "learner": one, "reward": scipy.sparse.diags_array(learner.upper)}, learner.upper),
        ({"z": -sums, "reward": learner.occupancy[None]}, np.array([learner.deviation])),
    ]
    return program


def _flow(
    program: Rows, name: str, owner: Any, moves: Any, strength: Float[np.ndarray, " n"], around: Surroundings
) -> None:
    """Add the polytope of occupancies: of x(s,a) for the expert, of ρ(s) and a policy's weights for the learner."""
    import scipy.sparse

    gamma, start = around.discount, (1 - around.discount) * around.start
    count, pairs = len(start), len(strength)
    by_pair = name == "expert"
    # From the block's variables to x(s,a) of the pairs at hand.
    measure = scipy.sparse.eye_array(pairs) if by_pair else scipy.sparse.csr_array(owner.T)
    own = owner if by_pair else scipy.sparse.eye_array(count)
    arriving = scipy.sparse.csr_array(gamma * (moves.T @ measure))
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
    pick = scipy.sparse.csr_array((share, (where, row)), (size, pairs))
    total = scipy.sparse.csr_array((np.ones(size), (row, where)), (pairs, size))
    limit = scipy.sparse.csr_array(scipy.sparse.diags_array(strength) @ measure)
    program.below += [
        ({out: scipy.sparse.eye_array(size), name: -(pick @ measure)}, np.zeros(size)),
        ({out: total, name: -limit}, np.zeros(pairs)),
    ]


def attained_shortfall(
    around: Surroundings,
    learner: LearnerRegion,
    expert: ExpertRegion,
    reward: Float[np.ndarray, " S"],
    suboptimality: float,
) -> float | None:
    """Return a shortfall that occurs, from a reward to begin with.

    It is None if the learner's world has no such expert.
    """
    best = None
    for _ in range(REWARDS_TRIED):
        chosen = _favorite(around, expert, reward)
        if chosen is None:
            return best
        against = around.lowest_return(learner.policy, reward).occupancy
        reward = _explaining(around, chosen, chosen - against, suboptimality)
        found = float(chosen @ reward - around.lowest_return(learner.policy, reward).occupancy @ reward)
        if best is not None and found <= best + DIGITS:
            return best
        best = found
    return best


def _favorite(
    around: Surroundings, expert: ExpertRegion, reward: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " S"] | None:
    """Return the occupancy of the learner's world that earns most.

    Only those within the error of the demonstrations are considered.
    """
    import scipy.sparse

    program, owner, moves = _world(around)
    count = len(around.start)
    program.variable("off", count)
    one = scipy.sparse.eye_array(count)
    program.equal.append(({"x": owner - around.discount * moves.T}, (1 - around.discount) * around.start))
    program.below += [
        ({"x": owner, "off": -one}, expert.occupancy + DIGITS / count),
        ({"x": -owner, "off": -one}, DIGITS / count - expert.occupancy),
        ({"off": np.ones((1, count))}, np.array([expert.error])),
        ({"x": owner}, expert.upper + DIGITS / count),
        ({"x": -owner}, DIGITS / count - expert.lower),
    ]
    try:
        _, variables = largest(program, {"x": owner.T @ reward})
    except InvalidInputError:
        return None  # The expert's world is not the learner's.
    return owner @ variables["x"]


def _explaining(
    around: Surroundings,
    occupancy: Float[np.ndarray, " S"],
    direction: Float[np.ndarray, " S"],
    suboptimality: float,
) -> Float[np.ndarray, " S"]:
    """Return the reward with the largest ⟨direction, R⟩ for which an occupancy is optimal."""
    program, owner, moves = _world(around)
    count = len(around.start)
    program.variable("reward", count, high=1.0)
    program.variable("value", count)
    slack = suboptimality + DIGITS  # The occupancy is one of this world up to the solver's tolerance.
    program.below += [
        ({"reward": owner.T, "value": around.discount * moves - owner.T}, np.zeros(len(around.owner))),
        ({"value": (1 - around.discount) * around.start[None], "reward": -occupancy[None]}, np.array([slack])),
    ]
    return largest(program, {"reward": direction})[1]["reward"]


def _world(around: Surroundings) -> tuple[Rows, Any, Any]:
    """Return an empty program with the measure x(s,a), the owners `[S, n]` and the rows `[n, S]`."""
    program, owner, moves = Rows(), around.owners(), around.rows()
    program.variable("x", len(around.owner))
    return program, owner, moves
