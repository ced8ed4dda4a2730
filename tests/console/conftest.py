"""A filled server, a browser, and pages of it that fail their test when the console has a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response
from tests.console.run_pages import RunDesk, served_desk
from tests.console.world import Shop, shop
from tests.support.browser import PATIENCE_MS, chromium

Opening = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for the tests of a module. Playwright runs an event loop in this thread for as long as it is open, so
    tests of other modules could not run one."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="package")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A server without authentication with runs of every status. A test that changes runs makes its own."""
    with shop(tmp_path_factory.mktemp("desk")) as made:
        made.fill()
        yield made


@pytest.fixture(scope="session")
def run_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunDesk]:
    """A server whose runs get into every state that the page of a run shows, behind a proxy."""
    with served_desk(tmp_path_factory.mktemp("run-desk")) as made:
        yield made


class Faults:
    """Every fault that a page's browser has told of: errors, violations of the policy, files that are missing."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def watch(self, page: Page) -> None:
        """Note the faults of a page."""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.found.append(f"uncaught: {error}"))
        page.on("response", self._answered)

    def _said(self, message: ConsoleMessage) -> None:
        # Of a request that was refused the browser tells on its own; tests of refusals mean them.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.found.append(f"{message.type}: {message.text}")

    def _answered(self, answer: Response) -> None:
        if answer.status >= 500 or (answer.status == 404 and "/console/" in answer.url):
            self.found.append(f"{answer.status}: {answer.url}")


@contextmanager
def context(browser: Browser, faults: Faults, **options: Any) -> Iterator[BrowserContext]:
    """A browser's profile of its own, whose pages are watched for faults."""
    made = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
    made.set_default_timeout(PATIENCE_MS)
    made.on("page", faults.watch)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def faults() -> Iterator[Faults]:
    """The faults of all pages of the test; at its end there must be none. One that expects some empties `found`."""
    faults = Faults()
    yield faults
    assert faults.found == []


@pytest.fixture
def opened(browser: Browser, faults: Faults) -> Iterator[Opening]:
    """Opens an address in a profile of its own: `opened(url, **options)`, with options of Playwright's contexts."""
    contexts = []

    def open_page(url: str, **options: Any) -> Page:
        made = context(browser, faults, **options)
        contexts.append(made)
        page = made.__enter__().new_page()
        page.goto(url)
        return page

    yield open_page
    for made in contexts:
        made.__exit__(None, None, None)
