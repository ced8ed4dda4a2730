"""The page of a run in a real browser, with a real server: what it shows, and each action."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Faults, Opening
from tests.console.run_model import failures
from tests.console.run_pages import RunDesk
from tests.support.client_views import numbered
from tests.support.gateway_parts import served
from tests.support.kept_values import happen

from turnwise.testing.fake_llm.answer import ScriptedFault


@pytest.fixture
def page(opened: Opening) -> Page:
    return opened("about:blank", viewport={"width": 1280, "height": 900})


def show(page: Page, run_desk: RunDesk, run_id: str, more: str = "") -> None:
    page.goto(f"{run_desk.url}/#/runs/{run_id}{more}")
    expect(page.get_by_role("main")).to_contain_text(run_id)


def status(page: Page, text: str) -> None:
    expect(page.locator(".page-note .badge")).to_contain_text(text)


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


def test_a_question_is_answered_where_the_run_waits_and_a_refusal_keeps_the_words(
    page: Page, run_desk: RunDesk
) -> None:
    run_id = run_desk.run("asker")
    show(page, run_desk, run_id)
    waiting = page.get_by_role("region", name="Why it is waiting")
    expect(waiting).to_contain_text("A person has to answer the question of the task asker.")
    expect(waiting).to_contain_text("Which colour?")

    run_desk.proxy.refuse()
    page.get_by_label("Your answer").fill("a deep blue")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    expect(page.get_by_label("Your answer")).to_have_value("a deep blue")
    run_desk.proxy.heal()
    page.get_by_label("Your answer").press("Control+Enter")

    status(page, "Completed")
    expect(waiting).to_have_count(0)
    expect(page.get_by_role("article").last).to_contain_text("DONE It is a deep blue now.")


def test_a_parked_call_is_resolved_with_its_result(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("cashier")
    show(page, run_desk, run_id)
    waiting = page.get_by_role("region", name="Why it is waiting")
    expect(waiting).to_contain_text("No one knows whether a call of the tool refund by cashier happened")
    expect(waiting).to_contain_text("cents250")
    expect(waiting).to_contain_text("the bank did not answer")

    page.get_by_label("It happened").check()
    page.get_by_role("button", name="Resolve").click()
    expect(page.get_by_role("alert")).to_contain_text("always returns something")
    page.get_by_label("Result of the handler").fill("The refund 4711 was made.")
    page.get_by_role("button", name="Resolve").click()

    status(page, "Completed")
    expect(page.get_by_role("article").last).to_contain_text("The refund 4711 was made.")


def test_a_run_is_limited_and_cancelled_and_refusals_are_told_in_the_dialog(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("asker")
    show(page, run_desk, run_id)

    page.get_by_role("button", name="Limits").click()
    page.get_by_label("Most cost in US dollars").fill("much")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("422")
    page.get_by_label("Most cost in US dollars").fill("2.00")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("meter", name="Cost limit")).to_be_visible()

    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Back").click()
    assert run_desk.client.run(run_id).status == "waiting"
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the run").click()
    status(page, "Cancelled")


def test_a_limit_is_raised_where_a_run_waits_for_it_and_the_run_continues(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("desk", max_tokens=300, on_limit="wait")
    show(page, run_desk, run_id)

    waiting = page.get_by_role("region", name="Why it is waiting")
    waiting.get_by_role("button", name="Raise the limit").click()
    page.get_by_label("Most tokens").fill("100000")
    page.get_by_role("button", name="Change", exact=True).click()

    status(page, "Completed")
    expect(page.get_by_role("main")).to_contain_text("Limits changed")


def test_answers_that_were_not_taken_are_shown_on_demand(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("doubter", "What wades?")
    show(page, run_desk, run_id)
    status(page, "Completed")
    expect(page.get_by_role("article").first).to_contain_text("What wades?")
    expect(page.get_by_role("main")).not_to_contain_text("DO-NOT-KNOW")

    page.get_by_label("Rejected answers").check()

    rejected = page.locator(".message.rejected")
    expect(rejected.first).to_contain_text("DO-NOT-KNOW")
    expect(rejected.first).to_contain_text("not taken")


def test_a_failed_run_says_what_to_do_and_is_retried_in_place(page: Page, run_desk: RunDesk) -> None:
    failures.append(ScriptedFault(status=400, message="no such model"))
    run_id = run_desk.run("broken")
    show(page, run_desk, run_id)
    status(page, "Failed")
    ending = page.get_by_role("region", name="How it ended")
    expect(ending).to_contain_text("no such model")
    expect(ending).to_contain_text("Fork the run with another model, or correct the application and retry.")

    ending.get_by_role("button", name="Retry").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()

    status(page, "Completed")
    expect(page.get_by_role("article").last).to_contain_text("DONE It works again.")


def test_a_run_that_is_retried_elsewhere_is_shown_as_it_goes_on(page: Page, run_desk: RunDesk) -> None:
    failures.append(ScriptedFault(status=400, message="no such model"))
    run_id = run_desk.run("broken")
    show(page, run_desk, run_id)
    status(page, "Failed")

    run_desk.client.retry(run_id)

    status(page, "Completed")
    expect(page.get_by_role("article").last).to_contain_text("DONE It works again.")


def test_a_fork_continues_with_an_edited_answer_and_is_compared_with_its_origin(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("asker")
    run_desk.client.answer(run_id, "blue")
    run_desk.ended(run_id)
    show(page, run_desk, run_id)

    page.get_by_role("article").filter(has_text="User").filter(has_text="blue").get_by_role(
        "button", name="Fork"
    ).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("With an edited message").check()
    dialog.get_by_label("The message").fill("green")
    dialog.get_by_role("button", name="Fork", exact=True).click()

    expect(page.get_by_text("fork of")).to_be_visible()
    status(page, "Completed")
    expect(page.get_by_role("article").last).to_contain_text("DONE It is green now.")
    expect(page.locator(".run-identity .mono")).not_to_have_text(run_id)

    page.get_by_role("link", name="compare").click()
    expect(page.get_by_role("status").filter(has_text="The first 3 messages")).to_be_visible()
    parted = page.locator(".pair.first")
    expect(parted).to_contain_text("The first difference")
    expect(parted.get_by_role("article").first).to_contain_text("blue")
    expect(parted.get_by_role("article").last).to_contain_text("green")


def test_a_fork_continues_with_what_a_person_writes_in_the_place_of_a_model(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("desk")
    show(page, run_desk, run_id)

    page.get_by_role("article").nth(1).get_by_role("button", name="Fork").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("With an edited message")).to_be_checked()
    dialog.get_by_label("The message").fill("DONE No need to look.")
    dialog.get_by_role("button", name="Fork", exact=True).click()

    expect(page.get_by_text("; a person wrote the next answer")).to_be_visible()
    status(page, "Completed")
    expect(page.get_by_role("article").last).to_contain_text("DONE No need to look.")


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
