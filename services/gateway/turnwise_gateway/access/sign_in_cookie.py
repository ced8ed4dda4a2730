"""The cookie by which a browser stays signed in: it carries the key or token that was sent to sign in.

Each request by cookie is checked as one with the header `Authorization` is, so a key that is revoked, replaced or
expired ends the sign-in as well, and nothing about it is kept here. See docs/adr/0031-sign-in.md for the alternatives.

Browsers send a cookie by themselves, so that other pages can cause requests with it. `SameSite=Strict` keeps those of
other sites away, but not those of other ports and sub-domains. `check_page` refuses these.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from turnwise.errors import PermissionDeniedError, RequestTooLargeError, UnauthorizedError
from turnwise_gateway.access.foreign_pages import foreign_page

# The console sends this header, and no form, image or link of another page can: a browser asks first whether a page of
# another origin may send it, and is never told that it may.
CONSOLE_HEADER = "x-turnwise-console"
_NAME = "turnwise-sign-in"
# Browsers keep such cookies only if they came by https and, the first of them, for this host and all of its paths.
_SECURE_PREFIXES = {"/": "__Host-", "below": "__Secure-"}
# Browsers keep 4,096 bytes, name and all.
_LONGEST = 4_000
_SAFE_BY_COOKIE = ("GET", "HEAD")


def token_in_cookie(scope: Scope) -> str | None:
    """Return the key or token that the request's cookie carries; None without such a cookie.

    Raises `UnauthorizedError` for a cookie that is not one of ours.
    """
    given = _cookies(Headers(scope=scope))
    names = [_secure_name(scope)] if scope["scheme"] == "https" else [_secure_name(scope), _NAME]
    values = next((given[name] for name in names if name in given), None)
    if values is None:
        return None
    if len(values) > 1:
        # Another program of this host, or a sibling domain, has set a second one; which is meant, no one knows.
        raise UnauthorizedError("the request has two sign-in cookies; delete the cookies of this address, and sign in")
    [value] = values
    try:
        token = unquote(value, errors="strict") if len(value) <= _LONGEST else ""
    except UnicodeDecodeError:
        token = ""
    if not token or quote(token, safe="") != value:
        raise UnauthorizedError("the sign-in cookie is malformed; it has been cut or altered: sign in again")
    return token


def check_page(method: str, headers: Headers) -> None:
    """Raise `PermissionDeniedError` for a request by cookie that a page other than the console may have caused."""
    page = foreign_page(headers)
    if page is not None:
        raise PermissionDeniedError(f"a page of {page} may not use this browser's sign-in; open the console itself")
    if method not in _SAFE_BY_COOKIE and headers.get(CONSOLE_HEADER) != "1":
        raise PermissionDeniedError(
            "a request by cookie that changes something needs the header `X-Turnwise-Console: 1`; "
            "programs send `Authorization: Bearer` instead of a cookie"
        )


def set_cookie(response: Response, scope: Scope, token: str) -> None:
    """Have the browser keep the token until it is closed; raises `RequestTooLargeError` for one that is too long."""
    value = quote(token, safe="")
    if len(value) > _LONGEST:
        raise RequestTooLargeError(
            f"the token has {len(value)} characters, a browser's cookie at most {_LONGEST}: have the issuer put fewer "
            "claims into it, or sign in with an API key"
        )
    secure = _came_by_https(scope)
    name = _secure_name(scope) if secure else _NAME
    response.set_cookie(name, value, path=_path(scope), secure=secure, httponly=True, samesite="strict")


def clear_cookies(response: Response, scope: Scope) -> None:
    """Have the browser forget what `set_cookie` had it keep."""
    for name, secure in ((_secure_name(scope), True), (_NAME, False)):
        response.delete_cookie(name, path=_path(scope), secure=secure, httponly=True, samesite="strict")


def _cookies(headers: Headers) -> dict[str, list[str]]:
    """The cookies by name. A library's parser would keep one of several that have the same name."""
    found: dict[str, list[str]] = {}
    for part in "; ".join(headers.getlist("cookie")).split(";"):
        name, _, value = part.strip().partition("=")
        found.setdefault(name, []).append(value)
    return found


def _came_by_https(scope: Scope) -> bool:
    # Behind a proxy that is not named in TURNWISE_TRUSTED_PROXIES every request seems to come by http. The page's
    # origin tells. Whoever sends a wrong one has a cookie that his own browser does not send.
    return scope["scheme"] == "https" or Headers(scope=scope).get("origin", "").startswith("https://")


def _path(scope: Scope) -> str:
    return scope.get("root_path", "") or "/"


def _secure_name(scope: Scope) -> str:
    return _SECURE_PREFIXES["/" if _path(scope) == "/" else "below"] + _NAME
