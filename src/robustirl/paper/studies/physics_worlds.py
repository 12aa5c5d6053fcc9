"""The worlds of the study of physics, and how long experts and imitators are trained in each."""

import dataclasses
from typing import Any

from robustirl.control import PPOConfig
from robustirl.envs import physics
from robustirl.errors import InvalidInputError

ONE_STEP, THREE_STEPS, FOUR_STEPS = (1, 4), (3, 4), (4, 6)
"""Steps of MJX's contact solver and of its line search; each starts from the last solution. What they leave of the
change of speeds that a converged solver computes, on average over random walks: one step 0.02 % for the inverted double
pendulum, but 3 % for Hopper, 2 % for HalfCheetah and 35 % for Walker2d; three steps less than 0.01 % for Hopper and
HalfCheetah, 0.2 % for Walker2d; four 0.02 % for Walker2d. An expert of Hopper that was trained with one step earned
3036 there and 1548 in Gymnasium's Hopper."""

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
        discriminator_steps: Steps of the discriminator for each segment; see `ImitationConfig`.
        attempts: Experts trained for each level, of which the best is taken.
        iterations: Steps of MJX's contact solver; see `mujoco_world`. MuJoCo's own stops when it has converged.
        seeds_at_once: Seeds of a batch on an accelerator.
    """

    expert_steps: int
    steps: int
    expert_ppo: PPOConfig = _USUAL
    ppo: PPOConfig = _USUAL
    reward: str = "positive"
    discriminator_steps: int = 4
    attempts: int = 2
    iterations: tuple[int, int] | None = None
    seeds_at_once: int = 5


_WIDE = PPOConfig(environments=128, segment=32, minibatches=8)
_EXPERT = PPOConfig(environments=512, segment=32, minibatches=16)
# More worlds and shorter segments: with three steps of the solver a step of 7,000 worlds of Hopper took about as long
# as one of 16,000 of HalfCheetah.
_RUNNER = PPOConfig(environments=2048, segment=16, minibatches=32, learning_rate=5e-4)
_WIDER = PPOConfig(environments=256, segment=16, minibatches=8)
# With three α and four levels five seeds are 65 imitations in 16,640 worlds. An H200 takes a million steps of
# HalfCheetah a second in them, and as many in twice the worlds; Hopper was measured with ten seeds, 2.6 million.
SCALES = {
    "cart-pole-swing-up": TrainingScale(600_000, 1_000_000),
    "double-pendulum": TrainingScale(1_500_000, 1_500_000),
    "inverted-double-pendulum": TrainingScale(6_000_000, 1_500_000, _EXPERT, _WIDE, iterations=ONE_STEP),
    # Trainings of Hopper differ much: of two at a mass of 0.75 one earned 536 and the other 3650.
    "hopper": TrainingScale(
        8_000_000, 3_000_000, _RUNNER, _WIDER, attempts=4, iterations=THREE_STEPS, seeds_at_once=10
    ),
    # With four steps of the discriminator an imitator earned 3200 after a million steps, with 16 of them 6100.
    "half-cheetah": TrainingScale(
        20_000_000, 4_000_000, _RUNNER, _WIDER, discriminator_steps=16, iterations=THREE_STEPS
    ),
    "walker-2d": TrainingScale(16_000_000, 4_000_000, _RUNNER, _WIDER, iterations=FOUR_STEPS),
}
"""The worlds of the study."""


def scale_of(name: str) -> TrainingScale:
    """Return how much is trained in the world of this name; refuse a name the study lacks."""
    if name not in SCALES:
        raise InvalidInputError(f"there is no world {name!r} in this study; choose among {', '.join(SCALES)}.")
    return SCALES[name]


def engine_of(name: str) -> str:
    """Return what takes the steps of a world on this device: `mujoco`, `mjx`, or `jax`.

    Example:
        >>> engine_of("cart-pole-swing-up"), engine_of("hopper") in ("mujoco", "mjx")
        ('jax', True)
    """
    return "jax" if name in physics.names() else physics.as_engine(None)


def make_world(name: str, **factors: float) -> physics.PhysicsWorld:
    """Return a world of the study, its parameters as multiples of the usual ones.

    Example:
        >>> float(make_world("cart-pole-swing-up", mass=2.0).parameters["mass"])
        0.2
    """
    scale, engine = scale_of(name), engine_of(name)
    given: dict[str, Any] = dict(factors)
    if engine == "mjx":
        return physics.mujoco_world(name, fast=True, iterations=scale.iterations, engine="mjx", **given)
    if engine == "mujoco":
        return physics.mujoco_world(name, fast=True, engine="mujoco", **given)
    usual = physics.make(name)
    for key in factors:
        usual.equations.check({key: 1.0})  # Refuse a parameter that this world does not have.
    return usual.changed(**{key: factor * float(usual.parameters[key]) for key, factor in factors.items()})
