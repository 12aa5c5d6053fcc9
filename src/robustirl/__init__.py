"""Inverse reinforcement learning when the expert's world and the learner's move differently."""

from typing import TYPE_CHECKING

from robustirl import control as control
from robustirl import demonstrations as demonstrations
from robustirl import envs as envs
from robustirl import irl as irl
from robustirl import mdp as mdp
from robustirl import planning as planning
from robustirl import rewards as rewards
from robustirl import theory as theory
from robustirl._runtime import __version__ as __version__
from robustirl._runtime import deprecated_names, support_moved_modules
from robustirl._runtime import enable_cache as enable_cache
from robustirl._runtime import enable_x64 as enable_x64
from robustirl._runtime import single_precision as single_precision
from robustirl.demonstrations import load as load
from robustirl.irl import RobustIRL as RobustIRL
from robustirl.irl import fit as fit
from robustirl.irl import fit_many as fit_many
from robustirl.mdp import MDP as MDP
from robustirl.mdp import MarkovGame as MarkovGame

support_moved_modules()
if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = [
    "MDP",
    "MarkovGame",
    "RobustIRL",
    "control",
    "demonstrations",
    "enable_cache",
    "enable_x64",
    "envs",
    "fit",
    "fit_many",
    "irl",
    "load",
    "mdp",
    "planning",
    "rewards",
    "single_precision",
    "theory",
]
