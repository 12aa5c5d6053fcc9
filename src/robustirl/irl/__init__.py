"""Learn a reward and policies for a learner's world from an expert's occupancy, demonstrations or samples."""

from robustirl._progress import Interrupted as Interrupted
from robustirl.irl.acting import NotFittedError as NotFittedError
from robustirl.irl.alpha import AlphaSelection as AlphaSelection
from robustirl.irl.alpha import select_alpha as select_alpha
from robustirl.irl.checks import Checks as Checks
from robustirl.irl.checks import CheckStatus as CheckStatus
from robustirl.irl.checks import check_fit as check_fit
from robustirl.irl.cloning import clone_behavior as clone_behavior
from robustirl.irl.discriminator import ImitationConfig as ImitationConfig
from robustirl.irl.dynamics import JointModel as JointModel
from robustirl.irl.dynamics import MixtureDynamics as MixtureDynamics
from robustirl.irl.estimator import RobustIRL as RobustIRL
from robustirl.irl.fit import PAPER_SETTINGS as PAPER_SETTINGS
from robustirl.irl.fit import fit as fit
from robustirl.irl.fit import fit_many as fit_many
from robustirl.irl.imitation import ImitationFit as ImitationFit
from robustirl.irl.imitation import fit_imitation as fit_imitation
from robustirl.irl.imitation import fit_imitation_many as fit_imitation_many
from robustirl.irl.inference import Inference as Inference
from robustirl.irl.inference import infer as infer
from robustirl.irl.joint import fit_jointly as fit_jointly
from robustirl.irl.optimize import ADAM as ADAM
from robustirl.irl.optimize import DEEP_ADAM as DEEP_ADAM
from robustirl.irl.optimize import NEWTON as NEWTON
from robustirl.irl.optimize import adam as adam
from robustirl.irl.relative_entropy import RelativeEntropyConfig as RelativeEntropyConfig
from robustirl.irl.relative_entropy import RelativeEntropyFit as RelativeEntropyFit
from robustirl.irl.relative_entropy import fit_relative_entropy as fit_relative_entropy
from robustirl.irl.relative_entropy import fit_relative_entropy_many as fit_relative_entropy_many
from robustirl.irl.result import Fit as Fit
from robustirl.irl.result import Status as Status
from robustirl.irl.sampled import RelativeEntropyIRL as RelativeEntropyIRL
from robustirl.irl.sampled import RobustImitation as RobustImitation
from robustirl.irl.saving import load_fit as load_fit
from robustirl.irl.saving import save_fit as save_fit
from robustirl.irl.transfer import compare_transfer as compare_transfer
from robustirl.irl.transfer import fit_transfer as fit_transfer

__all__ = [
    "ADAM",
    "DEEP_ADAM",
    "NEWTON",
    "PAPER_SETTINGS",
    "AlphaSelection",
    "CheckStatus",
    "Checks",
    "Fit",
    "ImitationConfig",
    "ImitationFit",
    "Inference",
    "Interrupted",
    "JointModel",
    "MixtureDynamics",
    "NotFittedError",
    "RelativeEntropyConfig",
    "RelativeEntropyFit",
    "RelativeEntropyIRL",
    "RobustIRL",
    "RobustImitation",
    "Status",
    "adam",
    "check_fit",
    "clone_behavior",
    "compare_transfer",
    "fit",
    "fit_imitation",
    "fit_imitation_many",
    "fit_jointly",
    "fit_many",
    "fit_relative_entropy",
    "fit_relative_entropy_many",
    "fit_transfer",
    "infer",
    "load_fit",
    "save_fit",
    "select_alpha",
]
