"""Inverse reinforcement learning when the expert's world and the learner's move differently."""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from robustirl import control as control
    from robustirl import demonstrations as demonstrations
    from robustirl import envs as envs
    from robustirl import irl as irl
    from robustirl import mdp as mdp
    from robustirl import planning as planning
    from robustirl import plotting as plotting
    from robustirl import report as report
    from robustirl import rewards as rewards
    from robustirl import theory as theory
    from robustirl._jax import enable_cache as enable_cache
    from robustirl._jax import enable_x64 as enable_x64
    from robustirl._jax import single_precision as single_precision
    from robustirl.demonstrations import Demonstrations as Demonstrations
    from robustirl.demonstrations import load as load
    from robustirl.irl import RobustImitation as RobustImitation
    from robustirl.irl import RobustIRL as RobustIRL
    from robustirl.irl import fit as fit
    from robustirl.irl import fit_many as fit_many
    from robustirl.mdp import MDP as MDP
    from robustirl.mdp import MarkovGame as MarkovGame
    from robustirl.planning import solve as solve

_ROOMS = ("control", "demonstrations", "envs", "irl", "mdp", "planning", "plotting", "report", "rewards", "theory")
_NAMES = {
    "MDP": "mdp",
    "MarkovGame": "mdp",
    "Demonstrations": "demonstrations",
    "load": "demonstrations",
    "fit": "irl",
    "fit_many": "irl",
    "RobustIRL": "irl",
    "RobustImitation": "irl",
    "solve": "planning",
    "enable_cache": "_jax",
    "enable_x64": "_jax",
    "single_precision": "_jax",
}

__all__ = [
    "MDP",
    "Demonstrations",
    "MarkovGame",
    "RobustIRL",
    "RobustImitation",
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
    "plotting",
    "report",
    "rewards",
    "single_precision",
    "solve",
    "theory",
]


def __getattr__(name: str) -> Any:
    """Import a room, or a name of one, when it is first asked for."""
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
