r"""Rust's buses across groups: learn from Zurcher's choices for one group, act in another, for every ordered pair.

The mileage of the groups grows differently, the decision-maker is the same. Three ways lead from a group E, where
choices were recorded, to a policy for a group L:

    standard    pretend that the choices were made in the world of L, α = 1
    robust      the same with an opponent whose α the data choose (`auto`); also the best α in hindsight
    transfer    learn the cost in the world of E, plan with it in the world of L; also from all other groups jointly

each by likelihood of the choices and by occupancy matching. A policy π is judged by what Zurcher did in L:

    log-probability   mean of log π(a|s) over his choices in L, none of which was used; its gain over that of standard
                      by likelihood; standard errors take buses of L as independent, and what was learned as given
    replacements      Σ π(replace|x) over the months he decided about, and the mean mileage x under these weights
    cost              of a month, by the cost θ_L estimated on L itself: θ_L · c(π), c(π) the discounted mean of the
                      features, with the interval of θ_L; and by how much it exceeds that of the policy for θ_L, both
                      less the entropy, which is what choosing softly is worth in Rust's model

The excess is d = θ_L · (c(π) - c(π_L)) - (H(π) - H(π_L)) >= 0. Its derivative in θ_L is c(π) - c(π_L), since π_L is the
best policy for θ_L; hence its standard error. No engine of groups 1 and 2 was replaced. Their cost is not identified:
as E they are fitted with a weak prior (`penalty`), as L they have no cost to judge by.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from robustirl.demonstrations import Choices
from robustirl.errors import InvalidInputError
from robustirl.irl import fit, fit_jointly, profile_alpha, select_alpha
from robustirl.paper.studies.buses_groups import (
    Group,
    Judge,
    compare_costs,
    cost_model,
    log_probabilities,
    make_judge,
    mean_features,
    read_group,
)
from robustirl.paper.studies.buses_resampling import HEADINGS as RESAMPLED_HEADINGS
from robustirl.paper.studies.buses_resampling import resampled_rows
from robustirl.paper.studies.buses_results import HEADINGS, OTHERS, Row, cells, mean_and_error, summarize
from robustirl.paper.studies.registry import Frame, register_study
from robustirl.planning import solve
from robustirl.rewards import LinearReward
from robustirl.theory import causal_entropy

BIN_MILES = 5000
FOLDS = 5


def policies(source: Group, target: Group, costs: LinearReward, tail: str) -> Iterator[tuple[str, float, np.ndarray]]:
    """Return every way from one group to another: its name, α, and the policy for the other group."""
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
    """Return the policy for one cost that explains the choices for several groups, each in its own world."""
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
    """Return the policies at α = 1, at the chosen α, and at the one whose policy suits the target's choices best."""
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
    """Return all measures of one policy in the target's group; log-probabilities also less those of a reference."""
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
    """Return the group's own cost as a way: its choices are predicted from those for four fifths of the buses."""
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


@register_study("buses")
@dataclasses.dataclass(frozen=True)
class BusesStudy:
    """Learn from Zurcher's choices for one group of Rust's buses and act in another, for every ordered pair."""

    groups: tuple[int, ...] = (4, 3, 1, 2)
    """Which groups."""
    discount: float = 0.9999
    """The discount of a month for likelihoods and costs."""
    matched_discount: float = 0.98
    """That for occupancy matching: records last 24 to 125 months, and what follows them is a guess."""
    tail: str = "chain"
    """What follows a record; see `estimate_occupancy`."""
    resamples: int = 200
    """How many times to draw buses anew, for an interval of transfer's gain over standard; 0 for none."""

    def run(self, frame: Frame) -> None:
        """Write the table of all ways and pairs, and a summary."""
        if len(set(self.groups)) < 2:
            raise InvalidInputError(f"--groups is {self.groups!r}, but at least two different groups are needed.")
        groups = {number: read_group(number, self.discount, self.matched_discount) for number in self.groups}
        costs = cost_model()
        phi = np.asarray(costs.features)
        judges = {number: make_judge(group, costs) for number, group in groups.items()}
        pairs = [(source, target) for target in groups for source in groups if source != target]
        rows = []
        for done, pair in enumerate(pairs):
            frame.progress("pairs of groups", done, len(pairs))
            source, target = (groups[number] for number in pair)
            judge = judges[target.number]
            ways = list(policies(source, target, costs, self.tail))
            standard = ways[0][-1]
            for way, alpha, policy in ways:
                rows.append(judge_policy(source.number, way, alpha, policy, target, judge, phi, standard))
        for target in groups.values():
            policy = policy_of_others([group for group in groups.values() if group is not target], target, costs)
            rows.append(judge_policy(OTHERS, "transfer, joint", 1.0, policy, target, judges[target.number], phi))
        rows += [own_row(groups[n], costs, judge) for n, judge in judges.items() if judge is not None]
        frame.progress("pairs of groups", len(pairs), len(pairs))
        frame.write_table("buses", HEADINGS, map(cells, rows))
        frame.write_table("buses-summary", *summarize(rows))
        if self.resamples > 0:
            table = resampled_rows(list(groups.values()), costs, self.resamples)
            frame.write_table("buses-resampled", RESAMPLED_HEADINGS, table)
        for number, group in groups.items():
            at = group.choices.states[group.choices.actions == 1]
            seen = f", at {BIN_MILES * (at.mean() + 0.5):,.0f} miles on average" if at.size else ""
            frame.say(f"group {number}: {len(group.choices)} months, {at.size} engines replaced{seen}")
        if (test := compare_costs(list(groups.values()), costs)) is not None:
            names = " and ".join(map(str, test.groups))
            frame.say(
                f"one cost for groups {names}: twice the log-likelihood lost is {test.statistic:.2f}, chi-squared with"
                f" {test.freedom} degrees of freedom (p = {test.p_value:.2g})"
            )
