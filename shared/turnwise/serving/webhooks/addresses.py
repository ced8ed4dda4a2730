"""The addresses that webhooks may be sent to.

A tenant chooses the URL, and the server sends from within its network. So a host is resolved here, each address that
it has is checked, and the connection is made to one that was: an answer of the DNS that changes later reaches nothing.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from turnwise.errors import ForbiddenAddressError, InvalidWebhookError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]

_LONGEST = 2_048
_PORTS = {"https": 443, "http": 80}
_IPV6_PLACE = re.compile(r"\[[^\[\]]+\](:\d*)?")
# IPv6 addresses in which an IPv4 address stands at the end: mapped, compatible, and translated (RFC 6052).
_WITH_IPV4 = tuple(IPv6Network(text) for text in ("::ffff:0:0/96", "::/96", "64:ff9b::/96"))
# Not private by their numbers everywhere: for protocols (in older Pythons), the host of a virtual machine at Azure, and
# what local networks of IPv6 had before.
_INNER: tuple[Network, ...] = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("168.63.129.16/32"),
    IPv6Network("fec0::/10"),
)


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system finds them; raises `OSError`."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


@dataclass(frozen=True, slots=True)
class AddressRules:
    """Decides which URLs webhooks may have, and which addresses they may be sent to.

    `allowed` are networks that are not public and yet allowed; `allow_http` lets URLs begin with http.
    """

    allowed: tuple[Network, ...] = ()
    allow_http: bool = False
    resolve: Resolve = field(default=resolved, repr=False)

    def check(self, url: str) -> str:
        """The origin of a URL that a webhook may have now; raises `InvalidWebhookError`, `ForbiddenAddressError`."""
        scheme, host, port = self.check_form(url)
        self.addresses(host, port)
        return f"{scheme}://{host}:{port}"

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, each of which may be connected to.

        Raises `ForbiddenAddressError` if one of them may not, `InvalidWebhookError` if it has none.
        """
        try:
            found = list(self.resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise InvalidWebhookError(
                f"the host {host!r} of the webhook was not found: {error}; correct the URL, or try again later"
            ) from error
        for text in found:
            if not self._may_be_reached(ip_address(text.partition("%")[0])):
                raise ForbiddenAddressError(
                    f"the host {host!r} of the webhook has the address {text}, which is not public; use one that is, "
                    "or have an operator allow its network in TURNWISE_WEBHOOK_ALLOWED_NETWORKS"
                )
        if not found:
            raise InvalidWebhookError(f"the host {host!r} of the webhook has no address; correct the URL")
        return found

    def check_form(self, url: str) -> tuple[str, str, int]:
        """The scheme, host and port of a URL that a webhook may have; raises `InvalidWebhookError`."""
        if len(url) > _LONGEST or not url.isascii() or not url.isprintable() or " " in url:
            raise InvalidWebhookError(
                f"the URL of the webhook is longer than {_LONGEST} characters, or has one that is not printable ASCII; "
                "percent-encode it"
            )
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise InvalidWebhookError(f"the URL of the webhook cannot be read: {error}") from error
        if parts.netloc.startswith("[") and not _IPV6_PLACE.fullmatch(parts.netloc):
            raise InvalidWebhookError(f"the URL of the webhook has the host {parts.netloc!r}; expected [ADDRESS]:PORT")
        schemes = ("https", "http") if self.allow_http else ("https",)
        if parts.scheme not in schemes or not host:
            more = "" if self.allow_http else " (http only where TURNWISE_WEBHOOK_ALLOW_HTTP is set)"
            raise InvalidWebhookError(f"the URL of the webhook is {url!r}; expected https://HOST/PATH{more}")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise InvalidWebhookError(
                "the URL of the webhook has a user, a password or a fragment; leave them out: the receiver checks the "
                "signature"
            )
        return parts.scheme, host, port or _PORTS[parts.scheme]

    def _may_be_reached(self, address: Address) -> bool:
        real = _inner(address)
        if any(one in network for network in self.allowed for one in {address, real}):
            return True
        inner = real.is_multicast or real.is_reserved or real.is_unspecified or any(real in one for one in _INNER)
        return real.is_global and not inner


def _inner(address: Address) -> Address:
    """The IPv4 address that packets to an IPv6 address end at, where it has one in it."""
    if isinstance(address, IPv6Address):
        if any(address in network for network in _WITH_IPV4) and int(address) > 1:
            return IPv4Address(int(address) & 0xFFFFFFFF)
        inner = address.sixtofour or (address.teredo[1] if address.teredo is not None else None)
        return inner or address
    return address
