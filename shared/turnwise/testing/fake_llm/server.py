"""The fake model as a server, in a thread of its own or in the foreground; loads FastAPI and uvicorn on use."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from turnwise.errors import AddressInUseError, ConfigurationError
from turnwise.testing.fake_llm.batch_script import BatchScript
from turnwise.testing.fake_llm.limits import ServerLimits
from turnwise.testing.fake_llm.request import ChatRequest
from turnwise.testing.fake_llm.rules import FakeLLM, Rule
from turnwise.testing.fake_llm.script import Answerer, load_script
from turnwise.testing.fake_llm.stats import Stats

if TYPE_CHECKING:
    import uvicorn


class FakeLLMServer:
    """A server in a thread, from `with` to its end; `port=0` takes a free port.

    `rules` is a list of rules, or any function from a request to an answer; `limits` are those of a provider, for
    instance `{"requests": 60, "window": 60}`. `batches` is the course of batches, for instance
    `{"delay": 2, "ends": ["expired"]}`. Raises `AddressInUseError`.
    """

    def __init__(
        self,
        rules: Iterable[Rule | Mapping[str, Any]] | Answerer,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: ServerLimits | Mapping[str, Any] | None = None,
        batches: BatchScript | Mapping[str, Any] | None = None,
    ) -> None:
        self._answerer: Answerer = rules if callable(rules) else FakeLLM(rules)
        self._limits = None if limits is None else ServerLimits.model_validate(limits)
        self._batches = None if batches is None else BatchScript.model_validate(batches)
        self._stats = Stats()
        self._address = (host, port)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """Return what OPENAI_BASE_URL has to be; valid once started."""
        return _base_url(self._address)

    def stats(self) -> dict[str, int]:
        """Chats so far: `requests`, `in_flight`, `max_in_flight`, `rate_limited`, `hung_up`; `texts` embedded;
        `batches` asked for, and `lines` of batches answered.
        """
        return self._stats.snapshot()

    def requests(self) -> list[ChatRequest]:
        """The latest requests, oldest first."""
        return self._stats.latest()

    def start(self) -> None:
        """Listen; requests are accepted from here on."""
        listener = _listen(*self._address)
        self._address = listener.getsockname()[:2]
        self._server = _server(self._answerer, self._stats, self._limits, self._batches)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), name="fake-llm", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close; answers that are still delayed are dropped."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = self._server.force_exit = True
            self._thread.join()
            self._server = self._thread = None

    def __enter__(self) -> FakeLLMServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def run_fake_llm(
    script: str | Path,
    host: str = "127.0.0.1",
    port: int = 8090,
    on_ready: Callable[[str], None] | None = None,
    limits: ServerLimits | None = None,
) -> None:
    """Serve a script until interrupted; `on_ready` is called with the base URL once the port is open.

    What `limits` sets takes the place of the script's own.

    Raises `ConfigurationError` for a bad script and `AddressInUseError` for a busy port.
    """
    loaded = load_script(script)
    server = _server(loaded, Stats(), _merged(loaded.limits, limits), loaded.batches)
    listener = _listen(host, port)
    if on_ready is not None:
        on_ready(_base_url(listener.getsockname()[:2]))
    server.run([listener])


def _merged(own: ServerLimits | None, given: ServerLimits | None) -> ServerLimits | None:
    if own is None or given is None:
        return own or given
    return own.model_copy(update=given.model_dump(exclude_unset=True))


def _server(
    answerer: Answerer, stats: Stats, limits: ServerLimits | None, batches: BatchScript | None
) -> uvicorn.Server:
    try:
        import uvicorn

        from turnwise.testing.fake_llm.app import create_app
    except ImportError as error:
        raise ConfigurationError(
            f"the fake model server needs {error.name}; install it with: pip install 'turnwise[gateway]'"
        ) from error
    config = uvicorn.Config(
        create_app(answerer, stats, limits, batches), log_level="critical", access_log=False, ws="none", lifespan="off"
    )
    return uvicorn.Server(config)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressInUseError(
                f"{host}:{port} is in use by another process; stop that one, or choose another port (0: any free one)"
            ) from error
        raise ConfigurationError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose an address of this machine"
        ) from error
    return listener


def _base_url(address: tuple[str, int]) -> str:
    host, port = address
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/v1"
