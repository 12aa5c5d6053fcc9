"""Run specs, the runner, result tables and figures."""

from robustirl.experiments.reproduce import reproduce as reproduce
from robustirl.experiments.runner import run as run
from robustirl.experiments.specs import Record as Record
from robustirl.experiments.specs import RunSpec as RunSpec
from robustirl.experiments.specs import grid_of_specs as grid_of_specs
