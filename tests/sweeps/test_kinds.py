"""Specs and records of every kind come back from JSON."""

import dataclasses
import json

from robustirl.paper.continuous.specs import (
    ContinuousRecord,
    ContinuousSpec,
    ExpertSpec,
)
from robustirl.paper.finite.specs import RunSpec
from robustirl.sweeps.kinds import (
    get_kind,
    record_as_json,
    record_from_json,
    spec_as_json,
    spec_from_json,
)


def test_specs_of_all_kinds_come_back_from_json():
    finite = RunSpec("gridworld-4", "published", 0.0, 0.1, 1.0)
    for spec in (finite, ExpertSpec(0.1), ContinuousSpec(0.0, 0.1, 0.9, rounds=3)):
        entry = json.loads(json.dumps(spec_as_json(spec)))
        assert spec_from_json(entry) == spec
    assert spec_as_json(finite) == dataclasses.asdict(finite)  # As before there were kinds: old stores are read.
    assert {get_kind(name).name for name in ("finite", "expert", "continuous")} == {"finite", "expert", "continuous"}
    record = ContinuousRecord(
        ContinuousSpec(0.0, 0.1, 1.0), -1.0, -1.0, 1.0, -2.0, float("inf"), 1.0, 1.0, 9.0, 3, "failed", 1.0
    )
    assert record_from_json(json.loads(json.dumps(record_as_json(record)))) == record
