"""The paper's IRL algorithms: from a learner's world and an expert's occupancy to a reward and policies."""

from robustirl.irl.callbacks import Interrupted as Interrupted
from robustirl.irl.callbacks import Step as Step
from robustirl.irl.estimator import NotFittedError as NotFittedError
from robustirl.irl.estimator import RobustIRL as RobustIRL
from robustirl.irl.loggers import TensorBoardLogger as TensorBoardLogger
from robustirl.irl.loggers import WandbLogger as WandbLogger
from robustirl.irl.mce import fit as fit
from robustirl.irl.mce import fit_batch as fit_batch
from robustirl.irl.mce import fit_many as fit_many
from robustirl.irl.optimizers import ADAM as ADAM
from robustirl.irl.optimizers import DEEP_ADAM as DEEP_ADAM
from robustirl.irl.optimizers import LBFGS as LBFGS
from robustirl.irl.relative_entropy import expert_features as expert_features
from robustirl.irl.relative_entropy import fit_relative_entropy as fit_relative_entropy
from robustirl.irl.relative_entropy import fit_relative_entropy_many as fit_relative_entropy_many
from robustirl.irl.relative_entropy_callbacks import RelativeEntropyStep as RelativeEntropyStep
from robustirl.irl.relative_entropy_config import RelativeEntropyConfig as RelativeEntropyConfig
from robustirl.irl.relative_entropy_result import RelativeEntropyFit as RelativeEntropyFit
from robustirl.irl.result import Fit as Fit
from robustirl.irl.result import FitVerdict as FitVerdict
from robustirl.irl.result import History as History
from robustirl.irl.result import Status as Status
from robustirl.irl.saving import load_fit as load_fit
from robustirl.irl.saving import save_fit as save_fit
