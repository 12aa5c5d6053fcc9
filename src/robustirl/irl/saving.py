"""Save fits and estimators to files, and read them back exactly."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import numpy as np

from robustirl._runtime import from_dict, one_line, require_kinds
from robustirl.control import PPOConfig
from robustirl.demonstrations import OccupancyEstimate
from robustirl.errors import InvalidInputError, RobustIRLError
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
from robustirl.irl._fit_encoding import IMITATION, KINDS, TABULAR, decode_fit, encode_fit, kind_of
from robustirl.irl.discriminator import ImitationConfig
from robustirl.irl.evidence import Evidence
from robustirl.irl.imitation import ImitationFit
from robustirl.irl.inference import Inference
from robustirl.irl.mce.problem import OCCUPANCY
from robustirl.irl.mce.result import Fit
from robustirl.irl.relative_entropy import RelativeEntropyFit
from robustirl.planning import Temperatures, as_temperatures

if TYPE_CHECKING:
    from robustirl.irl.estimator import RobustIRL
    from robustirl.irl.sampled import RobustImitation

Found = TypeVar("Found")


def save_fit(fit: Fit | RelativeEntropyFit | ImitationFit, path: str | os.PathLike[str]) -> None:
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
        (True, <Status.MAX_STEPS: 'budget'>)
    """
    kind = kind_of(fit)
    note, arrays = encode_fit(fit)
    write_archive(Archive({"kind": kind.name, "fit": note}, arrays), path)


def load_fit(path: str | os.PathLike[str]) -> Fit | RelativeEntropyFit | ImitationFit:
    """Read the fit that `save_fit` wrote, or that of a saved `RobustIRL`.

    See the example of `save_fit`.
    """
    note, arrays = read_archive(path)
    kind = next((kind for kind in KINDS if kind.name == note.get("kind")), TABULAR)
    return _understood(path, lambda: decode_fit(kind, note["fit"], arrays))


def _understood(path: str | os.PathLike[str], decode: Callable[[], Found]) -> Found:
    """Return what `decode` makes of a file, or refuse its content.

    Content is refused that is not what it should be under a valid checksum.
    """
    try:
        return decode()
    except RobustIRLError:  # Such as that nothing can be computed in a forked process.
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InvalidInputError(
            f"{path} is a saved model, but not one this robustirl understands ({reason});"
            " save it anew with this version."
        ) from None


_PLAIN = ("alpha", "steps", "tolerance", "tail", "confidence", "planner_tolerance", "throw", "objective", "penalty")


def save_estimator(estimator: "RobustIRL", path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to an .npz file."""
    evidence = estimator.evidence_
    note, arrays = encode_fit(estimator.fit_)
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
    inference = encode_record(vars(estimator).get("inference_"), "inference", arrays)
    fields = dataclasses.fields(evidence)
    held |= {field.name: _as_json(getattr(evidence, field.name)) for field in fields if field.name not in held}
    write_archive(
        Archive(
            {"kind": "estimator", "fit": note, "parameters": parameters, "evidence": held, "inference": inference},
            arrays,
        ),
        path,
    )


def load_estimator(kind: "type[RobustIRL]", types: Mapping[str, Any], path: str | os.PathLike[str]) -> "RobustIRL":
    """Read what `save_estimator` wrote.

    Args:
        kind: `RobustIRL`, or what was derived from it.
        types: Those of its parameters, by name.
        path: The file.
    """
    note, arrays = read_archive(path)
    if note.get("kind") != "estimator":
        raise InvalidInputError(f"{path} holds a {note.get('kind')}, not an estimator; read it with load_fit.")
    return _understood(path, lambda: _decode_estimator(kind, types, note, arrays))


def save_imitation(estimator: "RobustImitation", path: str | os.PathLike[str]) -> None:
    """Write a fitted `RobustImitation` to an .npz file; `load_fit` reads its fit."""
    note, arrays = encode_fit(estimator.fit_)
    given = estimator.get_params()
    config = None if given["config"] is None else dataclasses.asdict(given["config"])
    kind = kind_of(estimator.fit_)
    write_archive(Archive({"kind": kind.name, "fit": note, "parameters": {**given, "config": config}}, arrays), path)


def load_imitation(kind: "type[RobustImitation]", path: str | os.PathLike[str]) -> "RobustImitation":
    """Read what `save_imitation` wrote."""
    note, arrays = read_archive(path)
    if "parameters" not in note or note.get("kind") != IMITATION.name:
        raise InvalidInputError(
            f"{path} holds no RobustImitation but kind {note.get('kind')!r}; read it with load_fit."
        )

    def decode() -> "RobustImitation":
        given = dict(note["parameters"])
        config = given.pop("config")
        made = kind(**given, config=None if config is None else _imitation_config(config))
        found = decode_fit(IMITATION, note["fit"], arrays)
        assert isinstance(found, ImitationFit)
        made.fit_ = found
        return made

    return _understood(path, decode)


def _imitation_config(note: dict[str, Any]) -> ImitationConfig:
    # JSON has lists alone.
    fields, ppo = (
        {name: tuple(value) if isinstance(value, list) else value for name, value in part.items()}
        for part in (note, note["ppo"])
    )
    return from_dict(ImitationConfig, {**fields, "ppo": from_dict(PPOConfig, ppo)})


def _decode_estimator(
    kind: "type[RobustIRL]", types: Mapping[str, Any], note: dict[str, Any], arrays: dict[str, np.ndarray]
) -> "RobustIRL":
    parameters, evidence = dict(note["parameters"]), dict(note["evidence"])
    found = decode_fit(TABULAR, note["fit"], arrays)
    parameters |= {
        "temperatures": as_temperatures(Temperatures(*parameters["temperatures"])),
        "reward": decode_reward(parameters["reward"], arrays),
        "optimizer": decode_optimizer(parameters["optimizer"]),
        "initial_parameters": decode_tree(parameters["initial_parameters"], arrays),
    }
    if evidence["alpha_estimate"] is not None:
        from robustirl.demonstrations.alpha import AlphaEstimate

        evidence["alpha_estimate"] = decode_record(AlphaEstimate, evidence["alpha_estimate"], "alpha", arrays)
    estimate = decode_record(OccupancyEstimate, evidence["occupancy_estimate"], "occupancy", arrays)
    evidence |= {"occupancy_estimate": estimate, "cautions": tuple(evidence["cautions"])}
    evidence["notes"] = tuple(evidence.get("notes", ()))  # Absent from files of 0.1.
    since = {"objective": OCCUPANCY, "penalty": 0.0}  # Absent from files of 0.1.
    parameters = since | parameters
    plain = {name: parameters[name] for name in _PLAIN}
    if isinstance(plain["alpha"], list):
        # α by state and action; what it may be, `fit` checks when it is used.
        parameters["alpha"] = np.asarray(plain.pop("alpha"), float)
        evidence["alpha"] = parameters["alpha"]
    require_kinds(types, plain)
    estimator = kind().set_params(**parameters)
    estimator.fit_, estimator.evidence_ = found, from_dict(Evidence, evidence)
    inference = note.get("inference")
    if inference is not None:
        named = {**inference, "names": tuple(inference["names"])}
        estimator.inference_ = decode_record(Inference, named, "inference", arrays)
    return estimator


def _as_json(value: Any) -> Any:
    """Return a number, an array, a word or a tuple of words as JSON has it."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray | jax.Array) else value
