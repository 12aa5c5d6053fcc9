"""Pictures of the explorer, to be looked at: `python -m tests.browser.pictures FINITE.html CONTINUOUS.html FOLDER`."""

import io
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from tests.browser.chromium import browser, look, wait_for_run

CELL = "#environment=gridworld-1&kernel=uniform-state&learner=0&expert=0.2&alpha=0.8"
COLORS = 255  # Enough for a page, and a third of the size.


def take(driver: Any, page: Path, address: str, path: Path, width: int, height: int, **how: Any) -> None:
    """Write what a window of this size shows."""
    driver.get("about:blank")
    look(driver, width, height, **how)
    driver.get(page.resolve().as_uri() + address)
    wait_for_run(driver)
    if not how.get("phone"):  # Of a wide page all of it, of a phone what is seen.
        look(driver, width, driver.execute_script("return document.documentElement.scrollHeight"), **how)
    picture = Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(finite: Path, continuous: Path, folder: Path) -> None:
    """Light and dark on a wide screen, and a phone."""
    with browser() as driver:
        take(driver, finite, CELL, folder / "explorer-light.png", 1400, 900)
        take(driver, finite, CELL, folder / "explorer-dark.png", 1400, 900, dark=True)
        take(driver, finite, CELL, folder / "explorer-phone.png", 390, 844, phone=True)
        address = "#learner=0&expert=0.2&alpha=0.9"
        take(driver, continuous, address, folder / "explorer-gaussian-grid.png", 1400, 900)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
