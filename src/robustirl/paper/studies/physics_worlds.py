"""The worlds of the study of physics, and how long experts and imitators are trained in each."""

import dataclasses

from robustirl.control import PPOConfig
from robustirl.envs import physics
from robustirl.errors import InvalidInputError

ROUGH = (1, 4)
"""Steps of the contact solver and of its line search, three times as fast as `fast=True` alone. Each step starts from
the last solution. One step of the inverted double pendulum differs from the exact one by 0.01 % of a step's length on
average, one of Hopper by 1 %. HalfCheetah needs more: with these its joints reach 145 rad/s, and no expert learned."""

_USUAL = PPOConfig()


@dataclasses.dataclass(frozen=True)
class TrainingScale:
    """How much is trained in a world.

    Attributes:
        expert_steps: Steps of PPO for an expert.
        steps: Steps of an imitation.
        expert_ppo: How experts are trained.
        ppo: How imitators are trained.
        reward: The form of the imitator's reward; see `ImitationConfig`.
        attempts: Experts trained for each level, of which the best is taken.
        iterations: Steps of MuJoCo's contact solver; see `mujoco_world`.
    """

    expert_steps: int
    steps: int
    expert_ppo: PPOConfig = _USUAL
    ppo: PPOConfig = _USUAL
    reward: str = "positive"
    attempts: int = 2
    iterations: tuple[int, int] | None = None


_WIDE = PPOConfig(environments=128, segment=32, minibatches=8)
_EXPERT = PPOConfig(environments=512, segment=32, minibatches=16)
SCALES = {
    "cart-pole-swing-up": TrainingScale(600_000, 1_000_000),
    "double-pendulum": TrainingScale(1_500_000, 1_500_000),
    "inverted-double-pendulum": TrainingScale(6_000_000, 1_500_000, _EXPERT, _WIDE, iterations=ROUGH),
    "hopper": TrainingScale(12_000_000, 4_000_000, _EXPERT, _WIDE, iterations=ROUGH),
    "half-cheetah": TrainingScale(30_000_000, 4_000_000, _EXPERT, _WIDE),
    "walker-2d": TrainingScale(30_000_000, 4_000_000, _EXPERT, _WIDE),
}
"""The worlds of the study."""


def scale_of(name: str) -> TrainingScale:
    """Return how much is trained in the world of this name; refuse a name that the study does not have."""
    if name not in SCALES:
        raise InvalidInputError(f"there is no world {name!r} in this study; choose among {', '.join(SCALES)}.")
    return SCALES[name]


def make_world(name: str, **factors: float) -> physics.PhysicsWorld:
    """Return a world of the study, its parameters as multiples of the usual ones.

    Example:
        >>> float(make_world("cart-pole-swing-up", mass=2.0).parameters["mass"])
        0.2
    """
    scale = scale_of(name)
    if name not in physics.names():
        return physics.mujoco_world(name, fast=True, iterations=scale.iterations, **factors)
    usual = physics.make(name)
    for key in factors:
        usual.equations.check({key: 1.0})  # Refuse a parameter that this world does not have.
    return usual.changed(**{key: factor * float(usual.parameters[key]) for key, factor in factors.items()})
