"""API keys: made, listed, replaced and taken back by administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from turnwise.api.access import KeyView, NewKeyView
from turnwise.api.pages import Page
from turnwise.base.times import when
from turnwise.errors import ConflictError
from turnwise.record.tenants.api_key import ApiKey
from turnwise.record.tenants.caller import known_scopes
from turnwise.record.tenants.keys import KeyRecord, NewKey
from turnwise_gateway.access.scopes import ADMINISTERS
from turnwise_gateway.bodies import KeyRequest, Rotation
from turnwise_gateway.gateway import Administered, Administration, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import After, Limit

router = api_router("access", "/v1/keys")


@router.post("", status_code=201, dependencies=[ADMINISTERS], responses=problems(400, 409, 413, 415, 422, 503))
def create_key(body: KeyRequest, gateway: Administered, caller: Who) -> NewKeyView:
    """Make a key. Operators may make one for any tenant, other administrators for their own."""
    _refuse_where_unused(gateway)
    tenant = body.tenant or caller.tenant
    gateway.record.require_tenant(tenant)
    scopes = known_scopes(body.scopes)
    new = NewKey(tenant=tenant, name=body.name, scopes=scopes, lifetime=body.expires_in, created_by=caller.name)
    return _with_secret(*gateway.record.create_key(new))


@router.get("", dependencies=[ADMINISTERS], responses=problems(422, 503))
def list_keys(gateway: Administered, cursor: After = None, limit: Limit = 100) -> Page[KeyView]:
    """Keys, newest first, also those that can no longer be used."""
    found = gateway.record.api_keys(cursor, limit + 1)
    return Page(
        items=[KeyView.model_validate(_fields(key)) for key in found[:limit]],
        next_cursor=found[limit - 1].id if len(found) > limit else None,
    )


@router.post(
    "/{key_id}/rotate",
    status_code=201,
    dependencies=[ADMINISTERS],
    responses=problems(400, 404, 409, 413, 415, 422, 503),
)
def rotate_key(
    key_id: str,
    gateway: Administered,
    caller: Who,
    body: Annotated[Rotation, Body()] = Rotation(),  # noqa: B008
) -> NewKeyView:
    """Make a key in place of another: same tenant, name and scopes, and as long a lifetime.

    The old one works for `overlap` seconds more. 409 `key_ended` if it no longer works, or was replaced before.
    """
    _refuse_where_unused(gateway)
    return _with_secret(*gateway.record.rotate_key(key_id, overlap=body.overlap, created_by=caller.name))


@router.delete("/{key_id}", dependencies=[ADMINISTERS], responses=problems(404, 422, 503))
def revoke_key(key_id: str, gateway: Administered) -> KeyView:
    """Take a key back for good. It is refused within 5 s, and at once by whoever has not just let it in."""
    return KeyView.model_validate(_fields(gateway.record.revoke_key(key_id)))


def _refuse_where_unused(gateway: Administration) -> None:
    # Whoever can reach a server without authentication would otherwise keep his way in when it gets one.
    if gateway.settings.auth == "none":
        raise ConflictError(
            "this server does not use keys, so it makes none; set TURNWISE_AUTH=keys, or use `turnwise keys create`",
            code="keys_not_used",
        )


def _with_secret(key: KeyRecord, secret: ApiKey) -> NewKeyView:
    return NewKeyView.model_validate(_fields(key) | {"secret": secret.text})


def _fields(key: KeyRecord) -> dict[str, object]:
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    return {
        **{name: getattr(key, name) for name in ("id", "tenant", "name", "scopes", "created_by", "replaced_by")},
        "prefix": f"tw_{key.prefix}",
        **{name: None if (at := getattr(key, name)) is None else when(at) for name in times},
    }
