"""Observers of whole installations: each process tells of its part of a run, in the order of the run's life."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contract.brokers import broker
from tests.support.observers import (
    ACCEPTED,
    ANSWER,
    CARRIED,
    CLAIM,
    FIRST_MOVE,
    LAST_MOVE,
    LATER_MOVE,
    LIFE,
    Seen,
    observed_app,
)
from tests.support.services import migrated_postgres

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.messages.document import ChatDocument
from turnwise.messages.wire import encode_document
from turnwise.processes.bootstrap import open_parts
from turnwise.processes.settings import load_settings
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.records import NewRun
from turnwise_coordinator.coordinator import Coordinator
from turnwise_responders.responders import Responders


@pytest.mark.parametrize(("moves", "life"), [("coordinator", [ACCEPTED, *LIFE]), ("worker", [FIRST_MOVE, *CARRIED])])
def test_an_embedded_server_tells_its_observers_of_a_run(tmp_path: Path, moves: Any, life: list[list[str]]) -> None:
    seen = Seen()
    settings = load_settings(database_url=f"sqlite:///{tmp_path / 'runs.db'}", bind="127.0.0.1:0", moves=moves)
    with EmbeddedServer(settings, observed_app(), observers=[seen]) as server, Client(server.url) as client:
        run = client.submit("desk", "hello", wait=30)

    assert run.status == "completed"
    # The gateway measures a request, and announces that someone waits, when the run may have begun.
    aside = (["run_accepted"], ["watch_announced"])
    assert seen.work.count(["run_accepted"]) == 1
    assert [work for work in seen.work if work not in aside] == life


@pytest.mark.parametrize(
    ("moves", "moved_by_one", "answered_by_other"),
    [
        ("coordinator", [FIRST_MOVE, LATER_MOVE, LAST_MOVE], [CLAIM, ANSWER, CLAIM, ANSWER]),
        # The coordinator is asked once more, and finds nothing to move.
        ("worker", [FIRST_MOVE, ["around_move (", "run_moved", ")"]], CARRIED),
    ],
)
@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["rabbitmq", "redis"])
def test_processes_of_a_distributed_set_tell_their_observers_of_a_run(
    kind: str, moves: Any, moved_by_one: list[list[str]], answered_by_other: list[list[str]]
) -> None:
    # given a coordinator and a worker, each with parts of its own
    moving, answering = Seen(), Seen()
    with broker(kind) as url, migrated_postgres() as database:
        settings = load_settings(database_url=database, broker_url=url, moves=moves)
        ours = open_parts(settings, app=observed_app(), observers=[moving])
        theirs = open_parts(settings, app=observed_app(), observers=[answering])
        coordinator = Coordinator(ours.store, ours.bus, ours.app, settings, ours.observers)
        worker = Responders(theirs.store, theirs.bus, theirs.app, settings, theirs.observers)
        worker.start()

        # when a run is served
        hello = encode_document(ChatDocument(content="hello"))
        run, _ = ours.store.tenant(DEFAULT_TENANT).submit(NewRun(id="run_1", task="desk", version="1", message=hello))
        while (ask := (moved := coordinator.move(run.id)).ask) is not None:
            worker.answer(ask)
        worker.stop()
        ours.close()
        theirs.close()

    # then
    assert moved.run.status == "completed"
    assert moving.work == [ACCEPTED, *moved_by_one]
    assert answering.work == answered_by_other
