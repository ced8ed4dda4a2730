"""The frame of all pages: navigation, keyboard, colours, and the ways in which a page can fail."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect
from tests.console.conftest import Faults, Opening
from tests.console.interception import intercept
from tests.console.runs_list import rows
from tests.console.world import Shop


@pytest.fixture
def page(opened: Opening, desk: Shop) -> Page:
    return opened(desk.url)


def test_the_address_of_the_server_shows_the_runs(page: Page) -> None:
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name="Runs")).to_have_attribute(
        "aria-current", "page"
    )
    expect(page).to_have_title(re.compile(r"^\(\d+\) Runs · Turnwise$"))


def test_the_keys_are_listed_and_the_focus_comes_back(page: Page) -> None:
    page.get_by_role("heading", name="Runs", level=1).wait_for()
    button = page.get_by_role("button", name="Keyboard shortcuts")
    button.focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")

    expect(dialog.get_by_text("Next run")).to_be_visible()
    expect(dialog.get_by_text("Search")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_keys_change_the_page_and_only_those_that_work_are_listed(page: Page) -> None:
    page.get_by_role("heading", name="Runs", level=1).wait_for()
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="Administration", level=1)).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")

    expect(dialog.get_by_text("Inbox")).to_be_visible()
    expect(dialog.get_by_text("Search")).to_have_count(0)
    expect(dialog.get_by_text("Next run")).to_have_count(0)


def test_the_first_key_of_the_page_leads_past_the_navigation(page: Page) -> None:
    page.get_by_role("heading", name="Runs", level=1).wait_for()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("main")).to_be_focused()


def test_chosen_colours_are_kept_and_used_before_the_first_paint(page: Page) -> None:
    root = page.locator("html")
    button = page.get_by_role("button", name="Colours: ")
    button.click()
    button.click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()

    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Colours: dark").click()
    expect(root).not_to_have_attribute("data-theme", "dark")


def test_an_address_of_no_page_says_so(page: Page) -> None:
    page.goto(page.url.split("#")[0] + "#/nowhere")

    expect(page.get_by_text("There is no such page")).to_be_visible()
    page.get_by_role("link", name="Go to Runs").click()
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()


def test_a_server_that_does_not_answer_is_told_and_found_again(page: Page, desk: Shop, faults: Faults) -> None:
    row = rows(page).first
    row.wait_for()
    intercept(page, "**/v1/**", lambda route: route.abort())
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(row).to_be_visible()  # what was there stays
    page.unroute("**/v1/**")

    expect(page.get_by_text("The server does not answer")).to_have_count(0)
    faults.found.clear()


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        ("tasks", "**/v1/tasks*"),
        ("administration/webhooks", "**/v1/webhooks*"),
        ("chat/support?session=customer-17", "**/v1/runs?session=*"),
        ("runs/RUN?tab=events", "**/history*"),
        ("runs/RUN?tab=timeline", "**/timeline*"),
    ],
)
def test_what_a_page_could_not_read_it_asks_for_again(
    opened: Opening, desk: Shop, faults: Faults, place: str, asked: str
) -> None:
    page = opened(desk.url)
    rows(page).first.wait_for()
    intercept(page, asked, lambda route: route.abort())
    page.evaluate("place => { location.hash = place }", f"#/{place.replace('RUN', desk.runs['completed'])}")
    expect(page.get_by_text("this page tries again")).to_be_visible()
    page.unroute(asked)

    expect(page.get_by_text("The server does not answer")).to_have_count(0)
    faults.found.clear()


@pytest.mark.parametrize("width", [360, 719, 1280])
def test_no_page_is_wider_than_the_window(opened: Opening, desk: Shop, width: int) -> None:
    page = opened(desk.url, viewport={"width": width, "height": 740})
    rows(page).first.wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_page_asks_for_few_files_and_for_each_answer_once(opened: Opening, desk: Shop) -> None:
    page = opened("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(re.sub(r"^/console/\w+/", "", request.url.removeprefix(desk.url))))
    held: list[Route] = []
    page.route("**/v1/sign-in", lambda route: held.append(route))
    # No key is needed here, so the list is asked for without waiting for who is signed in.
    with page.expect_request("**/v1/runs?limit=30"):
        page.goto(desk.url)
    held[0].continue_()
    page.unroute("**/v1/sign-in")
    rows(page).first.wait_for()
    page.get_by_role("link", name=re.compile("Inbox")).get_by_text("waiting").wait_for(state="attached")

    assert [one for one in asked if one.endswith((".js", ".mjs", ".css"))] == ["console.css", "console.js"]
    # The list is asked for again after some seconds, and by then all others have been.
    data = [one for one in asked if one.startswith("/v1/")]
    assert data[:2] == ["/v1/sign-in", "/v1/runs?limit=30"]
    assert set(data[2:4]) == {"/v1/inbox/count", "/v1/tasks"}
