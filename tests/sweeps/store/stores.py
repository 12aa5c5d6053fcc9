"""A store to write to, and results to write."""

import numpy as np
import pytest

from robustirl.paper.finite import Record, RunSpec
from robustirl.sweeps import RunResult, Store

SPECS = tuple(RunSpec("gridworld-4", "published", 0.0, noise, 1.0) for noise in (0.0, 0.1, 0.2))


def result(spec, value=-1.0):
    record = Record(
        spec, spec.alpha, value, -0.5, -0.7, -0.3, -0.2, 0.01, 0.02, 3.0, None, None, None, 200, "budget", 0.5
    )
    return RunResult(record, {"reward": np.arange(3.0) * value, "player": np.eye(3)})


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store", SPECS) as opened:
        pass
    return opened


def reopened(store):
    with Store.open(store.folder, SPECS) as opened:
        return opened


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
