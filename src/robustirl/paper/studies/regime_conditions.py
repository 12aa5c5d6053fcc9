"""The conditions under which standard and robust relative-entropy IRL are compared, by question.

`optimisation` asks how much of the published gap is mismatch and how much is optimisation; the next four look for the
regime in which robustness pays in GaussianGrid, over the paper's `pairs` and beyond; `pendulum` takes another's world.
"""

import dataclasses
from collections.abc import Callable, Mapping

from robustirl.control import PolicyGradientConfig
from robustirl.envs import AWAY_FROM_ORIGIN, PUBLISHED_SCALES, UNIFORM_ACTION, GaussianGrid, pendulum
from robustirl.irl import PAPER, RelativeEntropyConfig
from robustirl.paper.continuous.specs import ALGORITHMS
from robustirl.paper.studies.regimes import Condition

DISCOUNTED = ALGORITHMS["discounted-once"]


def grid(noise: float, noise_model: str = "towards-origin") -> GaussianGrid:
    """The paper's continuous world, its features scaled as in the published runs."""
    return GaussianGrid(noise, noise_model=noise_model, scales=PUBLISHED_SCALES)


def optimisation() -> list[Condition]:
    """The pair (ε_E, ε_L) = (0.2, 0), from Algorithm 3 as printed to the defaults, one change after the other."""
    ours = RelativeEntropyConfig()
    bare = dataclasses.replace(ours, ridge=0.0, centre="none")
    steps = {
        "as printed": PAPER,
        "with our policy gradient": bare,
        "and a ridge": dataclasses.replace(bare, ridge=ours.ridge),
        "and centred (the defaults)": ours,
        "best of three attempts": dataclasses.replace(ours, attempts=3),
        "discounted summary": DISCOUNTED,
    }
    return [
        Condition(
            "optimisation",
            name,
            grid(0.2),
            grid(0.0),
            config=config,
        )
        for name, config in steps.items()
    ]


def pairs() -> list[Condition]:
    """The paper's fifteen pairs of noises."""
    return [
        Condition("pairs", f"ε_E = {expert:g}, ε_L = {learner:g}", grid(expert), grid(learner))
        for expert in (0.2, 0.15, 0.1, 0.05, 0.0)
        for learner in (0.0, 0.05, 0.1)
    ]


def strength() -> list[Condition]:
    """Ever stronger noise in the expert's world; both ways to sum up a trajectory."""
    kinds = {"mean": RelativeEntropyConfig(), "discounted": DISCOUNTED}
    return [
        Condition("strength", f"ε_E = {noise:g}, {kind}", grid(noise), grid(0.0), config=config)
        for noise in (0.2, 0.3, 0.4)
        for kind, config in kinds.items()
    ]


def direction() -> list[Condition]:
    """Other disturbances of the expert, and a learner who is disturbed more than the expert."""
    kinds = {
        "uniform 0.4": (grid(0.4, UNIFORM_ACTION), grid(0.0)),
        "away from the pit 0.3": (grid(0.3, AWAY_FROM_ORIGIN), grid(0.0)),
        "learner 0.2, expert 0": (grid(0.0), grid(0.2)),
    }
    return [Condition("direction", name, *worlds) for name, worlds in kinds.items()]


def demonstrations() -> list[Condition]:
    """Fewer episodes of the expert with noise 0.2."""
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
learn from the true reward, but too seldom while the reward itself is being learnt."""


def pendulum_sweep() -> list[Condition]:
    """An expert with a rod of length and mass one, and learners with others."""
    config = RelativeEntropyConfig(deviation=1.0, game=dataclasses.replace(BALANCE, steps=1))
    learners = {"the same": {}, "mass 0.6": {"mass": 0.6}, "mass 1.3": {"mass": 1.3}, "mass 1.6": {"mass": 1.6}}
    learners |= {"length 1.3": {"length": 1.3}}
    return [
        Condition(
            "pendulum",
            name,
            pendulum(gravity=WEAK_GRAVITY),
            pendulum(gravity=WEAK_GRAVITY, **changes),
            alphas=(1.0, 0.95, 0.85),
            config=config,
            training=BALANCE,
            horizon=200,
        )
        for name, changes in learners.items()
    ]


GROUPS: Mapping[str, Callable[[], list[Condition]]] = {
    "optimisation": optimisation,
    "pairs": pairs,
    "strength": strength,
    "direction": direction,
    "demonstrations": demonstrations,
    "pendulum": pendulum_sweep,
}
