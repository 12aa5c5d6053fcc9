"""A headless Chromium to open pages in, as a user would: without a network, with a fresh profile."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def missing() -> str:
    """What is missing to run a browser, in words; nothing if nothing is."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    found = {"chromium": _chromium(), "chromedriver": shutil.which("chromedriver")}
    absent = [name for name, path in found.items() if not path]
    return f"{' and '.join(absent)} not installed" if absent else ""


def _chromium() -> str:
    return shutil.which("chromium") or shutil.which("google-chrome") or ""


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A browser that keeps its console, and leaves nothing behind."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = _chromium()
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def look(driver: Any, width: int, height: int, *, dark: bool = False, phone: bool = False, scale: float = 1.0) -> None:
    """Make the window so large, in light or dark, on a phone or not."""
    size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def assert_untroubled(driver: Any) -> None:
    """Assert that a page logged nothing, loaded nothing over the network, and is not wider than its window."""
    assert driver.get_log("browser") == []
    assert driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)") == []
    assert driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
