"""A relative-entropy fit as a note and named arrays, and back; `save_fit` and `load_fit` put them into files."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from robustirl.control import GaussianPolicy
from robustirl.irl._encoding import decode_tree, encode_tree
from robustirl.irl.relative_entropy.result import (
    RelativeEntropyFit,
    RelativeEntropyHistory,
    RelativeEntropyVerdict,
)

KIND = "relative-entropy-fit"
_ARRAYS = ("parameters", "expert_features", "features", "alpha")
_SIDES = ("player", "opponent")


def encode_relative_entropy(fit: RelativeEntropyFit) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The fit as JSON values and arrays."""
    arrays = {f"fit.{name}": np.asarray(getattr(fit, name)) for name in _ARRAYS}
    for part in ("history", "verdict"):
        log = getattr(fit, part)
        arrays |= {f"fit.{part}.{f.name}": np.asarray(getattr(log, f.name)) for f in dataclasses.fields(log)}
    note: dict[str, Any] = {"dtype": str(arrays["fit.parameters"].dtype)}
    for side in _SIDES:
        policy = getattr(fit, side)
        fields = {f.name: getattr(policy, f.name) for f in dataclasses.fields(policy)}
        note[side] = encode_tree(fields, f"fit.{side}", arrays)
    return note, arrays


def decode_relative_entropy(note: dict[str, Any], arrays: dict[str, np.ndarray]) -> RelativeEntropyFit:
    """The inverse of `encode_relative_entropy`."""

    def part(kind: type, name: str):
        return kind(**{f.name: jnp.asarray(arrays[f"fit.{name}.{f.name}"]) for f in dataclasses.fields(kind)})

    return RelativeEntropyFit(
        player=GaussianPolicy(**decode_tree(note["player"], arrays)),
        opponent=GaussianPolicy(**decode_tree(note["opponent"], arrays)),
        **{name: jnp.asarray(arrays[f"fit.{name}"]) for name in _ARRAYS},
        history=part(RelativeEntropyHistory, "history"),
        verdict=part(RelativeEntropyVerdict, "verdict"),
    )
