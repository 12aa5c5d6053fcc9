"""Fits and estimators as files: what goes into a saved model, and how it comes back exactly."""

import dataclasses
import os
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import build, in_brief, require_kinds
from robustirl.demonstrations import OccupancyEstimate
from robustirl.errors import InvalidInputError
from robustirl.irl._archive import Archive, read_archive, write_archive
from robustirl.irl._encoding import (
    decode_optimizer,
    decode_record,
    decode_reward,
    decode_tree,
    encode_optimizer,
    encode_record,
    encode_reward,
    encode_tree,
)
from robustirl.irl._result import Fit, FitVerdict, History
from robustirl.irl.evidence import Evidence
from robustirl.irl.relative_entropy.result import RelativeEntropyFit
from robustirl.irl.relative_entropy.saving import KIND as SAMPLED
from robustirl.irl.relative_entropy.saving import decode_relative_entropy, encode_relative_entropy
from robustirl.planning import Temperatures, as_temperatures

if TYPE_CHECKING:
    from robustirl.irl.estimator import RobustIRL

Found = TypeVar("Found")


def save_fit(fit: Fit | RelativeEntropyFit, path: str | os.PathLike[str]) -> None:
    """Write a fit to an .npz file, of a finite world or of a sampled one.

    Example:
        >>> import tempfile
        >>> from robustirl.envs import ThreeState
        >>> from robustirl.irl import fit, load_fit, save_fit
        >>> found = fit(ThreeState().mdp(), [0.1, 0.8, 0.1], steps=5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_fit(found, f"{folder}/fit.npz")
        ...     again = load_fit(f"{folder}/fit.npz")
        >>> bool((again.player == found.player).all()), again.verdict.status
        (True, <Status.BUDGET: 'budget'>)
    """
    if isinstance(fit, RelativeEntropyFit):
        note, arrays = encode_relative_entropy(fit)
        return write_archive(Archive({"kind": SAMPLED, "fit": note}, arrays), path)
    if not isinstance(fit, Fit):
        raise InvalidInputError(
            f"a Fit is needed, but {type(fit).__name__} was given; an estimator has its own save()."
        )
    note, arrays = _encode_fit(fit)
    return write_archive(Archive({"kind": "fit", "fit": note}, arrays), path)


def load_fit(path: str | os.PathLike[str]) -> Fit | RelativeEntropyFit:
    """Read the fit that `save_fit` wrote, or that of a saved `RobustIRL`."""
    archive = read_archive(path)
    if archive.note.get("kind") == SAMPLED:

        def build() -> RelativeEntropyFit:
            _require_precision(archive.note["fit"])
            return decode_relative_entropy(archive.note["fit"], archive.arrays)

        return _understood(path, build)
    return _understood(path, lambda: _decode_fit(archive.note["fit"], archive.arrays))


def _understood(path: str | os.PathLike[str], build: Callable[[], Found]) -> Found:
    """What `build` makes of a file whose checksum is right but whose content may still not be what it should."""
    try:
        return build()
    except InvalidInputError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {in_brief(error)}"
        raise InvalidInputError(
            f"{path} is a saved model, but not one this robustirl understands ({reason});"
            " save it anew with this version."
        ) from None


def _require_precision(note: dict[str, Any]) -> None:
    if note["dtype"] == "float64" and jnp.zeros((), float).dtype != jnp.float64:
        raise InvalidInputError(
            "this model was saved in float64, but JAX computes in float32; call robustirl.enable_x64() first."
        )


_ARRAYS = ("player", "opponent", "reward", "value", "expert_occupancy", "occupancy", "alpha")


def _encode_fit(fit: Fit) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A fit as a note and arrays."""
    arrays = {f"fit.{name}": np.asarray(getattr(fit, name)) for name in _ARRAYS}
    for part in ("history", "verdict"):
        log = getattr(fit, part)
        arrays |= {f"fit.{part}.{f.name}": np.asarray(getattr(log, f.name)) for f in dataclasses.fields(log)}
    note = {"dtype": str(arrays["fit.reward"].dtype), "parameters": encode_tree(fit.parameters, "fit.theta", arrays)}
    return note, arrays


def _decode_fit(note: dict[str, Any], arrays: dict[str, np.ndarray]) -> Fit:
    """The inverse of `_encode_fit`."""
    _require_precision(note)

    def part(kind: type, name: str):
        return kind(**{f.name: jnp.asarray(arrays[f"fit.{name}.{f.name}"]) for f in dataclasses.fields(kind)})

    _require_shapes(arrays)
    return Fit(
        **{name: jnp.asarray(arrays[f"fit.{name}"]) for name in _ARRAYS},
        parameters=decode_tree(note["parameters"], arrays),
        history=part(History, "history"),
        verdict=part(FitVerdict, "verdict"),
    )


def _require_shapes(arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays of a fit that do not go together."""
    size, actions = arrays["fit.player"].shape
    due = dict.fromkeys(_ARRAYS, (size,)) | {"player": (size, actions), "opponent": (size, actions), "alpha": ()}
    due |= {f"verdict.{field.name}": () for field in dataclasses.fields(FitVerdict)}
    due |= {f"history.{field.name}": arrays["fit.history.dual"].shape[:1] for field in dataclasses.fields(History)}
    for name, shape in due.items():
        if (found := arrays[f"fit.{name}"].shape) != shape:
            raise ValueError(f"its array {name!r} has the shape {found} instead of {shape}")
        if arrays[f"fit.{name}"].dtype.kind not in "fiub":
            raise ValueError(f"its array {name!r} holds {arrays[f'fit.{name}'].dtype}")


_PLAIN = ("alpha", "steps", "tolerance", "tail", "confidence", "planner_tolerance", "throw")


def save_estimator(estimator: "RobustIRL", path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to an .npz file."""
    evidence = estimator.evidence_
    note, arrays = _encode_fit(estimator.fit_)
    parameters = {name: _as_json(getattr(estimator, name)) for name in _PLAIN}
    parameters |= {
        "temperatures": [float(number) for number in estimator.temperatures],
        "reward": encode_reward(estimator.reward, arrays),
        "optimizer": encode_optimizer(estimator.optimizer),
        "initial_parameters": encode_tree(estimator.initial_parameters, "start", arrays),
    }
    held = {
        "alpha_estimate": encode_record(evidence.alpha_estimate, "alpha", arrays),
        "occupancy_estimate": encode_record(evidence.occupancy_estimate, "occupancy", arrays),
    }
    fields = dataclasses.fields(evidence)
    held |= {field.name: _as_json(getattr(evidence, field.name)) for field in fields if field.name not in held}
    write_archive(Archive({"kind": "estimator", "fit": note, "parameters": parameters, "evidence": held}, arrays), path)


def load_estimator(kind: "type[RobustIRL]", path: str | os.PathLike[str]) -> "RobustIRL":
    """The inverse of `save_estimator`."""
    note, arrays = read_archive(path)
    if note.get("kind") != "estimator":
        raise InvalidInputError(f"{path} holds a {note.get('kind')}, not an estimator; read it with load_fit.")
    return _understood(path, lambda: _decode_estimator(kind, note, arrays))


def _decode_estimator(kind: "type[RobustIRL]", note: dict[str, Any], arrays: dict[str, np.ndarray]) -> "RobustIRL":
    from robustirl.irl.estimator import RobustIRL  # Here, because that file is built on this one.

    parameters, evidence = dict(note["parameters"]), dict(note["evidence"])
    found = _decode_fit(note["fit"], arrays)
    parameters |= {
        "temperatures": as_temperatures(Temperatures(*parameters["temperatures"])),
        "reward": decode_reward(parameters["reward"], arrays),
        "optimizer": decode_optimizer(parameters["optimizer"]),
        "initial_parameters": decode_tree(parameters["initial_parameters"], arrays),
    }
    if evidence["alpha_estimate"] is not None:
        from robustirl.demonstrations import AlphaEstimate

        evidence["alpha_estimate"] = decode_record(AlphaEstimate, evidence["alpha_estimate"], "alpha", arrays)
    estimate = decode_record(OccupancyEstimate, evidence["occupancy_estimate"], "occupancy", arrays)
    evidence |= {"occupancy_estimate": estimate, "cautions": tuple(evidence["cautions"])}
    plain = {name: parameters[name] for name in _PLAIN}
    require_kinds(typing.get_type_hints(RobustIRL.__init__), plain)
    estimator = kind().set_params(**parameters)
    estimator.fit_, estimator.evidence_ = found, build(Evidence, evidence)
    return estimator


def _as_json(value: Any) -> Any:
    """A number, a word or a tuple of words as JSON has it."""
    return value.item() if isinstance(value, np.generic | np.ndarray | jax.Array) else value
