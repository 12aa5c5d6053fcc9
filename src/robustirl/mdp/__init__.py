"""What a world is: kernels, MDPs, the Markov game, policies and distances."""

from robustirl.mdp.builders import from_function as from_function
from robustirl.mdp.builders import from_sparse as from_sparse
from robustirl.mdp.game import MarkovGame as MarkovGame
from robustirl.mdp.mdp import MDP as MDP
from robustirl.mdp.policy import dynamics_distance as dynamics_distance
from robustirl.mdp.policy import mixture as mixture
from robustirl.mdp.policy import policy_distance as policy_distance
from robustirl.mdp.policy import uniform_policy as uniform_policy
from robustirl.mdp.sharding import shard_states as shard_states

__all__ = [
    "MDP",
    "MarkovGame",
    "dynamics_distance",
    "from_function",
    "from_sparse",
    "mixture",
    "policy_distance",
    "shard_states",
    "uniform_policy",
]

_MOVED = {
    "robustirl._check": "as_count as_floats as_list as_number as_number_between as_positive as_seed concrete"
    " in_host_memory require_callable require_finite require_kind require_shape require_unmasked shape_of",
    "robustirl.mdp.game": "as_alpha as_game as_local_alpha",
    "robustirl.mdp.kernel": "AbstractChain AbstractKernel require_same_size",
    "robustirl.mdp.dense": "DenseKernel",
    "robustirl.mdp.mixture": "MixtureKernel",
    "robustirl.mdp.mdp": "LEAST_DIGIT absorbing_states as_discount as_world replace_parts require_discount",
    "robustirl.mdp.policy": "as_action_reward as_occupancy as_policy as_reward opposed",
}


def __getattr__(name: str) -> object:
    """Find names that other rooms still import from here; their homes are in `_MOVED`."""
    import importlib

    if name == "checks":
        return importlib.import_module("robustirl._check")
    for module, names in _MOVED.items():
        if name in names.split():
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
