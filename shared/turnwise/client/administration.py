"""What administrators ask the gateway: keys, tenants, pauses, spend, the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal
from urllib.parse import quote

from turnwise.client.requests import Requests

Json = dict[str, Any]
PauseKind = Literal["queue", "task", "tenant"]


class Administration(Requests):
    """See the page about tenants and access for who may do what."""

    def create_key(
        self, name: str, scopes: Sequence[str], *, tenant: str | None = None, expires_in: float | None = None
    ) -> Json:
        """Make an API key; only this answer has its `secret`. `expires_in` is in seconds, None: it does not expire.

        `scopes` are some of "runs:read", "runs:write" and "admin". Only operators name a `tenant` that is not theirs.
        """
        given = {"tenant": tenant, "expires_in": expires_in}
        body = {"name": name, "scopes": list(scopes)}
        return self._call("POST", "/v1/keys", json=body | _present(given))

    def keys(self, *, cursor: str | None = None, limit: int = 100) -> Json:
        """A page of keys, newest first: `items`, and `next_cursor` to ask for the next one."""
        return self._call("GET", "/v1/keys", params=_present({"cursor": cursor, "limit": limit}))

    def rotate_key(self, key_id: str, *, overlap: float = 86_400.0) -> Json:
        """Make a key in the place of another, which works for `overlap` seconds more; the new one with its `secret`."""
        return self._call("POST", f"/v1/keys/{quote(key_id, safe='')}/rotate", json={"overlap": overlap})

    def revoke_key(self, key_id: str) -> Json:
        """Take a key back for good; it is refused everywhere within 5 s."""
        return self._call("DELETE", f"/v1/keys/{quote(key_id, safe='')}")

    def tenants(self, *, cursor: str | None = None, limit: int = 100) -> Json:
        """A page of the tenants that have limits of their own, by name."""
        return self._call("GET", "/v1/tenants", params=_present({"cursor": cursor, "limit": limit}))

    def tenant(self, tenant_id: str) -> Json:
        """What a tenant may use: `own_limits`, and the `limits` that are in force."""
        return self._call("GET", f"/v1/tenants/{quote(tenant_id, safe='')}")

    def set_tenant(
        self,
        tenant_id: str,
        *,
        day_max_cost: Decimal | None = None,
        day_max_tokens: int | None = None,
        month_max_cost: Decimal | None = None,
        month_max_tokens: int | None = None,
        requests_per_minute: int | None = None,
        max_unfinished_runs: int | None = None,
    ) -> Json:
        """Give a tenant limits of its own; None takes the installation's setting, 0 is no limit. For operators."""
        body = {
            "day_max_cost": _money(day_max_cost),
            "day_max_tokens": day_max_tokens,
            "month_max_cost": _money(month_max_cost),
            "month_max_tokens": month_max_tokens,
            "requests_per_minute": requests_per_minute,
            "max_unfinished_runs": max_unfinished_runs,
        }
        return self._call("PUT", f"/v1/tenants/{quote(tenant_id, safe='')}", json=_present(body))

    def pauses(self) -> list[Json]:
        """The queues, tasks and tenants that are paused."""
        items: list[Json] = self._call("GET", "/v1/pauses")["items"]
        return items

    def pause(self, kind: PauseKind, name: str, reason: str | None = None) -> Json:
        """Pause a "queue", a "task" or a "tenant": nothing of it is begun or claimed until `resume`. For operators."""
        return self._call("PUT", _pause_path(kind, name), json=_present({"reason": reason}))

    def resume(self, kind: PauseKind, name: str) -> Json:
        """End a pause, and return it as it was; `NotFoundError` if there is none. For operators."""
        return self._call("DELETE", _pause_path(kind, name))

    def usage(self, first: str | None = None, last: str | None = None, *, tenant: str | None = None) -> Json:
        """Spend between two days (2026-11-22, UTC) by day, task and model; by default of this month until today."""
        return self._call("GET", "/v1/usage", params=_present({"first": first, "last": last, "tenant": tenant}))

    def audit(self, *, cursor: str | None = None, limit: int = 100) -> Json:
        """A page of the audit log, newest first."""
        return self._call("GET", "/v1/audit", params=_present({"cursor": cursor, "limit": limit}))


def _pause_path(kind: str, name: str) -> str:
    return f"/v1/pauses/{quote(kind, safe='')}/{quote(name, safe='')}"


def _present(given: Json) -> Json:
    return {name: value for name, value in given.items() if value is not None}


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")
