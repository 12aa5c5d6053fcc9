"""A short form of the fuzzing in `torture/`: every loader copes with damage, and stays mended where it once did not."""

from pathlib import Path

import pytest

from torture.plain import BrokenError, fuzz
from torture.targets import TARGETS, try_input

CORPUS = Path(__file__).parent / "corpus"
KEPT = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
INPUTS = {
    "model": 100,
    "imitation-model": 60,
    "fit-record": 25,
    "recordings": 60,
    "model-note": 15,
    "batch-records": 40,
    "npz-header": 60,
    "world": 60,
    "world-kernel": 60,
}


def test_the_corpus_is_small_and_every_target_is_known():
    assert {path.parent.name for path in KEPT} <= set(TARGETS)
    assert sum(path.stat().st_size for path in KEPT) < 64_000


@pytest.mark.parametrize("path", KEPT, ids=[f"{path.parent.name}/{path.name}" for path in KEPT])
def test_what_once_broke_a_loader_does_so_no_more(path):
    if path.parent.name.startswith("minari"):
        pytest.importorskip("minari")
    accepted = try_input(TARGETS[path.parent.name], path.read_bytes())
    if path.name.startswith("seed-"):
        assert accepted


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_are_read_or_refused(name):
    if name.startswith("minari"):
        pytest.importorskip("minari")
    target = TARGETS[name]
    kept = [path.read_bytes() for path in sorted((CORPUS / name).glob("seed-*"))]
    accepted = 0
    for result in fuzz(target, seed=0, inputs=INPUTS.get(name, 150), slowest=60.0, seeds=kept or None):
        if isinstance(result, BrokenError):
            pytest.fail(f"{result} on {result.content[:200]!r}")
        accepted += result
    assert accepted < INPUTS.get(name, 150)  # Otherwise nothing was damaged.
