"""The tasks of the application: their trees, their tools, and the form that starts a run."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect
from tests.console.conftest import Faults, Opening
from tests.console.guarded import sign_in
from tests.console.interception import held, intercept, is_post
from tests.console.world import Shop, shop
from tests.e2e.waiting import until
from tests.support.access_parts import OWNER, world

from turnwise.record.tenants.caller import RUNS_READ


def test_a_task_is_opened_by_keyboard_and_shows_its_tree_and_tools(desk: Shop, opened: Opening) -> None:
    page = opened(f"{desk.url}/#/tasks")
    expect(page.get_by_role("listitem").filter(has_text="support")).to_contain_text("Calls 1 task: Billing")

    def pressed() -> int:
        page.keyboard.press("j")
        return page.locator(".task-card.marked").count()

    until(pressed, "the list to hear the keyboard, a moment after it is shown")
    for _ in range(4):
        page.keyboard.press("k")
    expect(page.get_by_role("listitem").filter(has_text="support")).to_have_class(re.compile("marked"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{desk.url}/#/tasks/support")
    expect(page).to_have_title(re.compile(r"Task support · Turnwise$"))

    tree = page.get_by_role("region", name="The tree of tasks")
    expect(tree.get_by_role("button")).to_have_count(2)
    billing = page.get_by_role("article", name="Agent Billing")
    tree.get_by_role("button", name="Billing").click()
    expect(billing).to_be_focused()
    expect(billing).to_contain_text("model helper-small")

    tool = billing.get_by_role("group").filter(has_text="refund")
    expect(tool).to_contain_text("Once")
    tool.locator("summary").first.click()
    expect(tool).to_contain_text("a person says whether it happened")
    expect(tool.locator(".parameters")).to_contain_text("numberinteger")


def test_a_run_is_started_with_limits_and_tags(tmp_path: Path, opened: Opening) -> None:
    with shop(tmp_path) as own:
        page = opened(f"{own.url}/#/tasks/handbook")
        page.get_by_label("Message").fill("How do I descale the kettle?")
        page.get_by_label("Session").fill("a session")
        page.get_by_role("button", name="Start").click()
        # The browser itself says what is wrong, and nothing is sent.
        assert page.get_by_label("Session").evaluate("one => one.validity.patternMismatch")
        page.get_by_label("Session").fill("customer-17")
        page.get_by_label("Tags").fill("vip, kettle")
        page.get_by_text("Limits and more").click()
        page.get_by_label("Metadata").fill("{order: 17}")
        expect(page.get_by_text("This is no JSON object")).to_be_visible()
        page.get_by_label("Metadata").fill('{"order": 17}')
        page.get_by_label("Most cost").fill("0.50")
        page.get_by_label("Deadline").fill("90")
        page.get_by_label("At a limit").select_option("Wait for more")
        page.get_by_label("Message").press("Control+Enter")

        page.wait_for_url(re.compile(r"#/runs/run_\w+"))
        [listed] = own.client.runs().items
        run = own.client.run(listed.id)
        assert page.url.endswith(f"#/runs/{run.id}")
        assert (run.task, run.session_id, run.tags, run.metadata) == (
            "handbook",
            "customer-17",
            ["vip", "kettle"],
            {"order": 17},
        )
        assert (run.limits.max_cost, run.limits.deadline, run.limits.on_limit) == ("0.50", 5_400, "wait")


def test_who_may_not_submit_has_no_form_and_an_unknown_task_says_so(opened: Opening, tmp_path: Path) -> None:
    with world(tmp_path) as here:
        page = opened(f"{here.gateway.base_url}/#/tasks/desk")
        sign_in(page, here.key(OWNER, RUNS_READ)[1])
        expect(page.get_by_text("that needs the scope runs:write")).to_be_visible()
        expect(page.get_by_role("button", name="Start")).to_have_count(0)

        page.goto(f"{here.gateway.base_url}/#/tasks/nothing")
        expect(page.get_by_role("alert")).to_contain_text("there is no task 'nothing'")


def test_the_form_of_one_task_is_not_shown_below_another(desk: Shop, opened: Opening, faults: Faults) -> None:
    page = opened(f"{desk.url}/#/tasks/support")
    form = page.get_by_role("region", name="Start a run")
    form.get_by_label("Message").fill("for the support")
    intercept(page, "**/v1/tasks/handbook", lambda route: route.abort())
    page.evaluate("location.hash = '#/tasks/handbook'")
    expect(page.get_by_role("heading", name="handbook", exact=True)).to_be_visible()
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(form).to_have_count(0)

    # The page finds the server again by itself.
    page.unroute("**/v1/tasks/handbook")
    expect(form.get_by_label("Message")).to_have_value("")
    expect(page.get_by_text("The server does not answer")).to_have_count(0)
    faults.found.clear()


def test_a_run_that_is_started_after_its_form_was_left_leads_nowhere_and_a_refusal_is_told(
    tmp_path: Path, opened: Opening
) -> None:
    with shop(tmp_path) as own:
        page = opened(f"{own.url}/#/tasks/handbook")
        message = page.get_by_label("Message")
        with held(page, is_post) as sent:
            for text in ("taken", "refused"):
                message.fill(text)
                page.get_by_role("button", name="Start").click()
                sent.wait()
                page.evaluate("location.hash = '#/batches'")
                expect(page.get_by_role("heading", name="Batches", exact=True)).to_be_visible()
                sent.release() if text == "taken" else sent.fulfil(status=413)
                expect(page.get_by_text("The run is started." if text == "taken" else "Not started: ")).to_be_visible()
                assert page.url.endswith("#/batches")
                page.evaluate("location.hash = '#/tasks/handbook'")
                expect(message).to_have_value("" if text == "taken" else "refused")
        message.fill("refused no more")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url(re.compile(r"#/runs/run_\w+"))
        page.go_back()
        expect(message).to_have_value("")
