"""Learn a reward and policies for a learner's world from an expert's occupancy or samples."""

from typing import TYPE_CHECKING

from robustirl._runtime import deprecated_names
from robustirl.irl._callbacks import Interrupted as Interrupted
from robustirl.irl._callbacks import Occasional as Occasional
from robustirl.irl._result import Status as Status
from robustirl.irl.alpha_profile import profile_alpha as profile_alpha
from robustirl.irl.alpha_rules import AlphaCurves as AlphaCurves
from robustirl.irl.alpha_rules import choose_candidate as choose_candidate
from robustirl.irl.alpha_selection import CANDIDATES as CANDIDATES
from robustirl.irl.alpha_selection import AlphaSelection as AlphaSelection
from robustirl.irl.alpha_selection import select_alpha as select_alpha
from robustirl.irl.cloning import clone_behavior as clone_behavior
from robustirl.irl.cloning import clone_behavior_many as clone_behavior_many
from robustirl.irl.discriminator import ImitationConfig as ImitationConfig
from robustirl.irl.discriminator import LearnedReward as LearnedReward
from robustirl.irl.estimator import NotFittedError as NotFittedError
from robustirl.irl.estimator import RobustIRL as RobustIRL
from robustirl.irl.imitation import ImitationFit as ImitationFit
from robustirl.irl.imitation import ImitationStep as ImitationStep
from robustirl.irl.imitation import closest as closest
from robustirl.irl.imitation import fit_imitation as fit_imitation
from robustirl.irl.imitation import fit_imitation_many as fit_imitation_many
from robustirl.irl.inference import Inference as Inference
from robustirl.irl.inference import infer as infer
from robustirl.irl.joint import JointFit as JointFit
from robustirl.irl.joint import fit_jointly as fit_jointly
from robustirl.irl.judgment import Judgment as Judgment
from robustirl.irl.judgment import Trust as Trust
from robustirl.irl.judgment import judge as judge
from robustirl.irl.matching_errors import matching_covariance as matching_covariance
from robustirl.irl.mce.callbacks import Callback as Callback
from robustirl.irl.mce.callbacks import Step as Step
from robustirl.irl.mce.dynamics import JointModel as JointModel
from robustirl.irl.mce.dynamics import MixtureDynamics as MixtureDynamics
from robustirl.irl.mce.evidence_checks import matched_occupancy as matched_occupancy
from robustirl.irl.mce.fit import PAPER_SETTINGS as PAPER_SETTINGS
from robustirl.irl.mce.fit import PAPER_STEPS as PAPER_STEPS
from robustirl.irl.mce.fit import fit as fit
from robustirl.irl.mce.fit import fit_batch as fit_batch
from robustirl.irl.mce.fit import fit_many as fit_many
from robustirl.irl.mce.result import Diagnosis as Diagnosis
from robustirl.irl.mce.result import Fit as Fit
from robustirl.irl.mce.result import FitVerdict as FitVerdict
from robustirl.irl.mce.result import History as History
from robustirl.irl.optimizers import ADAM as ADAM
from robustirl.irl.optimizers import DEEP_ADAM as DEEP_ADAM
from robustirl.irl.optimizers import LBFGS as LBFGS
from robustirl.irl.optimizers import NEWTON as NEWTON
from robustirl.irl.optimizers import SCORING as SCORING
from robustirl.irl.optimizers import SETTLING_ADAM as SETTLING_ADAM
from robustirl.irl.optimizers import adam as adam
from robustirl.irl.optimizers import paper_optimizer as paper_optimizer
from robustirl.irl.relative_entropy import PAPER as PAPER
from robustirl.irl.relative_entropy import RelativeEntropyConfig as RelativeEntropyConfig
from robustirl.irl.relative_entropy import RelativeEntropyFit as RelativeEntropyFit
from robustirl.irl.relative_entropy import RelativeEntropyStep as RelativeEntropyStep
from robustirl.irl.relative_entropy import expert_features as expert_features
from robustirl.irl.relative_entropy import fit_relative_entropy as fit_relative_entropy
from robustirl.irl.relative_entropy import fit_relative_entropy_many as fit_relative_entropy_many
from robustirl.irl.sampled import RelativeEntropyIRL as RelativeEntropyIRL
from robustirl.irl.sampled import RobustImitation as RobustImitation
from robustirl.irl.saving import load_fit as load_fit
from robustirl.irl.saving import save_fit as save_fit
from robustirl.irl.transfer import Transfer as Transfer
from robustirl.irl.transfer import compare_transfer as compare_transfer
from robustirl.irl.transfer import fit_transfer as fit_transfer

if not TYPE_CHECKING:
    __getattr__ = deprecated_names(__name__)

__all__ = [
    "Fit",
    "RobustIRL",
    "RobustImitation",
    "fit",
    "fit_many",
    "fit_relative_entropy",
    "judge",
    "load_fit",
    "save_fit",
    "select_alpha",
]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "ADAM",
    "DEEP_ADAM",
    "LBFGS",
    "NEWTON",
    "PAPER_SETTINGS",
    "SETTLING_ADAM",
    "AlphaSelection",
    "Diagnosis",
    "Fit",
    "FitVerdict",
    "History",
    "ImitationConfig",
    "ImitationFit",
    "Interrupted",
    "JointModel",
    "Judgment",
    "MixtureDynamics",
    "RelativeEntropyConfig",
    "RelativeEntropyFit",
    "RelativeEntropyIRL",
    "RobustIRL",
    "RobustImitation",
    "Status",
    "Step",
    "Trust",
    "clone_behavior",
    "fit",
    "fit_imitation",
    "fit_imitation_many",
    "fit_jointly",
    "fit_many",
    "fit_relative_entropy",
    "fit_relative_entropy_many",
    "fit_transfer",
    "infer",
    "judge",
    "load_fit",
    "matching_covariance",
    "profile_alpha",
    "save_fit",
    "select_alpha",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
