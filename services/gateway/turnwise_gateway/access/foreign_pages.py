"""Web pages of someone else: a browser says where a request comes from, and no page can make it say otherwise."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers

from turnwise.base.text import excerpt

# Methods that change nothing.
SAFE = ("GET", "HEAD", "OPTIONS")
# Of `Sec-Fetch-Site`: this origin itself, and the person who types an address or opens a bookmark.
_OWN_SITES = ("same-origin", "none")


def foreign_page(headers: Headers) -> str | None:
    """Return the name, to be quoted, of the foreign page that a request comes from; None: one of this origin, or none.

    `Sec-Fetch-Site` decides where it is sent, as a proxy may have changed `Host`. Browsers leave it out on plain http,
    and there `Origin` is compared with `Host`. Another port of the same host is foreign, although cookies take it for
    the same site.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site is not None:
        return None if site in _OWN_SITES else excerpt(origin or "another site")
    return None if origin is None or urlsplit(origin).netloc == headers.get("host", "") else excerpt(origin)
