"""State the theory as functions: bounds, existence, certificates, guarantees, identification, sets of worlds."""

from robustirl.theory.bounds import choose_alpha as choose_alpha
from robustirl.theory.bounds import robust_bound as robust_bound
from robustirl.theory.bounds import standard_bound as standard_bound
from robustirl.theory.bounds import transfer_bound as transfer_bound
from robustirl.theory.certify import certify as certify
from robustirl.theory.existence import closest_occupancy as closest_occupancy
from robustirl.theory.existence import find_feature_matching_policy as find_feature_matching_policy
from robustirl.theory.existence import find_matching_policy as find_matching_policy
from robustirl.theory.guarantee import guarantee as guarantee
from robustirl.theory.identify import identify as identify
from robustirl.theory.uncertainty import as_uncertainty as as_uncertainty

__all__ = [
    "as_uncertainty",
    "certify",
    "choose_alpha",
    "closest_occupancy",
    "find_feature_matching_policy",
    "find_matching_policy",
    "guarantee",
    "identify",
    "robust_bound",
    "standard_bound",
    "transfer_bound",
]
