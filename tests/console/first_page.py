"""Times the console's first page with many runs on record: `python -m tests.console.first_page [RUNS]`.

Prints the median of several loads, each in a window that has come to rest: until the first row of the list is drawn,
and of that the request for the list; what depends less on what else the machine does: the requests, and the processor
time of the browser and of the gateway; and the same of a page of text with one request, which is the browser's part.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page
from tests.support.browser import chromium
from tests.support.gateway_parts import served

from turnwise_gateway.console.files import console_files

RUNS = 10_000
LOADS = 15
# A browser makes parts of a new window while its first page is already being loaded.
REST_MS = 500
# When the first row stands in the page, how long the list was asked for, and the requests until then over the network.
_ROW = """async () => {
  while (!document.querySelector(".runs-row")) await new Promise(requestAnimationFrame);
  const drawn = performance.now();
  const all = performance.getEntriesByType("resource");
  const asked = all.find((one) => one.name.includes("/v1/runs?"));
  return [drawn, asked.responseEnd - asked.startTime, 1 + all.filter((one) => one.transferSize > 0).length];
}"""
_TEXT = """async () => {
  await (await fetch("/v1/sign-in")).json();
  await new Promise(requestAnimationFrame);
  const [asked] = performance.getEntriesByType("resource");
  return [performance.now(), asked.responseEnd - asked.startTime, 2];
}"""


class Loads:
    """Loads of pages in one browser."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._session: CDPSession = browser.new_browser_cdp_session()

    def browser_seconds(self) -> float:
        """The processor time of all processes of the browser so far."""
        processes = self._session.send("SystemInfo.getProcessInfo")["processInfo"]
        return float(sum(one["cpuTime"] for one in processes))

    def measured(self, opened: Callable[[], Page], url: str, script: str) -> str:
        """Load a page several times after a first one, each in a window that `opened` makes; the medians in words."""
        found: list[tuple[float, ...]] = []
        for _ in range(1 + LOADS):
            with closing(opened()) as page:
                page.wait_for_timeout(REST_MS)
                browser, gateway = self.browser_seconds(), time.process_time()
                page.goto(url, wait_until="commit")
                drawn, asked, requests = page.evaluate(script)
                busy = time.process_time() - gateway, self.browser_seconds() - browser
                found.append((drawn, asked, requests, *(seconds * 1000 for seconds in busy)))
        drawn, asked, requests, server, browser = (statistics.median(column) for column in zip(*found[1:], strict=True))
        return (
            f"drawn after {drawn:.0f} ms; {requests:.0f} requests, one for data {asked:.0f} ms; "
            f"server {server:.0f} ms, browser {browser:.0f} ms"
        )


def main(runs: int) -> None:
    """Fill a gateway's record, and load the page."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as gateway, chromium() as browser:
        for first in range(0, runs, 500):
            batch = [{"task": "desk", "message": f"number {number}"} for number in range(first, min(first + 500, runs))]
            assert gateway.http.post("/v1/batches", json={"runs": batch}).status_code == 202
        print(f"{runs:,} runs")
        url = gateway.base_url
        text = f"{url}/console/{console_files().digest}/vendor/LICENSE-preact"
        loads, known = Loads(browser), browser.new_context()

        def at_the_text() -> Page:
            page = known.new_page()
            page.goto(text)
            return page

        print(f"first visit:                    {loads.measured(browser.new_page, url, _ROW)}")
        print(f"later visit, in a new window:   {loads.measured(known.new_page, url, _ROW)}")
        print(f"later visit, from its own page: {loads.measured(at_the_text, url, _ROW)}")
        print(f"page of text:                   {loads.measured(browser.new_page, text, _TEXT)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
