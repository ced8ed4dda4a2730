"""Signing a browser in and out. Programs send their key or token with each request, and need none of this."""

from __future__ import annotations

from fastapi import Request, Response

from turnwise.api.access import CallerView
from turnwise.base.times import when
from turnwise.record.tenants.caller import SCOPES, Caller
from turnwise_gateway.access.authentication import BY_COOKIE, TOKEN
from turnwise_gateway.access.scopes import KNOWN, is_operator
from turnwise_gateway.access.sign_in_cookie import clear_cookies, set_cookie
from turnwise_gateway.gateway import Administered, Administration, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router

router = api_router("access", "/v1/sign-in")


@router.get("", dependencies=[KNOWN], responses=problems(503))
def show_sign_in(request: Request, gateway: Administered, caller: Who) -> CallerView:
    """Return who the caller is: his tenant and scopes, and when his key or token ends."""
    return _view(request, gateway, caller)


@router.put("", dependencies=[KNOWN], responses=problems(413, 503))
def sign_in(request: Request, response: Response, gateway: Administered, caller: Who) -> CallerView:
    """Have the browser keep the key or token of the header `Authorization`, in a cookie that no script can read.

    The cookie lets in as long as the key or token does, until the browser is closed or signs out. Where the server asks
    for none, no cookie is set.
    """
    token = request.scope.get(TOKEN)
    if token is not None:
        set_cookie(response, request.scope, token)
        gateway.record.note_sign_in(caller.name)
    return _view(request, gateway, caller)


@router.delete("", status_code=204, dependencies=[KNOWN], responses=problems(503))
def sign_out(request: Request, response: Response, gateway: Administered, caller: Who) -> None:
    """Have the browser forget the cookie. The key or token itself continues to work."""
    clear_cookies(response, request.scope)
    if request.scope.get(TOKEN) is not None:
        gateway.record.note_sign_in(caller.name)


def _view(request: Request, gateway: Administration, caller: Caller) -> CallerView:
    return CallerView(
        name=caller.name,
        tenant=caller.tenant,
        scopes=[scope for scope in SCOPES if scope in caller.scopes],
        operator=is_operator(caller, gateway.settings),
        expires_at=None if caller.expires_at is None else when(caller.expires_at),
        authentication=gateway.settings.auth,
        by_cookie=bool(request.scope.get(BY_COOKIE)),
    )
