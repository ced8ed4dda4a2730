"""The address of a gateway: whether it is one, and why a connection to it failed."""

from __future__ import annotations

import os
import socket
import ssl

import httpx2

from turnwise.base.bearer_token import bearer_token
from turnwise.errors import ConfigurationError, GatewayUnavailableError
from turnwise.observability.redaction import redact


def gateway_url(text: str, name: str) -> str:
    """Return the URL of a gateway without a slash at its end.

    Raises `ConfigurationError`, which calls the argument or setting `name`, for a text that is no such URL.
    """
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, UnicodeEncodeError):
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host or not _is_plain(url, text):
        raise ConfigurationError(f"{name} is {redact(text)!r}; expected http://HOST:PORT or https://HOST:PORT")
    return text.rstrip("/")


def authorization(token: str | None) -> dict[str, str]:
    """Return the header with a key, none without one.

    Raises `ConfigurationError`, which does not tell the key, for one that no request can have.
    """
    token = bearer_token(token or "", "the key for the gateway")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _is_plain(url: httpx2.URL, text: str) -> bool:
    """Return whether paths can be put behind the URL, and its port is one."""
    spaces = any(each.isspace() for each in text)
    return not (url.query or url.fragment or spaces) and (url.port is None or 0 < url.port < 65536)


def unreachable(base_url: str, error: httpx2.TransportError) -> GatewayUnavailableError:
    """Return what to say when no connection could be made, so that nothing was sent."""
    shown, cause = redact(base_url), _os_error(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return GatewayUnavailableError(
            f"the certificate of {shown} is not accepted ({cause.verify_message}); correct it, or trust its issuer "
            "with SSL_CERT_FILE"
        )
    if isinstance(cause, ssl.SSLError):
        return GatewayUnavailableError(
            f"no TLS connection to {shown} can be made ({cause.strerror}); use http:// if the server there has no TLS"
        )
    if isinstance(cause, socket.gaierror):
        return GatewayUnavailableError(f"the host of {shown} cannot be found ({cause.strerror}); correct the address")
    if isinstance(error, httpx2.ConnectTimeout):
        why = "no connection in time"
    else:
        why = os.strerror(cause.errno) if cause is not None and cause.errno is not None else str(error)
    return GatewayUnavailableError(f"no gateway answers at {shown} ({why}); start one with `turnwise up`")


def _os_error(error: BaseException) -> OSError | None:
    """Return the error of the system that a failed connection came from, if there is one.

    It is the first one with a number. What is behind it may be an error that the caller was handling at the time.
    """
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.errno is not None):
        # An event loop tries every address of a host; its errors are a group.
        inner = cause.exceptions[0] if isinstance(cause, BaseExceptionGroup) else None
        cause = inner or cause.__cause__ or cause.__context__
    return cause
