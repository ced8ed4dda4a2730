"""Serving an API with uvicorn, in the foreground or on a thread."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

import uvicorn
from fastapi import FastAPI

from turnwise.base.listening import base_url, listen
from turnwise_gateway.gateway import WholeGateway

# Seconds that requests in flight get to end once the server is told to stop.
_GRACE = 10
_SETTING = "TURNWISE_BIND"


class GatewayServer(uvicorn.Server):
    """uvicorn, but it sends those home first who watch runs: their requests would not end by themselves."""

    def __init__(self, api: FastAPI) -> None:
        gateway = api.state.gateway
        assert isinstance(gateway, WholeGateway)
        proxies = gateway.settings.trusted_proxies
        super().__init__(
            uvicorn.Config(
                api,
                log_config=None,
                access_log=False,
                ws="none",
                lifespan="on",
                server_header=False,
                # uvicorn would believe whoever is on this machine.
                proxy_headers=bool(proxies),
                forwarded_allow_ips=proxies,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._watch = gateway.watch

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end the event streams, wait for the rest."""
        self._watch.stop()
        await super().shutdown(sockets)


def serve(api: FastAPI, host: str, port: int, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM, on the main thread; `on_ready` gets the base URL once the port is open.

    Raises `AddressInUseError` for a busy port and `ConfigurationError` for an address that is not this machine's.
    """
    listener = listen(host, port, _SETTING)
    if on_ready is not None:
        on_ready(base_url(listener))
    # uvicorn raises the signal once more after it has stopped; here both mean: done, clean up.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            GatewayServer(api).run([listener])
    finally:
        signal.signal(signal.SIGTERM, before)


class GatewayThread:
    """An API served by a thread, from `with` to its end; port 0 takes a free one."""

    def __init__(self, api: FastAPI, host: str = "127.0.0.1", port: int = 0) -> None:
        self._listener = listen(host, port, _SETTING)
        self._server = GatewayServer(api)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name="turnwise-gateway", daemon=True
        )
        # Connections are accepted from here on; they are served once the thread runs.
        self.base_url = base_url(self._listener)

    def start(self) -> None:
        """Serve."""
        self._thread.start()

    def stop(self) -> None:
        """Let requests in flight end, then close; one that never served only gives its port back."""
        self._server.should_exit = True
        if self._thread.ident is None:
            self._listener.close()
        else:
            self._thread.join()

    def __enter__(self) -> GatewayThread:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
