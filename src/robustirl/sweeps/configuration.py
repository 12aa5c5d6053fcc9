"""What decides the digits of a run besides its spec: versions, precision, kind of device, instructions, XLA's flags."""

import functools
import importlib.metadata
import os
from collections.abc import Mapping

import jax
import numpy as np

from robustirl._runtime import __version__, processor, working_dtype


def configuration() -> dict[str, str]:
    """Return the configuration of this process.

    Example:
        >>> configuration()["dtype"]
        'float64'
    """
    return {
        "robustirl": __version__,
        **_versions(),
        "dtype": str(np.dtype(working_dtype())),
        "device": jax.default_backend(),
        "processor": processor(),
        "xla_flags": " ".join(sorted(os.environ.get("XLA_FLAGS", "").split())),
        **_settings(),
    }


def _settings() -> dict[str, str]:
    """Return other settings of OpenBLAS and JAX that change last digits and are not the usual."""
    found = {"openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", "")}
    for name in ("jax_disable_jit", "jax_disable_most_optimizations", "jax_default_matmul_precision"):
        value = getattr(jax.config, name, None)
        found[name] = "" if value in (None, False) else str(value)
    return {name: value for name, value in found.items() if value}


@functools.cache
def _versions() -> dict[str, str]:
    packages = ("jax", "jaxlib", "numpy", "scipy", "optax", "equinox")
    return {name: importlib.metadata.version(name) for name in packages}


def difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """Return in which entries two configurations differ.

    Example:
        >>> difference({"jax": "0.1", "dtype": "float64"}, {"jax": "0.2", "dtype": "float64"})
        'jax 0.1 there, 0.2 here'
    """
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    return "; ".join(f"{name} {theirs.get(name)} there, {ours.get(name)} here" for name in names)
