"""Studies register themselves and run in one frame: options, store, table, progress."""

import dataclasses

import pytest

from robustirl.paper.finite import RunSpec
from robustirl.paper.studies import Frame, StudyInterrupted, register_study, studies
from robustirl.paper.studies.registry import _STUDIES
from robustirl.sweeps import Store
from tests.commands import robustirl


@pytest.fixture
def probe():
    """A study from outside the package, registered for one test."""

    @register_study("probe")
    @dataclasses.dataclass(frozen=True)
    class Probe:
        """Run one α on one pair of noises."""

        alpha: float = 1.0
        """The player's chance of control."""

        def run(self, frame: Frame) -> None:
            """Write the return."""
            (record,) = frame.compute([RunSpec("three-state", "slip", 0.0, 0.1, self.alpha, steps=3)], "runs")
            frame.write_table("probe", ("α", "return"), [(self.alpha, f"{record.total_return:.3f}")], "One run")

    yield Probe
    del _STUDIES["probe"]


def test_a_study_of_ones_own_is_a_subcommand_with_a_store(probe, here, capsys):
    status, out, _ = robustirl("study probe --alpha 0.9", capsys)
    assert status == 0
    assert out.startswith("One run | α | return | | --- | --- | | 0.9 |")
    assert out.endswith("wrote out/probe/probe.md")
    assert [record.spec.alpha for record in Store.read(here / "out/probe/runs").records()] == [0.9]
    table = (here / "out/probe/probe.md").read_text()
    status, again, _ = robustirl("study probe --alpha 0.9 --workers 1", capsys)
    assert (status, again, (here / "out/probe/probe.md").read_text()) == (0, out, table)
    status, _, err = robustirl("study probe --alpha 0.8", capsys)
    assert status == 2
    assert "out/probe/runs holds results of another request" in err
    status, out, _ = robustirl("study probe --alpha 0.8 --extend", capsys)
    assert status == 0
    assert "| 0.8 |" in out  # A study is given the runs it asked for; the store keeps both.
    assert {record.spec.alpha for record in Store.read(here / "out/probe/runs").records()} == {0.8, 0.9}


def test_options_that_all_studies_share_are_checked(probe, here, capsys):
    for options, culprit in (
        ("--workers 0", "--workers is 0"),
        ("--workers 2 --engine ray", "--workers is 2, but a Ray cluster"),
        ("--address here:1", "--address is 'here:1'"),
    ):
        status, out, err = robustirl(f"study probe {options}", capsys)
        assert (status, out) == (2, "")
        assert culprit in err
    assert not list(here.iterdir())


def test_two_studies_of_one_name_are_refused(probe, refused):
    with refused("'probe'"):

        @register_study("probe")
        @dataclasses.dataclass(frozen=True)
        class Other:
            """Another one."""

            def run(self, frame: Frame) -> None:
                """Do nothing."""


def test_every_study_is_documented_and_starts_from_its_defaults():
    found = studies()
    assert {"alpha-rules", "existence", "final-push", "readme-figure", "regimes", "toy-text"} <= set(found)
    for study in found.values():
        assert dataclasses.is_dataclass(study())
        assert (study.__doc__ or "").splitlines()[0].endswith(".")


def test_an_interrupt_leaves_the_finished_runs_and_the_status_130(probe, here, capsys, monkeypatch):
    def interrupted(self, specs, folder=""):
        def stop(phase, done, of):
            raise KeyboardInterrupt

        frame = Frame(self.out, progress=stop)
        return Frame.compute(frame, specs, folder)

    with pytest.raises(StudyInterrupted, match="interrupted after 0 of 1 runs"):
        interrupted(Frame(here / "out"), [RunSpec("three-state", "slip", 0.0, 0.1, 1.0, steps=3)])


def test_a_folder_that_is_a_file_is_refused_by_studies_without_runs(here, refused):
    (here / "out").write_text("")
    with refused("out is a file"):
        Frame(here / "out").write_table("a", ("b",), [])
