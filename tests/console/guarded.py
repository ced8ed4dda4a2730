"""A server with keys, tenants and spending, for pictures of the sign-in page and of the administration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from playwright.sync_api import Page
from tests.support.gateway_parts import Served, served
from tests.support.schedule_parts import terms
from tests.support.store_parts import asked_run, new_worker
from tests.support.webhook_parts import new_webhook

from turnwise.record.tenants.caller import SCOPES, Scope
from turnwise.record.tenants.keys import NewKey
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Usage

_DAY = 86_400.0
_KEYS: tuple[tuple[str, str, tuple[Scope, ...], float | None], ...] = (
    ("the shop's backend", "shop", ("runs:read", "runs:write"), 90 * _DAY),
    ("nightly report", "shop", ("runs:read",), 30 * _DAY),
    ("support desk", "support", ("runs:read", "runs:write"), None),
)


@dataclass(frozen=True, kw_only=True)
class GuardedShop:
    """The server, and the secret of an operator's key."""

    gateway: Served
    secret: str


@contextmanager
def guarded_shop(folder: Path) -> Iterator[GuardedShop]:
    """A server that asks for keys, two tenants of which have spent something."""
    with served(folder, auth="keys") as gateway:
        operator = gateway.store.operator()
        for name, tenant, scopes, lifetime in _KEYS:
            operator.create_key(
                NewKey(tenant=tenant, name=name, scopes=scopes, lifetime=lifetime, created_by="cli:ann")
            )
        new = NewKey(tenant="default", name="Ann", scopes=SCOPES, lifetime=7 * _DAY, created_by="cli:ann")
        _, secret = operator.create_key(new)
        ended, _ = operator.create_key(NewKey(tenant="shop", name="old backend", scopes=SCOPES, created_by="cli:ann"))
        operator.revoke_key(ended.id)
        spend(gateway, "shop", "2.70")
        operator.set_tenant_limits(
            "shop",
            TenantLimits(day_max_cost=Decimal("3.00"), month_max_cost=Decimal("50.00"), day_max_tokens=200_000),
        )
        plan(gateway)
        yield GuardedShop(gateway=gateway, secret=secret.text)


def plan(gateway: Served) -> None:
    """Schedules and webhooks of the operator's own tenant."""
    record = gateway.store.tenant("default")
    for name, timing in (
        ("morning-report", {"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin"}),
        ("stock-check", {"every": 3_600.0}),
    ):
        record.schedules.create_schedule(name, terms(task="desk", **timing), "cli:ann")
    paused = record.schedules.create_schedule("newsletter", terms(task="desk", cron="30 9 1 * *"), "cli:ann")
    record.schedules.pause_schedule(paused.id, "until the new texts are agreed", "cli:ann")
    for url, events in (
        ("https://shop.example/hooks/turnwise", ()),
        ("https://alerts.example/in?team=support", ("run.failed", "human.asked")),
    ):
        record.webhooks.create_webhook(new_webhook(*events, url=url, origin=url, created_by="cli:ann"))


def spend(gateway: Served, tenant: str, cost: str, model: str = "large") -> None:
    """A call of that price for a run of the tenant."""
    store = gateway.store
    asked_run(store, "spend", run={"tenant": tenant})
    claim = store.worker.claim("spend", new_worker(store, "spend"))
    assert claim is not None
    used = Usage(prompt_tokens=1_000, completion_tokens=500, cost=Decimal(cost), model=model)
    store.worker.reply(claim, Reply(kind="answer", usage=used))


def sign_in(page: Page, key: str) -> None:
    """Sign in on the page that asks for a key."""
    page.get_by_label("API key or token").fill(key)
    page.get_by_role("button", name="Sign in").click()


def signed_in_at(place: str, sight: str) -> Callable[[Page, GuardedShop], None]:
    """A place of the administration, once that text is in sight."""

    def show(page: Page, here: GuardedShop) -> None:
        page.goto(f"{here.gateway.base_url}/#/administration/{place}")
        sign_in(page, here.secret)
        page.get_by_text(sight).first.wait_for()

    return show


def at_the_door(page: Page, here: GuardedShop) -> None:
    """The sign-in page."""
    page.goto(here.gateway.base_url)
    page.get_by_label("API key or token").wait_for()
