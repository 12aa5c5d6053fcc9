"""What a world is: kernels, MDPs, the Markov game, policies and distances."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.mdp import checks as checks
from robustirl.mdp.absorbing import absorbing_states as absorbing_states
from robustirl.mdp.absorbing import never_left as never_left
from robustirl.mdp.arguments import as_list as as_list
from robustirl.mdp.arguments import as_number_between as as_number_between
from robustirl.mdp.arguments import require_callable as require_callable
from robustirl.mdp.arguments import require_kind as require_kind
from robustirl.mdp.banded import BandedKernel as BandedKernel
from robustirl.mdp.banded import banded_or_lists as banded_or_lists
from robustirl.mdp.chains import AbstractChain as AbstractChain
from robustirl.mdp.chains import BandedChain as BandedChain
from robustirl.mdp.chains import DenseChain as DenseChain
from robustirl.mdp.chains import DisturbedChain as DisturbedChain
from robustirl.mdp.chains import ListChain as ListChain
from robustirl.mdp.chains import RankOne as RankOne
from robustirl.mdp.checks import as_count as as_count
from robustirl.mdp.checks import as_floats as as_floats
from robustirl.mdp.checks import as_number as as_number
from robustirl.mdp.checks import as_positive as as_positive
from robustirl.mdp.checks import as_seed as as_seed
from robustirl.mdp.checks import concrete as concrete
from robustirl.mdp.checks import in_host_memory as in_host_memory
from robustirl.mdp.checks import require_finite as require_finite
from robustirl.mdp.checks import require_shape as require_shape
from robustirl.mdp.checks import require_squares as require_squares
from robustirl.mdp.checks import require_unmasked as require_unmasked
from robustirl.mdp.checks import shape_of as shape_of
from robustirl.mdp.compact import compact_kernel as compact_kernel
from robustirl.mdp.discounts import LEAST_DIGIT as LEAST_DIGIT
from robustirl.mdp.discounts import as_discount as as_discount
from robustirl.mdp.discounts import require_discount as require_discount
from robustirl.mdp.extension import extend_array as extend_array
from robustirl.mdp.extension import extend_states as extend_states
from robustirl.mdp.functions import from_function as from_function
from robustirl.mdp.game import MarkovGame as MarkovGame
from robustirl.mdp.game import as_alpha as as_alpha
from robustirl.mdp.game import as_game as as_game
from robustirl.mdp.game import as_local_alpha as as_local_alpha
from robustirl.mdp.halo import HaloKernel as HaloKernel
from robustirl.mdp.halves import AbstractHalves as AbstractHalves
from robustirl.mdp.kernel import AbstractKernel as AbstractKernel
from robustirl.mdp.kernel import DenseKernel as DenseKernel
from robustirl.mdp.kernel import require_same_size as require_same_size
from robustirl.mdp.kronecker import KroneckerKernel as KroneckerKernel
from robustirl.mdp.mdp import MDP as MDP
from robustirl.mdp.mdp import as_world as as_world
from robustirl.mdp.mdp import replace_parts as replace_parts
from robustirl.mdp.mixture import MixtureKernel as MixtureKernel
from robustirl.mdp.policy import as_policy as as_policy
from robustirl.mdp.policy import dynamics_distance as dynamics_distance
from robustirl.mdp.policy import mixture as mixture
from robustirl.mdp.policy import opposed as opposed
from robustirl.mdp.policy import policy_distance as policy_distance
from robustirl.mdp.policy import uniform_policy as uniform_policy
from robustirl.mdp.ragged import RaggedKernel as RaggedKernel
from robustirl.mdp.renumbering import Order as Order
from robustirl.mdp.renumbering import renumber_states as renumber_states
from robustirl.mdp.renumbering import renumbered as renumbered
from robustirl.mdp.sharded_function import shard_function as shard_function
from robustirl.mdp.sharding import shard_states as shard_states
from robustirl.mdp.sparse import from_sparse as from_sparse
from robustirl.mdp.successors import SuccessorKernel as SuccessorKernel
from robustirl.mdp.transitions import Recording as Recording
from robustirl.mdp.vectors import as_action_reward as as_action_reward
from robustirl.mdp.vectors import as_occupancy as as_occupancy
from robustirl.mdp.vectors import as_reward as as_reward
from robustirl.mdp.whole_worlds import without_halves as without_halves
from robustirl.mdp.wrong_action import WrongActionKernel as WrongActionKernel

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = ["MDP", "MarkovGame", "dynamics_distance", "from_sparse"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "MDP",
    "AbstractKernel",
    "BandedKernel",
    "DenseKernel",
    "HaloKernel",
    "KroneckerKernel",
    "MarkovGame",
    "MixtureKernel",
    "Order",
    "RaggedKernel",
    "SuccessorKernel",
    "WrongActionKernel",
    "dynamics_distance",
    "extend_array",
    "extend_states",
    "from_function",
    "from_sparse",
    "mixture",
    "policy_distance",
    "renumber_states",
    "shard_function",
    "shard_states",
    "uniform_policy",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
