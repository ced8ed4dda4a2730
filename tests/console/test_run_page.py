"""The page of a run in a real browser, with a real server: what it shows."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Faults, Opening
from tests.console.run_pages import RunDesk, show, status
from tests.e2e.waiting import until
from tests.support.client_views import numbered
from tests.support.gateway_parts import served
from tests.support.kept_values import happen


@pytest.fixture
def page(opened: Opening) -> Page:
    return opened("about:blank", viewport={"width": 1280, "height": 900})


def test_a_run_is_shown_with_its_tasks_messages_times_usage_and_events(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("desk", "Where is my order?", tags=["nightly"], max_cost=Decimal(1))
    show(page, run_desk, run_id)

    status(page, "Completed")
    expect(page.get_by_role("heading", level=1)).to_have_text("desk")
    expect(page.get_by_role("meter", name="Cost limit")).to_be_visible()
    messages = page.get_by_role("article")
    expect(messages).to_have_count(8)
    expect(messages.nth(1)).to_contain_text("turnwise-fake")
    expect(messages.nth(1).locator(".tool-call")).to_contain_text("customer")
    expect(messages.nth(3)).to_contain_text("to writer")
    messages.nth(3).get_by_text("Reasoning").click()
    expect(messages.nth(3)).to_contain_text("Writing is not mine to do.")

    # Text of strangers is shown as text, and characters that cannot be seen by their names.
    page.get_by_role("button", name="End", exact=True).click()
    shown = messages.last.locator(".message-text")
    expect(shown).to_contain_text('<script>document.title = "taken over"</script>')
    expect(shown).to_contain_text("U+202E")
    expect(shown).to_contain_text("U+001B")
    assert "taken over" not in page.title()
    assert page.locator("main script, main img, main a[href^=javascript]").count() == 0

    page.get_by_role("button", name="writer").click()
    expect(messages).to_have_count(2)
    page.get_by_role("button", name="Show all tasks").click()
    expect(messages).to_have_count(8)

    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("in calls of the model turnwise-fake")
    expect(page.locator(".span-row")).to_have_count(6)
    page.get_by_role("button", name="lead · model").first.click()
    expect(page.locator(".span-detail")).to_contain_text("answered by")
    page.get_by_label("As a table").check()
    table = page.get_by_role("table", name="The timeline as a table")
    expect(table.get_by_role("row").nth(2)).to_contain_text("lead · model")

    page.get_by_role("tab", name="Usage").click()
    usage = page.get_by_role("region", name="Usage by task and model")
    expect(usage.get_by_role("row").nth(1)).to_contain_text("lead")
    expect(usage.get_by_role("row").nth(2)).to_contain_text("lead/writer")

    page.get_by_role("tab", name="Events").click()
    events = page.locator(".event")
    expect(events.first).to_contain_text("run.completed")
    page.get_by_role("searchbox", name="Search in events").fill("heron")
    expect(page.get_by_role("status").filter(has_text="found in")).not_to_contain_text("0 found")
    page.get_by_role("searchbox").fill("task.finished")
    expect(events).to_have_count(2)
    events.first.get_by_role("button").click()
    expect(events.first).to_contain_text("document_id")

    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Where is my order?")


def test_a_run_is_saved_as_a_log_a_transcript_and_events(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("desk")
    show(page, run_desk, run_id)

    kept = {}
    for title in ("Log as HTML", "Transcript as JSON", "Events as JSONL"):
        page.locator("summary").filter(has_text="Export").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=title).click()
        kept[download.value.suggested_filename] = download.value.path().read_text()

    assert json.loads(kept[f"{run_id}.transcript.json"])["root"]["task"] == "lead"
    lines = [json.loads(line) for line in kept[f"{run_id}.events.jsonl"].splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, run_desk.client.run(run_id).last_event + 1))
    assert "<script>document.title" not in kept[f"{run_id}.html"]


def test_tokens_stream_and_a_lost_connection_leaves_no_gap_and_nothing_twice(page: Page, run_desk: RunDesk) -> None:
    page.goto(run_desk.url)
    run_id = run_desk.client.submit("talker", "60", watch=True).id
    show(page, run_desk, run_id)
    live = page.locator(".message.in-progress")
    expect(live).to_contain_text("word")
    before = len(live.inner_text())
    page.wait_for_function(
        "before => document.querySelector('.message.in-progress').innerText.length > before", arg=before
    )

    run_desk.proxy.refuse()
    expect(page.get_by_text("Connection lost; trying again")).to_be_visible()
    run_desk.ended(run_id)
    run_desk.proxy.heal()

    status(page, "Completed")
    expect(live).to_have_count(0)
    expect(page.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("article").last).to_contain_text("word58 word59")
    numbers = [int(text[1:]) for text in page.locator(".message-no").all_inner_texts()]
    told = [one.seq for one in numbered(run_desk.client.events(run_id)) if one.type in ("task.started", "turn.taken")]
    assert numbers == told


def test_an_answer_in_progress_is_shown_also_if_something_was_decided_since_it_was_asked_for(
    page: Page, run_desk: RunDesk
) -> None:
    client = run_desk.client
    run_id = client.submit("talker", "300", watch=True).id
    until(lambda: "turn.asked" in [event.type for event in client.history(run_id).items], "the model to be asked")
    client.change_limits(run_id, max_cost="5")

    show(page, run_desk, run_id)
    expect(page.get_by_text("Limits changed: at most $5")).to_be_visible()
    expect(page.locator(".message.in-progress .message-sender")).to_have_text("talker")
    expect(page.locator(".message.in-progress")).to_contain_text("word")
    client.cancel(run_id)
    status(page, "Cancelled")
    expect(page.locator(".message.in-progress")).to_have_count(0)


def test_ten_thousand_turns_and_a_message_of_five_megabytes_are_a_few_rows_of_text(
    opened: Opening, tmp_path: Path
) -> None:
    with served(tmp_path) as gateway:
        run_id = gateway.submit()
        with gateway.store.coordinator.locked(run_id) as tx:
            tx.put_document("big", {"content": "<b>big</b> \u202e line\n" * 250_000})
            happen(tx, "task.started", path="desk", turn=0, data={"document": "big"})
            for turn in range(10_000):
                tx.put_document(f"d{turn}", {"content": f"turn {turn}"})
                happen(tx, "turn.taken", path="desk", turn=turn, data={"document": f"d{turn}", "responder": "LLM"})
        page = opened(f"{gateway.base_url}/#/runs/{run_id}")

        messages = page.get_by_role("article")
        expect(messages.last).to_contain_text("turn 9999")
        assert messages.count() < 60
        page.get_by_role("button", name="Start", exact=True).click()
        expect(messages.first).to_contain_text("<b>big</b> U+202E line")
        assert len(messages.first.inner_text()) < 20_000
        messages.first.get_by_role("button", name="Show more").click()
        expect(messages.first.get_by_role("button", name="characters left")).to_be_visible()
        assert page.locator("main b").count() == 0
        page.get_by_role("button", name="End", exact=True).click()
        expect(messages.last).to_contain_text("turn 9999")
        gateway.finish(run_id)
        status(page, "Completed")


def test_an_unknown_run_says_so(page: Page, run_desk: RunDesk) -> None:
    page.goto(f"{run_desk.url}/#/runs/run_unknown")
    expect(page.get_by_role("alert")).to_contain_text("there is no run")


def test_a_run_that_cannot_be_read_is_asked_for_until_the_server_is_back(
    page: Page, run_desk: RunDesk, faults: Faults
) -> None:
    before, run_id = run_desk.run("talker", "2"), run_desk.run("talker", "3")
    show(page, run_desk, before)
    run_desk.proxy.refuse()
    with page.expect_event("requestfailed", lambda request: f"{run_id}/transcript" in request.url):
        page.evaluate(f"location.hash = '#/runs/{run_id}'")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    run_desk.proxy.heal()

    status(page, "Completed")
    expect(page.get_by_text("The server does not answer")).to_have_count(0)
    faults.found.clear()


# What a tab tells that a test can put into the background.
HIDEABLE = 'Object.defineProperty(document, "hidden", { get: () => Boolean(window.away) })'
AWAY = "window.away = true; document.dispatchEvent(new Event('visibilitychange'))"
BACK = "window.away = false; document.dispatchEvent(new Event('visibilitychange'))"


def test_a_tab_that_no_one_looks_at_does_not_ask_again_for_what_it_could_not_read(
    page: Page, run_desk: RunDesk, faults: Faults
) -> None:
    page.add_init_script(HIDEABLE)
    page.clock.install()
    before, run_id = run_desk.run("talker", "2"), run_desk.run("talker", "3")
    show(page, run_desk, before)
    run_desk.proxy.refuse()
    with page.expect_event("requestfailed", lambda request: f"{run_id}/transcript" in request.url):
        page.evaluate(f"location.hash = '#/runs/{run_id}'")
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    page.evaluate(AWAY)
    run_desk.proxy.heal()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(60_000)
    assert asked == []

    page.evaluate(BACK)
    status(page, "Completed")
    faults.found.clear()


def test_a_tab_that_no_one_looks_at_holds_no_connection_and_catches_up(page: Page, run_desk: RunDesk) -> None:
    page.add_init_script(HIDEABLE)
    page.goto(run_desk.url)
    run_id = run_desk.client.submit("talker", "60", watch=True).id
    show(page, run_desk, run_id)
    expect(page.locator(".message.in-progress")).to_contain_text("word")
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/events?" in request.url else None)
    with page.expect_event("requestfailed", lambda request: f"{run_id}/events?" in request.url):
        page.evaluate(AWAY)
    run_desk.ended(run_id)
    assert page.locator(".message.in-progress").count() == 1
    assert streams == []

    page.evaluate(BACK)
    status(page, "Completed")
    expect(page.get_by_role("article").last).to_contain_text("word58 word59")
    numbers = [int(text[1:]) for text in page.locator(".message-no").all_inner_texts()]
    told = [one.seq for one in numbered(run_desk.client.events(run_id)) if one.type in ("task.started", "turn.taken")]
    assert numbers == told
