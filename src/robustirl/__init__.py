"""Inverse reinforcement learning when the expert's world and the learner's move differently."""

from robustirl import envs as envs
from robustirl import irl as irl
from robustirl import mdp as mdp
from robustirl import planning as planning
from robustirl import rewards as rewards
from robustirl import theory as theory
from robustirl.precision import enable_x64 as enable_x64

__version__ = "0.1.0"
