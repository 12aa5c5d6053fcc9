"""Whether JAX can compute where the environment says it should."""

import os

import jax

from robustirl._runtime import one_line
from robustirl.errors import InvalidInputError


def require_device() -> None:
    """Refuse to start where JAX cannot use the platforms that the environment names."""
    try:
        jax.devices()
    except Exception as error:  # Which one depends on what is missing.
        named = os.environ.get("JAX_PLATFORMS")
        if not named:
            raise
        reason = one_line(error)
        reason = "" if reason == type(error).__name__ else f" ({reason})"
        raise InvalidInputError(
            f"JAX_PLATFORMS is {named!r}, but JAX cannot compute there{reason}; unset it or set it to cpu, or install"
            " JAX for that device."
        ) from None
