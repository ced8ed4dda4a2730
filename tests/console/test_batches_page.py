"""Batches in the console: the list, one of them live, its failed items retried, its end; for everyone who looks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.console.axe import grave_faults, loaded
from tests.console.conftest import Opening
from tests.console.world import Shop, shop
from tests.e2e.waiting import until

_FAILS = "See the unreadable picture of order 4711"
_ASKS = "I want a refund for order 4711"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop(tmp_path_factory.mktemp("batches")) as made:
        yield made


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_a_batch_is_followed_retried_read_out_and_cancelled(here: Shop, opened: Opening) -> None:
    batch = here.batch("orders of May", _FAILS, _ASKS)
    page = opened(here.url)
    loaded(page)
    page.keyboard.press("g")
    page.keyboard.press("b")
    row = page.get_by_role("row", name="orders of May")
    expect(row).to_contain_text("0 done, 1 failed, 1 left")
    expect(row).to_contain_text("of $5.00")
    row.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="orders of May")).to_be_visible()
    expect(page.get_by_role("meter", name="Items")).to_have_attribute("aria-valuenow", "1")

    with page.expect_download() as saved:
        page.get_by_role("link", name="Results").click()
    assert saved.value.suggested_filename == "orders of May.jsonl"
    assert len(Path(saved.value.path()).read_text().splitlines()) == 2
    page.get_by_role("link", name="1 failed: list the runs").click()
    page.wait_for_url(f"**/#/runs?batch={batch}&status=failed")
    expect(page.get_by_text(_FAILS)).to_be_visible()
    page.go_back()

    press(page, "Retry failed")
    expect(page.get_by_text("1 continue, 0 begin anew.")).to_be_visible()
    failed = next(one for one in here.client.all_batch_results(batch) if one.line == 1)
    history = here.client.history(failed.run or "", limit=100).items
    assert "run.retried" in {event.type for event in history}

    press(page, "Cancel")
    page.get_by_role("dialog").get_by_role("button", name="Cancel the batch").click()
    expect(page.locator(".page-note")).to_have_text("Cancelled")
    until(lambda: here.client.batch(batch).finished_at is not None, "the batch to end")
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_have_count(0)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_pages_of_batches_are_for_everyone(here: Shop, opened: Opening, scheme: str, width: int) -> None:
    batch = here.batch(f"a list with a long name, looked at in the {scheme}", _ASKS, _FAILS)
    look = {"viewport": {"width": width, "height": 740}, "color_scheme": scheme, "reduced_motion": "reduce"}
    page = opened(here.url, bypass_csp=True, **look)
    faults = []
    for place in ("batches", f"batches/{batch}"):
        page.goto(f"{here.url}/#/{place}")
        loaded(page)
        expect(page.get_by_text("looked at in the").first).to_be_visible()
        faults += grave_faults(page)
        if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
            faults.append(f"{page.url} is {wide} pixels wide")

    assert faults == [], "\n".join(faults)
