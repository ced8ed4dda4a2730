"""A server without authentication answers this machine only, and no web page of someone else.

It listens on loopback, but that is not enough: a proxy on this machine would let the world in; a page whose name was
pointed at 127.0.0.1 (DNS rebinding) could read everything; and any page may send a form here (cross-site request
forgery).
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers

from turnwise.base.loopback import is_loopback
from turnwise.errors import PermissionDeniedError
from turnwise_gateway.access.foreign_pages import SAFE, foreign_page

_OF_PROXIES = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
_ADVICE = "set TURNWISE_AUTH to token or keys"


def check_local(method: str, headers: Headers) -> None:
    """Raise `PermissionDeniedError` for a request that may not come from a program of this machine."""
    proxied = next((name for name in _OF_PROXIES if name in headers), None)
    if proxied is not None:
        raise PermissionDeniedError(
            f"the request came through a proxy ({proxied}), and without authentication this server is only for its own "
            f"machine; {_ADVICE}"
        )
    host = headers.get("host", "")
    if not _is_local(host):
        raise PermissionDeniedError(
            f"the request is for {host!r}, and without authentication this server answers only to localhost, 127.0.0.1 "
            f"and [::1]; use one of these, or {_ADVICE}"
        )
    page = None if method in SAFE else foreign_page(headers)
    if page is not None:
        raise PermissionDeniedError(f"a page of {page} may not change anything here without authentication; {_ADVICE}")


def _is_local(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return is_loopback(name) or name.endswith(".localhost")
