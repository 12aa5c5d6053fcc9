r"""What recorded choices say about the parameters of a reward: standard errors, intervals, a table with names.

At the maximum θ̂ of the log-likelihood L(θ) = Σ_i log π_mix(a_i|s_i; θ) let H = -∇²L, the observed information, and
g_i the gradient of the i-th term. Four covariances are estimated:

    hessian    H⁻¹                                   if the model is right
    outer      (Σ_i g_i g_iᵀ)⁻¹                      if the model is right (BHHH; the one in Rust, 1987)
    sandwich   H⁻¹ (Σ_i g_i g_iᵀ) H⁻¹                also if the policy is of another form
    grouped    H⁻¹ (Σ_k g_k g_kᵀ) H⁻¹                also if choices of one group k (an episode) depend on each other,
                                                     with g_k the sum of g_i over the group

The second derivative is exact: two Newton steps from the fixed point V* have the derivatives of the fixed point up to
the third order, and they are differentiated instead of the planner.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from robustirl._runtime import BoundedJit, as_float, working_precision
from robustirl.demonstrations import Choices, Demonstrations
from robustirl.demonstrations.choices import as_choices
from robustirl.errors import InvalidInputError
from robustirl.irl.mce.choice_likelihood import log_policy, outcome_scores, scores
from robustirl.irl.mce.dynamics import JointModel, game_at, outcome_log_probabilities
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.irl.mce.problem import LIKELIHOOD, Problem
from robustirl.irl.mce.result import Fit
from robustirl.mdp import MDP, mixture
from robustirl.planning import Temperatures, two_player_backup
from robustirl.rewards import AbstractReward
from robustirl.types import FloatTree

KINDS = ("hessian", "outer", "sandwich", "grouped")
SINGULAR = 1e-10  # Of the largest eigenvalue of an information scaled to a unit diagonal.


@dataclasses.dataclass(frozen=True, eq=False)
class Inference:
    """Parameters with their uncertainty.

    Attributes:
        names: A name for each of the d parameters.
        parameters: `[d]`, θ̂.
        log_likelihood: Of all choices, and of their outcomes where dynamics were learned, too.
        choice_log_likelihood: Of the choices alone.
        observations, groups: How many choices there are, and how many groups (episodes).
        information: `[d, d]`, H.
        outer_product: `[d, d]`, Σ_i g_i g_iᵀ.
        grouped_outer_product: `[d, d]`, Σ_k g_k g_kᵀ.
    """

    names: tuple[str, ...]
    parameters: Float[np.ndarray, " d"]
    log_likelihood: float
    choice_log_likelihood: float
    observations: int
    groups: int
    information: Float[np.ndarray, "d d"]
    outer_product: Float[np.ndarray, "d d"]
    grouped_outer_product: Float[np.ndarray, "d d"]

    @property
    def unidentified(self) -> tuple[str, ...]:
        """Return the names of parameters that the choices do not identify.

        Some direction of these parameters changes no probability.
        """
        return tuple(name for name, free in zip(self.names, _free(self.information), strict=True) if free)

    def covariance(self, kind: str = "hessian") -> Float[np.ndarray, "d d"]:
        """Return the covariance of the estimates.

        Of directions that are not identified it is zero (see above).

        Args:
            kind: `hessian`, `outer`, `sandwich` or `grouped`; see the top of `robustirl.irl.inference`.
        """
        if kind not in KINDS:
            raise InvalidInputError(f"the kind of standard error is {kind!r}, but one of {', '.join(KINDS)} is needed.")
        if kind == "outer":
            return _inverse(self.outer_product)
        bread = _inverse(self.information)
        if kind == "hessian":
            return bread
        return bread @ (self.outer_product if kind == "sandwich" else self.grouped_outer_product) @ bread

    def standard_errors(self, kind: str = "hessian") -> Float[np.ndarray, " d"]:
        """Return a standard error for every parameter; infinite where it is not identified.

        NaN says that the information is not positive: then the parameters are no maximum.
        """
        variances = np.diag(self.covariance(kind))
        errors = np.sqrt(np.where(variances >= 0, variances, np.nan))
        return np.where(_free(self.information), np.inf, errors)

    def confidence_intervals(self, confidence: float = 0.95, kind: str = "hessian") -> Float[np.ndarray, "d 2"]:
        """Return θ̂ ± z · standard error for every parameter, by the normal approximation."""
        from scipy.stats import norm  # Here, so that `import robustirl` stays light.

        if not 0 < confidence < 1:
            raise InvalidInputError(f"the confidence is {confidence!r}, but a number between 0 and 1 is needed.")
        width = float(norm.ppf((1 + confidence) / 2)) * self.standard_errors(kind)
        return np.stack([self.parameters - width, self.parameters + width], -1)

    def summary(self, confidence: float = 0.95, kind: str = "hessian", most: int = 40) -> str:
        """Return a table of the parameters with standard errors and intervals.

        It has the first `most` of them.
        """
        share = f"{confidence:.0%}".replace("%", " %")
        errors, intervals = self.standard_errors(kind), self.confidence_intervals(confidence, kind)
        wide = max(len("parameter"), *(len(name) for name in self.names[:most]))
        lines = [f"{'parameter':<{wide}} {'estimate':>12} {'std. error':>12}   {share} interval ({kind})"]
        rows = zip(self.names, self.parameters, errors, intervals, strict=True)
        for name, estimate, error, (low, high) in list(rows)[:most]:
            lines.append(f"{name:<{wide}} {estimate:>12.5g} {error:>12.4g}   {low:.5g} to {high:.5g}")
        if len(self.names) > most:
            lines.append(f"... and {len(self.names) - most} more")
        return "\n".join(lines)


@working_precision
def infer(
    fit: Fit,
    mdp: MDP,
    choices: Choices | Demonstrations,
    reward: AbstractReward,
    *,
    temperatures: Temperatures = Temperatures(),
    penalty: float = 0.0,
) -> Inference:
    """Return the parameters of a fit by likelihood with their uncertainty.

    Args:
        fit: The result of `fit(..., objective="likelihood")`.
        mdp: The learner's world that it was made in.
        choices: The choices that it was made from.
        reward: The reward model that it was made with.
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
    if fit.objective != LIKELIHOOD:
        raise InvalidInputError(
            "standard errors come from a likelihood, but this fit matched an occupancy; fit with"
            " objective='likelihood'."
        )
    rows = as_choices(choices)
    settings = Settings(None, 0, None, False, temperatures, None, LIKELIHOOD, penalty)
    (problem,), _ = prepare([mdp], [rows], [float(fit.alpha)], reward, None, settings)
    parameters = jax.tree.map(as_float, fit.parameters)
    level = np.asarray(mdp.initial) @ np.asarray(fit.value)
    shift = as_float((1 - float(mdp.discount)) * level)
    found = _derivatives(problem, parameters, as_float(np.asarray(fit.value) - level), shift)
    hessian, logs, by_pair, outcome_logs, by_outcome = (np.asarray(x) for x in found)
    each, choice_fitness = by_pair[rows.states, rows.actions], float(logs[rows.states, rows.actions].sum())
    total = choice_fitness
    if isinstance(reward, JointModel):
        each = each + by_outcome[reward.dynamics.outcomes]
        total += float(outcome_logs[reward.dynamics.outcomes].sum())
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


def _derive(problem: Problem, parameters: FloatTree, value: Float[Array, " S"], shift: Float[Array, ""]) -> Any:
    """Return the information of a choice, log-probabilities and scores at the solution.

    The solution is the one for these parameters.
    """
    theta, unravel = ravel_pytree(parameters)

    def settled(theta: Float[Array, " d"], start: Float[Array, " S"]) -> Float[Array, " S"]:
        """Take two Newton steps, which are differentiated as they are."""
        game = game_at(problem.model, problem.game, unravel(theta))
        reward = problem.model(unravel(theta)) - shift
        for _ in range(2):
            backup = two_player_backup(game, reward, start, problem.temperatures)
            policy = mixture(backup.player, backup.opponent, game.alpha)
            system = jnp.eye(start.size) - game.mdp.discount * game.mdp.kernel.policy_matrix(policy)
            start = start + jnp.linalg.solve(system, backup.value - start)
        return start

    value = settled(theta, value)  # What rounding has left in the value of the fit.

    def fitness(theta: Float[Array, " d"]) -> Float[Array, ""]:
        at = unravel(theta)
        logs, _ = log_policy(problem, at, shift, settled(theta, value))
        mean = (problem.expert * logs).sum()
        outcomes = outcome_log_probabilities(problem.model, at)
        if outcomes is not None:
            counts = problem.model.dynamics.counts  # pyright: ignore[reportAttributeAccessIssue]
            mean = mean + counts @ outcomes / counts.sum()
        return mean

    logs, _ = log_policy(problem, parameters, shift, value)
    outcomes = outcome_log_probabilities(problem.model, parameters)
    by_pair, by_outcome = scores(problem, parameters, value, shift), outcome_scores(problem, parameters)
    return -jax.jacfwd(jax.grad(fitness))(theta), logs, by_pair, outcomes, by_outcome


_derivatives: BoundedJit[..., Any] = BoundedJit(_derive)


def _scaled(information: Float[np.ndarray, "d d"]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
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


def _free(information: Float[np.ndarray, "d d"]) -> np.ndarray:
    """Return which parameters have a part in a direction without information."""
    _, _, vectors, known = _scaled(information)
    return np.abs(vectors[:, ~known]).max(1, initial=0) > 1e-6
