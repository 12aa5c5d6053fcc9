"""Sweeps: specs, kinds of runs, executors and the store. Nothing here knows an algorithm."""

from robustirl.sweeps.batches import Timing as Timing
from robustirl.sweeps.configuration import configuration as configuration
from robustirl.sweeps.executor import Engine as Engine
from robustirl.sweeps.executor import flat as flat
from robustirl.sweeps.executor import run as run
from robustirl.sweeps.kinds import Kind as Kind
from robustirl.sweeps.kinds import by_kind as by_kind
from robustirl.sweeps.kinds import kind_of as kind_of
from robustirl.sweeps.kinds import register as register
from robustirl.sweeps.processes import cores as cores
from robustirl.sweeps.processes import process_pool as process_pool
from robustirl.sweeps.ray import RayEngine as RayEngine
from robustirl.sweeps.request import Outcome as Outcome
from robustirl.sweeps.request import Progress as Progress
from robustirl.sweeps.request import check_specs as check_specs
from robustirl.sweeps.request import compute as compute
from robustirl.sweeps.request import write_tables as write_tables
from robustirl.sweeps.specs import RunResult as RunResult
from robustirl.sweeps.specs import Spec as Spec
from robustirl.sweeps.specs import require_runs as require_runs
from robustirl.sweeps.store.packing import unpack_store as unpack_store
from robustirl.sweeps.store.store import Store as Store
from robustirl.sweeps.store.store import writing_to as writing_to

__all__ = ["Store"]
"""The main names: see `docs/api/index.md`."""

DOCUMENTED = [
    "Kind",
    "RunResult",
    "Spec",
    "Store",
    "compute",
    "register",
    "run",
]
"""All names that are documented and kept; what else is imported here is for other rooms."""
