"""What a world is: kernels, MDPs, the Markov game, policies and distances."""

from robustirl.mdp.banded import BandedKernel as BandedKernel
from robustirl.mdp.banded import banded_or_lists as banded_or_lists
from robustirl.mdp.kernel import AbstractKernel as AbstractKernel
from robustirl.mdp.kernel import DenseKernel as DenseKernel
from robustirl.mdp.mdp import MDP as MDP
from robustirl.mdp.mdp import MarkovGame as MarkovGame
from robustirl.mdp.mdp import as_game as as_game
from robustirl.mdp.mdp import as_occupancy as as_occupancy
from robustirl.mdp.mdp import as_reward as as_reward
from robustirl.mdp.mixture import MixtureKernel as MixtureKernel
from robustirl.mdp.policy import as_policy as as_policy
from robustirl.mdp.policy import dynamics_distance as dynamics_distance
from robustirl.mdp.policy import mixture as mixture
from robustirl.mdp.policy import policy_distance as policy_distance
from robustirl.mdp.policy import uniform_policy as uniform_policy
from robustirl.mdp.sharding import shard_states as shard_states
from robustirl.mdp.sparse import from_sparse as from_sparse
from robustirl.mdp.successors import SuccessorKernel as SuccessorKernel
