"""Every bad input gets one exact sentence, and leaves nothing behind."""

from pathlib import Path

import pytest

from robustirl.errors import InvalidInputError
from tests.reliability import cases_files, cases_foreign, cases_learning, cases_worlds
from tests.reliability.cases import Case, prepare, require_sentence, spoiled

CALLS = [*cases_worlds.CASES, *cases_learning.CASES, *cases_files.CASES, *cases_foreign.CASES]


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", "minari")
    prepare(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CALLS, ids=[case.name for case in CALLS])
def test_a_bad_call_gets_its_sentence(case: Case, here):
    assert callable(case.request)
    before = contents(here)
    spoiled.clear()
    with pytest.raises(InvalidInputError) as caught:
        case.request()
    require_sentence(str(caught.value))
    assert str(caught.value) == case.sentence
    after = contents(here)
    assert {name for name in before | after if before.get(name, ...) != after.get(name, ...)} <= spoiled
