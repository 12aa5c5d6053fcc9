"""Fits of both kinds as a note of JSON values and named arrays, and back.

The arrays of a fit are named after its fields: `fit.player`, `fit.history.dual`. Fields that are trees (reward
parameters, Gaussian policies) are written as skeletons whose leaves name arrays.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import short_repr, working_precision
from robustirl.control.policies import GaussianPolicy, Network, Scale
from robustirl.errors import InvalidInputError
from robustirl.irl._encoding import decode_tree, encode_tree
from robustirl.irl._result import AbstractFit
from robustirl.irl.discriminator import LearnedReward
from robustirl.irl.imitation import ImitationFit, ImitationHistory, ImitationVerdict
from robustirl.irl.mce.problem import LIKELIHOOD, OCCUPANCY
from robustirl.irl.mce.result import Diagnosis, Fit, FitVerdict, History
from robustirl.irl.relative_entropy import RelativeEntropyFit, RelativeEntropyHistory, RelativeEntropyVerdict

Arrays = dict[str, np.ndarray]


class FitKind(NamedTuple):
    """How one kind of fit is written.

    Attributes:
        name: What the note calls it.
        fit, history, verdict: Its classes.
        arrays: The fields that are single arrays.
        trees: Fields that are trees of parameters, with the prefix of their arrays.
        policies: Fields that are Gaussian policies.
        records: Further fields that are records of single numbers, with their classes.
        renamed: Fields of the verdict by the names that files of version 0.1 have.
        precision: The field whose type is that of the fit.
        rewards: Fields that are rewards learned by a discriminator.
    """

    name: str
    fit: type[AbstractFit]
    history: type
    verdict: type
    arrays: tuple[str, ...]
    trees: dict[str, str]
    policies: tuple[str, ...]
    records: dict[str, type]
    renamed: dict[str, str]
    precision: str
    rewards: tuple[str, ...] = ()


TABULAR = FitKind(
    name="fit",
    fit=Fit,
    history=History,
    verdict=FitVerdict,
    arrays=("player", "opponent", "reward", "value", "expert_occupancy", "occupancy", "alpha"),
    trees={"parameters": "fit.theta"},
    policies=(),
    records={"diagnosis": Diagnosis},
    renamed={"valid": "planned"},
    precision="reward",
)
SAMPLED = FitKind(
    name="relative-entropy-fit",
    fit=RelativeEntropyFit,
    history=RelativeEntropyHistory,
    verdict=RelativeEntropyVerdict,
    arrays=("parameters", "expert_features", "features", "alpha"),
    trees={},
    policies=("player", "opponent"),
    records={},
    renamed={"valid": "sound"},
    precision="parameters",
)
IMITATION = FitKind(
    name="imitation-fit",
    fit=ImitationFit,
    history=ImitationHistory,
    verdict=ImitationVerdict,
    arrays=("alpha", "bounds", "discrete"),
    trees={},
    policies=("player", "opponent"),
    records={},
    renamed={},
    precision="alpha",
    rewards=("reward",),
)
KINDS = (TABULAR, SAMPLED, IMITATION)


def kind_of(fit: object) -> FitKind:
    """Return how this fit is written."""
    for kind in KINDS:
        if isinstance(fit, kind.fit):
            return kind
    raise InvalidInputError(f"a Fit is needed, but {type(fit).__name__} was given; an estimator has its own save().")


def encode_fit(fit: AbstractFit) -> tuple[dict[str, Any], Arrays]:
    """Return a fit as a note and arrays."""
    kind = kind_of(fit)
    arrays: Arrays = {f"fit.{name}": np.asarray(getattr(fit, name)) for name in kind.arrays}
    for part in ("history", "verdict", *kind.records):
        log = getattr(fit, part)
        arrays |= {f"fit.{part}.{f.name}": np.asarray(getattr(log, f.name)) for f in dataclasses.fields(log)}
    note: dict[str, Any] = {"dtype": str(arrays[f"fit.{kind.precision}"].dtype)}
    if isinstance(fit, Fit):
        note["objective"] = fit.objective
    note |= {name: encode_tree(getattr(fit, name), prefix, arrays) for name, prefix in kind.trees.items()}
    for name in kind.policies:
        policy = getattr(fit, name)
        fields = {f.name: getattr(policy, f.name) for f in dataclasses.fields(policy)}
        note[name] = encode_tree(fields, f"fit.{name}", arrays)
    for name in kind.rewards:
        held = getattr(fit, name)
        note[name] = {"sees": held.sees, "form": held.form}
        parts = {"layers": held.network.layers, "scale": (held.scale.mean, held.scale.square, held.scale.count)}
        note[name]["tree"] = encode_tree(parts, f"fit.{name}", arrays)
    return note, arrays


@working_precision
def decode_fit(kind: FitKind, note: dict[str, Any], arrays: Arrays) -> Any:
    """Return the fit that `encode_fit` was given."""
    arrays = _with_new_names(kind, arrays)
    if kind is TABULAR:
        arrays = _completed(arrays)
    if kind is IMITATION:
        # Lengths of episodes are not known of files that were written before they were measured.
        later = ("length", "expert_length", "expert_ended")
        arrays = {f"fit.verdict.{name}": np.asarray(np.nan) for name in later} | arrays
    _require_shapes(arrays, *_SHAPES[kind.name](arrays))

    def part(cls: type, name: str):
        return cls(**{f.name: jnp.asarray(arrays[f"fit.{name}.{f.name}"]) for f in dataclasses.fields(cls)})

    fields: dict[str, Any] = {name: jnp.asarray(arrays[f"fit.{name}"]) for name in kind.arrays}
    fields |= {name: decode_tree(note[name], arrays) for name in kind.trees}
    fields |= {name: _decode_policy(name, note, arrays) for name in kind.policies}
    fields |= {name: part(cls, name) for name, cls in kind.records.items()}
    fields |= {name: _decode_reward(note[name], arrays) for name in kind.rewards}
    if kind is TABULAR:
        fields["objective"] = _objective(note.get("objective", OCCUPANCY))  # Files of 0.1 do not name it.
    return kind.fit(**fields, history=part(kind.history, "history"), verdict=part(kind.verdict, "verdict"))


def _objective(name: Any) -> str:
    if name not in (OCCUPANCY, LIKELIHOOD):
        raise ValueError(f"its objective is {short_repr(name)}")
    return name


def _decode_policy(name: str, note: dict[str, Any], arrays: Arrays) -> GaussianPolicy:
    """Return a policy whose layers fit one another."""
    policy = GaussianPolicy(**decode_tree(note[name], arrays))
    try:
        features = jax.ShapeDtypeStruct(policy.weights[0].shape[:1], float)
        actions = jax.eval_shape(policy.mean, features).shape
    except Exception:  # Of whatever shape and kind they are, they are multiplied.
        actions = None
    if actions is None or actions != np.shape(policy.log_deviation) or len(actions) != 1:
        raise ValueError(f"the layers of its policy {name!r} do not fit one another")
    return policy


def _decode_reward(note: dict[str, Any], arrays: Arrays) -> LearnedReward:
    """Return a reward that a discriminator has learned."""
    choices = {field.name: field.type.__args__ for field in dataclasses.fields(LearnedReward)[2:]}  # pyright: ignore
    for name, allowed in choices.items():
        if note[name] not in allowed:
            raise ValueError(f"its reward has {name} {note[name]!r}")
    parts = decode_tree(note["tree"], arrays)
    reward = LearnedReward(Network(parts["layers"]), Scale(*parts["scale"]), note["sees"], note["form"])
    try:
        seen = jax.ShapeDtypeStruct(np.shape(reward.scale.mean), float)
        paid = jax.eval_shape(reward, seen, seen).shape
    except Exception:
        paid = None
    if paid != () or np.ndim(reward.scale.mean) != 1:
        raise ValueError("the layers of its reward do not fit one another")
    return reward


def _with_new_names(kind: FitKind, arrays: Arrays) -> Arrays:
    """Return the arrays under the names of this version; files of 0.1 have others."""
    old = {f"fit.verdict.{before}": f"fit.verdict.{now}" for now, before in kind.renamed.items()}
    return {old.get(name, name): array for name, array in arrays.items()}


def _completed(arrays: Arrays) -> Arrays:
    """Return the arrays of a tabular fit with those that version 0.1 did not write.

    The added ones are as they were then, or NaN if not known.
    """
    steps = arrays["fit.verdict.steps"]
    then = {"settled": np.asarray(False), "best_step": steps, "tolerance": np.asarray(0.0)}
    missing = {f"fit.verdict.{name}": value for name, value in then.items()}
    missing |= {f"fit.diagnosis.{field.name}": np.asarray(np.nan) for field in dataclasses.fields(Diagnosis)}
    return missing | arrays


Shapes = dict[str, tuple[int, ...]]


def _tabular_shapes(arrays: Arrays) -> tuple[Shapes, type, type]:
    """Return the shapes that the arrays of a tabular fit need."""
    size, actions = arrays["fit.player"].shape
    alpha = (size, actions) if arrays["fit.alpha"].ndim == 2 else ()
    due: Shapes = dict.fromkeys(TABULAR.arrays, (size,))
    due |= {"player": (size, actions), "opponent": (size, actions), "alpha": alpha}
    if arrays["fit.reward"].ndim == 2:
        due["reward"] = (size, actions)
    due |= {f"diagnosis.{field.name}": () for field in dataclasses.fields(Diagnosis)}
    return due, History, FitVerdict


def _sampled_shapes(arrays: Arrays) -> tuple[Shapes, type, type]:
    """Return the shapes that the arrays of a sampled fit need."""
    (width,) = arrays["fit.parameters"].shape
    rounds = arrays["fit.history.feature_gap"].shape[0]
    due = dict.fromkeys(SAMPLED.arrays, (width,)) | {"alpha": (), "history.parameters": (rounds, width)}
    return due, RelativeEntropyHistory, RelativeEntropyVerdict


def _imitation_shapes(arrays: Arrays) -> tuple[Shapes, type, type]:
    """Return the shapes that the arrays of an imitation need."""
    bounds = (2, *arrays["fit.bounds"].shape[1:])
    return {"alpha": (), "discrete": (), "bounds": bounds}, ImitationHistory, ImitationVerdict


_SHAPES = {TABULAR.name: _tabular_shapes, SAMPLED.name: _sampled_shapes, IMITATION.name: _imitation_shapes}


def _require_shapes(arrays: Arrays, due: Shapes, history: type, verdict: type) -> None:
    """Refuse arrays of a fit whose shapes do not agree, or that hold no numbers."""
    first = arrays["fit.history.dual" if history is History else f"fit.history.{dataclasses.fields(history)[0].name}"]
    due = {f"history.{field.name}": first.shape[:1] for field in dataclasses.fields(history)} | due
    due |= {f"verdict.{field.name}": () for field in dataclasses.fields(verdict)}
    for name, shape in due.items():
        if (found := arrays[f"fit.{name}"].shape) != shape:
            raise ValueError(f"its array {name!r} has the shape {found} instead of {shape}")
        if arrays[f"fit.{name}"].dtype.kind not in "fiub":
            raise ValueError(f"its array {name!r} holds {arrays[f'fit.{name}'].dtype}")
