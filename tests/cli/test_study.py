"""`robustirl study NAME`: what it says of a study that ends, and of one that is interrupted."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from robustirl.cli import engines, study
from robustirl.paper.studies import StudyInterrupted
from tests.cli.running import finished, run


@dataclasses.dataclass(frozen=True)
class Invented:
    """A study."""

    kept: int | None = None

    def run(self, frame):
        frame.say("said")
        frame.progress("computing", 1, 2)
        frame.outcomes.append(dataclasses.replace(finished([]), notices=("a batch was damaged",)))
        frame.files.append(frame.out / "table.md")
        if self.kept:
            raise StudyInterrupted(finished([SimpleNamespace(verdict="budget")] * self.kept, complete=False), 9)


@pytest.mark.parametrize("former", [None, "old-name"])
def test_a_study_says_what_it_wrote_and_what_it_is_called_now(tmp_path, former):
    request = study.StudyRequest("new_name", Invented(), tmp_path / "out", engines.HERE, former=former)
    status, said = run(study.run_study, request)
    assert status == 0
    assert said.startswith(f"said\nwrote {tmp_path / 'out' / 'table.md'}\n")
    assert ("robustirl: the study old-name is now called new-name." in said) == (former is not None)
    assert "robustirl: a batch was damaged" in said


def test_a_study_that_is_interrupted_says_how_far_it_came(tmp_path):
    (tmp_path / "there").write_text("")  # A folder that is not empty may be one that the study goes on in.
    status, said = run(study.run_study, study.StudyRequest("name", Invented(3), tmp_path, engines.HERE))
    assert status == 130
    assert "robustirl: interrupted after 3 of 9 runs" in said


def test_studies_are_found_by_their_names_and_their_earlier_ones():
    for words, name, former in (
        (["transfer", "--draws", "2"], "transfer", None),
        (["reward-transfer", "--draws", "2"], "transfer", "reward-transfer"),
    ):
        found = study.parse_study(words)
        assert (found.name, found.former, found.options.draws, found.out) == (name, former, 2, Path("out/transfer"))
