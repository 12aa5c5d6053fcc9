r"""Say how uncertain the coefficients of a reward are: standard errors, intervals, a table with names.

**Likelihood.** At the maximum θ̂ of the log-likelihood L(θ) = Σ_i log π_mix(a_i|s_i; θ) let H = -∇²L, the observed
information, and g_i the gradient of the i-th term. Four covariances are estimated:

    hessian    H⁻¹                                   if the model is right
    outer      (Σ_i g_i g_iᵀ)⁻¹                      if the model is right (BHHH; the one in Rust, 1987)
    sandwich   H⁻¹ (Σ_i g_i g_iᵀ) H⁻¹                also if the policy is of another form
    grouped    H⁻¹ (Σ_k g_k g_kᵀ) H⁻¹                also if choices of one group k (an episode) depend on each other,
                                                     with g_k the sum of g_i over the group

The derivatives are exact: two Newton steps from the fixed point V* have the derivatives of the fixed point up to the
third order, and they are differentiated instead of the planner.

**Occupancies.** A linear reward that matches the features of n independent episodes, φᵀ(ρ_mix(θ̂) - ρ̂) = 0, has by the
delta method the `grouped` covariance with H = ∂(φᵀρ_mix)/∂θ, the curvature of the dual, and g_k = φᵀ(x_k - ρ̂)/n for the
visits x_k of an episode. There is no other kind, because a gap is no likelihood.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float

from robustirl._check import as_number_between
from robustirl._jax import as_float, jit, working_precision
from robustirl._show import ShortRepr, html_columns
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.demonstrations.choices import as_choices
from robustirl.demonstrations.occupancy import shown_contributions
from robustirl.errors import InvalidInputError
from robustirl.irl.dynamics import JointModel
from robustirl.irl.fit import LoopState, begin
from robustirl.irl.objectives import log_policy
from robustirl.irl.problem import Problem, Settings, as_problem
from robustirl.irl.result import LIKELIHOOD, Fit
from robustirl.mdp import MDP
from robustirl.mdp.policy import mixture
from robustirl.planning import Temperatures, discounted_return, solve
from robustirl.planning.operators import two_player_backup
from robustirl.rewards import AbstractReward
from robustirl.types import FloatTree

KINDS = ("hessian", "outer", "sandwich", "grouped")
SINGULAR = 1e-10  # Of the largest eigenvalue of an information scaled to a unit diagonal.
COLLINEAR = 0.1
"""An eigenvalue of the scaled information below says that variances are inflated tenfold, the textbook's sign of it."""
SHOWN = 40  # Rows of the table that a text shows.


@dataclasses.dataclass(frozen=True, eq=False)
class Inference(ShortRepr):
    """Hold parameters with their uncertainty.

    Attributes:
        names: A name for each of the d parameters.
        parameters: `[d]`, θ̂.
        log_likelihood: Of all choices, and of their outcomes where dynamics were learned; NaN for occupancies.
        choice_log_likelihood: Of the choices alone; NaN for occupancies.
        observations, groups: How many choices there are, and how many groups (episodes).
        information: `[d, d]`, H.
        outer_product: `[d, d]`, Σ_i g_i g_iᵀ; None for occupancies.
        grouped_outer_product: `[d, d]`, Σ_k g_k g_kᵀ.
    """

    names: tuple[str, ...]
    parameters: Float[np.ndarray, " d"]
    log_likelihood: float
    choice_log_likelihood: float
    observations: int
    groups: int
    information: Float[np.ndarray, "d d"]
    outer_product: Float[np.ndarray, "d d"] | None
    grouped_outer_product: Float[np.ndarray, "d d"]

    @property
    def kind(self) -> str:
        """Return the kind of standard error that is shown unless another is asked for."""
        return "grouped" if self.outer_product is None else "hessian"

    @property
    def unidentified(self) -> tuple[str, ...]:
        """Return the names of parameters of which some combination changes nothing that was observed."""
        return tuple(name for name, free in zip(self.names, _free(self.information), strict=True) if free)

    @property
    def collinear(self) -> tuple[tuple[str, ...], ...]:
        """Return groups of names that the data hardly tell apart: some combination of each is nearly unknown."""
        _, values, vectors, known = _scaled(self.information)
        weak = known & (values < COLLINEAR)
        groups = (
            np.flatnonzero(np.abs(vectors[:, k]) > 0.5 * np.abs(vectors[:, k]).max()) for k in np.flatnonzero(weak)
        )
        return tuple(tuple(self.names[i] for i in group) for group in groups if group.size > 1)

    def covariance(self, kind: str | None = None) -> Float[np.ndarray, "d d"]:
        """Return the covariance of the estimates, zero in directions that are not identified.

        Args:
            kind: `hessian`, `outer`, `sandwich` or `grouped`; see the top of `robustirl.irl.inference`.
        """
        kind = self.kind if kind is None else kind
        if kind not in KINDS or (self.outer_product is None and kind != "grouped"):
            known = KINDS if self.outer_product is not None else ("grouped",)
            raise InvalidInputError(f"the kind of standard error is {kind!r}, but one of {', '.join(known)} is needed.")
        if kind == "outer":
            return _inverse(self.outer_product)  # pyright: ignore[reportArgumentType]
        bread = _inverse(self.information)
        if kind == "hessian":
            return bread
        return bread @ (self.outer_product if kind == "sandwich" else self.grouped_outer_product) @ bread

    def standard_errors(self, kind: str | None = None) -> Float[np.ndarray, " d"]:
        """Return a standard error for every parameter; infinite where it is not identified.

        NaN says that the information is not positive: then the parameters are no maximum.
        """
        variances = np.diag(self.covariance(kind))
        errors = np.sqrt(np.where(variances >= 0, variances, np.nan))
        return np.where(_free(self.information), np.inf, errors)

    def confidence_intervals(self, confidence: float = 0.95, kind: str | None = None) -> Float[np.ndarray, "d 2"]:
        """Return θ̂ ± z · standard error for every parameter, by the normal approximation."""
        from scipy.stats import norm  # Here, so that `import robustirl` stays light.

        share = as_number_between("the confidence", confidence, 0, 1)
        width = float(norm.ppf((1 + share) / 2)) * self.standard_errors(kind)
        return np.stack([self.parameters - width, self.parameters + width], -1)

    def table(self, confidence: float = 0.95, kind: str | None = None) -> list[dict[str, Any]]:
        """Return a row for every parameter: name, estimate, standard error, ends of the interval.

        `pandas.DataFrame(inference.table())` is a data frame of it.
        """
        errors, intervals = self.standard_errors(kind), self.confidence_intervals(confidence, kind)
        columns = (self.names, self.parameters.tolist(), errors.tolist(), *intervals.T.tolist())
        keys = ("name", "estimate", "standard_error", "low", "high")
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def __str__(self) -> str:
        rows = self.table()[:SHOWN]
        wide = max(len("parameter"), *(len(row["name"]) for row in rows))
        lines = [f"{'parameter':<{wide}} {'estimate':>12} {'std. error':>12}   95 % interval ({self.kind})"]
        for row in rows:
            ends = f"{row['low']:.5g} to {row['high']:.5g}"
            lines.append(f"{row['name']:<{wide}} {row['estimate']:>12.5g} {row['standard_error']:>12.4g}   {ends}")
        if len(self.names) > SHOWN:
            lines.append(f"... and {len(self.names) - SHOWN} more")
        if self.unidentified:
            lines.append(f"not identified: {', '.join(self.unidentified[:SHOWN])}")
        lines += [f"hardly told apart: {', '.join(group)}" for group in self.collinear]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = self.table()
        return html_columns(
            "Coefficients", {key: [_text(row[key]) for row in rows] for key in (rows[0] if rows else {})}
        )


@working_precision
def infer(
    fit: Fit,
    mdp: MDP,
    observed: Choices | Demonstrations,
    reward: AbstractReward,
    *,
    temperatures: Temperatures = Temperatures(),
    penalty: float = 0.0,
) -> Inference:
    """Return the parameters of a fit with their uncertainty.

    Args:
        fit: The result of `fit`, at its minimum.
        mdp: The learner's world that it was made in.
        observed: The choices, or the demonstrations, that it was made from.
        reward: The reward model that it was made with; for occupancies a linear one of states.
        temperatures: Those of the fit.
        penalty: That of the fit; it adds to the information.

    Example:
        >>> from robustirl.irl import fit
        >>> from robustirl.rewards import LinearReward
        >>> world = MDP([[[1.0], [1.0]]], discount=0.9)  # One state, two actions.
        >>> bonus = LinearReward([[[0.0], [1.0]]], names=["bonus"])
        >>> chosen = Choices([0] * 100, [1] * 75 + [0] * 25)
        >>> found = infer(fit(world, chosen, reward=bonus, objective="likelihood"), world, chosen, bonus)
        >>> round(float(found.parameters[0]), 4), round(float(found.standard_errors()[0]), 4)  # log 3, 4/√300
        (1.0986, 0.2309)
    """
    parameters = jax.tree.map(as_float, fit.parameters)
    if fit.objective != LIKELIHOOD:
        return _of_visits(fit, mdp, observed, reward, parameters, temperatures)
    rows = as_choices(observed)
    settings = Settings(temperatures=temperatures, objective=LIKELIHOOD, penalty=penalty)
    problem = as_problem(mdp, rows, np.asarray(fit.alpha), reward, settings)
    level = np.asarray(mdp.initial) @ np.asarray(fit.value)
    shift = as_float((1 - float(mdp.discount)) * level)
    found = _derivatives(problem, parameters, as_float(np.asarray(fit.value) - level), shift)
    hessian, logs, by_pair = (np.asarray(x) for x in found)
    each, choice_fitness = by_pair[rows.states, rows.actions], float(logs[rows.states, rows.actions].sum())
    total = choice_fitness + len(rows) * float(reward.further_log_likelihood(parameters))
    if isinstance(reward, JointModel):
        each = each + np.asarray(reward.further_scores(parameters))
    owners, which = np.unique(rows.groups, return_inverse=True)
    sums = np.zeros((owners.size, each.shape[1]))
    np.add.at(sums, which, each)
    return Inference(
        names=reward.parameter_names(),
        parameters=np.asarray(ravel_pytree(parameters)[0]),
        log_likelihood=total,
        choice_log_likelihood=choice_fitness,
        observations=len(rows),
        groups=int(owners.size),
        information=len(rows) * hessian + penalty * np.eye(len(hessian)),
        outer_product=each.T @ each,
        grouped_outer_product=sums.T @ sums,
    )


class Counterfactual(NamedTuple):
    """Hold what a change of the world does to somebody who keeps the reward.

    Attributes:
        policy: `[S, A]`, the soft policy in the changed world.
        change: In discounted return, by the learned reward.
        low, high: The ends of its interval, for the uncertainty of the coefficients.
    """

    policy: Float[np.ndarray, "S A"]
    change: float
    low: float
    high: float


@working_precision
def counterfactual(
    inference: Inference,
    reward: AbstractReward,
    world: MDP,
    changed: MDP,
    *,
    temperatures: Temperatures = Temperatures(),
    confidence: float = 0.95,
) -> Counterfactual:
    """Return what somebody with the learned reward does, gains and loses in a changed world.

    Args:
        inference: What `infer` returned.
        reward: The reward model of the fit.
        world: The world before the change.
        changed: The world after it, with the same states and actions.
        temperatures: Those of the fit.
        confidence: Of the interval, which is that of the delta method.

    Example:
        >>> from robustirl.irl import fit
        >>> from robustirl.rewards import LinearReward
        >>> world, bonus = MDP([[[1.0], [1.0]]], discount=0.9), LinearReward([[[0.0], [1.0]]])
        >>> chosen = Choices([0] * 100, [1] * 75 + [0] * 25)
        >>> found = infer(fit(world, chosen, alpha=1.0, reward=bonus, objective="likelihood"), world, chosen, bonus)
        >>> without = MDP([[[1.0], [0.0]]], discount=0.9, mask=[[True, False]])  # The bonus is no more.
        >>> [round(x, 2) for x in counterfactual(found, bonus, world, without)[1:]]
        [-8.24, -12.57, -3.91]
    """
    from scipy.stats import norm  # Here, so that `import robustirl` stays light.

    _, unravel = ravel_pytree(reward.initial_parameters())

    def gain(theta: Float[np.ndarray, " d"]) -> tuple[float, Any]:
        """Return how much larger the return is in the changed world, and the policy there."""
        paid = reward(unravel(as_float(theta)))
        policies = [solve(one, paid, temperatures=temperatures).player for one in (world, changed)]
        before, after = (
            float(discounted_return(one, policy, paid)) for one, policy in zip((world, changed), policies, strict=True)
        )
        return after - before, policies[1]

    theta = inference.parameters
    steps = np.diag(1e-4 * np.maximum(1, np.abs(theta)))
    slope = np.array([(gain(theta + h)[0] - gain(theta - h)[0]) / (2 * h.sum()) for h in steps])
    change, policy = gain(theta)
    share = as_number_between("the confidence", confidence, 0, 1)
    width = float(norm.ppf((1 + share) / 2)) * float(np.sqrt(slope @ inference.covariance() @ slope))
    return Counterfactual(np.asarray(policy), change, change - width, change + width)


def _settled(
    problem: Problem, theta: FloatTree, value: Float[Array, " S"], shift: Float[Array, ""]
) -> Float[Array, " S"]:
    """Take two Newton steps from a value, which are differentiated as they are."""
    game, reward = problem.model.game(problem.game, theta), problem.model(theta) - shift
    for _ in range(2):
        backup = two_player_backup(game, reward, value, problem.temperatures)
        policy = mixture(backup.player, backup.opponent, game.alpha)
        system = jnp.eye(value.size) - game.mdp.discount * game.mdp.kernel.chain(policy).dense()
        value = value + jnp.linalg.solve(system, backup.value - value)
    return value


@jit
def _derivatives(problem: Problem, parameters: FloatTree, value: Float[Array, " S"], shift: Float[Array, ""]) -> Any:
    """Return the information of a choice, and log-probabilities and scores of all pairs at these parameters."""
    theta, unravel = ravel_pytree(parameters)
    value = _settled(problem, parameters, value, shift)  # What rounding has left in the value of the fit.

    def logs(theta: Float[Array, " d"]) -> Float[Array, "S A"]:
        at = unravel(theta)
        return log_policy(problem, at, shift, _settled(problem, at, value, shift))[0]

    def fitness(theta: Float[Array, " d"]) -> Float[Array, ""]:
        return (problem.expert * logs(theta)).sum() + problem.model.further_log_likelihood(unravel(theta))

    return -jax.jacfwd(jax.grad(fitness))(theta), logs(theta), jax.jacfwd(logs)(theta)


def _of_visits(
    fit: Fit, mdp: MDP, observed: Any, reward: AbstractReward, parameters: FloatTree, temperatures: Temperatures
) -> Inference:
    """Return the uncertainty of a linear reward that matches the visits of demonstrations."""
    if not isinstance(observed, Demonstrations) or len(observed) < 2:
        raise InvalidInputError(
            "how uncertain matched visits are is told by two or more episodes; give Demonstrations."
        )
    if reward.scales() is None or np.ndim(fit.reward) != 1:
        raise InvalidInputError(
            f"the reward is a {type(reward).__name__}, but one of states that is linear in its parameters is needed."
        )
    problem = as_problem(mdp, fit.expert_occupancy, np.asarray(fit.alpha), reward, Settings(temperatures=temperatures))
    matrix = np.asarray(_curvature(problem, begin(problem, parameters)))
    back = jax.jacfwd(reward)(parameters)
    features = np.concatenate([np.asarray(leaf).reshape(mdp.num_states, -1) for leaf in jax.tree.leaves(back)], 1)
    shown, _ = shown_contributions(observed, mdp)
    scatter = np.cov(np.asarray(shown @ features).T).reshape(features.shape[1], -1) / len(observed)
    return Inference(
        names=reward.parameter_names(),
        parameters=np.asarray(ravel_pytree(parameters)[0]),
        log_likelihood=float("nan"),
        choice_log_likelihood=float("nan"),
        observations=observed.num_transitions,
        groups=len(observed),
        information=(matrix + matrix.T) / 2,
        outer_product=None,
        grouped_outer_product=scatter,
    )


@jit
def _curvature(problem: Problem, state: LoopState) -> Float[Array, "d d"]:
    """Return ∂(φᵀρ_mix)/∂θ at the parameters that a fit is begun with."""
    here, memory = problem.objective.evaluate(problem, state.following, state.here, state.planner, problem.rule())
    theta, _ = ravel_pytree(state.following)
    return jax.lax.map(problem.objective.curvature(problem, here, memory), jnp.eye(theta.size, dtype=theta.dtype))


def _scaled(information: Float[np.ndarray, "d d"]) -> tuple[np.ndarray, np.ndarray, np.ndarray, Bool[np.ndarray, " d"]]:
    """Return units, eigenvalues and eigenvectors of an information, and which are not zero.

    The units give the information a unit diagonal before its eigenvalues are computed.
    """
    diagonal = np.abs(np.diag(information))
    least = SINGULAR * max(float(diagonal.max()), np.finfo(float).tiny)
    unit = np.where(diagonal > least, 1 / np.sqrt(np.maximum(diagonal, least)), 0)
    scaled = information * unit[:, None] * unit
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    return unit, values, vectors, np.abs(values) > SINGULAR * max(float(np.abs(values).max()), np.finfo(float).tiny)


def _inverse(information: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    unit, values, vectors, known = _scaled(information)
    inverse = np.where(known, 1 / np.where(known, values, 1), 0)
    return unit[:, None] * (vectors * inverse) @ vectors.T * unit


def _free(information: Float[np.ndarray, "d d"]) -> Bool[np.ndarray, " d"]:
    """Return which parameters have a part in a direction without information."""
    _, _, vectors, known = _scaled(information)
    return np.abs(vectors[:, ~known]).max(1, initial=0) > 1e-6


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.5g}"
