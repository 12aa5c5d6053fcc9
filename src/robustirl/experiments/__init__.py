"""Run specs, the runner, the store, tables, figures and the report."""

from robustirl.experiments.continuous_specs import ContinuousRecord as ContinuousRecord
from robustirl.experiments.continuous_specs import ContinuousSpec as ContinuousSpec
from robustirl.experiments.continuous_specs import ExpertRecord as ExpertRecord
from robustirl.experiments.continuous_specs import ExpertSpec as ExpertSpec
from robustirl.experiments.continuous_specs import continuous_grid as continuous_grid
from robustirl.experiments.runner import run as run
from robustirl.experiments.specs import Finding as Finding
from robustirl.experiments.specs import Record as Record
from robustirl.experiments.specs import RunSpec as RunSpec
from robustirl.experiments.specs import grid_of_specs as grid_of_specs
from robustirl.experiments.store import Store as Store
