"""The paper's own numbers, as it published them."""

import dataclasses
import functools
import json
from typing import Any

from experiments.tables import DATA

LOST_LAYOUTS = ("objectworld",)  # Their numbers are of a layout that nobody has, so cells cannot be compared.


@dataclasses.dataclass(frozen=True)
class PublishedReturn:
    """Mean and standard deviation over 1000 repetitions of one trajectory per start state."""

    mean: float
    deviation: float


@functools.cache
def published_returns() -> dict[tuple[str, float, float, float], PublishedReturn]:
    """Return the published returns by (environment, learner noise, expert noise, α).

    Example:
        >>> published_returns()["gridworld-1", 0.0, 0.1, 0.9].mean
        -135.089
    """
    return {
        (name, float(learner), float(noise), float(alpha)): PublishedReturn(mean, deviation)
        for name, panels in _read("published_figures.json")["figures"].items()
        for learner, panel in panels.items()
        for alpha, curve in panel["return"].items()
        for noise, mean, deviation in zip(panel["expert_noise"], curve["mean"], curve["sd"], strict=True)
        if alpha != "optimal"
    }


@dataclasses.dataclass(frozen=True)
class PublishedContinuous:
    """The published policies of one cell of the continuous experiment, five seeds, measured as we measure ours.

    Attributes:
        mean: The mean over seeds of the mean return.
        deviation: Its standard deviation over seeds.
        median: Its median over seeds.
        goal_share: The share of episodes that reach the goal.
    """

    mean: float
    deviation: float
    median: float
    goal_share: float


@functools.cache
def published_continuous() -> dict[tuple[float, float, float], PublishedContinuous]:
    """Return GaussianGrid's published policies by (learner noise, expert noise, α).

    Example:
        >>> published_continuous()[0.0, 0.2, 1.0].median
        -384.8
    """
    content = _read("published_gaussian_grid.json")
    return {
        (float(learner), expert, float(alpha)): PublishedContinuous(*values)
        for learner, panel in content["results"].items()
        for alpha, curve in panel.items()
        for expert, *values in zip(
            content["expert_noise"], *(curve[name] for name in ("mean", "sd", "median", "goal_reached")), strict=True
        )
    }


def published_expert_returns() -> dict[float, float]:
    """Return mean returns of GaussianGrid's published experts by their noise."""
    content = _read("published_gaussian_grid.json")
    return dict(zip(content["expert_noise"], map(float, content["expert_return"]), strict=True))


def _read(name: str) -> dict[str, Any]:
    return json.loads((DATA / name).read_text(encoding="utf-8"))
