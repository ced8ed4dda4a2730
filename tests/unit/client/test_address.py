"""Addresses of gateways: texts that are none, and what is said of a connection that fails."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

import httpx2
import pytest

from turnwise.client import AsyncClient, Client
from turnwise.client.address import unreachable
from turnwise.errors import ConfigurationError, GatewayUnavailableError

WRONG = [
    "",
    "foo",
    "localhost:8080",
    "127.0.0.1:8080",
    "ftp://host",
    "http://",
    "http://:8080",
    "http:/host",
    "http://host:port",
    "http://host:99999",
    "http://two words",
    "http://host\n",
    "http://host?x=1",
    "http://host#x",
]


@pytest.mark.parametrize("url", WRONG)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_text_that_is_no_address_of_a_gateway_is_refused(kind: type[Client | AsyncClient], url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        kind(url)

    assert str(refused.value) == f"base_url is {url!r}; expected http://HOST:PORT or https://HOST:PORT"


@pytest.mark.parametrize(
    "url", ["http://host", "https://host:8443/", "http://[::1]:80", "http://user:password@host/turnwise/", "HTTP://h"]
)
def test_other_addresses_are_taken_without_the_slash_at_their_end(url: str) -> None:
    with Client(url) as client:
        assert client.base_url == url.rstrip("/")


def test_a_password_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match=r"base_url is 'http://me:\*\*\*@host:port'"):
        Client("http://me:winter-of-1947@host:port")


@pytest.fixture
def plain_server() -> Iterator[int]:
    """The port of an HTTP server without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def serve() -> None:
            connection, _address = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def said_by_client(url: str) -> str:
    with Client(url) as client, pytest.raises(GatewayUnavailableError) as caught:
        client.tasks()
    return str(caught.value)


def said_by_async_client(url: str) -> str:
    async def ask() -> None:
        async with AsyncClient(url) as client:
            await client.tasks()

    with pytest.raises(GatewayUnavailableError) as caught:
        asyncio.run(ask())
    return str(caught.value)


BOTH = pytest.mark.parametrize("said", [said_by_client, said_by_async_client])


@BOTH
def test_tls_with_a_server_that_has_none_is_told(said: Callable[[str], str], plain_server: int) -> None:
    url = f"https://127.0.0.1:{plain_server}"
    text = said(url)
    assert text.startswith(f"no TLS connection to {url} can be made ([SSL")
    assert text.endswith("; use http:// if the server there has no TLS")


@BOTH
def test_a_connection_that_is_refused_is_told(said: Callable[[str], str]) -> None:
    assert said("http://127.0.0.1:1") == (
        "no gateway answers at http://127.0.0.1:1 (Connection refused); start one with `turnwise up`"
    )


def caused_by(error: BaseException, kind: type[httpx2.TransportError] = httpx2.ConnectError) -> str:
    try:
        raise kind("no words") from error
    except httpx2.TransportError as failed:
        return str(unreachable("http://me:winter-of-1947@host", failed))


def test_a_host_that_is_not_known_is_told() -> None:
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert caused_by(error) == (
        "the host of http://me:***@host cannot be found (Name or service not known); correct the address"
    )


def test_a_certificate_that_is_not_trusted_is_told() -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    assert caused_by(error) == (
        "the certificate of http://me:***@host is not accepted (self-signed certificate); correct it, or trust its "
        "issuer with SSL_CERT_FILE"
    )


def test_an_address_that_says_nothing_is_told() -> None:
    told = caused_by(TimeoutError("timed out"), httpx2.ConnectTimeout)
    assert told == "no gateway answers at http://me:***@host (no connection in time); start one with `turnwise up`"


def test_one_of_several_addresses_of_a_host_is_enough_for_the_cause() -> None:
    attempts = ExceptionGroup("all failed", [ConnectionRefusedError(111, "Connect call failed"), OSError(113, "none")])
    assert "(Connection refused)" in caused_by(attempts)


def test_an_error_without_a_cause_is_told_in_its_own_words() -> None:
    assert "(no words)" in str(unreachable("http://host", httpx2.ConnectError("no words")))


def test_an_error_that_the_caller_was_handling_is_not_the_cause() -> None:
    try:
        raise OSError(28, "the disk is full")
    except OSError:
        assert "(Connection refused)" in said_by_client("http://127.0.0.1:1")
