"""The runs of the study of buses: all ways from one group to another in a batch, and the test of one cost.

The specs stand in the file that registers their kinds, so that a worker process which reads a spec knows its kind.
"""

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np

from robustirl.paper.studies.buses_groups import Group, Judge, compare_costs, cost_model, make_judge, read_group
from robustirl.paper.studies.buses_results import OTHERS, Row
from robustirl.paper.studies.buses_ways import JOINT, OWN, WAYS, judge_policy, own_row, policies, policy_of_others
from robustirl.sweeps import Kind, RunResult, Spec, register


@dataclasses.dataclass(frozen=True)
class BusesSpec(Spec):
    """One way from a group to another.

    Attributes:
        source: The group whose choices are learned from; several, separated by spaces, for one cost of all of them.
        target: The group to act in.
        way: One of `WAYS`, `JOINT` or `OWN`.
        discount: That of a month for likelihoods and costs.
        matched_discount: That for occupancy matching.
        tail: What follows a record.
    """

    source: str
    target: int
    way: str
    discount: float
    matched_discount: float
    tail: str


@dataclasses.dataclass(frozen=True)
class BusesRecord:
    """How a way does; what the numbers are says `buses_results.Row`."""

    spec: BusesSpec
    alpha: float
    fitness: float
    fitness_error: float
    gain: float
    gain_error: float
    replacements: float
    miles: float
    cost: float
    cost_error: float
    excess: float
    excess_error: float
    seconds: float


MEASURES = tuple(field.name for field in dataclasses.fields(BusesRecord))[1:-1]


def specs_of(groups: Sequence[Group], discount: float, matched_discount: float, tail: str) -> list[BusesSpec]:
    """Return the runs: all ways of every ordered pair, one cost of all others, and own costs.

    A group without replacements has no cost of its own.
    """
    numbers = [group.number for group in groups]
    pairs = [(source, target) for target in numbers for source in numbers if source != target]
    asked = [(str(source), target, way) for source, target in pairs for way in WAYS]
    asked += [(" ".join(str(one) for one in numbers if one != target), target, JOINT) for target in numbers]
    asked += [(str(group.number), group.number, OWN) for group in groups if group.choices.actions.any()]
    return [BusesSpec(*one, discount, matched_discount, tail) for one in asked]


def row_of(record: BusesRecord) -> Row:
    """Return a record as a row of the table."""
    source = OTHERS if record.spec.way == JOINT else int(record.spec.source)
    return Row(source, record.spec.target, record.spec.way, *(getattr(record, name) for name in MEASURES))


class BusesContext:
    """Learn and judge all ways of a pair at a time.

    Groups and what their own choices say are kept.
    """

    def __init__(self, discount: float, matched_discount: float):
        self._costs = cost_model()
        self._group = functools.cache(lambda number: read_group(number, discount, matched_discount))
        self._judge = functools.cache(self._make_judge)

    def _make_judge(self, number: int) -> Judge | None:
        return make_judge(self._group(number), self._costs)

    def results(self, specs: Sequence[BusesSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Return the measures of every way of one pair."""
        found = {row.way: row for row in self._rows(specs[0])}
        return [
            RunResult(BusesRecord(spec, *(getattr(found[spec.way], name) for name in MEASURES), seconds=0.0), {})
            for spec in specs
        ]

    def _rows(self, spec: BusesSpec) -> Iterator[Row]:
        sources = [self._group(int(number)) for number in spec.source.split()]
        target, judge, phi = self._group(spec.target), self._judge(spec.target), np.asarray(self._costs.features)
        if spec.way == OWN:
            assert judge is not None, "a group without replacements has no cost of its own"
            yield own_row(target, self._costs, judge)
        elif spec.way == JOINT:
            policy = policy_of_others(sources, target, self._costs)
            yield judge_policy(OTHERS, JOINT, 1.0, policy, target, judge, phi)
        else:
            ways = list(policies(sources[0], target, self._costs, spec.tail))
            standard = ways[0][-1]
            for way, alpha, policy in ways:
                yield judge_policy(sources[0].number, way, alpha, policy, target, judge, phi, standard)


BUSES = register(
    Kind(
        "buses",
        BusesSpec,
        BusesRecord,
        table="results",
        activity="ways from group to group",
        cpu_batch=len(WAYS),  # All ways of a pair share their fits.
        gpu_batch=len(WAYS),
        min_batches_for_pool=8,
        warm_up=False,
        batch_key=lambda spec: (dataclasses.replace(spec, way=""), spec.way in WAYS),
        program_key=lambda spec: spec.way in WAYS,
        context_key=lambda spec: (spec.discount, spec.matched_discount),
        make_context=lambda spec, _: BusesContext(spec.discount, spec.matched_discount),
    )
)


@dataclasses.dataclass(frozen=True)
class OneCostSpec(Spec):
    """The test of one cost for some groups at a discount; spaces separate the groups' numbers."""

    groups: str
    discount: float


@dataclasses.dataclass(frozen=True)
class OneCostRecord:
    """What the test says: see `buses_groups.OneCost`."""

    spec: OneCostSpec
    statistic: float
    freedom: int
    p_value: float
    seconds: float


def one_cost_specs(groups: Sequence[Group], discount: float) -> list[OneCostSpec]:
    """Return the test of one cost for the groups with replacements; none if fewer than two."""
    replaced = [str(group.number) for group in groups if group.choices.actions.any()]
    return [OneCostSpec(" ".join(replaced), discount)] if len(replaced) > 1 else []


class OneCostContext:
    """Compute the test of one cost."""

    def results(self, specs: Sequence[OneCostSpec], size: int) -> list[RunResult]:  # noqa: ARG002
        """Return the likelihood-ratio test for every run."""
        found = []
        for spec in specs:
            groups = [read_group(int(number), spec.discount, spec.discount) for number in spec.groups.split()]
            test = compare_costs(groups, cost_model())
            assert test is not None, "fewer than two groups have replacements"
            found.append(RunResult(OneCostRecord(spec, test.statistic, test.freedom, test.p_value, 0.0), {}))
        return found


ONE_COST = register(
    Kind(
        "buses-one-cost",
        OneCostSpec,
        OneCostRecord,
        table="one-cost",
        activity="tests of one cost",
        cpu_batch=1,
        gpu_batch=1,
        min_batches_for_pool=8,
        warm_up=False,
        batch_key=lambda _: None,
        program_key=lambda _: None,
        context_key=lambda _: None,
        make_context=lambda *_: OneCostContext(),
    )
)
