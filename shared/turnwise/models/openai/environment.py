"""Proxies and certificates that HTTP clients take from the environment."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.errors import ConfigurationError
from turnwise.observability.redaction import redact

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def fit_environment() -> Iterator[None]:
    """Make an HTTP client inside; raises `ConfigurationError` where the environment's settings do not let it be made.

    The library raises what it meets there: an ImportError for a proxy of a kind that needs another package, a
    ValueError for one of an unknown kind, an OSError for certificates that cannot be read.
    """
    try:
        yield
    except (ImportError, ValueError, OSError) as error:
        raise ConfigurationError(f"no HTTP client can be made: {error}; check {_settings(error)}") from error


def _settings(error: Exception) -> str:
    """The variables that the error may come from, with their values."""
    if isinstance(error, OSError):
        found = [f"{name}={os.environ[name]}" for name in _CERTIFICATES if os.environ.get(name)]
    else:
        proxies = urllib.request.getproxies().items()
        found = [f"{kind.upper()}_PROXY={redact(value)}" for kind, value in proxies if kind != "no"]
    return ", ".join(found) or "proxies and certificates in the environment"
