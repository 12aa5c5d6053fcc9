"""The program of docs/own-data.md that uses imitation and stable-baselines3 themselves, where they are installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "own-data.md"
NEEDED = ("imitation", "seals", "stable_baselines3")


def the_program():
    text = PAGE.read_text("utf-8")
    (program,) = (found for found in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if "MCEIRL" in found)
    return program


def test_every_name_of_the_program_that_is_ours_exists():
    ours = re.findall(r"^from robustirl.*$", the_program(), re.M)
    assert len(ours) == 3
    exec("\n".join(ours), {})


@pytest.mark.slow
def test_the_program_prints_what_it_promises(tmp_path):
    for name in NEEDED:
        pytest.importorskip(name)
    program = the_program()
    # In a process of its own, since these libraries warn about their own dependencies.
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.splitlines() == re.findall(r"^# → (.*)$", program, re.M)
