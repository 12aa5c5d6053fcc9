"""Inverse reinforcement learning when the expert's world and the learner's move differently."""

import gc
from typing import TYPE_CHECKING

# Importing makes 10⁵ objects that all stay; without a search for garbage among them it takes a seventh less time.
_collecting = gc.isenabled()
gc.disable()
try:
    from robustirl._libraries import import_libraries

    import_libraries()  # First of all: it may refuse the environment.
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
finally:
    if _collecting:
        gc.enable()

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
