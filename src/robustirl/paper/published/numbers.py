"""The paper's own numbers, shipped with the package."""

import dataclasses
import functools
import importlib.resources
import json

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
        (name, learner, expert, float(alpha)): value
        for name, learner, expert, alpha, value in _entries()
        if alpha != "optimal"
    }


@functools.cache
def published_optimal_returns() -> dict[tuple[str, float], PublishedReturn]:
    """Return the published returns of the policy that knows the true reward.

    Keys are (environment, learner noise).
    """
    return {(name, learner): value for name, learner, _, alpha, value in _entries() if alpha == "optimal"}


def _entries():
    source = importlib.resources.files("robustirl.paper.published") / "published_figures.json"
    for name, panels in json.loads(source.read_text(encoding="utf-8"))["figures"].items():
        for learner, panel in panels.items():
            for alpha, curve in panel["return"].items():
                for expert, mean, deviation in zip(panel["expert_noise"], curve["mean"], curve["sd"], strict=True):
                    yield name, float(learner), float(expert), alpha, PublishedReturn(mean, deviation)


@dataclasses.dataclass(frozen=True)
class PublishedContinuous:
    """The published policies of one cell of the continuous experiment, five seeds.

    We measured them as we measure ours.

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
    content = _continuous()
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
    content = _continuous()
    return dict(zip(content["expert_noise"], map(float, content["expert_return"]), strict=True))


@functools.cache
def _continuous() -> dict:
    source = importlib.resources.files("robustirl.paper.published") / "published_gaussian_grid.json"
    return json.loads(source.read_text(encoding="utf-8"))
