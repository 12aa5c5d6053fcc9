"""What decides the digits of a run besides its spec: versions, precision, kind of device."""

import functools
import importlib.metadata
from collections.abc import Mapping

import jax

from robustirl._runtime.version import __version__


def configuration() -> dict[str, str]:
    """The configuration of this process.

    Example:
        >>> configuration()["dtype"]
        'float64'
    """
    return {
        "robustirl": __version__,
        **_versions(),
        "dtype": "float64" if jax.config.read("jax_enable_x64") else "float32",
        "device": jax.default_backend(),
    }


@functools.cache
def _versions() -> dict[str, str]:
    packages = ("jax", "jaxlib", "numpy", "scipy", "optax", "equinox")
    return {name: importlib.metadata.version(name) for name in packages}


def difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """In which entries two configurations differ.

    Example:
        >>> difference({"jax": "0.1", "dtype": "float64"}, {"jax": "0.2", "dtype": "float64"})
        'jax 0.1 there, 0.2 here'
    """
    names = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    return "; ".join(f"{name} {theirs.get(name)} there, {ours.get(name)} here" for name in names)
