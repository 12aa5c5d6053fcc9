"""Reward models, parameters and estimates as JSON values and named arrays, and back.

Parameters are trees of arrays. A tree is written as a skeleton (tuples, lists, dicts, linear layers) whose leaves name
arrays. What cannot be written as data (an optimizer of one's own, a reward model of one's own) is replaced by
`Unsaved`, which says so when it is used.
"""

import dataclasses
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import from_dict, working_precision
from robustirl.errors import InvalidInputError
from robustirl.irl import optimizers
from robustirl.rewards import AbstractReward, LinearReward, NetworkReward, TabularReward

NAMED_OPTIMIZERS = {
    name: getattr(optimizers, name) for name in ("ADAM", "DEEP_ADAM", "LBFGS", "NEWTON", "SCORING", "SETTLING_ADAM")
}


_ADAM = "adam, rate "


@dataclasses.dataclass(frozen=True)
class Unsaved:
    """Stands for something that could not be saved as data."""

    parameter: str
    kind: str

    def refuse(self) -> None:
        """Say that it has to be given anew."""
        raise InvalidInputError(
            f"the {self.parameter} ({self.kind}) could not be saved with this model;"
            f" give it anew with set_params({self.parameter}=...)."
        )


def encode_tree(tree: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a tree as a skeleton of JSON; its leaves go into `arrays`."""

    def each(items) -> list:
        return [encode_tree(item, f"{name}.{place}", arrays) for place, item in enumerate(items)]

    if tree is None:
        return None
    if isinstance(tree, eqx.nn.Linear):
        return {"linear": [encode_tree(part, f"{name}.{i}", arrays) for i, part in enumerate((tree.weight, tree.bias))]}
    if type(tree) in (tuple, list):
        return {type(tree).__name__: each(tree)}
    if type(tree) is dict and all(isinstance(key, str) for key in tree):
        return {"dict": dict(zip(tree, each(tree.values()), strict=True))}
    if isinstance(tree, jax.Array | np.ndarray | np.generic):
        arrays[name] = np.asarray(tree)
        return {"array": name}
    warnings.warn(
        f"the parameters hold a {type(tree).__name__}, which cannot be saved as such; its arrays are saved as a tuple.",
        UserWarning,
        stacklevel=2,
    )
    return {"tuple": each(jax.tree.leaves(tree))}


@working_precision
def decode_tree(skeleton: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Invert `encode_tree`."""
    if skeleton is None:
        return None
    ((kind, content),) = skeleton.items()
    match kind:
        case "array":
            return jnp.asarray(arrays[content])
        case "dict":
            return {key: decode_tree(item, arrays) for key, item in content.items()}
        case "linear":
            weight, bias = (decode_tree(item, arrays) for item in content)
            out, into = weight.shape
            layer = eqx.nn.Linear(into, out, use_bias=bias is not None, dtype=weight.dtype, key=jax.random.key(0))
            return eqx.tree_at(lambda own: (own.weight, own.bias), layer, (weight, bias), is_leaf=lambda x: x is None)
        case "list" | "tuple":
            items = [decode_tree(item, arrays) for item in content]
            return items if kind == "list" else tuple(items)
    raise KeyError(kind)


def encode_reward(model: AbstractReward | Unsaved | str | None, arrays: dict[str, np.ndarray]) -> Any:
    """Return a reward model as data; one of another's making by its name alone."""
    if model is None or isinstance(model, str):
        return model
    if type(model) is TabularReward:
        note = {"kind": "tabular", "num_states": model.num_states}
        return note if model.num_actions is None else {**note, "num_actions": model.num_actions}
    if isinstance(model, LinearReward | NetworkReward) and type(model) in (LinearReward, NetworkReward):
        arrays["reward.features"] = np.asarray(model.features)
        if isinstance(model, LinearReward):
            return {"kind": "linear"} if model.names is None else {"kind": "linear", "names": list(model.names)}
        return {"kind": "network", "layers": encode_tree(model.layers, "reward.layers", arrays)}
    return _unsaved("reward", model)


def decode_reward(note: Any, arrays: dict[str, np.ndarray]) -> AbstractReward | Unsaved | str | None:
    """Invert `encode_reward`."""
    if note is None or isinstance(note, str):
        return note
    match note["kind"]:
        case "tabular":
            return TabularReward(note["num_states"], note.get("num_actions"))
        case "linear":
            return LinearReward(arrays["reward.features"], names=note.get("names"))
        case "network":
            layers = decode_tree(note["layers"], arrays)
            features, depth = arrays["reward.features"], len(layers) - 1
            model = NetworkReward(features, key=jax.random.key(0), width=layers[0].weight.shape[0], depth=depth)
            return eqx.tree_at(lambda own: own.layers, model, layers)
    return Unsaved(**note["unsaved"])


def encode_optimizer(optimizer: Any) -> Any:
    """Return the name of an optimizer of `robustirl.irl.optimizers`; None for the default."""
    if optimizer is None:
        return None
    for name, known in NAMED_OPTIMIZERS.items():
        if optimizer is known:
            return name
    rate = optimizers.rate_of_adam(optimizer)
    return _unsaved("optimizer", optimizer) if rate is None else f"{_ADAM}{rate!r}"


def decode_optimizer(note: Any) -> Any:
    """Return the optimizer that `encode_optimizer` was given."""
    if note is None:
        return None
    if isinstance(note, str) and note.startswith(_ADAM):
        return optimizers.adam(float(note.removeprefix(_ADAM)))
    return NAMED_OPTIMIZERS[note] if isinstance(note, str) else Unsaved(**note["unsaved"])


def _unsaved(parameter: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Unsaved):  # Loaded and saved again.
        return {"kind": "unsaved", "unsaved": dataclasses.asdict(value)}
    kind = type(value).__name__
    warnings.warn(
        f"the {parameter} ({kind}) cannot be saved as data, so it has to be given anew before the loaded model is"
        " fitted again; what was learned is saved.",
        UserWarning,
        stacklevel=2,
    )
    return {"kind": "unsaved", "unsaved": {"parameter": parameter, "kind": kind}}


def encode_record(record: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a dataclass of numbers, words and arrays as JSON values and arrays; None for None."""
    if record is None:
        return None
    note = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            arrays[f"{name}.{field.name}"] = value
        else:
            note[field.name] = value.item() if isinstance(value, np.generic) else value
    return note


def decode_record(kind: type, note: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Invert `encode_record`; fields that another version added are omitted."""
    if note is None:
        return None
    known = {field.name for field in dataclasses.fields(kind)}
    held = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    return from_dict(kind, {key: value for key, value in {**note, **held}.items() if key in known})
