"""Inverse reinforcement learning when the expert's world and the learner's move differently."""

from typing import TYPE_CHECKING

from robustirl import envs as envs
from robustirl import irl as irl
from robustirl import mdp as mdp
from robustirl import planning as planning
from robustirl import rewards as rewards
from robustirl import theory as theory
from robustirl._runtime import enable_x64 as enable_x64
from robustirl._runtime import single_precision as single_precision
from robustirl._runtime.deprecations import deprecated_names, support_moved_modules
from robustirl._runtime.version import __version__ as __version__

support_moved_modules()
if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)
