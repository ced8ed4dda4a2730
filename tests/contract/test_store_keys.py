"""API keys and the audit log on both databases."""

from __future__ import annotations

import re
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.store_parts import new_run

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.database.access_schema import audit
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.store import Store
from turnwise.record.tenants.api_key import ApiKey
from turnwise.record.tenants.caller import Deed
from turnwise.record.tenants.keys import KeyRecord, NewKey
from turnwise.record.tenants.reach import OneTenant
from turnwise.record.tenants.tenant import TenantLimits


def new_key(store: Store, tenant: str = "acme", **changes: Any) -> tuple[KeyRecord, ApiKey]:
    given = {"name": "shop", "scopes": ("runs:read",), "created_by": "test"} | changes
    return store.operator().create_key(NewKey(tenant=tenant, **given))


def test_a_key_is_found_by_its_prefix_and_nothing_that_is_kept_would_open_the_door(store: Store) -> None:
    record, secret = new_key(store, lifetime=100.0)

    found = store.authentication.find_key(secret.prefix)

    assert found is not None
    assert found.key == record
    assert secret.has_hash(found.hash)
    assert found.seconds_left == pytest.approx(100, abs=10)
    assert (found.limits, found.use_is_noted) == (TenantLimits(), False)
    with store.database.read() as connection:
        kept = repr(connection.exec_driver_sql(f"SELECT * FROM api_keys WHERE id = '{record.id}'").one())
    assert secret.text.split("_")[2] not in kept
    assert ApiKey.parse(found.hash) is None
    assert secret.text not in repr(secret)


def test_a_key_comes_with_the_limits_of_its_tenant(store: Store) -> None:
    tenant = new_id("tenant")
    _, secret = new_key(store, tenant)
    store.operator().set_tenant_limits(tenant, TenantLimits(requests_per_minute=7))

    found = store.authentication.find_key(secret.prefix)

    assert found is not None
    assert found.limits == TenantLimits(requests_per_minute=7)


def test_a_revoked_key_is_not_found_and_stays_on_the_list(store: Store) -> None:
    record, secret = new_key(store)

    revoked = store.operator().revoke_key(record.id)

    assert store.authentication.find_key(secret.prefix) is None
    assert revoked.revoked_at is not None
    assert store.operator().revoke_key(record.id) == revoked  # twice is once
    assert revoked in store.operator().api_keys()


def test_an_expired_key_is_not_found(store: Store) -> None:
    assert store.authentication.find_key(new_key(store, lifetime=-1.0)[1].prefix) is None


def test_a_rotated_key_works_as_long_as_the_overlap_and_not_longer_than_before(store: Store) -> None:
    record, secret = new_key(store, lifetime=1_000.0, scopes=("runs:read", "admin"))

    new, new_secret = store.operator().rotate_key(record.id, overlap=60.0, created_by="me")
    old = store.authentication.find_key(secret.prefix)

    assert old is not None
    assert old.key.replaced_by == new.id
    assert old.seconds_left == pytest.approx(60, abs=10)
    assert (new.tenant, new.name, new.scopes, new.created_by) == ("acme", "shop", ["runs:read", "admin"], "me")
    assert new.expires_at is not None
    assert new.expires_at - new.created_at == pytest.approx(1_000, abs=1)
    again, _ = store.operator().rotate_key(new.id, overlap=5_000.0, created_by="me")
    last = store.authentication.find_key(new_secret.prefix)
    assert last is not None and last.seconds_left == pytest.approx(1_000, abs=10)
    store.operator().rotate_key(again.id, overlap=0.0, created_by="me")
    assert store.authentication.find_key(again.prefix) is None


@pytest.mark.parametrize("ended", ["revoked", "expired", "already replaced"])
def test_a_key_that_has_ended_is_not_rotated(store: Store, ended: str) -> None:
    record, _ = new_key(store, lifetime=-1.0 if ended == "expired" else None)
    if ended == "revoked":
        store.operator().revoke_key(record.id)
    elif ended == "already replaced":
        store.operator().rotate_key(record.id, overlap=60.0, created_by="me")

    with pytest.raises(ConflictError, match=ended) as refused:
        store.operator().rotate_key(record.id, overlap=60.0, created_by="me")

    assert refused.value.code == "key_ended"


def test_a_tenant_s_administrator_has_its_own_keys_only(store: Store) -> None:
    tenant, other = new_id("tenant"), new_id("tenant")
    mine, theirs = [new_key(store, tenant)[0] for _ in range(3)], new_key(store, other)[0]
    own = store.administrator(OneTenant(tenant))

    assert own.api_keys() == mine[::-1]
    assert own.api_keys(limit=2) + own.api_keys(mine[1].id) == mine[::-1]
    for attempt in (lambda: own.revoke_key(theirs.id), lambda: own.rotate_key(theirs.id, overlap=1, created_by="me")):
        with pytest.raises(NotFoundError, match=re.escape(f"there is no key '{theirs.id}'")):
            attempt()
    assert store.administrator(OneTenant(other)).api_keys() == [theirs]


def test_use_is_noted_once_an_hour(store: Store) -> None:
    record, secret = new_key(store)

    store.authentication.note_use(record.id)
    noted = store.authentication.find_key(secret.prefix)
    store.authentication.note_use(record.id)

    assert noted is not None
    assert noted.use_is_noted
    assert store.authentication.find_key(secret.prefix) == noted


def doing(store: Store, tenant: str, action: str = "submit") -> TenantRole:
    return store.tenant(
        tenant, deed=Deed(actor="key:1", tenant=tenant, action=action, address="::1", request_id="req_1")
    )


def test_what_is_done_is_in_the_log_with_who_did_it_and_what_fails_is_not(store: Store) -> None:
    tenant = new_id("tenant")
    run, _ = doing(store, tenant).submit(new_run(idempotency_key="k", body_hash="h"))
    doing(store, tenant).submit(new_run(idempotency_key="k", body_hash="h"))
    doing(store, tenant, "cancel_run").request_cancel(run.id)
    with pytest.raises(ConflictError):
        doing(store, tenant).submit(new_run(idempotency_key="k", body_hash="other"))
    store.tenant(tenant).request_cancel(run.id)  # on nobody's behalf

    rows = store.administrator(OneTenant(tenant)).audit()

    assert [(row.action, row.resource, row.outcome) for row in rows] == [
        ("cancel_run", run.id, "done"),
        ("submit", run.id, "done"),
    ]
    assert {(row.actor, row.tenant, row.address, row.request_id) for row in rows} == {("key:1", tenant, "::1", "req_1")}
    assert rows[1].at == pytest.approx(run.created_at, abs=1)


def test_the_log_is_paged_and_each_tenant_s_own(store: Store) -> None:
    tenant = new_id("tenant")
    for _ in range(3):
        doing(store, tenant).submit(new_run())
    doing(store, new_id("tenant")).submit(new_run())
    mine = store.administrator(OneTenant(tenant))

    assert len(mine.audit()) == 3
    first = mine.audit(limit=2)
    assert [*first, *mine.audit(first[-1].id)] == mine.audit()


def test_a_row_of_the_log_can_not_be_changed(store: Store) -> None:
    doing(store, "acme").submit(new_run())

    with pytest.raises(sa.exc.DBAPIError, match="rows of audit are not changed"), store.database.engine.begin() as c:
        c.exec_driver_sql("UPDATE audit SET actor = 'nobody'")


def test_old_rows_of_the_log_are_deleted_the_oldest_first_and_young_ones_kept(store: Store) -> None:
    tenant = new_id("tenant")
    doing(store, tenant).submit(new_run())
    # Long before any other test's.
    row = {"tenant": tenant, "actor": "key:1", "action": "old", "outcome": "done"}
    old = [{**row, "id": new_id("aud"), "at": at} for at in (3.0, 1.0, 2.0)]
    with store.database.begin() as connection:
        connection.execute(sa.insert(audit), old)

    assert store.coordinator.forget_old_audit(1e9, limit=2) == 2
    assert {row.at for row in store.administrator(OneTenant(tenant)).audit() if row.action == "old"} == {3.0}
    assert store.coordinator.forget_old_audit(1e9, limit=2) == 1
    assert [row.action for row in store.administrator(OneTenant(tenant)).audit()] == ["submit"]
