"""The explorer as a user meets it: open it, choose, drag α, and read the store's numbers."""

import dataclasses

import numpy as np
import pytest

from robustirl.explorer.page import page as render
from robustirl.explorer.page import payload, write_explorer
from robustirl.paper.finite import RunSpec
from tests.browser.chromium import assert_untroubled, browser, look, missing, wait_for_run
from tests.explorer_stores import CONTINUOUS, FINITE, continuous_store, finite_store

if missing():
    pytest.skip(f"no browser: {missing()}", allow_module_level=True)

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

GRID = RunSpec("gridworld-4", "uniform-state", 0.0, 0.2, 1.0)  # The largest mismatch, standard.

CERTIFIED = tuple(RunSpec("gridworld-4", "uniform-state", 0.1, 0.0, alpha) for alpha in (1.0, 0.9))
RANGES = ((-1234.5678, -12.345678), (-999.87654, -1.2345678))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return finite_store(tmp_path_factory.mktemp("explorer") / "finite")


@pytest.fixture(scope="module")
def continuous(tmp_path_factory):
    return continuous_store(tmp_path_factory.mktemp("explorer") / "continuous")


@pytest.fixture(scope="module")
def driver():
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def pages(store, continuous):
    data, arrays = payload(finite_store(store.folder.parent / "certified", CERTIFIED), certificates=False)
    for row, (worst, best) in zip(data["rows"], RANGES, strict=True):  # To work them out is tested elsewhere.
        row |= {"worst": worst, "best": best, "distance": 0.25}
    certified = store.folder.parent / "certified.html"
    certified.write_text(render(data, arrays), encoding="utf-8")
    return {
        "finite": write_explorer(store.folder, certificates=False),
        "certified": certified,
        "continuous": write_explorer(continuous.folder),
    }


@pytest.fixture
def page(driver, pages):
    """Opens a page; what went wrong in it is found when the test ends."""

    def visit(name="finite", *, width=1400, height=900, at="#alpha=1", **how):
        driver.get("about:blank")
        look(driver, width, height, **how)
        driver.get(pages[name].as_uri() + at)
        wait_for_run(driver)
        return driver

    yield visit
    assert_untroubled(driver)


def shown(value):
    """Four significant digits, or a whole number from a thousand on."""
    size = abs(value)
    text = f"{value:.0f}" if size >= 1000 else f"{value:#.4g}" if size >= 1e-3 else f"{value:.3e}".replace("e-0", "e-")
    return text.replace("-", "−")


def four_digits(value):
    text = f"{value:#.4g}" if 1e-3 <= abs(value) < 9999.5 else f"{value:.3e}".replace("e-0", "e-")
    return text.replace("-", "−")


def read(driver, key):
    return driver.find_element(By.CSS_SELECTOR, f'#main [data-key="{key}"]').text


def table(driver):
    """The table of states as text, read at once, since the page may draw it again."""
    script = (
        "return [...document.querySelectorAll('#table tbody tr')].map((r) => [...r.children].map((c) => c.textContent))"
    )
    return driver.execute_script(script)


def settle(driver):
    """Let the page draw what was asked of it."""
    script = (
        "return new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 50))"
    )
    driver.execute_script(script)


def choose(driver, **values):
    for name, value in values.items():
        Select(driver.find_element(By.ID, name)).select_by_visible_text(value)


def replaced(spec, **changes):
    return next(s for s in FINITE if s == type(spec)(**{**vars(spec), **changes}))


def require_numbers(driver, store, spec):
    """Wait for that run, and compare what is written of it with the store."""
    wait_for_run(driver, spec.identity)
    record = store.result(spec).record
    names = ("optimal_return", "expert_return", "occupancy_gap", "halfway_gap", "largest_reward", "discounted_return")
    assert {name: read(driver, name) for name in names} == {name: shown(getattr(record, name)) for name in names}
    assert read(driver, "return") == shown(record.total_return)
    assert driver.find_element(By.ID, "alpha-shown").text == f"{spec.alpha:g}"
    assert f"after {record.steps} steps" in driver.find_element(By.ID, "outcome").text
    assert read(driver, "bound") == ("–" if record.bound is None or not spec.optimal_expert else shown(record.bound))
    assert read(driver, "gap") == shown(abs(record.optimal_discounted_return - record.discounted_return))


def require_state(driver, store, spec, state):
    arrays = store.result(spec).arrays
    actions = arrays["player"].shape[1]
    expected = {
        "learned": four_digits(arrays["reward"][state]),
        "true": four_digits(spec.make_environment().reward[state]),
    }
    for name in ("occupancy", "expert_occupancy", "player_occupancy"):
        expected[name] = four_digits(arrays[name][state])
    for name in ("player", "opponent"):
        expected |= {f"{name}-{i}": f"{arrays[name][state, i]:.3f}" for i in range(actions)}
    assert {key: read(driver, key) for key in expected} == expected


def test_a_page_opens_with_the_largest_mismatch_and_the_stores_numbers(page, store):
    driver = page(at="")
    best = max((1.0, 0.9, 0.8), key=lambda alpha: store.result(replaced(GRID, alpha=alpha)).record.total_return)
    require_numbers(driver, store, replaced(GRID, alpha=best))
    opening = driver.find_element(By.ID, "opening").text
    assert opening.startswith("In gridworld-4 an expert acted with noise 0.2, and the learner acts with noise 0: with")
    assert f"α = {best:g}, the best of the 3 in this store, it earns" in opening
    assert driver.find_element(By.ID, "title").text == "gridworld-4"
    assert f"{len(FINITE)} runs" in driver.find_element(By.ID, "subtitle").text


@pytest.mark.slow
def test_alpha_is_dragged_by_keyboard_and_numbers_follow(page, store):
    driver = page()
    slider = driver.find_element(By.ID, "alpha")
    for key, alpha in ((Keys.ARROW_LEFT, 0.9), (Keys.ARROW_LEFT, 0.8), (Keys.ARROW_LEFT, 0.8), (Keys.END, 1.0)):
        slider.send_keys(key)
        require_numbers(driver, store, replaced(GRID, alpha=alpha))
    standard, robust = (store.result(replaced(GRID, alpha=alpha)).record for alpha in (1.0, 0.8))
    slider.send_keys(Keys.HOME)
    wait_for_run(driver, robust.spec.identity)
    gain = robust.total_return - standard.total_return
    assert read(driver, "standard") == shown(standard.total_return)
    assert read(driver, "gain") == f"{'+' if gain > 0 else ''}{shown(gain)} against standard"
    assert "α = 0.8" in (slider.get_attribute("aria-valuetext") or "")


@pytest.mark.slow
def test_alpha_is_dragged_by_mouse_and_by_arrow_keys_from_anywhere(page, store):
    driver = page()
    slider = driver.find_element(By.ID, "alpha")
    half = slider.size["width"] // 2
    ActionChains(driver).move_to_element_with_offset(slider, half - 8, 0).click_and_hold().move_by_offset(
        -half, 0
    ).release().perform()
    require_numbers(driver, store, replaced(GRID, alpha=0.9))
    driver.execute_script("document.activeElement.blur()")
    ActionChains(driver).send_keys(Keys.ARROW_LEFT).perform()
    require_numbers(driver, store, replaced(GRID, alpha=0.8))


@pytest.mark.slow
def test_every_choice_leads_to_its_run(page, store):
    driver = page()
    choose(driver, kernel="published", learner="0.1", expert="0")
    spec = replaced(GRID, noise_model="published", learner_noise=0.1, expert_noise=0.0)
    require_numbers(driver, store, spec)
    assert "No certificate: the kernel leaks probability." in driver.find_element(By.ID, "guarantee").text
    choose(driver, kernel="uniform-state", setting="soft expert, 200 steps, fixed start")
    require_numbers(driver, store, replaced(GRID, learner_noise=0.1, expert_noise=0.0, start="fixed"))
    choose(driver, environment="objectworld", seed="7")
    require_numbers(driver, store, next(s for s in FINITE if s.environment == "objectworld" and s.seed == 7))


@pytest.mark.slow
def test_certificates_are_written_and_drawn_for_every_alpha(page):
    driver = page("certified")
    wait_for_run(driver, CERTIFIED[0].identity)
    for spec, (worst, best) in zip(CERTIFIED, RANGES, strict=True):
        driver.find_element(By.ID, "alpha").send_keys(Keys.END if spec.alpha == 1 else Keys.HOME)
        wait_for_run(driver, spec.identity)
        assert (read(driver, "worst"), read(driver, "best")) == (shown(worst), shown(best))
    assert "= 0.2500 of the learner's" in driver.find_element(By.ID, "guarantee").text
    assert len(driver.find_elements(By.CSS_SELECTOR, "#certificate .pick")) == 2


@pytest.mark.slow
def test_cells_are_picked_by_keyboard_and_by_pointer(page, store):
    driver = page()
    maps, canvas = driver.find_element(By.ID, "maps"), driver.find_element(By.CSS_SELECTOR, "#map-learned canvas")
    driver.execute_script("arguments[0].scrollIntoView({ block: 'center' })", canvas)
    side = canvas.size["width"] / 6
    ActionChains(driver).move_to_element_with_offset(canvas, round(-1.5 * side), round(0.5 * side)).click().perform()
    settle(driver)
    title = driver.find_element(By.ID, "details-title")
    assert title.text == "State 19: row 3, column 1"
    require_state(driver, store, GRID, 19)
    maps.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    settle(driver)
    assert title.text == "State 26: row 4, column 2"
    require_state(driver, store, GRID, 26)
    driver.find_element(By.ID, "all-title").click()
    settle(driver)
    learned = store.result(GRID).arrays["reward"]
    assert [row[2] for row in table(driver)] == [four_digits(value) for value in learned]


@pytest.mark.slow
def test_maps_follow_alpha_where_the_run_does(page):
    driver = page()

    def pictures():
        canvases = (
            "[...document.querySelectorAll('#maps figure')].map((f) => [f.id, f.querySelector('canvas').toDataURL()])"
        )
        return dict(driver.execute_script(f"return {canvases}"))

    before = pictures()
    driver.find_element(By.ID, "alpha").send_keys(Keys.ARROW_LEFT)
    wait_for_run(driver, replaced(GRID, alpha=0.9).identity)
    after = pictures()
    names = "true learned player opponent expert player-occupancy mixture difference"
    assert list(before) == [f"map-{name}" for name in names.split()]
    assert [name for name in before if before[name] == after[name]] == ["map-true"]


@pytest.mark.slow
def test_arrows_point_where_the_player_goes(page, store):
    """The ink of a cell's arrow lies on the side of its likeliest move."""
    driver = page()
    player = store.result(GRID).arrays["player"]
    chosen = driver.execute_script("return chosenState")  # Its ring is ink as well.
    sure = [int(state) for state in np.argsort(-player.max(-1)) if state not in (0, chosen)][:4]
    script = """
      const canvas = document.querySelector('#map-player canvas'), { width, height } = canvas;
      return [width, height, Array.from(canvas.getContext('2d').getImageData(0, 0, width, height).data)];
    """
    width, height, data = driver.execute_script(script)
    pixels = np.array(data, dtype=float).reshape(height, width, 4)
    blue, side = pixels[..., 2] - pixels[..., 0], width / 6
    for state in sure:
        row, column = divmod(state, 6)
        cell = blue[round(row * side) : round((row + 1) * side), round(column * side) : round((column + 1) * side)]
        ink = cell - np.median(cell)
        third = len(ink) // 3
        sides = [ink[:third], ink[:, -third:], ink[-third:], ink[:, :third]]  # Up, right, down, left.
        assert int(np.argmax([part.clip(0).sum() for part in sides])) == int(np.argmax(player[state]))


@pytest.mark.slow
def test_a_dot_in_a_chart_can_be_clicked_and_the_address_keeps_the_choice(page, store):
    driver = page()
    dots = driver.find_elements(By.CSS_SELECTOR, "#by-alpha .pick")
    assert len(dots) == 3
    dots[0].click()
    spec = replaced(GRID, alpha=0.8)
    require_numbers(driver, store, spec)
    address = driver.current_url
    assert "alpha=0.8" in address
    driver.get("about:blank")
    driver.get(address)
    require_numbers(driver, store, spec)


@pytest.mark.slow
def test_worlds_that_are_no_grid_are_tables(page, store):
    driver = page()
    choose(driver, environment="three-state")
    spec = next(s for s in FINITE if s.environment == "three-state" and s.alpha == 1)
    require_numbers(driver, store, spec)
    settle(driver)
    assert not driver.find_element(By.ID, "maps").is_displayed()
    arrays = store.result(spec).arrays
    cells = table(driver)
    assert [row[2] for row in cells] == [four_digits(value) for value in arrays["reward"]]
    assert [row[7] for row in cells] == [four_digits(value) for value in arrays["occupancy"]]


@pytest.mark.slow
def test_continuous_runs_show_their_numbers_surfaces_and_paths(page, continuous):
    driver = page("continuous")
    spec = next(s for s in CONTINUOUS if (s.expert_noise, s.alpha, s.seed) == (0.2, 1.0, 0))
    wait_for_run(driver, spec.identity)
    driver.find_element(By.ID, "alpha").send_keys(Keys.ARROW_LEFT)
    spec = next(s for s in CONTINUOUS if (s.expert_noise, s.alpha, s.seed) == (0.2, 0.9, 0))
    wait_for_run(driver, spec.identity)
    record = continuous.result(spec).record
    names = ("median_return", "expert_return", "feature_gap", "first_gap", "effective")
    assert {name: read(driver, name) for name in names} == {name: shown(getattr(record, name)) for name in names}
    assert read(driver, "return") == shown(record.mean_return)
    assert read(driver, "goal_share") == f"{100 * record.goal_share:.0f} %"
    assert read(driver, "verdict") == "converged"
    figures = driver.find_elements(By.CSS_SELECTOR, "#maps figure")
    assert [figure.get_attribute("id") for figure in figures] == [
        f"map-surface-{n}" for n in ("true", "standard", "chosen")
    ]
    white = """
      const canvas = arguments[0], { width, height } = canvas;
      const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
      return pixels.filter((pixel) => pixel === 0xffffffff).length / width;
    """
    for figure in figures:
        assert (
            driver.execute_script(white, figure.find_element(By.TAG_NAME, "canvas")) > 1
        )  # A path crosses the picture.
    choose(driver, seed="1")
    wait_for_run(driver, next(s for s in CONTINUOUS if (s.expert_noise, s.alpha, s.seed) == (0.2, 0.9, 1)).identity)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["finite", "continuous"])
def test_a_phone_needs_no_sideways_scrolling_and_keeps_the_slider_in_reach(page, name):
    driver = page(name, width=390, height=844, phone=True)
    assert driver.execute_script("return document.documentElement.scrollWidth") == 390
    box = driver.find_element(By.ID, "alpha").rect
    assert 700 < box["y"] < 844
    driver.execute_script("scrollTo(0, document.body.scrollHeight)")
    assert driver.execute_script("return document.getElementById('alpha').getBoundingClientRect().bottom") <= 844
    foot = driver.execute_script("return document.getElementById('foot').getBoundingClientRect().bottom")
    assert foot <= driver.execute_script("return document.getElementById('slider').getBoundingClientRect().top")


@pytest.mark.slow
def test_text_can_be_read_in_light_and_dark(page):
    """WCAG AA: 4.5 to 1 for whatever is written on a card."""
    script = """
      const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
      const light = (text) => {
        const [red, green, blue] = text.match(/\\d+/g).map(Number).map(part);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const card = light(getComputedStyle(document.querySelector('.card')).backgroundColor);
      return ['#outcome .big', '#outcome dt', '.note', '#alpha-shown', '#all-title', 'h2', '.gain'].map((name) => {
        const ink = light(getComputedStyle(document.querySelector(name)).color);
        return [name, (Math.max(ink, card) + 0.05) / (Math.min(ink, card) + 0.05)];
      }).concat([['card', card]]);
    """
    found = {}
    for dark in (False, True):
        driver = page(dark=dark)
        driver.find_element(By.ID, "alpha").send_keys(Keys.ARROW_LEFT)
        wait_for_run(driver, replaced(GRID, alpha=0.9).identity)
        *ratios, (_, found[dark]) = driver.execute_script(script)
        assert {name: ratio for name, ratio in ratios if ratio < 4.5} == {}
    assert found[False] > 0.8
    assert found[True] < 0.05


@pytest.mark.slow
def test_a_page_opens_at_the_alpha_that_auto_chose(page, pages, tmp_path):
    fixed = tuple(RunSpec("three-state", "slip", 0.0, 0.1, alpha) for alpha in (1.0, 0.9, 0.8))
    auto = RunSpec("three-state", "slip", 0.0, 0.1, 1.0, demonstrations=5, auto="states")
    store = finite_store(tmp_path / "auto", (*fixed, auto))
    found = store.result(auto)
    store.append([dataclasses.replace(found, record=dataclasses.replace(found.record, alpha_used=0.88))])
    pages["auto"] = write_explorer(store.folder, certificates=False)
    driver = page("auto", at="")
    wait_for_run(driver, fixed[1].identity)
    opening = driver.find_element(By.ID, "opening").text
    assert "with α = 0.9, the nearest here to 0.88, which auto chose from demonstrations, it earns −" in opening
