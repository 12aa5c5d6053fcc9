"""Name the paper's optimizers of the reward parameters."""

import optax

from robustirl.irl.optimize import ADAM, DEEP_ADAM
from robustirl.rewards import AbstractReward, NetworkReward


def paper_optimizer(reward: AbstractReward) -> optax.GradientTransformation:
    """Return the paper's optimizer for a reward model: `DEEP_ADAM` for networks, else `ADAM`."""
    return DEEP_ADAM if isinstance(reward, NetworkReward) else ADAM
