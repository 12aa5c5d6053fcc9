"""The paper's continuous experiment: experts, runs, statistics, report."""

from robustirl.paper.continuous.kind import CONTINUOUS as CONTINUOUS
from robustirl.paper.continuous.kind import EXPERT as EXPERT
from robustirl.paper.continuous.specs import ContinuousRecord as ContinuousRecord
from robustirl.paper.continuous.specs import ContinuousSpec as ContinuousSpec
from robustirl.paper.continuous.specs import ExpertRecord as ExpertRecord
from robustirl.paper.continuous.specs import ExpertSpec as ExpertSpec
from robustirl.paper.continuous.specs import continuous_grid as continuous_grid
