"""A real browser for tests: Debian's Chromium or Google Chrome, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright
from tests.support.services import missing

# Chromium obeys the last list that it is given, so this one has what Playwright's has for pages, and the suggestions
# below the address bar: two pages of Chromium's own in each window, which take half of a test's processor time.
_WITHOUT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
# It has no screen, and asks no one but the tests' servers.
_QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    f"--disable-features={','.join(_WITHOUT)}",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Milliseconds, for a loaded machine: an expectation waits for a condition, and by itself gives up after 5 s.
PATIENCE_MS = 30_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser; skips the test where none is installed."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        missing(f"no browser on the path (looked for {', '.join(_NAMES)}); on Debian: apt-get install chromium")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        # Its own sandbox needs privileges that containers seldom have; the pages are the tests' own.
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", *_QUIET])
        try:
            yield browser
        finally:
            browser.close()
