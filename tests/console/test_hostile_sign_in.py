"""Hostile content for those who signed in with a key: the administration, the inbox and the chat, each also for axe."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from playwright.sync_api import expect
from tests.console.axe import grave_faults, loaded
from tests.console.conftest import Opening
from tests.console.guarded import sign_in, spend
from tests.console.hostile_runs import HOSTILE, SESSION, TAG, UNBROKEN
from tests.console.test_hostile_content import faults_at
from tests.support.gateway_parts import Served, served
from tests.support.schedule_parts import terms
from tests.support.webhook_parts import new_webhook

from turnwise.record.database.access_schema import api_keys
from turnwise.record.tenants.caller import SCOPES
from turnwise.record.tenants.keys import NewKey
from turnwise.record.tenants.tenant import DEFAULT_TENANT

NAMES = (HOSTILE[:100], TAG, UNBROKEN[:100], "\u202eeman", "العربية ไทย")
ADMINISTRATION = (
    *("keys", "tenants", f"tenants/{DEFAULT_TENANT}", "tenants/nobody", "pauses", "usage", "audit"),
    *("schedules", "schedules/nightly", "webhooks", "webhooks/hook_7"),
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Every text that people and programs may choose says something hostile."""
    with served(tmp_path_factory.mktemp("hostile-keys"), auth="keys") as made:
        secret = key(made)
        headers = {"Authorization": f"Bearer {secret}"}
        for name in NAMES:
            made.store.operator().create_key(
                NewKey(tenant=DEFAULT_TENANT, name=name, scopes=SCOPES, created_by=f"cli:{name}")
            )
        reason = f"{TAG}<script>window.taken = 'reason'</script>"
        paused = made.http.put("/v1/pauses/queue/llm", json={"reason": reason}, headers=headers)
        assert paused.status_code == 200, paused.text
        record = made.store.tenant(DEFAULT_TENANT)
        schedule = record.schedules.create_schedule("nightly", terms(task="desk"), f"key:{TAG}")
        record.schedules.pause_schedule(schedule.id, HOSTILE[:300], f"key:{TAG}")
        url = f"https://example.com/{UNBROKEN[:100]}"
        record.webhooks.create_webhook(new_webhook(id="hook_7", url=url, description=HOSTILE[:300]))
        record.webhooks.test_webhook("hook_7")
        spend(made, DEFAULT_TENANT, "1.00", model=HOSTILE[:100])
        made.http.headers.update(headers)
        for text in (HOSTILE, UNBROKEN):
            made.ask_human(made.submit(message=text, session_id=SESSION, tags=[TAG]), text)
        yield made


def key(gateway: Served) -> str:
    new = NewKey(tenant=DEFAULT_TENANT, name=HOSTILE[:60], scopes=SCOPES, created_by="test")
    return gateway.store.operator().create_key(new)[1].text


def end_all_keys(gateway: Served) -> None:
    with gateway.store.database.begin() as connection:
        connection.execute(sa.update(api_keys).values(expires_at=1.0))


@pytest.mark.parametrize("width", [1280, 360])
def test_what_others_named_and_wrote_is_text_in_the_administration_the_inbox_and_the_chat(
    opened: Opening, gateway: Served, width: int
) -> None:
    url = gateway.base_url
    page = opened(f"{url}/#/inbox", viewport={"width": width, "height": 740}, bypass_csp=True, reduced_motion="reduce")
    sign_in(page, key(gateway))
    places = ["inbox", "chat", f"chat/desk?session={SESSION}", *(f"administration/{one}" for one in ADMINISTRATION)]
    faults = []
    for place in places:
        page.goto(f"{url}/#/{place}")
        loaded(page)
        # Refresh is paler while the list is asked for.
        expect(page.locator(".toolbar button:disabled")).to_have_count(0)
        faults += faults_at(page, place) + grave_faults(page)
    page.goto(f"{url}/#/administration/keys")
    loaded(page)
    for name in ("New key", "Rotate", "Revoke"):
        page.get_by_role("button", name=name).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        faults += faults_at(page, name) + grave_faults(page)
        page.keyboard.press("Escape")

    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize("place", ["inbox", f"chat/desk?session={SESSION}"])
def test_a_key_that_expires_while_one_writes_is_asked_for_again_and_nothing_was_sent(
    opened: Opening, gateway: Served, place: str
) -> None:
    page = opened(f"{gateway.base_url}/#/{place}")
    sign_in(page, key(gateway))
    # Until the key is taken, the page's last text box is the one for the key.
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
    if place == "inbox":
        page.locator(".inbox-head").first.click()
    page.get_by_role("main").get_by_role("textbox").last.fill("half a sentence")
    end_all_keys(gateway)

    expect(page.get_by_text("Your sign-in has ended.")).to_be_visible()
    expect(page.get_by_role("main")).not_to_contain_text("onerror")
    sign_in(page, key(gateway))
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
    loaded(page)
    assert page.url.endswith(f"/#/{place}")
    assert "half a sentence" not in repr(gateway.store.tenant(DEFAULT_TENANT).runs())
