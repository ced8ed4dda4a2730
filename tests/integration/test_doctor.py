"""The findings of `turnwise doctor` in an installation in which one thing is broken."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.e2e.processes import free_port
from tests.support.cli import Terminal, terminal
from tests.support.doctor_parts import found, levels, store
from tests.support.store_parts import asked_run, new_run, new_worker

from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.database import schema
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.testing.fake_llm.server import FakeLLMServer

__all__ = ["store", "terminal"]

APPLICATION = """
from turnwise import App, ChatAgent, ChatAgentConfig, OpenAIGPTConfig, Task

app = App("office", version="2")


@app.task
def desk() -> Task:
    model = OpenAIGPTConfig(chat_model={model!r}, api_base={url!r}, api_key="sk-secret-of-the-desk", **{more!r})
    return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)
"""


def test_a_setting_that_can_not_be_read_is_all_that_is_found(
    store: Store, monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    monkeypatch.setenv("TURNWISE_BIND", "0.0.0.0:8080")
    assert levels() == {"settings": "fault"}
    assert "TURNWISE_AUTH=none is only for loopback" in found("settings").said
    printed = terminal.printed("doctor", code=1)
    assert "TURNWISE_AUTH=none" in printed
    assert "1 check, 1 fault, 0 warnings." in printed


# The application


def an_application(folder: Path, name: str, url: str, model: str = "gpt-4.1-mini", **more: object) -> str:
    (folder / f"{name}.py").write_text(APPLICATION.format(model=model, url=url, more=more))
    return f"{name}:app"


def test_an_application_that_does_not_load_is_named_and_all_else_is_still_looked_at(store: Store) -> None:
    seen = levels(app="no_such_office:app")
    assert seen["application"] == "fault"
    assert seen["database"] == seen["leases"] == "ok"
    assert "no module 'no_such_office'" in found("application", app="no_such_office:app").said
    assert "TURNWISE_APP" in found("application").said


def test_runs_of_a_version_that_no_process_has_are_counted(
    store: Store, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = an_application(terminal.folder, "versions_app", "http://127.0.0.1:1/v1")
    assert found("versions", app=app).level == "ok"
    store.tenant(DEFAULT_TENANT).submit(new_run(version="1"))
    assert found("versions", app=app).level == "ok"  # any process may go on with it

    monkeypatch.setenv("TURNWISE_VERSION_POLICY", "pinned")
    told = found("versions", app=app)

    assert told.level == "warning"
    assert told.said.startswith("1 unfinished runs began with version '1'")
    monkeypatch.delenv("TURNWISE_VERSION_POLICY")
    store.process.register_worker(WorkerInfo(kind="responders", queues=("llm",), host="here", pid=2, version="1"))
    assert found("versions", app=app).said.endswith("'1', '2'")


# Pauses


def test_what_is_paused_is_told_and_needs_no_worker(store: Store) -> None:
    store.process.register_worker(WorkerInfo(kind="responders", queues=("agent",), host="here", pid=2, version="1"))
    asked_run(store, "llm")
    assert (found("pauses").level, found("workers").level) == ("ok", "fault")

    store.operator().pause("queue", "llm", "the provider is away")

    assert found("pauses").level == "note"
    assert "queue llm (the provider is away)" in found("pauses").said
    assert found("workers").level == "ok"


# The models


def test_servers_are_asked_for_nothing_that_costs_and_models_for_their_price_and_limits(
    store: Store, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeLLMServer([]) as server:
        url = server.base_url
        app = an_application(terminal.folder, "priced_app", url, input_price="1", output_price="2", max_concurrency=3)
        unpriced = an_application(terminal.folder, "unpriced_app", url, model="homemade")
        assert levels(app=app)[f"server {url}"] == "ok"
        assert found("model gpt-4.1-mini", app=app).said == f"it stands for gpt-4.1-mini at {url}"
        assert server.stats()["requests"] == 0
        assert found("price of gpt-4.1-mini", app=app).level == "ok"
        assert found("limits of gpt-4.1-mini", app=app).said == "3 calls at once"
        assert found("limits of homemade", app=unpriced).level == "note"
        assert found("price of homemade", app=unpriced).level == "warning"
        monkeypatch.setenv("TURNWISE_TENANT_DAY_MAX_COST", "5")
        assert found("price of homemade", app=unpriced).level == "fault"
    told = found(f"server {url}", app=app)
    assert told.level == "fault"
    assert "OPENAI_BASE_URL" in told.mend


def test_calls_that_can_wait_have_a_line_and_are_missed_where_no_worker_submits_them(store: Store) -> None:
    name = "batches of providers"
    Path("office.py").write_text(APPLICATION.format(model="gpt-4.1", url="http://127.0.0.1:9/v1", more={}))
    assert "of no task can wait by its config, and none does" in found(name).said
    text = (
        Path("office.py").read_text().replace("interactive=False)", "interactive=False, config=TaskConfig(can_wait=9))")
    )
    Path("patient.py").write_text(text.replace("import App, ", "import App, TaskConfig, "))
    assert found(name, app="patient:app").said == "the calls of desk can wait; 0 do, 0 of them in 0 batches"
    assert found(name, app="patient:app", provider_batches="false").level == "warning"

    with store.database.begin() as connection:
        at = store.database.now(connection) - 1_000
        place = {"run_id": "run_1", "ask_id": "ask_1", "provider": "p", "model": "m", "request": {}}
        row = place | {"collected_at": at, "until": at + 90_000}
        connection.execute(sa.insert(collected_asks).values(**row))
    late = found(name)
    assert (late.level, late.said.partition(", and for ")[0]) == ("warning", "1 calls wait, 0 of them in 0 batches")


def test_a_key_that_is_refused_is_not_shown(store: Store, terminal: Terminal) -> None:
    with closing(_refusing()) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        app = an_application(terminal.folder, "refused_app", url)
        told = found(f"server {url}", app=app)
        assert (told.level, told.said) == ("fault", "it refuses the API key (401)")
        assert "sk-secret" not in terminal.printed("doctor", "--app", app, code=1)


class _refusing:
    """A server that answers everything with 401."""

    def __init__(self) -> None:
        import http.server
        import threading

        class Refuse(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(401)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.HTTPServer(("127.0.0.1", 0), Refuse)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


# The processes


def test_without_a_coordinator_nothing_moves(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("coordinator").level == "ok"
    store.process.retire_worker(store.monitor.workers()[0].id)
    assert (found("coordinator").level, found("coordinator").mend) == ("warning", "start `turnwise up`")
    monkeypatch.setenv("TURNWISE_BROKER_URL", f"redis://127.0.0.1:{free_port()}/0")
    assert (found("coordinator").level, found("coordinator").mend) == ("fault", "start `turnwise coordinator`")
    assert (found("shared database").level, levels()["database"]) == ("fault", "ok")
    assert "set it to a PostgreSQL database" in found("shared database").mend


def test_asks_in_a_queue_that_nobody_serves_are_counted(store: Store) -> None:
    assert found("workers").level == "ok"
    asked_run(store, "llm-slow")
    told = found("workers")
    assert told.level == "fault"
    assert told.said == "1 asks are in the queue llm-slow, which no process serves"
    assert told.mend == "start `turnwise worker -Q llm-slow`"
    new_worker(store, "llm-slow")
    assert found("workers").level == "ok"


def test_deaf_and_silent_processes_are_named(store: Store) -> None:
    worker = new_worker(store, "llm")
    asked_run(store, "llm")
    assert store.worker.claim("llm", worker) is not None
    assert (levels()["hearing"], levels()["leases"]) == ("ok", "ok")

    store.process.note_deaf(worker, True)
    assert found("hearing").said.endswith("nothing: llm 1 on here")

    with store.database.begin() as connection:
        long_ago = sa.update(schema.workers).where(schema.workers.c.id == worker).values(lease_until=1.0)
        connection.execute(long_ago)
    told = found("leases")
    assert told.level == "fault"
    assert told.said.startswith("1 processes have fallen silent, and 1 asks are held")
    store.coordinator.expire_leases()
    assert found("leases").level == "ok"


# Upkeep


def test_runs_that_should_have_been_deleted_are_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("retention").level == "note"
    monkeypatch.setenv("TURNWISE_RETENTION", "3600")
    assert found("retention").level == "ok"
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    with store.database.begin() as connection:
        connection.execute(sa.update(schema.runs).values(finished_at=1.0))
    told = found("retention")
    assert told.level == "warning"
    assert told.said.startswith("1 runs should have been deleted")


def test_a_folder_for_metrics_that_is_missing_is_a_fault(
    store: Store, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    assert found("prefork metrics").level == "note"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(terminal.folder / "missing"))
    assert found("prefork metrics").level == "fault"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(terminal.folder))
    assert found("prefork metrics").level == "ok"


# The command


def test_the_command_tells_people_and_scripts_and_ends_with_0_where_nothing_is_broken(
    store: Store, terminal: Terminal
) -> None:
    with FakeLLMServer([]) as server:
        app = an_application(terminal.folder, "well_app", server.base_url, input_price="1", output_price="2")

        printed = terminal.run("doctor", "--app", app)
        told = json.loads(terminal.run("doctor", "--app", app, "--json"))

    assert "0 faults, 0 warnings." in printed
    assert told["ok"] is True
    assert {each["level"] for each in told["findings"]} == {"ok", "note"}
    assert {"application", "database", "schema", "coordinator"} <= {each["check"] for each in told["findings"]}
    store.process.retire_worker(store.monitor.workers()[0].id)
    assert "→ start `turnwise up`" in terminal.printed("doctor", "--app", "missing:app", code=1)
