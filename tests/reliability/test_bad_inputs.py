"""Every bad input gets one exact sentence, and leaves nothing behind."""

import re
from pathlib import Path

import pytest

from robustirl.cli import main
from robustirl.errors import InvalidInputError
from tests.reliability import cases_command_line, cases_files, cases_foreign, cases_learning, cases_worlds
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


@pytest.mark.parametrize("case", cases_command_line.CASES, ids=[case.name for case in cases_command_line.CASES])
def test_a_bad_command_gets_its_sentence(case: Case, here, capsys):
    assert isinstance(case.request, str)
    before = contents(here)
    assert main(case.request.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch("robustirl: .*\n", printed.err)
    sentence = printed.err.removeprefix("robustirl: ").removesuffix("\n")
    require_sentence(sentence)
    assert sentence == case.sentence
    assert contents(here) == before
