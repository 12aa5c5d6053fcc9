"""The README's Python runs, and prints what it says."""

import re
import subprocess
import sys
from pathlib import Path

import robustirl

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_ten_lines_print_what_they_promise():
    (program,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    promised = re.findall(r"-\d+\.\d", program)
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert printed == promised


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (Path(__file__).parents[1] / target).exists(), target


def test_the_citation_is_of_this_version():
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {robustirl.__version__}\n" in citation
