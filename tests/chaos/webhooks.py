"""The receivers of a chaos run's webhooks, which fail at times, and what they and the record say at its end.

An event is known by its run and number, as the body says them, so nothing here knows how ids are made.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from standardwebhooks import WebhookVerificationError
from tests.chaos.checks import Finding
from tests.chaos.record import Record
from tests.e2e.waiting import until
from tests.support.receiver import Received, Reply, WebhookReceiver

from turnwise.client import Client
from turnwise.record.webhooks.events import EVENT_TYPES

SETTINGS = {
    "TURNWISE_WEBHOOK_ALLOW_HTTP": "true",
    "TURNWISE_WEBHOOK_ALLOWED_NETWORKS": '["127.0.0.0/8"]',
    "TURNWISE_WEBHOOK_TIMEOUT": "2",
}
_SECRET = "whsec_" + "QUFB" * 8
_ALL = "/hook"
# A run's own receiver gets these types of events.
_OF_RUN = ("run.accepted", "run.completed", "run.failed", "run.cancelled", "human.asked")
# One conversation in so many has a receiver of its own.
_ONE_IN = 4
# The first request with an id fails in each of these ways for one id in so many.
_FAILS_ONE_IN = 16
# Longer than the sender waits, so the receiver has the message and the sender does not know.
_TOO_LATE = 2.5
_PATIENCE = 120.0

# Run and number of an event, and the path of the receiver.
Place = tuple[str, int, str]


@dataclass(frozen=True, kw_only=True)
class _Taken:
    """A message that came; `answered`: it got its 2xx, perhaps too late for its sender to know."""

    id: str
    type: str
    body: str
    answered: bool


class Receivers:
    """Receive all events of the tenant, and those of some runs once more, from `with` to the end of it."""

    def __init__(self) -> None:
        self._server = WebhookReceiver(self._answer)
        self._lock = threading.Lock()
        self._reliable = threading.Event()
        self._known: set[str] = set()
        self.failed: Counter[str] = Counter()  # requests that were made to fail, by the way
        self.forged: list[str] = []
        self.taken: dict[Place, list[_Taken]] = defaultdict(list)

    def __enter__(self) -> Receivers:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._reliable.set()
        self._server.__exit__()

    def begin(self, client: Client) -> None:
        """Subscribe to all events that can be sent; no run has been submitted yet."""
        client.create_webhook(self._server.url, events=["*"], secret=_SECRET)

    def of_case(self, case: str) -> Mapping[str, Any] | None:
        """Return the webhook that a conversation is submitted with, if it has one."""
        if crc32(case.encode()) % _ONE_IN:
            return None
        return {"url": f"{self._server.url}/{case}", "secret": _SECRET, "events": list(_OF_RUN)}

    def stop_failing(self) -> None:
        """Take everything from now on."""
        self._reliable.set()

    def _answer(self, request: Received) -> Reply:
        try:
            message = request.verified(_SECRET)
        except WebhookVerificationError as error:
            with self._lock:
                self.forged.append(f"{request.id}: {error}")
            return Reply(status=400)
        reply, answered = self._reply(request.id)
        data = message["data"]
        place = (str(data["run"]), int(data["seq"]), request.path)
        taken = _Taken(id=request.id, type=message["type"], body=request.body, answered=answered)
        with self._lock:
            self.taken[place].append(taken)
        return reply

    def _reply(self, id: str) -> tuple[Reply, bool]:
        with self._lock:
            first = id not in self._known
            self._known.add(id)
            share = crc32(id.encode()) % _FAILS_ONE_IN
            if not first or self._reliable.is_set() or share > 2:
                return Reply(), True
            way = ("an error", "told to wait", "too late")[share]
            self.failed[way] += 1
        if way == "too late":
            self._reliable.wait(_TOO_LATE)
            return Reply(), True
        if way == "told to wait":
            return Reply(status=503, headers={"Retry-After": "3"}), False
        return Reply(status=500), False


def end(receivers: Receivers, record: Record, runs: Mapping[str, str], tell: Callable[[str], None]) -> list[Finding]:
    """Await the last deliveries, and compare what came with the events on record; `runs` is the run of each case."""
    receivers.stop_failing()
    with suppress(TimeoutError):  # what is missing then is found below
        until(lambda: not record.undelivered(), "the last deliveries", _PATIENCE, every=0.5)
    events = record.events(EVENT_TYPES)
    wanted = {(run, seq, _ALL): kind for run, seq, kind in events}
    cases = {run: case for case, run in runs.items() if receivers.of_case(case) is not None}
    for run, seq, kind in events:
        if run in cases and kind in _OF_RUN:
            wanted[run, seq, f"{_ALL}/{cases[run]}"] = kind
    again = sum(len(found) > 1 for found in receivers.taken.values())
    tell(
        f"{len(wanted)} deliveries of {len(events)} events: {sum(map(len, receivers.taken.values()))} requests came, "
        f"{again} deliveries more than once; failed on purpose: {dict(receivers.failed)}"
    )
    return [
        *_compared(wanted, receivers.taken),
        Finding(what="webhooks with a wrong signature", faults=receivers.forged),
        Finding(what="deliveries that are not noted as delivered", faults=record.undelivered()),
    ]


def _compared(wanted: Mapping[Place, str], taken: Mapping[Place, Sequence[_Taken]]) -> list[Finding]:
    """Compare the messages that were taken with the types of the events that they have to tell of."""
    places = defaultdict[str, set[Place]](set)
    for place, found in taken.items():
        for one in found:
            places[one.id].add(place)
    missing = [place for place in wanted if not any(one.answered for one in taken.get(place, ()))]
    unknown = [place for place, found in taken.items() if {one.type for one in found} != {wanted.get(place)}]
    changed = [place for place, found in taken.items() if len({(one.id, one.body) for one in found}) > 1]
    shared = [f"{id}: {sorted(of)}" for id, of in places.items() if len(of) > 1]
    return [
        Finding(what="events that a receiver did not get", faults=_named(missing)),
        Finding(what="webhooks of events that are not on record", faults=_named(unknown)),
        Finding(what="webhooks that came with another id or body", faults=_named(changed)),
        Finding(what="ids of webhooks that several events share", faults=shared),
    ]


def _named(places: Iterable[Place]) -> list[str]:
    return [f"event {seq} of {run} to {path}" for run, seq, path in sorted(places)]
