"""The quotas of a tenant over HTTP, its usage, and the audit log of both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from tests.e2e.waiting import until
from tests.support.access_parts import ALL, OPERATOR, World, world
from tests.support.brokers import fresh_redis
from tests.support.store_parts import asked_run, new_worker

from turnwise.api.access import TenantView
from turnwise.base.ids import new_id
from turnwise.client import Client
from turnwise.errors import NotFoundError, PermissionDeniedError, QuotaExceededError
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Usage

GOOD = {"task": "desk", "message": "hello"}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("quotas"), tenant_requests_per_minute=1_000) as made:
        yield made


def headers(here: World, tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {here.key(tenant, *ALL)[1]}"}


def client(here: World, tenant: str) -> Client:
    return Client(here.gateway.base_url, here.key(tenant, *ALL)[1])


def test_a_tenant_may_ask_so_often_in_a_minute_whatever_its_keys_and_others_are_not_hindered(here: World) -> None:
    tenant = new_id("t")
    here.gateway.store.operator().set_tenant_limits(tenant, TenantLimits(requests_per_minute=3))

    answers = [here.gateway.http.get("/v1/tasks", headers=headers(here, tenant)) for _ in range(4)]
    other = here.gateway.http.get("/v1/tasks", headers=headers(here, new_id("t")))

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"requests";q=3;w=60'
    assert [answer.headers["ratelimit"].split(";")[1] for answer in answers] == ["r=2", "r=1", "r=0", "r=0"]
    refused = answers[-1]
    assert refused.json()["code"] == "too_many_requests"
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert other.status_code == 200
    assert other.headers["ratelimit-policy"] == '"requests";q=1000;w=60'


@pytest.mark.redis
def test_gateways_that_share_a_redis_count_together(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    tenant = new_id("t")
    with fresh_redis() as url:
        limit = {"rate_storage_url": url, "tenant_requests_per_minute": 2}
        with world(tmp_path / "one", **limit) as one, world(tmp_path / "other", **limit) as other:
            answers = [each.gateway.http.get("/v1/tasks", headers=headers(each, tenant)) for each in (one, other, one)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]


def test_while_the_counter_is_away_nobody_is_refused(tmp_path: Path) -> None:
    with world(tmp_path, rate_storage_url="redis://127.0.0.1:1/0", tenant_requests_per_minute=1) as lonely:
        key = headers(lonely, "acme")

        assert [lonely.gateway.http.get("/v1/tasks", headers=key).status_code for _ in range(2)] == [200, 200]


def test_so_many_runs_at_a_time(here: World) -> None:
    tenant = new_id("t")
    here.gateway.store.operator().set_tenant_limits(tenant, TenantLimits(max_unfinished_runs=1))
    with client(here, tenant) as asking:
        run = asking.submit("desk", "hello")

        with pytest.raises(QuotaExceededError, match="may have 1 at a time") as refused:
            asking.submit("desk", "hello")
        here.gateway.finish(run.id)
        asking.submit("desk", "hello")

    assert (refused.value.code, refused.value.retry_after) == ("too_many_runs", 5.0)


def test_an_operator_sets_limits_and_an_administrator_sees_his_own(here: World) -> None:
    tenant = new_id("t")
    with client(here, OPERATOR) as operator, client(here, tenant) as own:
        assert own.tenant(tenant).updated_at is None
        made = operator.set_tenant(tenant, day_max_cost=Decimal("5.00"), max_unfinished_runs=0)
        seen, listed = own.tenant(tenant), own.tenants()
        with pytest.raises(PermissionDeniedError, match="for operators"):
            own.set_tenant(tenant, day_max_cost=Decimal(500))

    assert TenantView.model_validate(seen.model_dump(exclude={"used"})) == made == listed.items[0]
    assert (made.own_limits.day_max_cost, made.own_limits.max_unfinished_runs) == ("5.00", 0)
    assert (made.limits.max_unfinished_runs, made.limits.requests_per_minute) == (None, 1_000)


def test_usage_is_told_by_day_task_and_model_to_the_tenant_and_to_operators(here: World) -> None:
    tenant, store = new_id("t"), here.gateway.store
    worker = new_worker(store, "spend")
    for cost in ("0.10", "0.20"):
        asked_run(store, "spend", run={"tenant": tenant})
        claim = store.worker.claim("spend", worker)
        assert claim is not None
        used = Usage(prompt_tokens=5, completion_tokens=1, cost=Decimal(cost), model="large")
        store.worker.reply(claim, Reply(kind="answer", usage=used))
    with client(here, tenant) as own, client(here, OPERATOR) as operator, client(here, new_id("t")) as other:
        mine, theirs = own.usage(), operator.usage(tenant=tenant)
        with pytest.raises(PermissionDeniedError):
            other.usage(tenant=tenant)
        assert other.usage().items == []
        shown = own.tenant(tenant).used
        with pytest.raises(NotFoundError):
            other.tenant(tenant)

    [row] = mine.items
    assert (row.day, row.task, row.model) == (datetime.now(UTC).date(), "triage", "large")
    assert (row.calls, row.prompt_tokens, row.cost) == (2, 10, "0.30")
    assert mine.total.cost == "0.30"
    assert theirs == mine
    assert (shown.day_cost, shown.day_tokens, shown.month_cost, shown.month_tokens) == ("0.30", 12, "0.30", 12)


def test_the_audit_log_tells_what_was_done_and_what_was_refused_and_no_secret(here: World) -> None:
    tenant = new_id("t")
    here.gateway.store.operator().set_tenant_limits(tenant, TenantLimits(max_unfinished_runs=1))
    key = headers(here, tenant) | {"X-Request-Id": "order-17"}
    http = here.gateway.http
    run = http.post("/v1/runs", json=GOOD, headers=key).json()["id"]
    http.post(f"/v1/runs/{here.owned['waiting']}/cancel", headers=key)
    http.post("/v1/runs", json=GOOD | {"task": "nobody"}, headers=key)
    http.get("/v1/runs/run_0", headers=key)  # changes nothing, so nobody has to know
    # A caller over its limit is refused, which is not written into the log.
    assert http.post("/v1/runs", json=GOOD, headers=key).status_code == 429
    made = http.post("/v1/keys", json={"name": "x", "scopes": ["admin"]}, headers=key)

    page = http.get("/v1/audit", headers=key).json()

    told = [(row["action"], row["resource"], row["outcome"], row["status"]) for row in page["items"]]
    assert told == [
        ("create_key", made.json()["id"], "done", None),
        ("submit", "/v1/runs", "refused", 422),
        ("cancel_run", f"/v1/runs/{here.owned['waiting']}/cancel", "refused", 404),
        ("submit", run, "done", None),
    ]
    assert {(row["tenant"], row["address"], row["request_id"]) for row in page["items"]} == {
        (tenant, "127.0.0.1", "order-17")
    }
    assert made.headers["x-request-id"] == "order-17"
    assert all(row["actor"] == f"key:{key['Authorization'][10:22]}" for row in page["items"])
    assert made.json()["secret"].split("_")[2] not in str(page)


def test_a_key_that_is_taken_back_is_refused_soon(here: World) -> None:
    record, key = here.key("acme-1", *ALL)
    http, sent = here.gateway.http, {"Authorization": f"Bearer {key}"}
    assert http.get("/v1/tasks", headers=sent).status_code == 200

    here.gateway.store.operator().revoke_key(record.id)
    answers: list[int] = []

    def is_refused() -> bool:
        answers.append(http.get("/v1/tasks", headers=sent).status_code)
        return answers[-1] != 200

    until(is_refused, "the key to be refused", patience=30)
    assert answers[-1] == 401


def test_where_a_request_comes_from_is_said_by_trusted_proxies_only(tmp_path: Path) -> None:
    def seen(folder: Path, **settings: object) -> str:
        folder.mkdir()
        with world(folder, **settings) as made:
            sent = headers(made, "acme") | {"X-Forwarded-For": "203.0.113.7"}
            answer: httpx2.Response = made.gateway.http.post("/v1/runs", json=GOOD, headers=sent)
            assert answer.status_code == 202
            address = made.gateway.store.administrator(OneTenant("acme")).audit()[0].address
        assert address is not None
        return address

    assert seen(tmp_path / "none") == "127.0.0.1"
    assert seen(tmp_path / "trusted", trusted_proxies=["127.0.0.1"]) == "203.0.113.7"
