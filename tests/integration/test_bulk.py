"""Cancelling and retrying many runs at once, over HTTP and by command."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.cli import Terminal, terminal
from tests.support.gateway_parts import Served, served
from tests.support.store_parts import new_run

from turnwise.client import Client
from turnwise.errors import InvalidRequestError
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import RunStatus
from turnwise.record.transaction.run_transaction import RunTransaction
from turnwise.record.values.kept_errors import KeptError, RaisedError
from turnwise.record.values.records import RunRecord
from turnwise.serving.moves.move import fail

__all__ = ["terminal"]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "gateway"
    folder.mkdir()
    with served(folder) as made:
        yield made


@pytest.fixture
def client(gateway: Served) -> Iterator[Client]:
    with Client(gateway.base_url) as made:
        yield made


def failed(gateway: Served, **changes: object) -> str:
    """A run that has failed before it began."""
    run_id = gateway.submit(**changes)
    with gateway.store.coordinator.locked(run_id) as transaction:
        _fail(transaction)
    return run_id


def _fail(transaction: RunTransaction) -> None:
    fail(transaction, RaisedError(type="Broken", message="it is broken", place="move"))
    transaction.mark()


def test_the_unfinished_runs_that_match_are_cancelled_page_by_page(gateway: Served, client: Client) -> None:
    old = [gateway.submit(tags=["nightly"]) for _ in range(3)]
    other = gateway.submit(tags=["daily"])
    ended = gateway.submit(tags=["nightly"])
    gateway.finish(ended)

    dry = client.cancel_runs({"tag": "nightly"}, dry_run=True)
    bound = {"tag": "nightly", "created_before": dry.created_before}
    late = gateway.submit(tags=["nightly"])
    first = client.cancel_runs(bound, limit=2)
    second = client.cancel_runs(bound, limit=2, cursor=first.next_cursor)

    assert (dry.matched, dry.changed, dry.runs) == (3, 0, old[::-1])
    assert [(page.matched, page.changed, page.refused) for page in (first, second)] == [(2, 2, []), (1, 1, [])]
    assert second.next_cursor is None
    assert all(gateway.store.inspector.run(run).cancel_requested_at is not None for run in old)
    assert [gateway.store.inspector.run(run).cancel_requested_at for run in (other, ended, late)] == [None] * 3


def test_repeating_a_bulk_cancel_changes_nothing_more(gateway: Served, client: Client) -> None:
    run = gateway.submit()
    client.cancel_runs({"task": "desk"})
    asked = gateway.store.inspector.run(run).cancel_requested_at

    again = client.cancel_runs({"task": "desk"})

    assert again.refused == []
    assert gateway.store.inspector.run(run).cancel_requested_at == asked


def test_failed_runs_are_retried_and_what_cannot_be_is_refused_with_why(gateway: Served, client: Client) -> None:
    good, other = failed(gateway), failed(gateway, tags=["other"])
    first = failed(gateway, session_id="talk")
    second = gateway.submit(session_id="talk")
    with gateway.store.coordinator.locked(second) as transaction:
        transaction.change(status=RunStatus.RUNNING, started_at=transaction.now, move_due_at=None)

    done = client.retry_runs({"task": "desk"})

    assert (done.matched, done.changed) == (3, 2)
    assert [(one.run, one.code) for one in done.refused] == [(first, "session_went_on")]
    assert [gateway.store.inspector.run(run).status for run in (good, other, first)] == ["queued", "queued", "failed"]


def test_a_repeated_cancel_counts_the_runs_that_it_has_ended(gateway: Served) -> None:
    ended, other = gateway.submit(), gateway.submit()
    body, key = {"filter": {"task": "desk"}}, {"Idempotency-Key": "cancel-all"}

    first = gateway.http.post("/v1/runs/cancel", json=body, headers=key)
    with gateway.store.coordinator.locked(ended) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
    again = gateway.http.post("/v1/runs/cancel", json=body, headers=key)

    assert (first.json()["changed"], sorted(first.json()["runs"])) == (2, sorted([ended, other]))
    assert again.json() == first.json()


def test_a_run_that_ends_before_it_is_cancelled_is_refused(gateway: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    run = gateway.submit()
    real = TenantRole.request_cancel

    def late(role: TenantRole, run_id: str) -> RunRecord:
        gateway.finish(run_id)
        return real(role, run_id)

    monkeypatch.setattr(TenantRole, "request_cancel", late)
    done = gateway.http.post(
        "/v1/runs/cancel", json={"filter": {"task": "desk"}}, headers={"Idempotency-Key": "late"}
    ).json()

    assert (done["changed"], [(one["run"], one["code"]) for one in done["refused"]]) == (0, [(run, "already_ended")])


@pytest.mark.parametrize("filter", [{}, {"status": None}, {"colour": "red"}, {"status": "completed"}])
def test_a_filter_that_says_nothing_or_nonsense_is_refused(gateway: Served, client: Client, filter: object) -> None:
    run = gateway.submit()

    with pytest.raises(InvalidRequestError):
        client.cancel_runs(filter)  # type: ignore[arg-type]  # that is what is refused

    assert gateway.store.inspector.run(run).cancel_requested_at is None


def test_runs_of_another_tenant_do_not_match(tmp_path: Path) -> None:
    with served(tmp_path, auth="token", auth_token="the token of one bulk test") as gateway:
        theirs, _ = gateway.store.tenant("somebody").submit(new_run(task="desk"))
        with Client(gateway.base_url, "the token of one bulk test") as client:
            assert client.cancel_runs({"task": "desk"}).matched == 0
        assert gateway.store.inspector.run(theirs.id).cancel_requested_at is None


def test_runs_are_listed_up_to_a_time(gateway: Served, client: Client) -> None:
    first = gateway.submit()
    between = datetime.now(UTC).isoformat()
    while gateway.store.inspector.now() <= datetime.fromisoformat(between).timestamp():
        time.sleep(0.001)
    second = gateway.submit()

    assert [run.id for run in client.runs(created_before=between).items] == [first]
    assert [run.id for run in client.runs(created_after=between).items] == [second]
    assert gateway.http.get("/v1/runs?created_before=2026-01-01T00:00:00").status_code == 422


def test_the_command_asks_before_it_cancels_and_tells_what_it_did(gateway: Served, terminal: Terminal) -> None:
    runs = [gateway.submit() for _ in range(2)]
    where = ("--url", gateway.base_url)

    dry = terminal.run("cancel", "--task", "desk", "--dry-run", *where)
    unasked = terminal.run("cancel", "--task", "desk", *where, code=2)
    nothing = terminal.run("cancel", *where, code=2)
    both = terminal.run("cancel", runs[0], "--task", "desk", *where, code=2)
    assert all(gateway.store.inspector.run(run).cancel_requested_at is None for run in runs)
    done = json.loads(terminal.run("cancel", "--older-than", "0s", "--yes", "--json", *where))

    assert dry == "2 runs would be cancelled.\n"
    assert "--yes" in unasked
    assert "--older-than" in nothing
    assert "--older-than" in both
    assert (done["matched"], done["changed"], sorted(done["runs"])) == (2, 2, sorted(runs))
    assert all(gateway.store.inspector.run(run).cancel_requested_at is not None for run in runs)


def test_the_command_retries_what_has_failed(gateway: Served, terminal: Terminal) -> None:
    run = failed(gateway, tags=["nightly"])

    told = terminal.run("retry", "--tag", "nightly", "--yes", "--url", gateway.base_url)

    assert told == "1 run retried.\n"
    assert gateway.store.inspector.run(run).status == "queued"


UNAVAILABLE = {"type": "ModelUnavailableError", "code": "model_unavailable", "kind": "unavailable", "message": "away"}


def ended_with(gateway: Served, error: dict[str, str], **changes: object) -> str:
    run_id = gateway.submit(**changes)
    with gateway.store.coordinator.locked(run_id) as transaction:
        fail(transaction, KeptError(found=error))
        transaction.mark()
    return run_id


@pytest.mark.parametrize(
    "error", ["unavailable", "model_unavailable", "ModelUnavailableError", ["timeout", "unavailable"]]
)
def test_runs_are_retried_by_the_error_that_ended_them(gateway: Served, client: Client, error: object) -> None:
    away, other = ended_with(gateway, UNAVAILABLE), failed(gateway)

    dry = client.retry_runs({"error": error}, dry_run=True)
    done = client.retry_runs({"error": error})

    assert dry.runs == done.runs == [away]
    assert [gateway.store.inspector.run(run).status for run in (away, other)] == ["queued", "failed"]


def test_runs_are_retried_that_ended_after_a_time(gateway: Served, client: Client) -> None:
    ended_with(gateway, UNAVAILABLE)
    between = datetime.now(UTC).isoformat()
    while gateway.store.inspector.now() <= datetime.fromisoformat(between).timestamp():
        time.sleep(0.001)
    later = ended_with(gateway, UNAVAILABLE)

    assert client.retry_runs({"error": "unavailable", "finished_after": between}).runs == [later]


def test_a_repeated_request_by_error_retries_each_run_once(gateway: Served) -> None:
    away = ended_with(gateway, UNAVAILABLE)
    body, key = {"filter": {"error": "unavailable"}}, {"Idempotency-Key": "after-the-outage"}

    first = gateway.http.post("/v1/runs/retry", json=body, headers=key)
    with gateway.store.coordinator.locked(away) as transaction:
        fail(transaction, KeptError(found=UNAVAILABLE))
        transaction.mark()
    again = gateway.http.post("/v1/runs/retry", json=body, headers=key)

    assert first.json()["runs"] == again.json()["runs"] == [away]
    assert gateway.store.inspector.run(away).status == "failed", "the repetition changed nothing"


@pytest.mark.parametrize("error", [[], "", ["a" * 101], [7]])
def test_an_error_that_names_nothing_is_refused(client: Client, error: object) -> None:
    with pytest.raises(InvalidRequestError):
        client.retry_runs({"error": error})


def test_the_command_retries_what_an_outage_has_failed(gateway: Served, terminal: Terminal) -> None:
    away, other = ended_with(gateway, UNAVAILABLE), failed(gateway)
    command = ("retry", "--status", "failed", "--error", "unavailable", "--since", "1h", "--url", gateway.base_url)

    dry = terminal.run(*command, "--dry-run")
    done = terminal.run(*command, "--yes")

    assert (dry, done) == ("1 run would be retried.\n", "1 run retried.\n")
    assert [gateway.store.inspector.run(run).status for run in (away, other)] == ["queued", "failed"]
    assert "give the id of a run" in terminal.run(
        "retry", away, "--error", "timeout", "--url", gateway.base_url, code=2
    )


def test_the_fleet_is_listed(gateway: Served, terminal: Terminal) -> None:
    where = ("--url", gateway.base_url)
    assert terminal.run("workers", *where) == ""
    store = gateway.store
    ids = [
        store.process.register_worker(WorkerInfo(kind="responders", queues=("llm",), host=host, pid=7, version="1"))
        for host in ("draining", "stopped", "live")
    ]
    store.process.note_draining(ids[0])
    store.process.retire_worker(ids[1])
    store.operator().pause("queue", "agent")

    workers = terminal.run("workers", *where)
    ended = json.loads(terminal.run("workers", "--ended", "--json", *where))
    queues = [" ".join(line.split()) for line in terminal.run("queues", *where).splitlines()]

    states = {line.split()[0]: line.split() for line in workers.splitlines()[1:]}
    assert {name: "draining" in words for name, words in states.items()} == {"7@draining": True, "7@live": False}
    assert "live" in states["7@live"]
    assert sorted(worker["state"] for worker in ended) == ["alive", "draining", "stopped"]
    # A process that is told to end serves no queue any more.
    assert queues[1:] == ["llm 0 0 0 0 - 1", "agent 0 0 0 0 - 0 is paused"]
