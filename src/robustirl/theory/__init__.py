"""The paper's theorems as functions: bounds, existence, certificates, the choice of α."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.theory.alpha import AlphaChoice as AlphaChoice
from robustirl.theory.alpha import choose_alpha as choose_alpha
from robustirl.theory.alpha import opponent_world as opponent_world
from robustirl.theory.alpha import worst_opponent_world as worst_opponent_world
from robustirl.theory.bounds import Bound as Bound
from robustirl.theory.bounds import for_soft_expert as for_soft_expert
from robustirl.theory.bounds import infeasible_bound as infeasible_bound
from robustirl.theory.bounds import robust_bound as robust_bound
from robustirl.theory.bounds import saddle_bound as saddle_bound
from robustirl.theory.bounds import saddle_bound_corrected as saddle_bound_corrected
from robustirl.theory.bounds import soft_policy_bound as soft_policy_bound
from robustirl.theory.bounds import standard_bound as standard_bound
from robustirl.theory.bounds import standard_bound_soft_expert as standard_bound_soft_expert
from robustirl.theory.bounds import transfer_bound as transfer_bound
from robustirl.theory.bounds import transfer_bound_trained_with_expert as transfer_bound_trained_with_expert
from robustirl.theory.certificate import Certificate as Certificate
from robustirl.theory.certificate import certify as certify
from robustirl.theory.constants import kappa as kappa
from robustirl.theory.constants import reward_magnitude as reward_magnitude
from robustirl.theory.entropy import causal_entropy as causal_entropy
from robustirl.theory.entropy import predictive_log_loss as predictive_log_loss
from robustirl.theory.entropy import soft_policy_value as soft_policy_value
from robustirl.theory.existence import Closest as Closest
from robustirl.theory.existence import Matching as Matching
from robustirl.theory.existence import closest_occupancy as closest_occupancy
from robustirl.theory.existence import find_matching_policy as find_matching_policy
from robustirl.theory.existence import rank_test as rank_test
from robustirl.theory.features import FeatureMatching as FeatureMatching
from robustirl.theory.features import find_feature_matching_policy as find_feature_matching_policy
from robustirl.theory.gradient import log_loss as log_loss
from robustirl.theory.gradient import log_loss_gradient as log_loss_gradient
from robustirl.theory.guarantee import guarantee as guarantee
from robustirl.theory.guarantee_result import Guarantee as Guarantee
from robustirl.theory.identification import IdentifiedSet as IdentifiedSet
from robustirl.theory.identification import identify as identify
from robustirl.theory.identification import principal_angles as principal_angles
from robustirl.theory.identification import rank_worlds as rank_worlds
from robustirl.theory.reachable import Surroundings as Surroundings
from robustirl.theory.robust import robust_soft_solution as robust_soft_solution
from robustirl.theory.robust import robust_soft_value as robust_soft_value
from robustirl.theory.state_action import PairMatching as PairMatching
from robustirl.theory.state_action import match_state_actions as match_state_actions
from robustirl.theory.uncertainty import AbstractUncertainty as AbstractUncertainty
from robustirl.theory.uncertainty_kinds import as_uncertainty as as_uncertainty

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = ["certify", "find_matching_policy"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "AlphaChoice",
    "Bound",
    "Certificate",
    "as_uncertainty",
    "certify",
    "choose_alpha",
    "closest_occupancy",
    "find_feature_matching_policy",
    "find_matching_policy",
    "guarantee",
    "identify",
    "infeasible_bound",
    "log_loss",
    "log_loss_gradient",
    "principal_angles",
    "rank_test",
    "rank_worlds",
    "robust_bound",
    "robust_soft_value",
    "saddle_bound",
    "saddle_bound_corrected",
    "soft_policy_bound",
    "standard_bound",
    "standard_bound_soft_expert",
    "transfer_bound",
    "transfer_bound_trained_with_expert",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
