"""Make worlds: the paper's, toy text, hospitals, files, graphs, Gymnasium, physics; a registry of them by name."""

from robustirl.envs import bodies as bodies  # These register what they make.
from robustirl.envs import gridworld as gridworld
from robustirl.envs import objectworld as objectworld
from robustirl.envs import physics as physics
from robustirl.envs import sepsis as sepsis
from robustirl.envs import toy_text as toy_text
from robustirl.envs.gaussian_grid import GaussianGrid as GaussianGrid
from robustirl.envs.graphs import from_graph as from_graph
from robustirl.envs.gridworld import GridWorld as GridWorld
from robustirl.envs.gymnasium import from_gymnasium as from_gymnasium
from robustirl.envs.gymnasium import from_gymnasium_vector as from_gymnasium_vector
from robustirl.envs.noise import register_noise_model as register_noise_model
from robustirl.envs.recorded import buses as buses
from robustirl.envs.registry import Environment as Environment
from robustirl.envs.registry import make as make
from robustirl.envs.registry import names as names
from robustirl.envs.tables import from_file as from_file
from robustirl.envs.three_state import ThreeState as ThreeState

__all__ = [
    "Environment",
    "GaussianGrid",
    "GridWorld",
    "ThreeState",
    "buses",
    "from_file",
    "from_graph",
    "from_gymnasium",
    "from_gymnasium_vector",
    "make",
    "names",
    "physics",
    "register_noise_model",
]
