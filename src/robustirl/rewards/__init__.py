"""Reward models: how parameters become rewards."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.rewards.convolutional import ConvolutionalReward as ConvolutionalReward
from robustirl.rewards.models import AbstractReward as AbstractReward
from robustirl.rewards.models import LinearReward as LinearReward
from robustirl.rewards.models import NetworkReward as NetworkReward
from robustirl.rewards.models import TabularReward as TabularReward
from robustirl.rewards.select import make_reward_model as make_reward_model

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = ["AbstractReward", "LinearReward", "NetworkReward", "TabularReward"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "AbstractReward",
    "ConvolutionalReward",
    "LinearReward",
    "NetworkReward",
    "TabularReward",
    "make_reward_model",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
