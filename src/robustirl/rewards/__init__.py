"""Reward models: how parameters become rewards."""

from robustirl.rewards.models import AbstractReward as AbstractReward
from robustirl.rewards.models import LinearReward as LinearReward
from robustirl.rewards.models import NetworkReward as NetworkReward
from robustirl.rewards.models import TabularReward as TabularReward
