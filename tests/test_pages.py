"""The pages run: what a page shows is what its programs print, and its links lead somewhere."""

import re
import warnings
from pathlib import Path

import pytest

from tools.pages import run_page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUICK = {"README.md", "concepts.md", "own-data.md", "several-experts.md"}
"""Pages whose programs are quick; the others run in `make test-all`."""


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=p.name, marks=() if p.name in QUICK else pytest.mark.slow) for p in PAGES]
)
def test_a_page_shows_what_its_programs_print(page):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run_page(page)[1] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), link
    for target, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)]+)\)", text):
        other = (page.parent / target) if target else page
        headings = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), flags=re.M)
        assert anchor in {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}, anchor
