"""A run's events as a client of the gateway sees them: all, in order, once, across broken connections."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.e2e.waiting import until
from tests.support.client_views import numbered
from tests.support.gateway_parts import Served, served

from turnwise.api.events import DeltaView
from turnwise.bus.envelope import Notice, TokenNotice
from turnwise.bus.in_process import InProcessBus
from turnwise.client import Client
from turnwise.errors import DatabaseUnavailableError
from turnwise.record.roles.tenant import TenantRole
from turnwise_gateway.watching.watch import Watch, Watcher


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made


def read(gateway: Served, path: str, **headers: str) -> list[tuple[str, str, Any]]:
    with gateway.http.stream("GET", path, headers=headers) as response:
        response.raise_for_status()
        return [(one.id, one.event, json.loads(one.data)) for one in httpx2.EventSource(response)]


def test_the_stream_of_an_ended_run_holds_all_its_events_with_their_documents_and_closes(gateway: Served) -> None:
    run_id = gateway.submit()
    gateway.finish(run_id, "result")

    events = read(gateway, f"/v1/runs/{run_id}/events")

    assert [(number, kind) for number, kind, _ in events] == [("1", "run.accepted"), ("2", "run.completed")]
    last = events[-1][2]
    assert (last["seq"], last["run"], last["task"]) == (2, run_id, "desk")
    assert (last["data"]["document_id"], last["data"]["document"]) == ("result", {"content": "result"})


def test_a_client_resumes_after_the_event_that_it_names(gateway: Served) -> None:
    run_id = gateway.submit()
    for _ in range(450):  # more than two pages
        gateway.happen(run_id, "turn.taken")
    gateway.finish(run_id)

    everything = [int(number) for number, _, _ in read(gateway, f"/v1/runs/{run_id}/events")]
    after = [int(number) for number, _, _ in read(gateway, f"/v1/runs/{run_id}/events?after=450")]
    # A browser that reconnects sends the header with the address that it began with.
    header = read(gateway, f"/v1/runs/{run_id}/events?after=3", **{"Last-Event-ID": "451"})
    nothing = read(gateway, f"/v1/runs/{run_id}/events?after=452")

    assert everything == list(range(1, 453))
    assert after == [451, 452]
    assert [number for number, _, _ in header] == ["452"]
    assert nothing == []


def test_a_number_that_is_none_is_refused_before_the_stream_begins(gateway: Served) -> None:
    run_id = gateway.submit()

    response = gateway.http.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": "x"})

    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")


def test_many_watchers_hear_of_an_event_and_of_text_while_it_is_written(gateway: Served) -> None:
    run_id = gateway.submit()
    seen: list[list[str]] = [[] for _ in range(10)]
    begun = threading.Barrier(11, timeout=20)

    def watch(mine: list[str]) -> None:
        with Client(gateway.base_url) as client:
            for event in client.events(run_id):
                if not mine:
                    begun.wait()
                mine.append(event.text if isinstance(event, DeltaView) else event.type)

    threads = [threading.Thread(target=watch, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    begun.wait()
    gateway.bus.notify(TokenNotice(run=run_id, ask="a", attempt=1, offset=0, text="Hel"))
    gateway.bus.notify(TokenNotice(run="run_other", ask="a", attempt=1, offset=0, text="not this"))
    deadline = time.monotonic() + 20
    while not all("Hel" in mine for mine in seen) and time.monotonic() < deadline:
        time.sleep(0.01)
    gateway.finish(run_id)
    for thread in threads:
        thread.join(timeout=20)

    assert seen == [["run.accepted", "Hel", "run.completed"]] * 10


def test_a_client_that_leaves_as_the_stream_begins_is_no_watcher_any_more(
    gateway: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    of = Watch.of

    @contextmanager
    def counted(watch: Watch, run_id: str, **wanted: bool) -> Iterator[Watcher]:
        try:
            with of(watch, run_id, **wanted) as watcher:
                yield watcher
        finally:
            ended.append(run_id)

    monkeypatch.setattr(Watch, "of", counted)
    run_id = gateway.submit()
    for _ in range(50):  # more than are sent before the client has left
        gateway.happen(run_id, "turn.taken")

    gc.disable()
    try:
        for _ in range(20):
            with gateway.http.stream("GET", f"/v1/runs/{run_id}/events") as response:
                assert response.status_code == 200
        until(lambda: len(ended) == 20, "all watchers to end")
    finally:
        gc.enable()


class _DeafBus(InProcessBus):
    def notify(self, notice: Notice) -> None:
        """Lose every notice."""


def test_the_slow_poll_finds_what_the_bus_lost(tmp_path: Path) -> None:
    with served(tmp_path, bus=_DeafBus()) as gateway, Client(gateway.base_url) as client:
        run_id = gateway.submit()
        events = client.events(run_id)
        assert next(events).type == "run.accepted"
        gateway.finish(run_id)

        assert [event.type for event in events] == ["run.completed"]


@pytest.mark.parametrize("look", ["events", "run"])
def test_a_stream_goes_on_when_the_database_is_back(
    gateway: Served, look: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run_id, real = gateway.submit(), getattr(TenantRole, look)
    away, back = threading.Event(), threading.Event()

    def look_or_fail(role: TenantRole, *given: Any, **named: Any) -> Any:
        if back.is_set():
            return real(role, *given, **named)
        away.set()
        raise DatabaseUnavailableError("the database is away")

    with gateway.http.stream("GET", f"/v1/runs/{run_id}/events") as response:
        events = iter(httpx2.EventSource(response))
        assert next(events).event == "run.accepted"
        monkeypatch.setattr(TenantRole, look, look_or_fail)
        gateway.finish(run_id)
        assert away.wait(20)
        back.set()
        assert [event.event for event in events] == ["run.completed"]

    assert "The events of a run are looked for again: the database is away" in caplog.messages


def test_a_client_goes_on_where_it_was_when_the_gateway_is_restarted(tmp_path: Path) -> None:
    with served(tmp_path) as first:
        run_id = first.submit()
        first.happen(run_id, "turn.taken")
        port = int(first.base_url.rpartition(":")[2])
        client = Client(first.base_url)
        events = client.events(run_id)
        seen = [event.seq for event in islice(numbered(events), 2)]
    with client, served(tmp_path, port=port) as second:
        second.finish(run_id)
        seen += [event.seq for event in numbered(events)]

    assert seen == [1, 2, 3]


def test_a_page_of_the_history_is_the_newest_or_what_is_before_or_after_an_event(gateway: Served) -> None:
    run_id = gateway.submit()
    for _ in range(7):
        gateway.happen(run_id, "turn.taken")
    gateway.finish(run_id, "result")

    def page(**wanted: int) -> list[int]:
        found = client.history(run_id, **wanted)
        assert (found.run, found.last_event) == (run_id, 9)
        return [event.seq for event in found.items]

    with Client(gateway.base_url) as client:
        streamed = [event.model_dump() for event in numbered(client.events(run_id))]
        assert [event.model_dump() for event in client.history(run_id).items] == streamed
        assert [page(limit=3), page(before=7, limit=3), page(before=2), page(before=1)] == [
            [7, 8, 9],
            [4, 5, 6],
            [1],
            [],
        ]
        assert [page(after=0, limit=2), page(after=7), page(after=9)] == [[1, 2], [8, 9], []]
    both = gateway.http.get(f"/v1/runs/{run_id}/history?after=1&before=3")
    assert (both.status_code, both.json()["code"]) == (422, "invalid_request")


def test_large_events_are_read_a_few_at_a_time_and_none_is_missed(tmp_path: Path) -> None:
    text = "x" * 900_000
    with served(tmp_path, poll_seconds=600) as gateway, Client(gateway.base_url) as client:
        run_id = gateway.submit()
        for _ in range(7):
            gateway.reply(run_id, text)
        gateway.finish(run_id)

        streamed = [event.seq for event in numbered(client.events(run_id))]
        page = client.history(run_id, after=0, limit=1_000)
        newest = client.history(run_id)

    assert streamed == list(range(1, 10))
    assert ([event.seq for event in page.items], page.last_event) == ([1, 2, 3, 4], 9)
    assert [event.seq for event in newest.items] == [6, 7, 8, 9]
