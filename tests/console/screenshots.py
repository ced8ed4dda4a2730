"""Makes the pictures of the console in the documentation: `python -m tests.console.screenshots [NAME ...]`.

Each page light and dark in a window of 1280 x 800, and narrow as on a phone, of a server with runs of every status.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image
from playwright.sync_api import Browser, Page
from tests.console.guarded import GuardedShop, at_the_door, guarded_shop, signed_in_at
from tests.console.world import Shop, has_ended, shop
from tests.e2e.waiting import until
from tests.support.browser import chromium
from tests.support.client_views import numbered

FOLDER = Path(__file__).parents[2] / "docs" / "images"
BUSY_SECONDS, PAUSE = 60.0, 1.5
WIDE = {"width": 1280, "height": 800}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": WIDE, "color_scheme": "light"},
    "dark": {"viewport": WIDE, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}

Scene = Callable[[Page, Shop], None]
Server = TypeVar("Server")


def at(address: str, sight: str) -> Scene:
    """A page as it opens at an address behind the `#`, once that text is in sight; `{name}` is the id of that run."""

    def show(page: Page, here: Shop) -> None:
        page.goto(f"{here.url}/#{address.format_map(here.runs)}")
        page.get_by_text(sight).first.wait_for()

    return show


def compared(page: Page, here: Shop) -> None:
    """A run whose refund was refused beside a fork of it, in which a person has agreed."""
    run_id = here.runs["refused"]
    asked = next(one for one in numbered(here.client.events(run_id)) if one.type == "human.asked")
    here.runs["agreed"] = here.client.fork(run_id, asked.seq, message="yes, go ahead").id
    here.reaches("agreed", has_ended)
    page.goto(f"{here.url}/#/runs/{run_id}/compare/{here.runs['agreed']}")
    page.get_by_role("button", name="Go to the first difference").click()
    page.get_by_text("The first difference", exact=True).wait_for()


def batched(page: Page, here: Shop) -> None:
    """The list of batches: one that is done but for failed items, and one with items that wait for a person."""
    if "batch" not in here.runs:
        looks = [f"Take a guess about order {number}, where is it?" for number in (4711, 4712, 4713)]
        here.runs["batch"] = here.batch("Orders of May", *looks, *looks, "See the unreadable picture of order 4711")
        until(lambda: here.client.batch(here.runs["batch"]).finished_at is not None, "the batch to end")
        here.batch("Refunds of May", *looks, "I want a refund for order 4711", "I want a refund for order 4712")
    page.goto(f"{here.url}/#/batches")
    page.get_by_text("Orders of May").first.wait_for()


SCENES: dict[str, Scene] = {
    "runs": at("/runs", "How do I descale the kettle?"),
    "run": at("/runs/{question}", "May I pay back"),
    "timeline": at("/runs/{refused}?tab=timeline", "Timeline"),
    "compare": compared,
    "inbox": at("/inbox", "May I pay back"),
    "chat": at("/chat/concierge?session=chat-3", "where is my order 4713"),
    "tasks": at("/tasks", "concierge"),
    "task": at("/tasks/support", "find_order"),
    "overview": at("/overview?time=15m", "Queues"),
    "batches": batched,
}
# Of a server that asks for keys.
GUARDED: dict[str, Callable[[Page, GuardedShop], None]] = {
    "sign-in": at_the_door,
    "administration": signed_in_at("keys", "nightly report"),
    "schedules": signed_in_at("schedules", "morning-report"),
    "webhooks": signed_in_at("webhooks", "shop.example"),
    "budgets": signed_in_at("tenants/shop", "$0.30 left"),
}


def take(browser: Browser, here: Server, name: str, scene: Callable[[Page, Server], None]) -> None:
    """Take the pictures of one page."""
    for look, options in LOOKS.items():
        context = browser.new_context(**options, locale="en-GB", reduced_motion="reduce")
        page = context.new_page()
        scene(page, here)
        # Charts and whatever follows a first answer; an event stream never comes to rest.
        page.wait_for_timeout(1500)
        keep(page.screenshot(), FOLDER / f"console-{name}-{look}.png")
        context.close()
    print(f"console-{name}")


def keep(picture: bytes, file: Path) -> None:
    """Write a picture with as many colours as such a page has, a third of the size."""
    with Image.open(io.BytesIO(picture)) as whole:
        whole.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


def keep_busy(here: Shop, seconds: float) -> None:
    """Let the shop work for a while, so that there is something to chart."""
    for number in range(int(seconds / PAUSE)):
        here.client.submit("handbook", f"How do I clean lamp {number}?", tags=["question"])
        if number % 4 == 0:
            here.client.submit("support", f"An unreadable picture, number {number}", tags=["email"])
        time.sleep(PAUSE)


def main(names: list[str]) -> None:
    """Fill the servers, and take the pictures of those pages, or of all."""
    wanted = names or [*SCENES, *GUARDED]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        if open_ones := [name for name in wanted if name in SCENES]:
            with shop(Path(folder), sample_seconds=2) as here:
                keep_busy(here, BUSY_SECONDS if "overview" in wanted else PAUSE)
                here.fill()
                for name in open_ones:
                    take(browser, here, name, SCENES[name])
        with guarded_shop(Path(folder)) as guarded:
            for name in wanted:
                if name in GUARDED:
                    take(browser, guarded, name, GUARDED[name])


if __name__ == "__main__":
    main(sys.argv[1:])
