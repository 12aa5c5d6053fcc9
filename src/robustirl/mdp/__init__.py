"""What a world is: kernels, MDPs, the Markov game, policies and distances."""

from robustirl.mdp.builders import from_function as from_function
from robustirl.mdp.builders import from_sparse as from_sparse
from robustirl.mdp.game import MarkovGame as MarkovGame
from robustirl.mdp.mdp import MDP as MDP
from robustirl.mdp.policy import dynamics_distance as dynamics_distance
from robustirl.mdp.policy import mixture as mixture
from robustirl.mdp.policy import uniform_policy as uniform_policy

__all__ = [
    "MDP",
    "MarkovGame",
    "dynamics_distance",
    "from_function",
    "from_sparse",
    "mixture",
    "uniform_policy",
]
