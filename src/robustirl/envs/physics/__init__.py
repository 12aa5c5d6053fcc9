"""Worlds with physics that can be changed: bodies and equations of motion whose parameters have names.

`make("cart-pole", mass=2.0)` is a world for `robustirl.control`, relative-entropy IRL and robust imitation. Parameters
are arrays, so worlds that differ in them stack into one batch. The equations are plain JAX and agree step by step with
Gymnasium's worlds of the same name; `mujoco_world` takes any MuJoCo model, where that is installed.
"""

import importlib
import pkgutil

from robustirl.envs.physics.equations import Equations as Equations
from robustirl.envs.physics.equations import PhysicsWorld as PhysicsWorld
from robustirl.envs.physics.equations import make as make
from robustirl.envs.physics.equations import names as names
from robustirl.envs.physics.equations import register as register
from robustirl.envs.physics.equations import require_difference as require_difference
from robustirl.envs.physics.gymnasium_models import MODELS as MODELS
from robustirl.envs.physics.mujoco import MujocoEquations as MujocoEquations
from robustirl.envs.physics.mujoco import as_engine as as_engine
from robustirl.envs.physics.mujoco import mujoco_world as mujoco_world

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "Equations",
    "MujocoEquations",
    "PhysicsWorld",
    "make",
    "mujoco_world",
    "names",
    "register",
    "require_difference",
]
