"""The kinds of runs: for each, its spec, its record, how it is batched, and where it is computed.

A kind adds itself with `register`. The executor and the store look kinds up in this registry alone. A package that
brings kinds of its own names its module in the entry-point group `robustirl.kinds`; it is imported when a store asks
for a kind that is not registered yet.
"""

import dataclasses
import importlib.metadata
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from robustirl._runtime import from_dict, short_repr
from robustirl.errors import InvalidInputError
from robustirl.sweeps.specs import RunResult, Spec


class UnknownKindError(InvalidInputError):
    """A kind of run that is not registered.

    Attributes:
        name: The kind.
        known: Those that are registered, separated by commas.
    """

    def __init__(self, name: object):
        self.name: str = short_repr(name)
        self.known: str = ", ".join(_KINDS) or "none"
        super().__init__(f"there is no kind of run {self.name}; registered are: {self.known}.")

    def in_file(self, path: object) -> InvalidInputError:
        """Return the sentence for a file that has runs of this kind."""
        return InvalidInputError(
            f"{path} has runs of the kind {self.name}, which is not registered (registered are: {self.known}); import"
            " the module that registers it, or install the package that brings it."
        )


# Specs of this kind carry no name in a store: they were the first kind there was.
UNNAMED_KIND = "finite"


@runtime_checkable
class RunExecutor(Protocol):
    """Compute runs, as the executor sees it."""

    def results(self, specs: Sequence[Any], size: int) -> list[RunResult]:
        """Return the results of some runs, in one compiled call.

        On a CPU the call is filled up to the usual batch size.
        """
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class Kind:
    """A kind of run.

    Attributes:
        name: What a store calls it.
        spec: The type of its specs.
        record: The type of its records.
        table: The name of its results table.
        activity: What to say while it is worked on.
        cpu_batch: Runs a batch on a CPU.
        gpu_batch: The most runs a batch on an accelerator.
        min_batches_for_pool: From how many batches on a process per core pays.
        warm_up: Whether the first batch of a program_key is done twice, so that recorded times are those of warm runs.
            Long runs are done once, and compilation is measured apart.
        batch_key: What the runs of a batch share.
        program_key: What a compiled program hangs on.
        context_key: What runs that share a context have in common.
        make_context: Makes the context of a run, given the dependencies.
        load_dependencies: Collects what runs need from earlier runs, given a way to look these up; what it returns is
            sent to other processes.
        renamed: Columns of the results table whose names differ from the record's fields.
        axes: The axes of the arrays of a run, by the name of the array: `{"player": "S A", "reward": "S"}`. Axes of one
            name must agree in length within a run; a batch file in which they do not is damaged.
    """

    name: str
    spec: type[Spec]
    record: type
    table: str
    activity: str
    cpu_batch: int
    gpu_batch: int
    min_batches_for_pool: int
    warm_up: bool
    batch_key: Callable[[Any], Hashable]
    program_key: Callable[[Any], Hashable]
    context_key: Callable[[Any], Hashable]
    make_context: Callable[[Any, Any], RunExecutor]
    load_dependencies: Callable[[Callable[[Any], RunResult], Sequence[Any]], object] = lambda *_: None
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)
    axes: Mapping[str, str] = dataclasses.field(default_factory=dict)


_KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> Kind:
    """Add a kind to the registry and return it; it replaces an earlier kind of the same name."""
    _KINDS[kind.name] = kind
    return kind


def get_kind(name: str) -> Kind:
    """Return the kind of this name; load the packages that bring kinds if it is not registered."""
    if name not in _KINDS:
        for entry in importlib.metadata.entry_points(group="robustirl.kinds"):
            entry.load()
    if name not in _KINDS:
        raise UnknownKindError(name)
    return _KINDS[name]


def kind_of(spec: Spec) -> Kind:
    """Return the kind of a spec."""
    return next(kind for kind in _KINDS.values() if kind.spec is type(spec))


def by_kind(items: Sequence[Any]) -> dict[Kind, list[Any]]:
    """Group specs, or records, by their kind, kinds in the order in which they first appear."""
    found: dict[Kind, list[Any]] = {}
    for item in items:
        found.setdefault(kind_of(getattr(item, "spec", item)), []).append(item)
    return found


def spec_as_json(spec: Spec) -> dict[str, Any]:
    """Return a spec as JSON can hold it."""
    name = kind_of(spec).name
    entries = dataclasses.asdict(spec)  # pyright: ignore[reportArgumentType]
    return entries if name == UNNAMED_KIND else {"kind": name, **entries}


def spec_from_json(entries: Any) -> Spec:
    """Return the spec that `spec_as_json` wrote; raise TypeError or ValueError for what is none."""
    if not isinstance(entries, dict):
        raise ValueError(f"{short_repr(entries)} stands where fields by name are needed")
    kind = get_kind(entries.get("kind", UNNAMED_KIND))
    return from_dict(kind.spec, {name: value for name, value in entries.items() if name != "kind"})


def record_as_json(record: Any) -> dict[str, Any]:
    """Return a record as JSON can hold it."""
    return {**dataclasses.asdict(record), "spec": spec_as_json(record.spec)}


def record_from_json(entries: dict[str, Any]) -> Any:
    """Return the record that `record_as_json` wrote."""
    spec = spec_from_json(entries["spec"])
    return from_dict(kind_of(spec).record, {**entries, "spec": spec})
