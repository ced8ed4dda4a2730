"""Requests of a page that a test answers in the server's place, or holds back as a slow network would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page, Request, Route
from tests.e2e.waiting import until

_PROBE = "/intercepted"


def intercept(page: Page, pattern: str, handle: Callable[[Route], object]) -> None:
    """Let `handle` have the requests that match, as `Page.route` does, from now on.

    Chromium still lets some by after it has told Playwright that it intercepts them.
    """
    page.route(pattern, handle)
    page.route(f"**{_PROBE}", lambda route: route.fulfill(status=204))
    until(
        lambda: page.evaluate(f"fetch('{_PROBE}').then(answer => answer.status)") == 204, "requests to be intercepted"
    )
    page.unroute(f"**{_PROBE}")


class LostAnswer:
    """A first request that matches and is done, but answered with 504, as by a proxy; later ones pass.

    `keys` are the idempotency keys of all.
    """

    def __init__(self, page: Page, pattern: str) -> None:
        self.keys: list[str | None] = []
        intercept(page, pattern, self._handle)

    def _handle(self, route: Route) -> None:
        self.keys.append(route.request.headers.get("idempotency-key"))
        if len(self.keys) > 1:
            route.continue_()
        else:
            route.fetch()
            route.fulfill(status=504, content_type="text/html", body="<h1>Gateway Timeout</h1>")


class Held:
    """The requests that match, held until `release`."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._routes: list[Route] = []

    def add(self, route: Route) -> None:
        """Hold one more."""
        self._routes.append(route)

    def wait(self) -> None:
        """Return once a request is held."""
        until(lambda: self._page.evaluate("true") and self._routes, "a request to be held")

    def release(self) -> None:
        """Send what is held."""
        for route in self._routes:
            route.continue_()
        self._routes.clear()

    def fulfil(self, **response: Any) -> None:
        """Answer what is held in the server's place; see `playwright.sync_api.Route.fulfill`."""
        for route in self._routes:
            route.fulfill(**response)
        self._routes.clear()


@contextmanager
def held(page: Page, matches: Callable[[Request], bool]) -> Iterator[Held]:
    """Hold requests of the page to the API within the block; at its end those that are left are sent."""
    found = Held(page)

    def handle(route: Route) -> None:
        if matches(route.request):
            found.add(route)
        else:
            route.continue_()

    intercept(page, "**/v1/**", handle)
    try:
        yield found
    finally:
        found.release()
        page.unroute("**/v1/**", handle)


def is_post(request: Request) -> bool:
    """Return whether a request may change something."""
    return request.method == "POST"
