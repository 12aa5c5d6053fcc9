"""Make worlds: the paper's, toy text, files, Gymnasium; a registry of them by name.

Importing this package imports every module in it, and environments register themselves where they are defined.
"""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.envs import physics as physics
from robustirl.envs.buses import Buses as Buses
from robustirl.envs.buses import bus_features as bus_features
from robustirl.envs.buses import buses as buses
from robustirl.envs.buses import buses_from as buses_from
from robustirl.envs.buses import prepare_bus as prepare_bus
from robustirl.envs.environment import Environment as Environment
from robustirl.envs.fixed import FixedWorld as FixedWorld
from robustirl.envs.gaussian_grid import AWAY_FROM_ORIGIN as AWAY_FROM_ORIGIN
from robustirl.envs.gaussian_grid import GAUSSIAN_NOISE_MODELS as GAUSSIAN_NOISE_MODELS
from robustirl.envs.gaussian_grid import GOAL as GOAL
from robustirl.envs.gaussian_grid import PUBLISHED_SCALES as PUBLISHED_SCALES
from robustirl.envs.gaussian_grid import START as START
from robustirl.envs.gaussian_grid import TOWARDS_ORIGIN as TOWARDS_ORIGIN
from robustirl.envs.gaussian_grid import TRUE_WEIGHTS as TRUE_WEIGHTS
from robustirl.envs.gaussian_grid import GaussianGrid as GaussianGrid
from robustirl.envs.graph_files import read_graph as read_graph
from robustirl.envs.graph_layout import graph_positions as graph_positions
from robustirl.envs.graphs import GraphWorld as GraphWorld
from robustirl.envs.graphs import from_graph as from_graph
from robustirl.envs.graphs import link_graph as link_graph
from robustirl.envs.gridworld import MOVES as MOVES
from robustirl.envs.gridworld import GridWorld as GridWorld
from robustirl.envs.gymnasium import RecordedStates as RecordedStates
from robustirl.envs.gymnasium import VectorWorld as VectorWorld
from robustirl.envs.gymnasium import from_gymnasium as from_gymnasium
from robustirl.envs.gymnasium import from_gymnasium_vector as from_gymnasium_vector
from robustirl.envs.gymnasium import require_gymnasium as require_gymnasium
from robustirl.envs.labyrinth import labyrinth as labyrinth
from robustirl.envs.labyrinth import node_positions as node_positions
from robustirl.envs.noise import NOISE_MODELS as NOISE_MODELS
from robustirl.envs.noise import PUBLISHED as PUBLISHED
from robustirl.envs.noise import UNIFORM_ACTION as UNIFORM_ACTION
from robustirl.envs.noise import UNIFORM_STATE as UNIFORM_STATE
from robustirl.envs.noise import noise_model_names as noise_model_names
from robustirl.envs.noise import register_noise_model as register_noise_model
from robustirl.envs.noise import unregister_noise_model as unregister_noise_model
from robustirl.envs.object_world import ObjectWorld as ObjectWorld
from robustirl.envs.object_world import object_world as object_world
from robustirl.envs.pendulum import pendulum as pendulum
from robustirl.envs.recorded import RecordedEnvironment as RecordedEnvironment
from robustirl.envs.registry import import_environments
from robustirl.envs.registry import make as make
from robustirl.envs.registry import names as names
from robustirl.envs.registry import recorded_names as recorded_names
from robustirl.envs.registry import register as register
from robustirl.envs.registry import unregister as unregister
from robustirl.envs.three_state import ThreeState as ThreeState
from robustirl.envs.world_files import SUFFIX as SUFFIX
from robustirl.envs.world_files import from_file as from_file

import_environments(__path__, __name__)

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = [
    "Environment",
    "GaussianGrid",
    "GridWorld",
    "from_file",
    "from_graph",
    "from_gymnasium",
    "from_gymnasium_vector",
    "make",
    "names",
    "register",
    "register_noise_model",
]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "Environment",
    "GaussianGrid",
    "GraphWorld",
    "GridWorld",
    "ObjectWorld",
    "ThreeState",
    "buses",
    "from_file",
    "from_graph",
    "from_gymnasium",
    "from_gymnasium_vector",
    "graph_positions",
    "link_graph",
    "make",
    "names",
    "node_positions",
    "object_world",
    "read_graph",
    "register",
    "register_noise_model",
    "unregister",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
