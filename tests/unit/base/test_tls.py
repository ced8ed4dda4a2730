"""TLS settings are read once for a process, and not at all for a plain address."""

from __future__ import annotations

import asyncio
import ssl

import httpcore2
import pytest

from turnwise.base.tls import process_tls, tls_towards
from turnwise.client import AsyncClient, Client


@pytest.fixture
def read_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the authorities again fails."""
    process_tls()

    def refuse(**given: object) -> None:
        raise AssertionError("the authorities were read again")

    monkeypatch.setattr(httpcore2, "default_ssl_context", refuse)


@pytest.mark.usefixtures("read_already")
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1", "HTTPS://127.0.0.1:1"])
def test_a_client_does_not_read_the_authorities_again(url: str) -> None:
    Client(url).close()
    asyncio.run(AsyncClient(url).close())


def test_an_https_address_is_checked_by_the_authorities() -> None:
    for url in ("https://gateway.example", "HTTPS://gateway.example"):
        assert tls_towards(url) is process_tls()
    assert process_tls().verify_mode == ssl.CERT_REQUIRED
    assert process_tls().check_hostname


def test_a_plain_address_trusts_no_authority() -> None:
    plain = tls_towards("http://gateway.example")
    assert (plain.verify_mode, plain.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert plain.get_ca_certs() == []
