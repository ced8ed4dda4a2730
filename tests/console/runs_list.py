"""The console's list of runs, as it is looked at."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def rows(page: Page) -> Locator:
    """The runs in sight; which these are depends on the tests before, since they share a server."""
    return page.get_by_role("table", name="Runs").get_by_role("row").filter(has=page.get_by_role("link"))
