"""TLS settings of HTTP clients. A process reads them once, because that takes longer than the rest of a client."""

from __future__ import annotations

import ssl
import threading
from functools import cache
from urllib.parse import urlsplit

_reading = threading.Lock()


def process_tls() -> ssl.SSLContext:
    """Return the settings that HTTP clients of this process share: the usual authorities, or SSL_CERT_FILE."""
    with _reading:  # else all who begin together would read them
        return _read()


def tls_towards(base_url: str) -> ssl.SSLContext:
    """Return the settings of a client whose requests go to `base_url` alone, and follow no redirection.

    An http URL needs no authorities, so none are read, and none are trusted.
    """
    return process_tls() if urlsplit(base_url).scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _read() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()
