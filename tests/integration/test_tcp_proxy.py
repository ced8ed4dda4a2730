"""The proxy that other tests put between a process and its server."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from tests.e2e.processes import free_port
from tests.e2e.waiting import until
from tests.support.tcp_proxy import TcpProxy


def _echo(listener: socket.socket) -> None:
    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while heard := connection.recv(1024):
                    connection.sendall(heard)
            except ConnectionError:
                pass

    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # the test is over
            return
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


@pytest.fixture
def proxy() -> Iterator[TcpProxy]:
    """One before a server that repeats what it hears."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=_echo, args=(listener,), daemon=True)
        serving.start()
        with TcpProxy(listener.getsockname()) as made:
            yield made
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()


@pytest.fixture
def line(proxy: TcpProxy) -> Iterator[socket.socket]:
    """A connection through it that has carried something."""
    with _connect(proxy) as connection:
        assert _echoes(connection)
        yield connection


def _connect(proxy: TcpProxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=20)


def _echoes(connection: socket.socket) -> bool:
    connection.sendall(b"hello")
    return connection.recv(1024) == b"hello"


def test_a_cut_resets_what_is_there_and_carries_what_comes(proxy: TcpProxy, line: socket.socket) -> None:
    assert proxy.cut() == 1

    with pytest.raises(ConnectionError):
        line.recv(1024)
    with _connect(proxy) as again:
        assert _echoes(again)


def test_a_half_open_connection_is_silent_until_it_is_healed_and_is_reset_then(
    proxy: TcpProxy, line: socket.socket
) -> None:
    proxy.swallow()
    with _connect(proxy) as late:
        for silent in (line, late):
            silent.settimeout(0.2)
            with pytest.raises(TimeoutError):
                _echoes(silent)
        proxy.heal()
        for silent in (line, late):
            silent.settimeout(20)
            with pytest.raises(ConnectionError):
                silent.recv(1024)
    with _connect(proxy) as again:
        assert _echoes(again)


def test_what_said_nothing_while_it_was_half_open_goes_on(proxy: TcpProxy, line: socket.socket) -> None:
    proxy.swallow()
    proxy.heal()

    assert _echoes(line)


def test_a_delay_holds_back_each_way(proxy: TcpProxy, line: socket.socket) -> None:
    proxy.delay(0.2)
    begun = time.monotonic()

    assert _echoes(line)
    assert time.monotonic() - begun >= 0.4


def test_a_proxy_that_refuses_closes_old_and_new_connections_until_it_is_healed(
    proxy: TcpProxy, line: socket.socket
) -> None:
    proxy.refuse()
    with pytest.raises(ConnectionError):
        line.recv(1024)
    with pytest.raises(ConnectionError), _connect(proxy) as refused:
        _echoes(refused)

    proxy.heal()
    with _connect(proxy) as again:
        assert _echoes(again)


def test_a_connection_closed_by_one_end_is_closed_at_the_other(proxy: TcpProxy, line: socket.socket) -> None:
    line.shutdown(socket.SHUT_WR)

    assert line.recv(1024) == b""
    until(lambda: proxy.connections() == 0, "the connection to be gone")


def test_a_server_that_is_away_looks_as_if_the_proxy_were_it() -> None:
    with TcpProxy(("127.0.0.1", free_port())) as proxy, pytest.raises(ConnectionError), _connect(proxy) as nobody:
        nobody.sendall(b"hello")
        nobody.recv(1024)


def test_a_url_is_changed_to_the_proxys() -> None:
    with TcpProxy(("127.0.0.1", 5432)) as proxy:
        assert proxy.url("postgresql://me:secret@127.0.0.1:5432/turns?x=1") == (
            f"postgresql://me:secret@127.0.0.1:{proxy.port}/turns?x=1"
        )
        assert proxy.url("postgresql://127.0.0.1/turns") == f"postgresql://127.0.0.1:{proxy.port}/turns"
        with pytest.raises(ValueError, match="5433"):
            proxy.url("postgresql://127.0.0.1:5433/turns")
