"""The console of a distributed installation: gateway, coordinator and workers are processes of their own."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.console.conftest import Opening, browser, faults, opened
from tests.e2e.expected import scenario_named
from tests.e2e.installation import Distributed

__all__ = ["browser", "faults", "opened"]


def test_a_run_is_started_followed_and_answered_in_a_browser(distributed: Distributed, opened: Opening) -> None:
    order = scenario_named("order")
    page = opened(f"{distributed.url}/#/tasks/{order.task}")
    page.get_by_label("Message").fill(order.message)
    page.get_by_role("button", name="Start").click()

    # The page follows the run by what workers tell the gateway over the broker.
    for text in order.answers:
        field = page.get_by_label("Your answer")
        expect(field).to_have_value("")
        field.fill(text)
        page.get_by_role("button", name="Answer", exact=True).click()
        expect(page.get_by_role("article").filter(has_text=text.removeprefix("SYSTEM "))).to_be_visible()
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_text(str(order.result))).to_be_visible()

    page.goto(f"{distributed.url}/#/overview")
    workers = page.get_by_role("table", name="Workers")
    expect(workers.get_by_role("row").filter(has_text="coordinator")).to_contain_text("Alive")
    expect(workers.get_by_role("row").filter(has_text="responders").first).to_contain_text("Alive")
    expect(page.get_by_role("table", name="Queues").get_by_role("row").filter(has_text="llm")).to_be_visible()
    # A sample is a coordinator's; the gateway shows it.
    expect(page.get_by_role("figure", name="Turns per second").locator("canvas")).to_be_visible()
