"""The paper's worlds as data, and a registry of them."""

from robustirl.envs.environment import Environment as Environment
from robustirl.envs.gaussian_grid import GaussianGrid as GaussianGrid
from robustirl.envs.gridworld import GridWorld as GridWorld
from robustirl.envs.object_world import ObjectWorld as ObjectWorld
from robustirl.envs.object_world import object_world as object_world
from robustirl.envs.registry import make as make
from robustirl.envs.registry import names as names
from robustirl.envs.registry import register as register
from robustirl.envs.registry import unregister as unregister
from robustirl.envs.three_state import ThreeState as ThreeState
from robustirl.envs.world_files import from_file as from_file
