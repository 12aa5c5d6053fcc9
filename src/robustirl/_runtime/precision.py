"""Re-export what `robustirl._jax` defines: there must be one scope of precision, whoever opens it."""

from robustirl._jax import DeviceModule as DeviceModule
from robustirl._jax import ScopedModule as ScopedModule
from robustirl._jax import as_float as as_float
from robustirl._jax import double_precision as double_precision
from robustirl._jax import enable_x64 as enable_x64
from robustirl._jax import epsilon as epsilon
from robustirl._jax import in_working_precision as in_working_precision
from robustirl._jax import released as released
from robustirl._jax import single_precision as single_precision
from robustirl._jax import smallest_tolerance as smallest_tolerance
from robustirl._jax import solver_tolerance as solver_tolerance
from robustirl._jax import sum_tolerance as sum_tolerance
from robustirl._jax import tie_tolerance as tie_tolerance
from robustirl._jax import working_dtype as working_dtype
from robustirl._jax import working_precision as working_precision
