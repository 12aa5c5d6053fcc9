"""The paper's finite experiments: specs, contexts, catalog, comparison, report."""

from robustirl.paper.finite.context import ExperimentContext as ExperimentContext
from robustirl.paper.finite.kind import FINITE as FINITE
from robustirl.paper.finite.specs import Record as Record
from robustirl.paper.finite.specs import RunSpec as RunSpec
from robustirl.paper.finite.specs import grid_of_specs as grid_of_specs
