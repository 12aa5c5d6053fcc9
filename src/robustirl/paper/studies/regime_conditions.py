"""The conditions under which standard and robust relative-entropy IRL are compared, by question.

`optimization` asks how much of the published gap is mismatch and how much is optimization; the next four look for the
regime in which robustness pays in GaussianGrid, over the paper's `pairs` and beyond; `pendulum` is a swing-up world.
"""

import dataclasses
from collections.abc import Callable, Mapping

from robustirl.control import EXPERT, PolicyGradientConfig, RewardedWorld
from robustirl.envs import GaussianGrid, physics
from robustirl.envs.bodies import pendulum_features
from robustirl.envs.gaussian_grid import AWAY_FROM_ORIGIN, PUBLISHED_SCALES
from robustirl.envs.noise import UNIFORM_ACTION
from robustirl.errors import InvalidInputError
from robustirl.irl import PAPER, RelativeEntropyConfig
from robustirl.paper.continuous.specs import ALGORITHMS

PLENTY = 1000
"""Demonstrations where their number is not the question."""
DEFAULTS = RelativeEntropyConfig()


@dataclasses.dataclass(frozen=True)
class Condition:
    """One comparison of standard and robust learners.

    Attributes:
        group: The question it belongs to.
        name: What it is, in a few words.
        expert: The expert's world M^E.
        learner: The learner's world M^L, where returns are measured.
        demonstrations: Episodes of the expert.
        alphas: The α compared; one is the standard.
        config: The settings of relative-entropy IRL.
        training: How the expert is trained.
        horizon: The longest episode of demonstrations and of the evaluation.
    """

    group: str
    name: str
    expert: RewardedWorld
    learner: RewardedWorld
    demonstrations: int = PLENTY
    alphas: tuple[float, ...] = (1.0, 0.85)
    config: RelativeEntropyConfig = DEFAULTS
    training: PolicyGradientConfig = EXPERT
    horizon: int = 1000


DISCOUNTED = ALGORITHMS["discounted-once"]


def grid(noise: float, noise_model: str = "towards-origin") -> GaussianGrid:
    """Return the paper's continuous world, its features scaled as in the published runs."""
    return GaussianGrid(noise, noise_model=noise_model, scales=PUBLISHED_SCALES)


def optimization() -> list[Condition]:
    """Return the pair (ε_E, ε_L) = (0.2, 0), from Algorithm 3 as printed to the defaults.

    One setting changes at a time.
    """
    ours = RelativeEntropyConfig()
    bare = dataclasses.replace(ours, ridge=0.0, center="none")
    steps = {
        "as printed": PAPER,
        "with our policy gradient": bare,
        "and a ridge": dataclasses.replace(bare, ridge=ours.ridge),
        "and centered (the defaults)": ours,
        "best of three attempts": dataclasses.replace(ours, attempts=3),
        "discounted summary": DISCOUNTED,
    }
    return [
        Condition(
            "optimization",
            name,
            grid(0.2),
            grid(0.0),
            config=config,
        )
        for name, config in steps.items()
    ]


def pairs() -> list[Condition]:
    """Return the paper's fifteen pairs of noises."""
    return [
        Condition("pairs", f"ε_E = {expert:g}, ε_L = {learner:g}", grid(expert), grid(learner))
        for expert in (0.2, 0.15, 0.1, 0.05, 0.0)
        for learner in (0.0, 0.05, 0.1)
    ]


def strength() -> list[Condition]:
    """Return ever stronger noise in the expert's world; both ways to sum up a trajectory."""
    kinds = {"mean": RelativeEntropyConfig(), "discounted": DISCOUNTED}
    return [
        Condition("strength", f"ε_E = {noise:g}, {kind}", grid(noise), grid(0.0), config=config)
        for noise in (0.2, 0.3, 0.4)
        for kind, config in kinds.items()
    ]


def direction() -> list[Condition]:
    """Return other disturbances of the expert, and a learner disturbed more than the expert."""
    kinds = {
        "uniform 0.4": (grid(0.4, UNIFORM_ACTION), grid(0.0)),
        "away from the pit 0.3": (grid(0.3, AWAY_FROM_ORIGIN), grid(0.0)),
        "learner 0.2, expert 0": (grid(0.0), grid(0.2)),
    }
    return [Condition("direction", name, *worlds) for name, worlds in kinds.items()]


def demonstrations() -> list[Condition]:
    """Return fewer episodes of the expert with noise 0.2."""
    return [
        Condition(
            "demonstrations",
            "1 episode" if count == 1 else f"{count} episodes",
            grid(0.2),
            grid(0.0),
            demonstrations=count,
        )
        for count in (1, 3, 10)
    ]


BALANCE = PolicyGradientConfig(
    steps=300, horizon=200, learning_rate=0.2, final_rate=0.05, baseline="critic", deviations=(0.1, 2.0)
)
"""What brings a pendulum up: torques are large beside features, so steps are, too."""

WEAK_GRAVITY = 3.0
"""So that the torque holds the rod at any angle. At Gymnasium's 10 it must be swung up, which these linear policies
learn from the true reward, but too seldom while the reward itself is being learned."""


def pendulum_sweep() -> list[Condition]:
    """Return an expert with a rod of length and mass one, and learners with others."""
    config = RelativeEntropyConfig(deviation=1.0, game=dataclasses.replace(BALANCE, steps=1))
    learners = {"the same": {}, "mass 0.6": {"mass": 0.6}, "mass 1.3": {"mass": 1.3}, "mass 1.6": {"mass": 1.6}}
    learners |= {"length 1.3": {"length": 1.3}}
    return [
        Condition(
            "pendulum",
            name,
            physics.make("pendulum", gravity=WEAK_GRAVITY, features=pendulum_features),
            physics.make("pendulum", gravity=WEAK_GRAVITY, features=pendulum_features, **changes),
            alphas=(1.0, 0.95, 0.85),
            config=config,
            training=BALANCE,
            horizon=200,
        )
        for name, changes in learners.items()
    ]


GROUPS: Mapping[str, Callable[[], list[Condition]]] = {
    "optimization": optimization,
    "pairs": pairs,
    "strength": strength,
    "direction": direction,
    "demonstrations": demonstrations,
    "pendulum": pendulum_sweep,
}


def find_condition(group: str, name: str) -> Condition:
    """Return the condition of this name in this group.

    Example:
        >>> find_condition("demonstrations", "3 episodes").demonstrations
        3
    """
    if group not in GROUPS:
        raise InvalidInputError(f"there is no group {group!r}; choose from {', '.join(GROUPS)}.")
    found = {condition.name: condition for condition in GROUPS[group]()}
    if name not in found:
        raise InvalidInputError(f"there is no condition {name!r} in {group}; choose from {', '.join(found)}.")
    return found[name]
