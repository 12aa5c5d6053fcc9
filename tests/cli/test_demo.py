"""A bare `robustirl`, and `robustirl demo`."""

import pytest

from robustirl.cli import COMMANDS, main


def test_without_arguments_the_commands_to_begin_with_are_named(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert "robustirl demo" in said
    named = {line.split()[1] for line in said.splitlines() if line.startswith("  robustirl ")}
    assert named - {"--help"} <= set(COMMANDS)


@pytest.mark.slow
def test_the_demo_ends_with_a_picture(capsys, tmp_path):
    assert main(["demo", "--out", str(tmp_path / "demo"), "--no-open"]) == 0
    said = capsys.readouterr().out
    standard, robust = (
        float(line.split("return ")[1].split(";")[0]) for line in said.splitlines() if "): return" in line
    )
    assert robust > standard
    assert said.count("↑") > 0
    assert (tmp_path / "demo" / "demo.png").stat().st_size > 10_000
