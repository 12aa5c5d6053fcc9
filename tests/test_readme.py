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


def test_the_theory_page_prints_what_it_promises():
    page = (Path(__file__).parents[1] / "docs" / "theory.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    promised = re.findall(r"^# (.*)$", program, flags=re.MULTILINE)
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == promised


def test_links_lead_somewhere():
    root = Path(__file__).parents[1]
    for page in (root / "README.md", *(root / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_citation_is_of_this_version():
    citation = (Path(__file__).parents[1] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {robustirl.__version__}\n" in citation
