"""The administration: keys, limits with what is left, pauses, usage and the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.console.conftest import Faults, Opening
from tests.console.guarded import sign_in, spend
from tests.console.interception import LostAnswer
from tests.support.access_parts import ALL, OPERATOR, OWNER, World, world

from turnwise.record.tenants.caller import ADMIN, RUNS_READ
from turnwise.record.tenants.tenant import TenantLimits


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("administration")) as made:
        yield made


@pytest.fixture
def operator(here: World) -> str:
    """The secret of an operator's key."""
    return here.key(OPERATOR, *ALL)[1]


def opened_at(opened: Opening, here: World, key: str, place: str) -> Page:
    """A page of the administration, signed in."""
    page = opened(f"{here.gateway.base_url}/#/administration/{place}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    sign_in(page, key)
    expect(page.get_by_role("heading", name="Administration")).to_be_visible()
    return page


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


def status_with(here: World, key: str) -> int:
    return httpx2.get(f"{here.gateway.base_url}/v1/runs", headers={"Authorization": f"Bearer {key}"}).status_code


def test_a_key_is_made_shown_once_replaced_and_revoked(here: World, opened: Opening, operator: str) -> None:
    page = opened_at(opened, here, operator, "keys")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Name").fill("the shop's <b>backend</b>")
    form.get_by_label("Tenant").fill("shop-1")
    form.get_by_label("submit, answer").uncheck()
    form.get_by_label("It works for").select_option("7 days")
    form.get_by_role("button", name="Make the key").click()

    shown = page.get_by_role("dialog", name="The key of the shop's <b>backend</b>")
    shown.get_by_role("button", name="Copy").click()
    expect(shown.get_by_role("status")).to_have_text("Copied")
    secret = str(page.evaluate("navigator.clipboard.readText()"))
    assert (secret[:3], shown.locator("code").inner_text()) == ("tw_", secret)
    assert status_with(here, secret) == 200
    shown.get_by_role("button", name="I have kept it").click()
    made = row(page, "the shop's <b>backend</b>")
    for text in ("shop-1", "Works", "runs:read", "in 6 d"):
        expect(made).to_contain_text(text)
    assert secret not in page.content()

    made.get_by_role("button", name="Rotate").click()
    page.get_by_label("How long the old key still works").select_option("One more hour")
    page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
    shown.wait_for()
    page.keyboard.press("Escape")  # a secret is not lost by a slip
    assert shown.locator("code").inner_text() != secret
    shown.get_by_role("button", name="I have kept it").click()
    old = made.filter(has_text=secret[:15])
    expect(old).to_contain_text("Being replaced")

    old.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog", name="Revoke this key?").get_by_role("button", name="Back").click()
    assert status_with(here, secret) == 200
    old.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(old).to_contain_text("Revoked")
    expect(old.get_by_role("button")).to_have_count(0)
    while (status := status_with(here, secret)) == 200:  # for 5 s at most, in which a gateway remembers it
        pass
    assert status == 401


def test_whoever_revokes_his_own_key_is_warned_and_signed_out(here: World, opened: Opening) -> None:
    record, secret = here.key("alone-1", RUNS_READ, ADMIN)
    page = opened_at(opened, here, secret, "keys")
    row(page, record.prefix).get_by_role("button", name="Revoke").click()
    dialog = page.get_by_role("dialog", name="Revoke this key?")
    expect(dialog).to_contain_text("You are signed in with this key")
    dialog.get_by_role("button", name="Revoke").click()

    expect(page.get_by_text("Your sign-in has ended.")).to_be_visible()
    assert page.context.cookies() == []
    assert here.gateway.store.authentication.find_key(record.prefix) is None


def test_whoever_rotates_his_own_key_stays_signed_in_with_the_secret_in_sight(here: World, opened: Opening) -> None:
    record, secret = here.key("alone-2", RUNS_READ, ADMIN)
    other, _ = here.key("alone-2", RUNS_READ)
    page = opened_at(opened, here, secret, "keys")
    row(page, other.prefix).get_by_role("button", name="Rotate").click()
    dialog = page.get_by_role("dialog", name="Rotate")
    expect(dialog.get_by_role("option", name="It ends at once")).to_have_count(1)
    dialog.get_by_role("button", name="Back").click()

    row(page, record.prefix).get_by_role("button", name="Rotate").click()
    expect(dialog).to_contain_text("You are signed in with this key.")
    expect(dialog.get_by_role("option", name="It ends at once")).to_have_count(0)
    dialog.get_by_label("How long the old key still works").select_option(index=0)
    dialog.get_by_role("button", name="Rotate").click()

    shown = page.locator(".secret-text")
    expect(row(page, record.prefix).filter(has_text="Being replaced")).to_be_visible()  # the list was asked for again
    assert status_with(here, secret) == status_with(here, shown.inner_text()) == 200


def test_what_the_server_refuses_is_told_in_the_form(here: World, opened: Opening, operator: str) -> None:
    page = opened_at(opened, here, operator, "keys")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Name").fill("x")
    form.get_by_label("Tenant").fill("Not a tenant!")
    form.get_by_role("button", name="Make the key").click()

    expect(form.get_by_role("alert")).to_contain_text("tenant")
    form.get_by_label("Tenant").fill("fine-1")
    form.get_by_role("button", name="Make the key").click()
    expect(page.get_by_role("dialog", name="The key of x")).to_be_visible()


def test_a_key_whose_answer_was_lost_is_not_made_twice(
    here: World, opened: Opening, operator: str, faults: Faults
) -> None:
    page = opened_at(opened, here, operator, "keys")
    lost = LostAnswer(page, "**/v1/keys")
    page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    form.get_by_label("Name").fill("made once")
    form.get_by_role("button", name="Make the key").click()
    expect(form.get_by_role("alert")).to_contain_text("The server answered 504")
    form.get_by_role("button", name="Make the key").click()
    expect(form.get_by_role("alert")).to_contain_text("already_done")
    assert lost.keys[0] is not None and lost.keys[1:] == lost.keys[:1]

    form.get_by_role("button", name="Back").click()
    expect(row(page, "made once")).to_have_count(1)
    faults.found.clear()  # the 504


def test_an_operator_sees_what_is_left_and_sets_limits(here: World, opened: Opening, operator: str) -> None:
    spend(here.gateway, "spender-1", "2.70", "large")
    here.gateway.store.operator().set_tenant_limits("spender-1", TenantLimits(day_max_cost=Decimal("3.00")))
    page = opened_at(opened, here, operator, "tenants")
    page.get_by_role("link", name="spender-1").click()

    used = page.get_by_role("region", name="Used")
    expect(used.get_by_role("meter", name="Cost today")).to_have_attribute("aria-valuenow", "2.7")
    expect(used).to_contain_text("$2.70 of $3.00, $0.30 left")
    expect(used).to_contain_text("1,500, no limit")
    form = page.get_by_role("form", name="Limits of spender-1")
    form.get_by_label("Tokens a month").fill("a lot")
    form.get_by_role("button", name="Set these limits").click()
    expect(form.get_by_role("alert")).to_contain_text("month_max_tokens")
    form.get_by_label("Tokens a month").fill("1500")
    form.get_by_label("Cost a day").fill("2.50")
    form.get_by_role("button", name="Set these limits").click()
    expect(used).to_contain_text("$2.70 of $2.50, nothing left")
    expect(used).to_contain_text("1,500 of 1,500, nothing left")

    limits = here.gateway.store.operator().find_tenant("spender-1")
    assert limits is not None
    assert limits.limits == TenantLimits(day_max_cost=Decimal("2.50"), month_max_tokens=1_500)


def test_limits_that_someone_else_sets_meanwhile_stay(here: World, opened: Opening, operator: str) -> None:
    record = here.gateway.store.operator()
    record.set_tenant_limits("shared-1", TenantLimits(month_max_cost=Decimal(100)))
    page = opened_at(opened, here, operator, "tenants/shared-1")
    form = page.get_by_role("form", name="Limits of shared-1")
    expect(form.get_by_label("Cost a month")).to_have_value("100")
    form.get_by_label("Tokens a day").fill("7000")

    record.set_tenant_limits("shared-1", TenantLimits(month_max_cost=Decimal(20), day_max_cost=Decimal(3)))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # the page looks again at once
    expect(form.get_by_label("Cost a day")).to_have_value("3")
    expect(form.get_by_label("Tokens a day")).to_have_value("7000")
    form.get_by_role("button", name="Set these limits").click()
    expect(form.get_by_text("In force: 7,000")).to_be_visible()
    kept = TenantLimits(month_max_cost=Decimal(20), day_max_cost=Decimal(3), day_max_tokens=7_000)
    found = record.find_tenant("shared-1")
    assert found is not None and found.limits == kept

    expect(form.get_by_role("button", name="Set these limits")).to_be_enabled()
    record.set_tenant_limits("shared-1", TenantLimits(day_max_tokens=9_000))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(form.get_by_label("Tokens a day")).to_have_value("9000")


def test_another_administrator_sees_the_limits_of_his_tenant_and_no_form(here: World, opened: Opening) -> None:
    page = opened_at(opened, here, here.key(OWNER, ADMIN)[1], "tenants")

    expect(page.get_by_role("heading", name=f"Limits of {OWNER}")).to_be_visible()
    expect(page.get_by_text("no limit (from the settings)")).to_have_count(6)
    expect(page.get_by_role("form")).to_have_count(0)
    page.get_by_role("tab", name="Pauses").click()
    expect(page.get_by_text("Operators pause and resume.")).to_be_visible()
    expect(page.get_by_role("form")).to_have_count(0)


def test_work_is_paused_and_resumed(here: World, opened: Opening, operator: str) -> None:
    page = opened_at(opened, here, operator, "pauses")
    form = page.get_by_role("form", name="Pause something")
    form.get_by_label("Pause a").select_option("Task")
    form.get_by_label("Name").fill("dsk")
    form.get_by_role("button", name="Pause").click()
    expect(form.get_by_role("alert")).to_contain_text("there are: desk")

    form.get_by_label("Name").fill("desk")
    form.get_by_label("Reason").fill("a look at its prompt")
    form.get_by_role("button", name="Pause").click()
    paused = row(page, "Task desk")
    expect(paused).to_contain_text("a look at its prompt")
    assert ("task", "desk") in {(one.kind, one.name) for one in here.gateway.store.operator().pauses()}

    paused.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog", name="End this pause?").get_by_role("button", name="Resume").click()
    expect(paused).to_have_count(0)
    assert ("task", "desk") not in {(one.kind, one.name) for one in here.gateway.store.operator().pauses()}


def test_usage_is_added_up_by_day_and_by_task_and_model(here: World, opened: Opening, operator: str) -> None:
    for cost, model in (("0.10", "large"), ("0.20", "small"), ("0.30", "small")):
        spend(here.gateway, "user-1", cost, model)
    page = opened_at(opened, here, operator, "usage?tenant=user-1")

    expect(page.get_by_role("definition").filter(has_text="$0.60")).to_be_visible()
    expect(row(page, "small")).to_contain_text("$0.50")
    expect(row(page, "large")).to_contain_text("1,500")
    page.get_by_label("Month (UTC)").fill("2020-02")
    expect(page.get_by_text("No model was called for user-1 in this month.")).to_be_visible()
    assert "month=2020-02" in page.url


def test_the_audit_log_is_shown_page_by_page(here: World, opened: Opening) -> None:
    tenant = "audited-1"
    _, secret = here.key(tenant, *ALL)
    bearer = {"Authorization": f"Bearer {secret}"}
    for number in range(60):
        here.gateway.http.post(f"/v1/runs/run_{number}/cancel", headers=bearer)
    page = opened_at(opened, here, secret, "audit")
    rows = page.get_by_role("table", name="Audit log").get_by_role("row")

    expect(rows).to_have_count(51)
    expect(rows.nth(1)).to_contain_text("sign_in")
    expect(rows.nth(2)).to_contain_text("404")
    expect(rows.nth(2)).to_contain_text("/v1/runs/run_59/cancel")
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(62)
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)
