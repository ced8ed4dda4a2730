"""Hostile content on every page: it is shown as text, the layout holds, and the page stays small."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Page, expect
from tests.console.axe import loaded
from tests.console.conftest import Opening
from tests.console.hostile_runs import HUGE, SESSION, TAG, TURNS, HostileRuns, hostile_runs
from tests.support.gateway_parts import Served, served

from turnwise.client import Client
from turnwise.record.tenants.tenant import DEFAULT_TENANT

# Of one page, whatever it shows.
_MOST_NODES = 4_000
_MOST_CHARACTERS = 250_000
_LOOK = """() => {
  const unseen = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u200b\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/g;
  const made = "img, script, style, iframe, svg[onload], a[href^='javascript']";
  const main = document.querySelector("main");
  const text = main.textContent;
  return {
    taken: window.taken ?? null,
    nodes: document.querySelectorAll("*").length,
    characters: text.length,
    unseen: [...new Set(text.match(unseen))].map(one => one.codePointAt(0).toString(16)),
    made: [...main.querySelectorAll(made)].map(one => one.outerHTML.slice(0, 200)),
    visible: getComputedStyle(main).display !== "none" && main.getBoundingClientRect().height > 100,
    wide: document.documentElement.scrollWidth - innerWidth,
  };
}"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("hostile")) as made:
        yield made


@pytest.fixture(scope="module")
def hostile(gateway: Served) -> HostileRuns:
    return hostile_runs(gateway)


@pytest.fixture
def page(opened: Opening, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that asks no one but its own server; its width is the fixture's parameter."""
    page = opened("about:blank", viewport={"width": getattr(request, "param", 1280), "height": 740})
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))

    def refuse(dialog: Dialog) -> None:
        asked.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", refuse)
    yield page
    assert [url for url in asked if not url.startswith("http://127.0.0.1:")] == []


def faults_at(page: Page, place: str) -> list[str]:
    """The faults of the page as it is now."""
    found = page.evaluate(_LOOK)
    wrong = {
        "a script of the content ran": found["taken"],
        "too many nodes": found["nodes"] if found["nodes"] > _MOST_NODES else None,
        "too much text": found["characters"] if found["characters"] > _MOST_CHARACTERS else None,
        "characters that are not seen": found["unseen"],
        "elements of the content": found["made"],
        "hidden": not found["visible"],
        "too wide": found["wide"] if found["wide"] > 0 else None,
    }
    return [f"{place}: {what}: {which}" for what, which in wrong.items() if which]


@pytest.mark.parametrize("page", [1280, 360], indirect=True, ids=["wide", "narrow"])
def test_hostile_content_is_text_on_every_page(page: Page, gateway: Served, hostile: HostileRuns) -> None:
    url, faults = gateway.base_url, []
    places = [
        "runs",
        f"runs?tag={quote(TAG)}",
        *(f"runs/{run}" for run in hostile.all()),
        *(f"runs/{hostile.ended}?tab={tab}" for tab in ("timeline", "usage", "events")),
        f"runs/{hostile.long}?tab=events",
        f"chat/desk?session={quote(SESSION)}",
        "tasks/desk",
        "overview",
        *(
            f"{page}/{quote('<img src=//evil.test onerror=alert(1)>', safe='')}"
            for page in ("runs", "chat", "tasks", "x")
        ),
        f"runs/{quote('../../v1/keys', safe='')}",
    ]
    for place in places:
        page.goto(f"{url}/#/{place}")
        expect(page.locator("main").get_by_role("heading").first).to_be_visible()
        expect(page.locator(".loading, .stale")).to_have_count(0)
        faults += faults_at(page, place)

    page.goto(f"{url}/#/inbox")
    loaded(page)
    expect(page.locator("[data-item]")).to_have_count(4)
    for number in range(4):
        page.locator(".inbox-head").nth(number).click()
        expect(page.locator("[data-item]").nth(number).get_by_role("region", name="The run")).to_contain_text("desk")
        faults += faults_at(page, f"item {number} of the inbox")

    assert faults == [], "\n".join(faults)


def test_what_is_hidden_or_dangerous_is_still_there_to_read(page: Page, gateway: Served, hostile: HostileRuns) -> None:
    page.goto(f"{gateway.base_url}/#/inbox")
    asked = page.locator(".inbox-asked")

    expect(asked).to_contain_text('<img src="http://evil.test/x.png" onerror="window.taken = \'image\'">')
    expect(asked).to_contain_text("U+202Egnirts desreverU+202C")
    expect(asked).to_contain_text("U+001B[31mred")
    expect(asked).to_contain_text("zeroU+200Bwidth")
    expect(asked).to_contain_text("العربية ไทย")


def test_names_and_reasons_are_shown_with_what_is_not_seen(page: Page, gateway: Served) -> None:
    with Client(gateway.base_url) as client:
        batch = client.open_batch("desk", name="abc\u202etxt.exe")
        page.goto(f"{gateway.base_url}/#/batches/{batch.id}")
        expect(page.get_by_role("heading", name="abcU+202Etxt.exe")).to_be_visible()
        expect(page).to_have_title(re.compile(r"Batch abcU\+202Etxt\.exe · Turnwise"))

        client.pause("task", "desk", "see \u202etxt.exe")
        gateway.submit(session_id="paused")
        page.goto(f"{gateway.base_url}/#/chat/desk?session=paused")
        expect(page.locator(".chat-note")).to_contain_text("see U+202Etxt.exe")
        client.resume("task", "desk")


def test_five_megabytes_are_shown_a_part_at_a_time(page: Page, gateway: Served, hostile: HostileRuns) -> None:
    page.goto(f"{gateway.base_url}/#/inbox")
    head = page.locator(f'[data-item^="{hostile.huge}"]')
    head.get_by_role("button").first.click()
    more = head.get_by_role("button", name="Show more").first

    expect(more).to_contain_text(f"({HUGE - 6_000:,} characters left)")
    more.click()
    expect(more).to_contain_text(f"({HUGE - 60_000:,} characters left)")


def test_ten_thousand_turns_are_read_from_both_ends(page: Page, gateway: Served, hostile: HostileRuns) -> None:
    page.goto(f"{gateway.base_url}/#/runs/{hostile.long}")
    transcript = page.locator(".virtual-list").first
    expect(transcript).to_be_visible()
    transcript.evaluate("list => { list.scrollTop = list.scrollHeight }")
    expect(page.get_by_text(f"message {TURNS} of {TURNS}").first).to_be_visible()
    transcript.evaluate("list => { list.scrollTop = 0 }")
    expect(page.get_by_text(f"message 1 of {TURNS}").first).to_be_visible()
    assert faults_at(page, "the long run") == []


def test_the_events_of_ten_thousand_turns_are_read_as_they_are_wanted(
    page: Page, gateway: Served, hostile: HostileRuns
) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url.partition("/history?")[2]) if "/history?" in one.url else None)
    page.goto(f"{gateway.base_url}/#/runs/{hostile.long}?tab=events")
    events = page.locator(".event-list")
    newest = gateway.store.tenant(DEFAULT_TENANT).run(hostile.long).last_seq
    expect(page.get_by_text(f"The newest 100 of {newest:,}")).to_be_visible()
    expect(events.locator(".event").first).to_contain_text(f"{newest}")
    assert asked == ["limit=100"]

    events.evaluate("list => { list.scrollTop = list.scrollHeight }")
    expect(page.get_by_text(f"The newest 200 of {newest:,}")).to_be_visible()
    assert asked[1:] == [f"before={newest - 99}&limit=100"]
    # A new event does not move what is read.
    seen = events.evaluate("list => list.scrollHeight - list.scrollTop")
    gateway.happen(hostile.long, "turn.asked", path="desk", turn=TURNS)
    expect(page.get_by_text(f"The newest 201 of {newest + 1:,}")).to_be_visible()
    assert events.evaluate("list => list.scrollHeight - list.scrollTop") == pytest.approx(seen, abs=40)

    page.get_by_role("searchbox", name="Search in events").fill("run.accepted")
    expect(page.get_by_text("1 found in")).to_be_visible()
    expect(page.locator(".event")).to_have_count(1)
    assert len(asked) < 4 + newest / 1000
