"""How sure it is that transfer differs from pretending: both are learned again from resampled buses."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from robustirl.demonstrations import Choices
from robustirl.irl import fit
from robustirl.paper.studies.buses_groups import Group, log_probabilities
from robustirl.planning import solve
from robustirl.rewards import LinearReward

HEADINGS = ("from", "to", "gain of transfer over standard, likelihood", "95 % interval", "resamples")


def take_buses(choices: Choices, buses: Int[np.ndarray, " B"]) -> Int[np.ndarray, " n"]:
    """Return the rows of these buses, once for every time that a bus occurs.

    Example:
        >>> take_buses(Choices([5, 6, 7], [0, 0, 1], [0, 0, 1]), np.array([1, 0, 1])).tolist()
        [2, 0, 1, 2]
    """
    return np.concatenate([np.flatnonzero(choices.groups == bus) for bus in buses])


def resampled_gains(
    source: Group, target: Group, costs: LinearReward, resamples: int, seed: int = 0
) -> Float[np.ndarray, " R"]:
    """Return the gain of transfer over standard in mean log-probability, with buses of both groups drawn anew."""
    rng = np.random.default_rng(seed)
    theirs, ours = (np.unique(group.choices.groups) for group in (source, target))
    gains = np.zeros(resamples)
    for place in range(resamples):
        part = take_buses(source.choices, rng.choice(theirs, theirs.size))
        rows = Choices(source.choices.states[part], source.choices.actions[part])
        standard = fit(target.world, rows, alpha=1.0, reward=costs, objective="likelihood").player
        cost = fit(source.world, rows, alpha=1.0, reward=costs, objective="likelihood").reward
        transfer = solve(target.world, cost).player
        judged = take_buses(target.choices, rng.choice(ours, ours.size))
        one, two = (log_probabilities(np.asarray(policy), target.choices)[judged] for policy in (transfer, standard))
        gains[place] = (one - two).mean()
    return gains


def resampled_rows(groups: Sequence[Group], costs: LinearReward, resamples: int) -> list[tuple[str, ...]]:
    """Return the table for all pairs of groups with replacements."""
    replaced = [group for group in groups if group.choices.actions.any()]
    rows = []
    for source in replaced:
        for target in replaced:
            if source is not target:
                gains = resampled_gains(source, target, costs, resamples)
                low, high = np.quantile(gains, [0.025, 0.975])
                shown = (f"{gains.mean():+.5f}", f"{low:+.5f} to {high:+.5f}", str(resamples))
                rows.append((str(source.number), str(target.number), *shown))
    return rows
