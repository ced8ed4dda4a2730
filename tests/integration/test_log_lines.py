"""Lines that the services write: what an operator wants to know of a run, a process and a request, and no more."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.databases import fresh_sqlite
from tests.support.gateway_parts import served
from tests.support.kept_values import happen
from tests.support.served_parts import Desk
from tests.support.store_parts import asked_run, new_worker

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task, ToolMessage
from turnwise.errors import DatabaseUnavailableError
from turnwise.observability.logs import configure_logging
from turnwise.record.asks.pauses import EndedPauses
from turnwise.record.states import RunStatus
from turnwise.record.store import Store


class Lines:
    """The lines that were written so far."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def of(self, action: str) -> list[dict[str, Any]]:
        return [line for line in self.all() if line.get("action") == action]


@pytest.fixture
def lines() -> Iterator[Lines]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    found = Lines()
    configure_logging("json", "INFO", found.stream)
    yield found
    root.handlers[:], root.level = handlers, level
    logging.captureWarnings(False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    database = fresh_sqlite(tmp_path / "runs.db")
    yield Store(database, lease_seconds=0.01)
    database.close()


class Look(ToolMessage):
    request: str = "look"
    purpose: str = "to look"

    def handle(self) -> str:
        raise RuntimeError("no access with password=open-sesame")


def an_app(answer: str) -> App:
    app = App("lines", version="1")

    @app.task
    def desk() -> Task:
        agent = ChatAgent(ChatAgentConfig(name="desk", llm=MockLMConfig(default_response=answer)))
        agent.enable_message(Look)
        return Task(agent, interactive=False)

    return app


def test_a_run_writes_its_beginning_and_its_end_and_its_turns_write_nothing(store: Store, lines: Lines) -> None:
    with Desk(store, an_app("DONE 4")) as desk:
        run = desk.go_on(desk.submit("desk"))

    accepted, ended = [line for line in lines.all() if not line["action"].startswith("worker_")]
    assert accepted["action"] == "run_accepted"
    assert (ended["action"], ended["level"], ended["status"], ended["why"]) == (
        "run_ended",
        "info",
        "completed",
        "DONE",
    )
    for line in (accepted, ended):
        assert (line["run"], line["task"], line["tenant"]) == (run.id, "desk", "default")


def test_a_handler_that_raises_is_told_with_its_traceback_and_without_secrets(store: Store, lines: Lines) -> None:
    with Desk(store, an_app('{"request": "look"}')) as desk:
        run = desk.go_on(desk.submit("desk"))

    [failed] = lines.of("handler_failed")
    assert (failed["run"], failed["task"], failed["tenant"], failed["tool"]) == (run.id, "desk", "default", "look")
    assert failed["ask"].startswith(run.id)
    assert "in handle" in failed["exception"]
    assert failed["exception"].endswith("RuntimeError: no access with password=***")
    [ended] = lines.of("run_failed")
    assert (ended["level"], ended["why"]) == ("warning", "ERROR")
    assert ended["error"] == "RuntimeError: no access with password=***"
    assert "open-sesame" not in lines.stream.getvalue()


def test_a_transaction_that_is_not_committed_writes_nothing(store: Store, lines: Lines) -> None:
    run_id = asked_run(store, "llm").id
    with pytest.raises(ZeroDivisionError), store.coordinator.locked(run_id) as transaction:
        transaction.finish(RunStatus.FAILED, "ERROR")
        happen(transaction, "run.failed", data={"status": "ERROR"})
        raise ZeroDivisionError

    assert lines.of("run_failed") == []


def test_a_lost_worker_and_what_becomes_of_its_ask_are_told(store: Store, lines: Lines) -> None:
    worker = new_worker(store, "llm")
    asked_run(store, "llm")
    claim = store.worker.claim("llm", worker)
    assert claim is not None
    while not lines.of("lease_taken_over"):
        store.coordinator.expire_leases()

    [lost], [taken] = lines.of("worker_lost"), lines.of("lease_taken_over")
    assert (lost["worker"], lost["level"]) == (worker, "warning")
    assert (taken["run"], taken["ask"], taken["worker"], taken["attempt"]) == (claim.run.id, claim.ask.id, worker, 1)


# The gateway


def test_the_access_log_tells_of_templates_and_tenants_and_leaves_probes_out(tmp_path: Path, lines: Lines) -> None:
    with served(tmp_path) as gateway:
        made = gateway.http.post(
            "/v1/runs", json={"task": "desk", "message": "hello"}, headers={"X-Request-Id": "mine-1"}
        ).json()
        gateway.http.get(f"/v1/runs/{made['id']}?secret=1")
        gateway.http.get("/health/ready")
        gateway.http.get("/metrics")
        gateway.http.get("/no/such/place")

    posted, got, missing = lines.of("request_served")
    assert (posted["method"], posted["route"], posted["status"]) == ("POST", "/v1/runs", 202)
    assert (posted["request"], posted["tenant"]) == ("mine-1", "default")
    assert posted["ms"] >= 0
    assert (got["route"], got["run"], got["status"]) == ("/v1/runs/{run_id}", made["id"], 422)
    assert (missing["route"], missing["status"]) == ("(none)", 404)
    assert "secret" not in lines.stream.getvalue()
    assert lines.of("run_accepted")[0]["request"] == "mine-1"


def test_who_is_turned_away_is_told_without_the_token(tmp_path: Path, lines: Lines) -> None:
    with served(tmp_path, auth="token", auth_token="the-right-one") as gateway:
        gateway.http.get("/v1/runs", headers={"Authorization": "Bearer the-wrong-one"})

    [refused] = lines.of("sign_in_refused")
    assert (refused["level"], refused["why"], refused["status"]) == ("warning", "unauthorized", 401)
    assert (refused["method"], refused["path"], refused["client"]) == ("GET", "/v1/runs", "127.0.0.1")
    assert refused["request"].startswith("req_")
    assert "the-wrong-one" not in lines.stream.getvalue()


def test_a_page_that_asks_who_is_signed_in_is_not_told_as_turned_away(tmp_path: Path, lines: Lines) -> None:
    with served(tmp_path, auth="token", auth_token="the-right-one") as gateway:
        asked = gateway.http.get("/v1/sign-in")
        gateway.http.get("/v1/sign-in", headers={"Authorization": "Bearer the-wrong-one"})

    assert asked.status_code == 401
    assert [refused["path"] for refused in lines.of("sign_in_refused")] == ["/v1/sign-in"]


class FullDisk(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_log_that_cannot_be_written_costs_its_writer_nothing(lines: Lines) -> None:
    configure_logging("json", "INFO", FullDisk())

    logging.getLogger("turnwise").warning("The disk is full", extra={"action": "line_lost"})  # raises nothing


def test_a_pause_that_has_ended_is_told_as_ended_although_the_database_goes_away(
    tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(self: EndedPauses) -> None:
        raise DatabaseUnavailableError("it is away")

    with served(tmp_path) as gateway:
        assert gateway.http.put("/v1/pauses/task/desk", json={}).status_code == 200
        monkeypatch.setattr(EndedPauses, "let_go", away)

        ended = gateway.http.delete("/v1/pauses/task/desk")

        assert ended.status_code == 200, ended.text
        assert gateway.store.monitor.pauses() == []
        assert "it is away" in lines.of("wake_failed")[0]["event"]
