"""The page about one fit as a user meets it: read it, move over the map, walk through an episode, copy a command."""

import pytest

from robustirl.cli import main
from robustirl.irl import RobustIRL
from tests.browser.chromium import assert_untroubled, browser, look, missing, wait_for_run

if missing():
    pytest.skip(f"no browser: {missing()}", allow_module_level=True)

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A grid with α from the data, and the three-state world with α given."""
    made = tmp_path_factory.mktemp("fit")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for world, options in (("gridworld-4", []), ("three-state", ["--alpha", "1"])):
            walks = ["--noise", "0.1", "--episodes", "50", "--horizon", "60", "--out", f"{world}.csv"]
            assert main(["demos", "make", "--env", world, *walks]) == 0
            assert main(["fit", "--env", world, "--demos", f"{world}.csv", *options, "--out", world]) in (0, 1)
            assert main(["page", world]) == 0
    return made


@pytest.fixture(scope="module")
def driver():
    with browser() as driver:
        yield driver


@pytest.fixture
def page(driver, folder):
    """Opens a page; what went wrong in it is found when the test ends."""

    def visit(name="gridworld-4", *, width=1400, height=900, **how):
        driver.get("about:blank")
        look(driver, width, height, **how)
        driver.get((folder / name / "fit.html").as_uri())
        wait_for_run(driver)
        return driver

    yield visit
    assert_untroubled(driver)


def text(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector).text


def inked(driver, selector):
    """How many different colors a canvas shows."""
    script = (
        "const c = document.querySelector(arguments[0]), d = c.getContext('2d').getImageData(0, 0, c.width, c.height);"
        "return new Set(new Uint32Array(d.data.buffer)).size"
    )
    return driver.execute_script(script, selector)


def test_arrow_keys_move_over_the_map_and_numbers_are_those_of_the_model(page, folder):
    driver = page()
    assert text(driver, "#opening").startswith("A policy and a reward were learned from 50 recorded episodes")
    policy = RobustIRL.load(folder / "gridworld-4" / "model.npz").policy_
    title = text(driver, "#details-title")
    state = int(title.split(":")[0].removeprefix("State "))
    key, by = (Keys.ARROW_RIGHT, 1) if state % 6 < 5 else (Keys.ARROW_LEFT, -1)
    driver.find_element(By.ID, "maps").send_keys(key)
    after = state + by
    assert text(driver, "#details-title") == f"State {after}: row {after // 6}, column {after % 6}"
    for action in range(4):
        assert text(driver, f"[data-key='player-{action}']") == f"{policy[after, action]:.3f}"
    assert all(inked(driver, f"#map-{name} canvas") > 10 for name in ("policy", "expert", "own"))


def test_a_cell_is_chosen_with_the_pointer(page):
    driver = page()
    canvas = driver.find_element(By.CSS_SELECTOR, "#map-policy canvas")
    driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", canvas)
    side = canvas.size["width"] / 6
    ActionChains(driver).move_to_element_with_offset(canvas, round(-1.5 * side), round(0.5 * side)).click().perform()
    assert text(driver, "#details-title") == "State 19: row 3, column 1"


def test_an_episode_is_walked_through_with_the_keyboard(page):
    driver = page()
    Select(driver.find_element(By.ID, "episode")).select_by_visible_text("2")
    slider = driver.find_element(By.ID, "step")
    slider.send_keys(Keys.HOME)
    assert text(driver, "#step-shown").startswith("0 of ")
    first = text(driver, "#walked-note")
    slider.send_keys(Keys.END)
    last = int(text(driver, "#step-shown").split()[0])
    assert last == int(text(driver, "#step-shown").split()[-1])
    assert last == 0 or text(driver, "#walked-note") != first or inked(driver, "#walked") > 5


def test_the_evidence_for_alpha_is_drawn_where_there_is_some(page):
    driver = page()
    for name in ("explained", "gain", "gaps"):
        assert driver.find_elements(By.CSS_SELECTOR, f"#{name} svg")
    driver = page("three-state")
    assert not driver.find_elements(By.ID, "explained")
    assert "α was given" in text(driver, "#evidence")
    assert inked(driver, "#map-policy canvas") > 10  # A graph.


def test_a_command_is_copied_or_selected(page):
    driver = page()
    box = driver.find_element(By.CSS_SELECTOR, ".command")
    box.find_element(By.TAG_NAME, "button").click()
    said = box.find_element(By.TAG_NAME, "button").text
    assert said in ("copied", "selected")
    assert driver.execute_script("return getSelection().toString()").startswith("robustirl fit --env gridworld-4")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["gridworld-4", "three-state"])
def test_nothing_is_wider_than_a_phone(page, name, dark):
    driver = page(name, width=390, height=844, phone=True, dark=dark)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    back = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(17, 20, 23)") == dark
    buttons = driver.find_elements(By.CSS_SELECTOR, "button.copy")
    assert all(button.size["height"] >= 40 for button in buttons)  # Large enough for a thumb.


def test_the_table_opens_and_leads_to_its_state(page):
    driver = page()
    driver.find_element(By.ID, "all-title").click()
    driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")[3].send_keys(Keys.ENTER)
    assert text(driver, "#details-title").startswith("State 3:")
