"""Check a fit: named facts with numbers, each passed, warning or failed for a stated reason.

No check can tell the regret in the learner's world, because the expert's world is unknown. So there is no word for the
whole fit: `Checks.failed` names what did fail, and the numbers are for the reader to weigh.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from robustirl._jax import working_precision
from robustirl._show import ShortRepr, html_columns
from robustirl.demonstrations.occupancy import OccupancyEstimate
from robustirl.irl.alpha import SAME, AlphaSelection, end_states
from robustirl.irl.result import LIKELIHOOD, Fit, Status, found_maximum
from robustirl.mdp import MDP
from robustirl.mdp.mdp import absorbing_states, as_world
from robustirl.planning import state_occupancy

LONGEST = 1000  # Steps within which a policy has to arrive.
MOST_PROGRAM_STATES = 300  # States up to which the least gap of all policies is computed, in half a second.


class CheckStatus(enum.StrEnum):
    """How one check came out."""

    PASSED = "passed"
    WARNS = "warns"
    FAILED = "failed"


@dataclasses.dataclass(frozen=True)
class Check:
    """Hold one named fact about a fit.

    Attributes:
        name: What was checked, in two to four words.
        status: How it came out.
        numbers: The numbers that it rests on, by name, as JSON takes them.
        sentence: One plain sentence: the fact, and what it means.
    """

    name: str
    status: CheckStatus
    numbers: Mapping[str, float]
    sentence: str


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyUse(ShortRepr):
    """Hold what the player's policy does in the learner's world in one way of using it.

    Attributes:
        name: "sampled" (actions drawn from the policy) or "greedy" (the most likely action).
        policy: `[S, A]`.
        occupancy_gap: ‖ρ_π - ρ‖₁, without the opponent.
        arrival: How often it reaches the ends that the expert reaches, from 0 to 1; None if there are none.
    """

    name: str
    policy: Float[np.ndarray, "S A"]
    occupancy_gap: float
    arrival: float | None


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """Hold what this policy would lose if the expert's world was the one that a candidate α stands for.

    Attributes:
        alpha: The candidate.
        regret: Of the fit's player, as a share of optimum minus uniform policy under the candidate's reward.
        standard_regret: The same of standard IRL's player (α = 1).
    """

    alpha: float
    regret: float
    standard_regret: float


@dataclasses.dataclass(frozen=True, eq=False)
class Checks(ShortRepr):
    """Hold all checks of one fit.

    Attributes:
        checks: In the order in which they are to be read.
        sampled, greedy: The policy in both ways of using it; None for fits without a finite world.
        acting: "sampled" or "greedy": the one that works, and that `RobustIRL.predict` uses.
        hypotheses: What the data leave open about the expert's world; empty if α was given.
    """

    checks: tuple[Check, ...]
    sampled: PolicyUse | None = None
    greedy: PolicyUse | None = None
    acting: str = "sampled"
    hypotheses: tuple[Hypothesis, ...] = ()

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.status is CheckStatus.FAILED)

    @property
    def use(self) -> PolicyUse | None:
        """The policy in the way in which it is used."""
        return self.sampled if self.acting == "sampled" else self.greedy

    def __getitem__(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        return "\n".join(f"{check.status:<6}  {check.name}: {check.sentence}" for check in self.checks)

    def _repr_html_(self) -> str:
        rows = {name: [getattr(check, name) for check in self.checks] for name in ("name", "status", "sentence")}
        return html_columns("Checks", {name: list(map(str, column)) for name, column in rows.items()})


@working_precision
def check_fit(
    fit: Fit,
    world: MDP,
    *,
    estimate: OccupancyEstimate | None = None,
    selection: AlphaSelection | None = None,
    policy: Float[np.ndarray, "S A"] | None = None,
) -> Checks:
    """Check a fit in the learner's world.

    Args:
        fit: The fit.
        world: The learner's world.
        estimate: The estimate of the expert's occupancy that the fit was made from; an exact one if omitted.
        selection: How α was chosen, if it was.
        policy: `[S, A]`, the policy that will be used; the player if omitted.

    Example:
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit
        >>> world = ThreeState().mdp()
        >>> checks = check_fit(fit(world, [0.1, 0.9, 0.0], alpha=1.0), world)
        >>> checks["planner"].status, checks.acting, checks.failed
        (<CheckStatus.PASSED: 'passed'>, 'greedy', ())
    """
    world, likelihood = as_world(world), fit.objective == LIKELIHOOD
    uses = policy_uses(fit, world, policy=policy, estimate=estimate)
    checks = [_planner(fit)]
    hypotheses: tuple[Hypothesis, ...] = ()
    if likelihood:
        checks.append(_maximum(fit))
    else:
        expert, error = np.asarray(fit.expert_occupancy), 0.0 if estimate is None else float(estimate.error)
        visits = np.asarray(state_occupancy(world, uses.sampled.policy))
        checks += [_gap(fit, world, error, estimate is not None), _unreachable(world, expert)]
        checks.append(_unvisited(visits, expert, error))
        if estimate is not None:
            checks.append(_weights(fit, world, estimate))
        if selection is not None:
            rows = np.flatnonzero(selection.open)
            regrets = selection.regrets[:, [selection.place, 0]]
            hypotheses = tuple(Hypothesis(float(selection.candidates[j]), *map(float, regrets[j])) for j in rows)
            checks.append(_hypotheses(selection, hypotheses))
    return Checks((*checks, uses.check), uses.sampled, uses.greedy, uses.use.name, hypotheses)


def _planner(fit: Fit) -> Check:
    """Return whether every plan reached its error bound."""
    valid, bound = bool(fit.verdict.valid), float(fit.verdict.error_bound)
    if valid:
        return Check("planner", CheckStatus.PASSED, {"error_bound": bound}, f"All plans are exact to {bound:.1e}.")
    said = f"A plan missed its error bound ({bound:.1e}), so nothing that follows can be relied on."
    return Check("planner", CheckStatus.FAILED, {"error_bound": bound}, said)


def _maximum(fit: Fit) -> Check:
    """Return whether a likelihood is at its maximum."""
    gradient, numbers = float(fit.verdict.gap), {"gradient": float(fit.verdict.gap), "steps": float(fit.verdict.steps)}
    if found_maximum(fit):
        said = f"The likelihood is at a maximum: the gradient of its mean is {gradient:.1e}."
        return Check("maximum", CheckStatus.PASSED, numbers, said)
    said = (
        f"The likelihood is at no maximum: the gradient of its mean is {gradient:.1e}; raise steps or give a penalty."
    )
    return Check("maximum", CheckStatus.FAILED, numbers, said)


def _gap(fit: Fit, world: MDP, error: float, sampled: bool) -> Check:
    """Compare the occupancy gap with the error of the data and with the least gap that any policy has."""
    gap, seen = float(fit.verdict.occupancy_gap), float(fit.verdict.gap)
    numbers = {"gap": gap, "gap_seen_by_the_reward": seen, "data_error": error}
    by_states = np.isclose(gap, seen)
    said = f"Player and opponent together miss the expert's visits by {gap:.3g} in l1"
    if not by_states:
        said += f", and by {seen:.3g} in what the reward can tell apart"
    if sampled:
        said += f"; the sampling error of the visits is {error:.3g}"
    if seen <= error or fit.verdict.status is Status.CONVERGED:
        return Check("occupancy gap", CheckStatus.PASSED, numbers, f"{said}.")
    least = float(fit.verdict.least_gap)
    least = 0.0 if np.isnan(least) else least
    if by_states and world.num_states <= MOST_PROGRAM_STATES:
        from robustirl.theory import closest_occupancy

        program = closest_occupancy(world, fit.expert_occupancy, throw=False)
        least = max(least, float(program.lower_bound) if program.converged else 0.0)
    numbers["least_gap"] = least
    said += f"; no policy of this world comes closer than {least:.3g}"
    if seen <= least + max(error, float(fit.verdict.tolerance)):
        return Check("occupancy gap", CheckStatus.PASSED, numbers, f"{said}.")
    return Check("occupancy gap", CheckStatus.WARNS, numbers, f"{said}: take more steps, or another alpha or reward.")


def reachable_states(world: MDP) -> Bool[np.ndarray, " S"]:
    """Return the states that some policy visits.

    Example:
        >>> kernel = [[[0.0, 1.0, 0.0]], [[0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0]]]
        >>> reachable_states(MDP(kernel, discount=0.9, initial=[1.0, 0.0, 0.0])).tolist()
        [True, True, False]
    """
    from scipy import sparse  # Here, so that `import robustirl` stays light.

    states, mask = world.num_states, np.asarray(world.mask)
    rows = world.kernel.to_sparse().tocoo()
    kept = (rows.data > 0) & mask.ravel()[rows.row]
    starts = np.flatnonzero(np.asarray(world.initial) > 0)
    source = np.concatenate([rows.row[kept] // world.num_actions, np.full(starts.size, states)])
    target = np.concatenate([rows.col[kept], starts])
    graph = sparse.csr_array((np.ones(source.size), (source, target)), shape=(states + 1, states + 1))
    order = sparse.csgraph.breadth_first_order(graph, states, return_predecessors=False)
    return np.isin(np.arange(states), order)


def _unreachable(world: MDP, expert: Float[np.ndarray, " S"]) -> Check:
    """Return the expert's mass in states that the learner cannot reach."""
    mass = float(expert[~reachable_states(world)].sum())
    if mass <= SAME:
        said = "The learner can reach all states that the expert visits."
        return Check("unreachable states", CheckStatus.PASSED, {"mass": mass}, said)
    # Beyond a half, no policy of the learner's world has most of what the expert does.
    status = CheckStatus.FAILED if mass > 0.5 else CheckStatus.WARNS
    said = (
        f"The expert spends {_percent(mass)} of its time in states that the learner cannot reach; check that states"
        " have the same numbers in both worlds and that the learner starts where the expert does."
    )
    return Check("unreachable states", status, {"mass": mass}, said)


def _unvisited(visits: Float[np.ndarray, " S"], expert: Float[np.ndarray, " S"], error: float) -> Check:
    """Return the player's mass in states that the expert never visits; unseen visits of the expert explain a part."""
    mass = float(visits[expert <= 0].sum())
    status = CheckStatus.PASSED if mass <= max(error / 2, SAME) else CheckStatus.WARNS
    said = f"The player spends {_percent(mass)} of its time in states that the expert never visits."
    return Check("unvisited states", status, {"mass": mass, "data_error": error}, said)


def _weights(fit: Fit, world: MDP, estimate: OccupancyEstimate) -> Check:
    """Compare the number of weights with that of the episodes that they were learned from."""
    count = sum(np.size(leaf) for leaf in jax.tree.leaves(fit.parameters))
    numbers = {"weights": float(count), "episodes": float(estimate.episodes)}
    said = f"{count} weights were learned from {estimate.episodes} episodes"
    if count < world.num_states:
        return Check("weights", CheckStatus.PASSED, numbers, f"{said}.")
    said += "; if some states are alike (goal, hole, ice), say which: rewards.classes(labels) learns a weight for each."
    return Check("weights", CheckStatus.WARNS, numbers, said)


def _hypotheses(selection: AlphaSelection, hypotheses: tuple[Hypothesis, ...]) -> Check:
    """Return what the policy would lose under the hypotheses that the data leave open."""
    mine, standard = (np.array([getattr(h, name) for h in hypotheses]) for name in ("regret", "standard_regret"))
    numbers = {
        "open": float(len(hypotheses)),
        "mean_regret": float(mine.mean()),
        "largest_regret": float(mine.max()),
        "standard_mean_regret": float(standard.mean()),
        "standard_largest_regret": float(standard.max()),
    }
    low, high = min(h.alpha for h in hypotheses), max(h.alpha for h in hypotheses)
    said = (
        f"The data leave {len(hypotheses)} of {len(selection.candidates)} hypotheses about the expert's world open,"
        f" from α = {high:g} to {low:g}; under these the policy loses {_percent(mine.min())} to {_percent(mine.max())},"
        f" standard IRL's {_percent(standard.min())} to {_percent(standard.max())}."
    )
    worse = mine.mean() > standard.mean()  # Possible only where standard IRL's player is not admissible.
    return Check("hypotheses", CheckStatus.WARNS if worse else CheckStatus.PASSED, numbers, said)


class PolicyUses(NamedTuple):
    """A policy in both ways of using it, the one of them that works, and the check that says so."""

    use: PolicyUse
    sampled: PolicyUse
    greedy: PolicyUse
    check: Check


@working_precision
def policy_uses(
    fit: Fit,
    world: MDP,
    *,
    policy: Float[np.ndarray, "S A"] | None = None,
    estimate: OccupancyEstimate | None = None,
) -> PolicyUses:
    """Return what the policy does sampled and greedy, and which of them works.

    The greedy one works if it loses nothing: if it reaches the expert's ends as often as the sampled one, and where
    there are none, if it earns as much of the learned reward. See `check_fit` for the arguments.
    """
    expert = np.asarray(fit.expert_occupancy if estimate is None else estimate.occupancy)
    by_choices = fit.objective == LIKELIHOOD and estimate is None  # Shares of choices are no discounted visits.
    player = np.asarray(fit.player if policy is None else policy)
    policies = (player, np.eye(player.shape[1])[player.argmax(1)])
    ends = np.where(end_states(world), expert, 0)
    visits = [np.asarray(state_occupancy(world, acting)) for acting in policies]
    arrived = [_arrival(world, acting, ends) if ends.any() else None for acting in policies]
    gaps = [float("nan") if by_choices else float(np.abs(visit - expert).sum()) for visit in visits]
    sampled, greedy = map(PolicyUse, ("sampled", "greedy"), policies, gaps, arrived)
    leaving = np.where(absorbing_states(world), 0, visits[0])
    chance = float(leaving @ (1 - player.max(1))) / max(float(leaving.sum()), np.finfo(float).tiny)
    numbers = {"random_steps": chance, "sampled_gap": sampled.occupancy_gap, "greedy_gap": greedy.occupancy_gap}
    said = f"The policy takes another than its most likely action in {_percent(chance)} of its steps"
    if sampled.arrival is None or greedy.arrival is None:
        reward = np.asarray(fit.reward)
        paid = reward if reward.ndim == 2 else reward[:, None]
        earned = [float((v[:, None] * p * paid).sum()) for v, p in zip(visits, policies, strict=True)]
        works = earned[1] >= earned[0] - SAME * float(np.abs(reward).max())
        said += f"; the greedy policy earns {'no less' if works else 'less'} of the learned reward"
        status = CheckStatus.PASSED
    else:
        works = greedy.arrival >= sampled.arrival - SAME
        numbers |= {"sampled_arrival": sampled.arrival, "greedy_arrival": greedy.arrival}
        said += (
            f"; sampled it reaches the expert's ends in {_percent(sampled.arrival)} of the episodes, greedy in"
            f" {_percent(greedy.arrival)}"
        )
        status = CheckStatus.PASSED if works else CheckStatus.WARNS
        status = status if max(sampled.arrival, greedy.arrival) > 0 else CheckStatus.FAILED
    said += f", so predict {'takes the most likely action' if works else 'samples'}."
    return PolicyUses(greedy if works else sampled, sampled, greedy, Check("policy in use", status, numbers, said))


def _arrival(world: MDP, policy: Float[np.ndarray, "S A"], weights: Float[np.ndarray, " S"]) -> float:
    """Return how often a policy reaches the expert's ends within `LONGEST` steps, from 0 to 1.

    Ends are weighed by how often the expert reaches them, 1 for the most frequent. Nothing is discounted: at a small
    discount a policy that never arrives from a few states looks as good as one that arrives late.
    """
    from scipy import sparse

    ends, states = end_states(world), world.num_states
    acting = sparse.csr_array(np.where(ends[:, None], 0, policy))
    places = np.repeat(np.arange(states), np.diff(acting.indptr)) * world.num_actions + acting.indices
    chosen = sparse.csr_array((acting.data, places, acting.indptr), shape=(states, states * world.num_actions))
    chain = chosen @ world.kernel.to_sparse().tocsr() + sparse.diags_array(ends.astype(float))
    step, reached = sparse.csr_array(chain.T), np.asarray(world.initial)
    for _ in range(LONGEST):
        reached = step @ reached
    return float(reached @ weights / weights.max())


def _percent(share: Any) -> str:
    return f"{100 * float(share):.3g} %"
