"""The page of a fit as a user sees it: wide and narrow, in light and dark, without a network."""

import dataclasses

import numpy as np
import pytest

from robustirl import envs, irl
from robustirl.report import report_fit
from tests.browser.chromium import assert_untroubled, browser, look, missing

if missing():
    pytest.skip(f"no browser: {missing()}", allow_module_level=True)

from selenium.webdriver.common.by import By


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    world = envs.make("gridworld-4").mdp(0.1)
    candidates = np.linspace(1, 0.6, 13)
    regrets = np.abs(candidates[:, None] - candidates)
    alpha = {
        "value": 1.0, "why": "Because of this.", "candidates": candidates.tolist(), "regrets": regrets.tolist(),
        "open": [True] * 6 + [False] * 7, "admissible": [True] * 10 + [False] * 3,
    }  # fmt: skip
    report = report_fit(irl.fit(world, np.full(36, 1 / 36), alpha=1.0, throw=False), world, title="a grid")
    path = tmp_path_factory.mktemp("page") / "page.html"
    dataclasses.replace(report, alpha=alpha).page(path)
    return path


def test_a_page_fits_every_window_in_light_and_dark(page):
    with browser() as driver:
        backgrounds = set()
        for width, phone in ((1400, False), (390, True)):
            for dark in (False, True):
                look(driver, width, 900, dark=dark, phone=phone)
                driver.get(page.as_uri())
                assert_untroubled(driver)
                backgrounds.add(driver.find_element(By.TAG_NAME, "body").value_of_css_property("background-color"))
                assert "Because of this." in driver.find_element(By.TAG_NAME, "main").text
                sizes = [picture.size for picture in driver.find_elements(By.TAG_NAME, "svg")]
                assert len(sizes) == 3
                assert all(min(size.values()) > 200 for size in sizes)
        assert len(backgrounds) == 2
        driver.find_element(By.TAG_NAME, "summary").click()
        assert "most likely action" in driver.find_element(By.CSS_SELECTOR, "details table").text
