"""Actions on the page of a run: answer, resolve, change the limits, cancel, retry and fork."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Opening
from tests.console.interception import held, is_post
from tests.console.run_model import failures
from tests.console.run_pages import RunDesk, show, status

from turnwise.testing.fake_llm.answer import ScriptedFault


@pytest.fixture
def page(opened: Opening) -> Page:
    return opened("about:blank", viewport={"width": 1280, "height": 900})


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


def test_only_the_limit_that_was_typed_is_changed_and_an_emptied_one_is_lifted(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("asker", max_tokens=40_000)
    show(page, run_desk, run_id)

    page.get_by_role("button", name="Limits").click()
    run_desk.client.change_limits(run_id, max_tokens=90_000)
    page.get_by_label("Most cost in US dollars").fill("2.00")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    limits = run_desk.client.run(run_id).limits
    assert (limits.max_cost, limits.max_tokens) == ("2.00", 90_000)

    page.get_by_role("button", name="Limits").click()
    page.get_by_label("Most cost in US dollars").fill("")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    limits = run_desk.client.run(run_id).limits
    assert (limits.max_cost, limits.max_tokens) == ("0", 90_000)
    run_desk.client.cancel(run_id)


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


def test_a_fork_that_is_made_after_its_dialog_was_left_is_told_and_leads_nowhere(page: Page, run_desk: RunDesk) -> None:
    run_id = run_desk.run("desk")
    show(page, run_desk, run_id)
    with held(page, is_post) as sent:
        for answered in (True, False):
            page.get_by_role("article").nth(1).get_by_role("button", name="Fork").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("button", name="Fork", exact=True).click()
            sent.wait()
            dialog.get_by_role("button", name="Back").click()
            sent.release() if answered else sent.fulfil(status=413)
            expect(page.get_by_text("The fork is made." if answered else "Not done: ")).to_be_visible()
    assert page.url.endswith(f"/runs/{run_id}")
