"""Schedules and webhooks in the administration: made, looked into, turned off and on, and taken away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.console.conftest import Faults, Opening
from tests.console.interception import LostAnswer, held, is_post
from tests.console.test_administration import opened_at, row
from tests.support.access_parts import ALL, OWNER, World, world
from tests.support.schedule_parts import terms


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("schedules-and-webhooks")) as made:
        yield made


@pytest.fixture
def key(here: World) -> str:
    """The secret of a key of the tenant."""
    return here.key(OWNER, *ALL)[1]


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def test_a_schedule_is_made_run_now_paused_and_deleted(here: World, opened: Opening, key: str) -> None:
    page = opened_at(opened, here, key, "schedules")
    expect(row(page, "secretly")).to_contain_text("not now")  # the note of its pause
    press(page, "New schedule")
    form = page.get_by_role("dialog", name="New schedule")
    for label, text in (
        ("Name", "nightly"),
        ("Task", "desk"),
        ("Message", "The report, please."),
        ("Cron", "0 25 * * *"),
    ):
        form.get_by_label(label).fill(text)
    form.get_by_label("Time zone").fill("Europe/Berlin")
    press(page, "Make the schedule")
    expect(form.get_by_role("alert")).to_contain_text("the hour field")
    form.get_by_label("Cron").fill("0 3 * * *")
    press(page, "Make the schedule")
    expect(row(page, "nightly")).to_contain_text("0 3 * * * Europe/Berlin")

    press(page, "Pause nightly")
    expect(row(page, "nightly")).to_contain_text("Paused")
    press(page, "Resume nightly")
    expect(row(page, "nightly")).to_contain_text("Active")

    press(page, "Run now: nightly")
    page.wait_for_url("**/#/runs/run_*")
    run = page.url.rpartition("/")[2]
    page.goto(f"{here.gateway.base_url}/#/administration/schedules/nightly")
    expect(row(page, run)).to_contain_text("submitted")
    page.get_by_role("link", name="All schedules").click()

    press(page, "Delete nightly")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row(page, "nightly")).to_have_count(0)
    assert [one.name for one in here.gateway.store.tenant(OWNER).schedules.schedules()] == ["no-longer", "secretly"]


def test_a_schedule_that_is_run_now_makes_one_run_however_often_the_button_is_pressed(
    here: World, opened: Opening, key: str, faults: Faults
) -> None:
    schedules = here.gateway.store.tenant(OWNER).schedules
    made = schedules.create_schedule("pressed", terms(task="desk"), "key:test")
    page = opened_at(opened, here, key, "schedules")
    page.get_by_role("button", name="Run now: pressed").dblclick()
    page.wait_for_url("**/#/runs/run_*")
    assert len(schedules.ticks(made.id)) == 1

    page.go_back()
    lost = LostAnswer(page, "**/trigger")
    press(page, "Run now: pressed")
    expect(page.get_by_role("status").filter(has_text="something between")).to_be_visible()
    press(page, "Run now: pressed")
    page.wait_for_url("**/#/runs/run_*")
    assert lost.keys[0] is not None and lost.keys[1:] == lost.keys[:1]
    assert len(schedules.ticks(made.id)) == 2
    schedules.remove_schedule(made.id)
    faults.found.clear()  # the 504


def test_a_run_that_is_made_after_the_schedules_were_left_is_told_and_leads_nowhere(
    here: World, opened: Opening, key: str
) -> None:
    schedules = here.gateway.store.tenant(OWNER).schedules
    made = schedules.create_schedule("left", terms(task="desk"), "key:test")
    page = opened_at(opened, here, key, "schedules")
    with held(page, is_post) as sent:
        press(page, "Run now: left")
        sent.wait()
        page.get_by_role("tab", name="Webhooks").click()
        expect(page.get_by_role("button", name="New webhook")).to_be_visible()
        sent.release()
        expect(page.get_by_text("left runs now")).to_be_visible()
    assert page.url.endswith("/administration/webhooks")
    assert len(schedules.ticks(made.id)) == 1
    schedules.remove_schedule(made.id)


def test_a_webhook_is_made_tried_disabled_and_deleted(here: World, opened: Opening, key: str) -> None:
    webhooks = here.gateway.store.tenant(OWNER).webhooks
    page = opened_at(opened, here, key, "webhooks")
    press(page, "New webhook")
    form = page.get_by_role("dialog", name="New webhook")
    form.get_by_label("URL").fill("https://192.168.7.7/hook")
    press(page, "Make the webhook")
    expect(form.get_by_role("alert")).to_contain_text("192.168.7.7")
    form.get_by_label("URL").fill("https://127.0.0.1/hook")
    form.get_by_label("Events").fill("run.failed, human.*")
    press(page, "Make the webhook")
    shown = page.get_by_role("dialog", name="The secret of the webhook")
    assert shown.locator("code").inner_text().startswith("whsec_")
    press(page, "I have kept it")
    made = row(page, "https://127.0.0.1/hook")
    expect(made).to_contain_text("human.answered")
    (found,) = [one for one in webhooks.webhooks() if one.url == "https://127.0.0.1/hook"]

    made.get_by_role("link").click()
    expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
    press(page, "Send a test")
    expect(row(page, "webhook.test")).to_contain_text("To be sent")

    page.get_by_role("link", name="All webhooks").click()
    press(page, f"Disable {found.id}")
    expect(made).to_contain_text("Disabled")
    made.get_by_role("link").click()
    press(page, "Send all that were given up")
    expect(page.get_by_text("is disabled, so nothing is")).to_be_visible()
    page.get_by_role("link", name="All webhooks").click()
    press(page, f"Enable {found.id}")
    expect(made).to_contain_text("Active")
    press(page, f"Delete {found.id}")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(made).to_have_count(0)
    assert found.id not in {one.id for one in webhooks.webhooks()}
