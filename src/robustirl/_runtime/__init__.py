"""What all rooms stand on: precision, threads, memory, files, compilation."""

from robustirl._runtime.cache import disable_compilation_cache as disable_compilation_cache
from robustirl._runtime.cache import use_compilation_cache as use_compilation_cache
from robustirl._runtime.compilation import compilation as compilation
from robustirl._runtime.files import build as build
from robustirl._runtime.files import in_brief as in_brief
from robustirl._runtime.files import read_arrays as read_arrays
from robustirl._runtime.files import require_kinds as require_kinds
from robustirl._runtime.files import shown as shown
from robustirl._runtime.files import write_atomically as write_atomically
from robustirl._runtime.memory import WORKING_BYTES as WORKING_BYTES
from robustirl._runtime.memory import require_memory as require_memory
from robustirl._runtime.precision import DeviceModule as DeviceModule
from robustirl._runtime.precision import as_float as as_float
from robustirl._runtime.precision import enable_x64 as enable_x64
from robustirl._runtime.precision import epsilon as epsilon
from robustirl._runtime.precision import in_working_precision as in_working_precision
from robustirl._runtime.precision import single_precision as single_precision
from robustirl._runtime.precision import smallest_tolerance as smallest_tolerance
from robustirl._runtime.precision import solver_tolerance as solver_tolerance
from robustirl._runtime.precision import sum_tolerance as sum_tolerance
from robustirl._runtime.precision import tie_tolerance as tie_tolerance
from robustirl._runtime.precision import working_dtype as working_dtype
from robustirl._runtime.precision import working_precision as working_precision
from robustirl._runtime.precision import working_scope as working_scope
from robustirl._runtime.threads import single_threaded_blas as single_threaded_blas
from robustirl._runtime.threads import single_threaded_xla as single_threaded_xla
