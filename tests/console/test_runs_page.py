"""The list of runs: live, filtered, searched, endless, and changed in bulk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect
from tests.console.conftest import Opening
from tests.console.guarded import sign_in
from tests.console.interception import held, intercept
from tests.console.runs_list import rows
from tests.console.world import Shop
from tests.e2e.waiting import until
from tests.support.access_parts import ALL, OPERATOR, OWNER, world
from tests.support.gateway_parts import Served, served

MANY = 230
# Takes long enough for the answers to all earlier requests of the page to arrive.
_SOME_ANSWERS = "async () => { for (let n = 0; n < 5; n++) await fetch('/v1/runs?limit=200'); }"


@pytest.fixture(scope="module")
def idle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway with no one behind it: its runs stay queued until a test ends them."""
    with served(tmp_path_factory.mktemp("idle")) as made:
        yield made


# Presses "j" right after the change that brings the rows of the tag, before the browser paints, and then "x".
_PRESS_ONCE_DRAWN = """() => {
    const drawn = new MutationObserver(() => {
        const rows = [...document.querySelectorAll("main .virtual-row")];
        if (!location.hash || !rows.length || !rows.every((row) => row.textContent.includes("drawn"))) return;
        drawn.disconnect();
        const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        press("j");
        setTimeout(press, 0, "x");
    });
    drawn.observe(document.body, { childList: true, subtree: true });
}"""


def expect_hash(page: Page, expected: str) -> None:
    """Wait for the address to end with this: a filter that is typed comes into it some time after the last letter."""
    expect(page).to_have_url(re.compile(f"#{re.escape(expected)}$"))


def test_filters_are_kept_in_the_address(opened: Opening, desk: Shop) -> None:
    page = opened(desk.url)
    page.get_by_label("Status").select_option("failed")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("cannot read")
    page.get_by_label("Task").select_option("support")
    page.get_by_title("Only runs with the tag picture").click()
    expect_hash(page, "/?status=failed&task=support&tag=picture")

    page.reload()
    expect(page.get_by_label("Status")).to_have_value("failed")
    expect(page.get_by_role("textbox", name="Tag", exact=True)).to_have_value("picture")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Created").select_option("1h")
    expect(rows(page)).to_have_count(1)
    page.get_by_label("Created").select_option("between")
    page.get_by_label("Created after").fill("2020-01-01T00:00")
    page.get_by_label("Created before").fill("2020-01-02T00:00")
    expect(page.get_by_text("No run matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()

    expect(rows(page).first).to_be_visible()
    expect_hash(page, "/")


def test_times_are_typed_in_ones_zone_and_are_the_same_for_everyone_in_the_address(opened: Opening, desk: Shop) -> None:
    page = opened(desk.url, timezone_id="America/New_York")
    page.get_by_label("Created", exact=True).select_option("between")
    after, before = page.get_by_label("Created after"), page.get_by_label("Created before")
    after.fill("2025-11-28T09:30")
    expect_hash(page, "/?from=2025-11-28T14%3A30Z")
    expect(rows(page).first).to_be_visible()
    expect(after).to_be_focused()
    # One part of it is removed, and typed again.
    page.keyboard.press("Backspace")
    expect_hash(page, "/")
    expect(after).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile(r"from=2025-\d\d-\d\dT14%3A30Z$"))
    expect(after).to_be_focused()
    after.fill("2025-11-28T09:45")
    before.fill("2025-11-29T00:00")
    expect_hash(page, "/?from=2025-11-28T14%3A45Z&to=2025-11-29T05%3A00Z")
    address = page.url

    page = opened(address, timezone_id="Asia/Tokyo")
    expect(page.get_by_label("Created after")).to_have_value("2025-11-28T23:45")
    expect(page.get_by_label("Created before")).to_have_value("2025-11-29T14:00")
    page.get_by_role("button", name="Clear all").click()
    expect(page.get_by_label("Created after")).to_have_count(0)
    with page.expect_request(lambda sent: "created_after=2025-11-28T00%3A30%3A00.000Z" in sent.url):
        page.goto(f"{desk.url}/#/runs?from=2025-11-28T09:30")
    expect(page.get_by_label("Created after")).to_have_value("2025-11-28T09:30")


def test_a_search_finds_messages_and_ids(opened: Opening, desk: Shop) -> None:
    page = opened(desk.url)
    page.get_by_role("heading", name="Runs", level=1).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("DESCALE the")
    expect(rows(page)).to_have_count(1)
    expect_hash(page, "/?q=DESCALE+the")
    page.get_by_role("searchbox").fill(desk.runs["parked"])

    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("both lamps are broken")


def test_a_row_says_why_a_run_waits_and_why_one_failed(opened: Opening, desk: Shop) -> None:
    page = opened(f"{desk.url}/#/runs?status=waiting")

    question = rows(page).filter(has_text="the kettle leaks")
    expect(question).to_contain_text("A human has to answer the question of the task Desk/Billing")
    expect(question).not_to_contain_text("turnwise answer")
    expect(rows(page).filter(has_text="both lamps are broken")).to_contain_text("is parked")
    expect(rows(page).filter(has_text="Is the kettle safe?")).to_contain_text("Too little is left")


def test_runs_appear_and_change_by_themselves(opened: Opening, idle: Served) -> None:
    page = opened(idle.base_url)
    expect(page.get_by_text("No runs yet").or_(rows(page)).first).to_be_visible()
    run = idle.submit(message="a new one")
    row = rows(page).filter(has_text="a new one")
    expect(row).to_contain_text("Queued")
    idle.finish(run, "all is said")

    expect(row).to_contain_text("Completed")
    expect(row).to_contain_text("all is said")


def test_a_long_list_is_loaded_and_drawn_as_far_as_it_is_looked_at(opened: Opening, idle: Served) -> None:
    batch = [{"task": "desk", "message": f"number {number}", "tags": ["many"]} for number in range(MANY)]
    assert idle.http.post("/v1/batches", json={"runs": batch}).status_code == 202
    page = opened(f"{idle.base_url}/#/runs?tag=many")
    expect(page.get_by_text("The newest 30")).to_be_visible()
    assert rows(page).count() < 40
    table = page.get_by_role("table", name="Runs")
    table.focus()

    oldest = rows(page).filter(has_text=re.compile(r"number 0(?!\d)"))

    def at_the_end() -> bool:  # the list grows while it is scrolled, so its end moves
        page.keyboard.press("End")
        return oldest.count() == 1

    until(at_the_end, "all runs to be loaded")
    expect(oldest).to_be_visible()
    expect(page.get_by_text(f"All {MANY} runs")).to_be_visible()
    assert rows(page).count() < 40
    assert table.get_attribute("aria-rowcount") == str(MANY + 1)
    # A new run comes to the top, and what was loaded stays.
    idle.submit(message="one more", tags=["many"])
    expect(page.get_by_text(f"All {MANY + 1} runs")).to_be_visible()


def test_runs_are_chosen_by_keyboard_and_cancelled_together(opened: Opening, idle: Served) -> None:
    runs = [idle.submit(message=f"chosen {number}", tags=["keys"]) for number in range(3)]
    page = opened(f"{idle.base_url}/#/runs?tag=keys")
    expect(rows(page)).to_have_count(3)
    for key in ("j", "x", "j", "j", "k", "x"):
        page.keyboard.press(key)
    expect(page.get_by_text("2 runs chosen")).to_be_visible()
    page.get_by_role("region", name="Chosen runs").get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog", name="Cancel 2 runs?").get_by_role("button", name="Cancel 2 runs").click()
    expect(page.get_by_text("2 runs cancelled.")).to_be_visible()

    asked = [idle.http.get(f"/v1/runs/{run}").json()["cancel_requested_at"] is not None for run in runs]
    assert asked == [False, True, True]
    expect(page.get_by_role("region", name="Chosen runs")).to_have_count(0)


def test_the_mark_stays_at_its_run_while_others_come(opened: Opening, idle: Served) -> None:
    for number in range(3):
        idle.submit(message=f"marked {number}", tags=["marked"])
    page = opened(f"{idle.base_url}/#/runs?tag=marked")
    expect(rows(page)).to_have_count(3)
    for key in ("j", "j"):
        page.keyboard.press(key)
    marked = page.locator(".runs-row.marked")
    expect(marked).to_contain_text("marked 1")
    run = idle.submit(message="marked 3", tags=["marked"])
    expect(rows(page)).to_have_count(4)
    expect(marked).to_contain_text("marked 1")
    page.keyboard.press("x")
    expect(page.locator(".runs-row.chosen")).to_contain_text("marked 1")
    page.keyboard.press("k")
    expect(marked).to_contain_text("marked 2")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect_hash(page, f"/runs/{run}")


def test_keys_count_from_the_moment_that_the_list_is_drawn(opened: Opening, idle: Served) -> None:
    for number in range(2):
        idle.submit(message=f"drawn {number}", tags=["drawn"])
    page = opened(idle.base_url)
    rows(page).first.wait_for()
    page.evaluate(_PRESS_ONCE_DRAWN)
    page.evaluate("location.hash = '#/runs?tag=drawn'")

    expect(page.get_by_text("1 run chosen")).to_be_visible()


def test_all_that_match_are_cancelled_also_those_not_loaded(opened: Opening, idle: Served) -> None:
    batch = [{"task": "desk", "message": f"bulk {number}", "tags": ["bulk"]} for number in range(120)]
    ids = idle.http.post("/v1/batches", json={"runs": batch}).json()["runs"]
    page = opened(f"{idle.base_url}/#/runs?tag=bulk")
    expect(page.get_by_text("The newest 30")).to_be_visible()
    page.get_by_label("Choose all loaded runs").check()
    page.get_by_role("button", name="Choose all that match the filters").click()
    page.get_by_role("region", name="Chosen runs").get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog", name="Cancel 120 runs?")
    expect(dialog).to_contain_text("tag bulk")
    dialog.get_by_role("button", name="Cancel 120 runs").click()
    expect(page.get_by_text("120 runs cancelled.")).to_be_visible()

    assert idle.http.get(f"/v1/runs/{ids[0]['id']}").json()["cancel_requested_at"] is not None


def test_a_failed_run_is_retried_and_a_refusal_is_told(opened: Opening, desk: Shop) -> None:
    desk.submit("again", "support", "An unreadable one", tags=["again"])
    desk.reaches("again", lambda run: run.status == "failed")
    page = opened(f"{desk.url}/#/runs?tag=again")
    before = desk.client.run(desk.runs["again"]).last_event
    page.get_by_label(f"Choose {desk.runs['again']}").check()
    bar = page.get_by_role("region", name="Chosen runs")
    expect(bar.get_by_role("button", name="Cancel")).to_be_disabled()
    bar.get_by_role("button", name="Retry").click()
    page.get_by_role("button", name="Retry 1 run").click()
    expect(page.get_by_text("1 run retried.")).to_be_visible()

    desk.reaches("again", lambda run: run.status == "failed" and run.last_event > before)
    intercept(
        page,
        "**/retry",
        lambda route: route.fulfill(status=409, json={"code": "not_failed", "detail": "it has gone on"}),
    )
    page.get_by_label(f"Choose {desk.runs['again']}").check()
    bar.get_by_role("button", name="Retry").click()
    page.get_by_role("button", name="Retry 1 run").click()
    expect(page.get_by_text("1 refused: it has gone on")).to_be_visible()


def test_an_operator_sees_the_outlines_of_another_tenant(opened: Opening, tmp_path: Path) -> None:
    with world(tmp_path) as here:
        page = opened(f"{here.gateway.base_url}/#/runs")
        sign_in(page, here.key(OPERATOR, *ALL)[1])
        tenant = page.get_by_label("Tenant", exact=True)
        tenant.fill(OWNER)
        with page.expect_response("**/v1/runs?*"):
            pass  # the list is drawn again, and the text stays
        expect(tenant).to_have_value(OWNER)
        tenant.press("Enter")

        expect(page).to_have_url(f"{here.gateway.base_url}/#/runs?tenant={OWNER}")
        table = page.get_by_role("table", name="Outlines of runs")
        expect(table.get_by_role("row").filter(has_text=here.owned["ended"])).to_contain_text("Completed")
        expect(table.get_by_role("link")).to_have_count(0)
        expect(page.get_by_role("searchbox")).to_have_count(0)
        page.get_by_label("Status", exact=True).select_option("Completed")
        expect(table.get_by_role("row")).to_have_count(2)

        page.get_by_role("button", name="Clear all").click()
        expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()


def test_the_runs_of_a_batch_are_listed_by_its_id(opened: Opening, idle: Served) -> None:
    runs = [{"task": "desk", "message": f"of the batch {no}"} for no in range(2)]
    batch = idle.http.post("/v1/batches", json={"runs": runs}).json()
    idle.submit(message="of no batch")

    page = opened(idle.base_url)
    box = page.get_by_role("textbox", name="Batch", exact=True)
    box.fill(batch["id"])
    box.press("Enter")

    expect(rows(page)).to_have_count(2)
    expect(rows(page).first).to_contain_text("of the batch 1")
    expect_hash(page, f"/?batch={batch['id']}")


def test_no_run_is_cancelled_that_was_not_counted(opened: Opening, idle: Served) -> None:
    counted = [idle.submit(message=f"counted {number}", tags=["counted"]) for number in range(3)]
    page = opened(f"{idle.base_url}/#/runs?tag=counted")
    expect(rows(page)).to_have_count(3)
    page.get_by_label("Choose all loaded runs").check()
    page.get_by_role("button", name="Choose all that match the filters").click()
    page.get_by_role("region", name="Chosen runs").get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog", name="Cancel 3 runs?")
    expect(dialog).to_be_visible()
    later = idle.submit(message="accepted while the question was open", tags=["counted"])
    dialog.get_by_role("button", name="Cancel 3 runs").click()
    expect(page.get_by_text("3 runs cancelled.")).to_be_visible()

    asked = [idle.http.get(f"/v1/runs/{run}").json()["cancel_requested_at"] is not None for run in [*counted, later]]
    assert asked == [True, True, True, False]


def test_pages_that_are_added_while_another_is_looked_at_again_stay(opened: Opening, idle: Served) -> None:
    batch = [{"task": "desk", "message": f"slow {number}", "tags": ["slow"]} for number in range(MANY)]
    assert idle.http.post("/v1/batches", json={"runs": batch}).status_code == 202
    page = opened(f"{idle.base_url}/#/runs?tag=slow")
    expect(page.get_by_text("The newest 30")).to_be_visible()
    page.get_by_role("table", name="Runs").focus()
    page.keyboard.press("End")
    expect(page.get_by_text("The newest 80")).to_be_visible()
    pages = []

    def is_again(request: Request) -> bool:
        if "cursor=" not in request.url:
            return False
        pages.append(request.url)
        return len(pages) == 1

    # The older page is looked at again, slowly, when the list is to grow.
    with held(page, is_again) as again:
        again.wait()
        page.keyboard.press("End")
        # The next page would arrive meanwhile, if it were asked for now.
        page.evaluate(_SOME_ANSWERS)
        again.release()

        def all_shown() -> bool:
            page.keyboard.press("End")
            return page.get_by_text(f"All {MANY} runs").count() == 1

        until(all_shown, "all runs to be loaded")
        for _ in range(6):  # each of the older pages is looked at again in its turn
            known = len(pages)
            until(lambda known=known: page.evaluate("true") and len(pages) > known, "the next look")  # type: ignore[misc]
            page.evaluate(_SOME_ANSWERS)
            assert page.get_by_text(f"All {MANY} runs").count() == 1
