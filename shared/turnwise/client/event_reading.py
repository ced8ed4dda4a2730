"""The rules of reading a run's events over connections that may break. No I/O."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
from pydantic import TypeAdapter, ValidationError

from turnwise.api.events import EventView, StreamItem
from turnwise.api.runs import RunWithTree
from turnwise.client.errors import redirection, unavailable
from turnwise.client.exchange import CONNECT_SECONDS, traced
from turnwise.client.request import path_of
from turnwise.errors import EnvironmentFault, QuotaExceededError, TurnwiseError

# Failures after which the next connection may succeed; every other error ends the reading.
PASSING = (httpx2.TransportError, EnvironmentFault, QuotaExceededError)
_LAST = ("run.completed", "run.failed", "run.cancelled")
# The gateway says something at least every 15 s, so a longer silence is a dead connection.
_SILENCE_SECONDS = 45.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0
_ITEM: TypeAdapter[StreamItem] = TypeAdapter(StreamItem)


class EventReading:
    """Events of one run in order, each once, from the one behind `after`.

    Given up once no connection has succeeded for `patience` seconds, the first one included. `Retry-After` of a refusal
    for too many requests is waited for, unless it ends later than that.
    """

    def __init__(self, run_id: str, after: int, patience: float, *, text: bool) -> None:
        self.run_id = run_id
        self._seq = after
        self._patience = patience
        self._text = text
        # Time of the first failure since the gateway last answered.
        self._failing_since: float | None = None
        self._pause = _FIRST_PAUSE

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of httpx for the next connection."""
        return {
            "method": "GET",
            "url": path_of("runs", self.run_id, "events"),
            "params": {"text": "true"} if self._text else {},
            "headers": traced({"Last-Event-ID": str(self._seq), "Accept": "text/event-stream"}),
            "timeout": httpx2.Timeout(_SILENCE_SECONDS, connect=CONNECT_SECONDS),
        }

    def connected(self, response: httpx2.Response) -> None:
        """Note that the gateway answers; raises `TurnwiseError` for an answer that is no stream of events."""
        kind = response.headers.get("Content-Type", "")
        if response.status_code != 200 or kind.partition(";")[0].strip().lower() != "text/event-stream":
            found = redirection(response) or kind or "nothing"
            raise TurnwiseError(
                f"{response.request.url} answered {response.status_code} with {found}, and not with a stream of "
                "events; is it a gateway?"
            )
        self._failing_since = None

    def take(self, data: str) -> StreamItem:
        """Return what came as an event."""
        self._pause = _FIRST_PAUSE
        try:
            item = _ITEM.validate_python(json.loads(data))
        except (ValueError, ValidationError, RecursionError) as error:
            raise TurnwiseError(f"an event of {self.run_id} cannot be read: {error}") from error
        if isinstance(item, EventView):
            self._seq = item.seq
        return item

    def may_be_last(self, item: StreamItem) -> bool:
        """Return whether the run has ended, unless it was retried since and has events behind this one."""
        return item.type in _LAST

    def is_over(self, run: RunWithTree) -> bool:
        """Return whether the run, as given, has no further event."""
        return run.finished_at is not None and run.last_event <= self._seq

    def next_pause(self) -> float:
        """Return the seconds until the next connection, after one that was closed before the last event."""
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        return pause

    def after_failure(
        self, error: httpx2.TransportError | EnvironmentFault | QuotaExceededError, base_url: str
    ) -> float:
        """Return the seconds until the next connection; raises `error` once nothing answered for too long."""
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        asked = (error.retry_after or 0.0) if isinstance(error, QuotaExceededError) else 0.0
        if now + asked - self._failing_since < self._patience:
            return max(self.next_pause(), asked)
        if isinstance(error, httpx2.TransportError):
            raise unavailable(base_url, error) from error
        raise error
