"""The paper's IRL algorithms: from a learner's world and an expert's occupancy to a reward and policies."""

from robustirl.irl.mce import fit as fit
from robustirl.irl.mce import fit_many as fit_many
from robustirl.irl.optimizers import ADAM as ADAM
from robustirl.irl.optimizers import LBFGS as LBFGS
from robustirl.irl.result import Fit as Fit
from robustirl.irl.result import FitVerdict as FitVerdict
from robustirl.irl.result import History as History
from robustirl.irl.result import Status as Status
