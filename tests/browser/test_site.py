"""The documentation as a user meets it who opens the built site from disk: the order of its pages, and its search."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser.chromium import PATIENCE, browser, look, missing

if missing():
    pytest.skip(f"no browser: {missing()}", allow_module_level=True)
pytest.importorskip("mkdocs")

from selenium.webdriver.common.by import By

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ORDER = [
    "Home", "First fit", "Concepts", "How-to", "Algorithms", "Examples", "Command line", "API", "FAQ", "The paper",
    "Development",
]  # fmt: skip


def test_the_site_on_disk_has_its_pages_in_order_and_can_be_searched(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, timeout=300)
    with browser() as driver:
        look(driver, 1300, 900)
        driver.get((tmp_path / "index.html").as_uri())
        places = ".md-nav--primary > .md-nav__list > .md-nav__item > .md-nav__link"
        shown = [item.get_attribute("textContent") or "" for item in driver.find_elements(By.CSS_SELECTOR, places)]
        assert list(dict.fromkeys(text.strip() for text in shown)) == ORDER
        box = driver.find_element(By.CSS_SELECTOR, "input.md-search__input")
        box.click()
        box.send_keys("fit_many")
        end, found = time.monotonic() + PATIENCE, ""
        while "fit_many" not in found:
            assert time.monotonic() < end, "the search found nothing"
            time.sleep(0.1)
            found = driver.find_element(By.CSS_SELECTOR, ".md-search-result__list").text
        assert [row for row in driver.get_log("browser") if row["level"] == "SEVERE"] == []
