"""Ways from the choices for one group of buses to a policy for another, and how a policy is judged there."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl.demonstrations import Choices
from robustirl.irl import fit, fit_jointly, profile_alpha, select_alpha
from robustirl.paper.studies.buses_groups import Group, Judge, log_probabilities, mean_features
from robustirl.paper.studies.buses_results import Row, mean_and_error
from robustirl.planning import solve
from robustirl.rewards import LinearReward
from robustirl.theory import causal_entropy

BIN_MILES = 5000
FOLDS = 5
WAYS = tuple(
    f"{way}, {objective}"
    for objective in ("likelihood", "occupancy")
    for way in ("standard", "robust auto", "hindsight", "transfer")
)
"""The ways of a pair of groups, in the order in which `policies` returns them."""
JOINT, OWN = "transfer, joint", "own cost"


def policies(source: Group, target: Group, costs: LinearReward, tail: str) -> Iterator[tuple[str, float, np.ndarray]]:
    """Return every way from one group to another: name, α, and policy for the other group."""
    options: dict[str, Any] = {"reward": costs, "penalty": source.penalty}
    estimate, fits = profile_alpha(target.world, source.choices, **options)
    alphas = [float(one.alpha) for one in fits]
    players = [np.asarray(one.player) for one in fits]
    yield from _ways("likelihood", alphas, players, estimate.alpha, target)
    own = fit(source.world, source.choices, alpha=1.0, objective="likelihood", throw=False, **options)
    yield "transfer, likelihood", 1.0, np.asarray(solve(target.world, own.reward).player)
    chosen = select_alpha(target.matched_world, source.episodes, reward=costs, tail=tail)
    alphas, players = list(chosen.candidates), [np.asarray(one.player) for one in chosen.fits]
    yield from _ways("occupancy", alphas, players, chosen.alpha, target)
    home = select_alpha(source.matched_world, source.episodes, reward=costs, tail=tail, candidates=[1.0]).fit
    yield "transfer, occupancy", 1.0, np.asarray(solve(target.matched_world, home.reward).player)


def policy_of_others(others: Sequence[Group], target: Group, costs: LinearReward) -> Float[np.ndarray, "S A"]:
    """Return the policy for one cost that explains choices for several groups in their worlds."""
    found = fit_jointly(
        [group.world for group in others],
        [group.choices for group in others],
        reward=costs,
        objective="likelihood",
        penalty=min(group.penalty for group in others),
    )
    return np.asarray(solve(target.world, found.reward).player)


def _ways(
    objective: str, alphas: list[float], players: list[np.ndarray], chosen: float, target: Group
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Return the policies at α = 1, at the chosen α, and at the best α for the target's choices."""
    fitness = [log_probabilities(player, target.choices).mean() for player in players]
    yield f"standard, {objective}", 1.0, players[0]
    yield f"robust auto, {objective}", chosen, players[alphas.index(chosen)]
    best = int(np.argmax(fitness))
    yield f"hindsight, {objective}", alphas[best], players[best]


def judge_policy(
    source: int | str,
    way: str,
    alpha: float,
    policy: Float[np.ndarray, "S A"],
    target: Group,
    judge: Judge | None,
    phi: Float[np.ndarray, "S A d"],
    reference: Float[np.ndarray, "S A"] | None = None,
) -> Row:
    """Return all measures of one policy in the target's group.

    Log-probabilities are also given less those of a reference.
    """
    logs, buses = log_probabilities(policy, target.choices), target.choices.groups
    mean, error = mean_and_error(logs, buses)
    gain = gain_error = np.nan
    if reference is not None and np.isfinite(mean):
        gain, gain_error = mean_and_error(logs - log_probabilities(reference, target.choices), buses)
    hazards = policy[target.choices.states, 1]
    miles = BIN_MILES * (hazards @ (target.choices.states + 0.5)) / hazards.sum() if hazards.sum() > 0 else np.nan
    cost = cost_error = excess = excess_error = np.nan
    if judge is not None:
        features, covariance = mean_features(target.world, policy, phi), judge.inference.covariance()
        away = features - judge.features
        # Features are minus the costs, so that the reward θ·c is minus what a month costs.
        cost = -float(features @ judge.inference.parameters)
        entropy = float(causal_entropy(target.world, policy))
        excess = -float(away @ judge.inference.parameters) - (entropy - judge.entropy)
        cost_error, excess_error = (float(np.sqrt(c @ covariance @ c)) for c in (features, away))
    measures = (mean, error, gain, gain_error, float(hazards.sum()), miles, cost, cost_error, excess, excess_error)
    return Row(source, target.number, way, alpha, *measures)


def own_row(target: Group, costs: LinearReward, judge: Judge) -> Row:
    """Return the group's own cost as a way.

    Its choices are predicted from those for four fifths of the buses.
    """
    fold = target.choices.groups % FOLDS  # Groups of choices are buses.
    logs = np.zeros(len(target.choices))
    for held_out in range(FOLDS):
        part = fold != held_out
        rows = Choices(target.choices.states[part], target.choices.actions[part])
        found = np.asarray(fit(target.world, rows, alpha=1.0, reward=costs, objective="likelihood").player)
        logs[~part] = log_probabilities(found, target.choices)[~part]
    mean, error = mean_and_error(logs, target.choices.groups)
    row = judge_policy(target.number, "own cost", 1.0, judge.policy, target, judge, np.asarray(costs.features))
    return row._replace(fitness=mean, fitness_error=error)
