"""Reading a run's events over connections that may break."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx2

from turnwise.client.errors import error_of, unavailable
from turnwise.errors import EnvironmentFault

_LAST = ("run.completed", "run.failed", "run.cancelled")
# Seconds. The gateway says something at least every 15 s, so a longer silence is a dead connection.
_SILENCE = httpx2.Timeout(45.0, connect=5.0)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0


def run_path(run_id: str, *below: str) -> str:
    """The path of a run, whatever its id is made of."""
    return "/".join(["/v1/runs", quote(run_id, safe=""), *below])


class EventStream:
    """Events of one run in order, each once; `show` asks for the run itself."""

    def __init__(
        self,
        http: httpx2.Client,
        show: Callable[[str], dict[str, Any]],
        run_id: str,
        after: int,
        patience: float,
        *,
        text: bool = False,
    ) -> None:
        self._http = http
        self._show = show
        self._run_id = run_id
        self._seq = after
        self._patience = patience
        self._text = text
        self._connected = False
        self._over = False

    def read(self) -> Iterator[dict[str, Any]]:
        """The events; see `Client.events`."""
        heard = time.monotonic()
        pause = _FIRST_PAUSE
        while not self._over:
            try:
                for event in self._connection():
                    heard, pause = time.monotonic(), _FIRST_PAUSE
                    yield event
                # Closed without the last event: the gateway is stopping, or there is none after the number given.
                if not self._over and self._has_ended():
                    return
            except (httpx2.TransportError, EnvironmentFault) as error:
                if not self._connected or time.monotonic() - heard > self._patience:
                    if isinstance(error, EnvironmentFault):
                        raise
                    raise unavailable(str(self._http.base_url).rstrip("/"), error) from error
            if not self._over:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _connection(self) -> Iterator[dict[str, Any]]:
        headers = {"Last-Event-ID": str(self._seq), "Accept": "text/event-stream"}
        path, params = run_path(self._run_id, "events"), {"text": "true"} if self._text else {}
        with self._http.stream("GET", path, params=params, headers=headers, timeout=_SILENCE) as response:
            if response.is_error:
                response.read()
                raise error_of(response)
            self._connected = True
            for sent in httpx2.EventSource(response, max_event_size=None):
                event = json.loads(sent.data)
                if "seq" in event:
                    self._seq = event["seq"]
                yield event
                # A run that was retried has events behind the one that was its last.
                if event["type"] in _LAST and self._has_ended():
                    self._over = True
                    return

    def _has_ended(self) -> bool:
        run = self._show(self._run_id)
        return run["finished_at"] is not None and bool(run["last_event"] <= self._seq)
