"""A real browser for tests: Debian's Chromium or Google Chrome, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright
from tests.support.services import missing

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser; skips the test where none is installed."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        missing(f"no browser on the path (looked for {', '.join(_NAMES)}); on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its own sandbox needs privileges that containers seldom have; the pages are the tests' own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
