"""Learn a reward and policies for a learner's world from an expert's occupancy, demonstrations or samples."""

from robustirl._progress import Interrupted as Interrupted
from robustirl.irl.alpha import select_alpha as select_alpha
from robustirl.irl.discriminator import ImitationConfig as ImitationConfig
from robustirl.irl.dynamics import JointModel as JointModel
from robustirl.irl.dynamics import MixtureDynamics as MixtureDynamics
from robustirl.irl.estimator import RobustIRL as RobustIRL
from robustirl.irl.fit import PAPER_SETTINGS as PAPER_SETTINGS
from robustirl.irl.fit import fit as fit
from robustirl.irl.fit import fit_many as fit_many
from robustirl.irl.imitation import fit_imitation as fit_imitation
from robustirl.irl.inference import infer as infer
from robustirl.irl.joint import fit_jointly as fit_jointly
from robustirl.irl.optimize import ADAM as ADAM
from robustirl.irl.relative_entropy import RelativeEntropyConfig as RelativeEntropyConfig
from robustirl.irl.relative_entropy import fit_relative_entropy as fit_relative_entropy
from robustirl.irl.result import Fit as Fit
from robustirl.irl.sampled import RelativeEntropyIRL as RelativeEntropyIRL
from robustirl.irl.sampled import RobustImitation as RobustImitation
from robustirl.irl.saving import load_fit as load_fit
from robustirl.irl.saving import save_fit as save_fit
from robustirl.irl.transfer import fit_transfer as fit_transfer

__all__ = [
    "ADAM",
    "PAPER_SETTINGS",
    "Fit",
    "ImitationConfig",
    "Interrupted",
    "JointModel",
    "MixtureDynamics",
    "RelativeEntropyConfig",
    "RelativeEntropyIRL",
    "RobustIRL",
    "RobustImitation",
    "fit",
    "fit_imitation",
    "fit_jointly",
    "fit_many",
    "fit_relative_entropy",
    "fit_transfer",
    "infer",
    "load_fit",
    "save_fit",
    "select_alpha",
]
