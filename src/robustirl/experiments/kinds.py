"""The kinds of runs there are: for each, its spec, its record, how it is batched, and where it takes place.

The runner and the store know runs through this table alone, so a new kind of experiment is one more entry. In a store
every spec bears its kind's name, except finite ones, which had none when there was but one kind.
"""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

from robustirl import envs
from robustirl.envs.noise import PUBLISHED
from robustirl.experiments.continuous_laboratory import ContinuousLaboratory, ExpertLaboratory, experts_of
from robustirl.experiments.continuous_specs import ContinuousRecord, ContinuousSpec, ExpertRecord, ExpertSpec
from robustirl.experiments.laboratory import Laboratory
from robustirl.experiments.specs import Finding, Identified, Record, RunSpec
from robustirl.files import build, shown

CPU_BATCH = 5  # Small, so that work is saved often and shared evenly between the cores.
GPU_BATCH = 500


@runtime_checkable
class Bench(Protocol):
    """A laboratory, as the runner sees it."""

    def findings(self, specs: Sequence[Any], size: int) -> list[Finding]:
        """What comes of some runs, in one compiled call; on a CPU it is filled up to the usual size of a batch."""
        ...


@dataclasses.dataclass(frozen=True)
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
        worth_spawning: From how many batches on a process per core pays.
        rehearse: Whether the first batch of a shape is done twice, so that recorded times are those of warm runs.
            Long runs are done once, and compilation is measured apart.
        company: What the runs of a batch share.
        shape: What a compiled program hangs on.
        place: What runs in one laboratory share.
        laboratory: Makes that, given what earlier runs left (`equip`).
        equip: What runs need from earlier runs, given a way to look these up; it travels to other processes.
    """

    name: str
    spec: type[Identified]
    record: type
    table: str
    activity: str
    cpu_batch: int
    gpu_batch: int
    worth_spawning: int
    rehearse: bool
    company: Callable[[Any], Hashable]
    shape: Callable[[Any], Hashable]
    place: Callable[[Any], Hashable]
    laboratory: Callable[[Any, Any], Bench]
    equip: Callable[[Callable[[Any], Finding], Sequence[Any]], object] = lambda *_: None


def _company(spec: RunSpec) -> Hashable:
    """All but the noises, α, and how the outcome is measured."""
    same = dataclasses.replace(
        spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, sampled=0, demonstrations=0, draw=0, auto=""
    )
    return dataclasses.replace(same, train_noise=None if spec.train_noise is None else 0.0)


def _shape(spec: RunSpec) -> Hashable:
    return _grid(spec.environment), spec.noise_model == PUBLISHED, spec.steps, bool(spec.sampled)


@functools.cache
def _grid(name: str) -> Hashable:
    """Grids of one size and one kind of reward share their programs; any other environment has its own."""
    environment = envs.make(name)
    if not isinstance(environment, envs.GridWorld):
        return name
    return environment.shape, environment.reward_model


def _place(spec: RunSpec) -> Hashable:
    return dataclasses.replace(
        spec,
        learner_noise=0.0,
        expert_noise=0.0,
        alpha=1.0,
        steps=0,
        train_noise=None,
        sampled=0,
        demonstrations=0,
        draw=0,
        auto="",
    )


def _alike(spec: ContinuousSpec) -> Hashable:
    """All but the noises, α and the seed."""
    return dataclasses.replace(spec, learner_noise=0.0, expert_noise=0.0, alpha=1.0, seed=0)


def _noiseless(spec: ExpertSpec) -> Hashable:
    return dataclasses.replace(spec, noise=0.0)


FINITE = Kind(
    "finite",
    RunSpec,
    Record,
    table="results",
    activity="learning",
    cpu_batch=CPU_BATCH,
    gpu_batch=GPU_BATCH,
    worth_spawning=12,  # Fewer batches are done here before a second process has even started.
    rehearse=True,
    company=_company,
    shape=_shape,
    place=_place,
    laboratory=lambda spec, _: Laboratory.of(spec),
)
EXPERT = Kind(
    "expert",
    ExpertSpec,
    ExpertRecord,
    table="experts",
    activity="training experts",
    cpu_batch=1,
    gpu_batch=64,
    worth_spawning=3,
    rehearse=False,
    company=_noiseless,
    shape=_noiseless,
    place=_noiseless,
    laboratory=lambda *_: ExpertLaboratory(),
)
CONTINUOUS = Kind(
    "continuous",
    ContinuousSpec,
    ContinuousRecord,
    table="results",
    activity="learning",
    cpu_batch=1,  # A run takes seconds, so each is worth saving, and a larger batch would gain nothing.
    gpu_batch=300,
    worth_spawning=6,
    rehearse=False,
    company=_alike,
    shape=_alike,
    place=_alike,
    laboratory=lambda _, experts: ContinuousLaboratory(experts),
    equip=experts_of,
)
KINDS = {kind.name: kind for kind in (FINITE, EXPERT, CONTINUOUS)}


def kind_of(spec: Identified) -> Kind:
    """The kind of a spec.

    Example:
        >>> kind_of(ExpertSpec(0.1)).name
        'expert'
    """
    return next(kind for kind in KINDS.values() if kind.spec is type(spec))


def by_kind(specs: Sequence[Any]) -> dict[str, list[Any]]:
    """Specs, or records, by the name of their kind, kinds in the order in which they first appear."""
    found: dict[str, list[Any]] = {}
    for item in specs:
        found.setdefault(kind_of(getattr(item, "spec", item)).name, []).append(item)
    return found


def spec_as_json(spec: Identified) -> dict[str, Any]:
    """A spec as JSON can hold it."""
    name = kind_of(spec).name
    entries = dataclasses.asdict(spec)  # pyright: ignore[reportArgumentType]
    return entries if name == FINITE.name else {"kind": name, **entries}


def spec_from_json(entries: Any) -> Identified:
    """The spec that `spec_as_json` wrote; raises KeyError, TypeError or ValueError for what is none."""
    if not isinstance(entries, dict):
        raise ValueError(f"{shown(entries)} stands where fields by name are needed")
    kind = KINDS[entries.get("kind", FINITE.name)]
    return build(kind.spec, {name: value for name, value in entries.items() if name != "kind"})


def record_as_json(record: Any) -> dict[str, Any]:
    """A record as JSON can hold it."""
    return {**dataclasses.asdict(record), "spec": spec_as_json(record.spec)}


def record_from_json(entries: dict[str, Any]) -> Any:
    """The record that `record_as_json` wrote."""
    spec = spec_from_json(entries["spec"])
    return build(kind_of(spec).record, {**entries, "spec": spec})
