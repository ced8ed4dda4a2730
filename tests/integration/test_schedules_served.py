"""Schedules of an embedded server: over HTTP, on the command line and in code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from tests.e2e.waiting import until
from tests.support.cli import Terminal, terminal

from turnwise import App, ChatAgent, ChatAgentConfig, MockLMConfig, Task
from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.errors import ApplicationError, ConflictError, InvalidScheduleError, NotFoundError, UnknownTaskError
from turnwise.processes.settings import ServiceSettings, load_settings
from turnwise.record.database.database import Database
from turnwise.record.database.schedule_tables import schedules

__all__ = ["terminal"]


def _report() -> Task:
    model = MockLMConfig(default_response="DONE The report is written.")
    return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)


def _asking() -> Task:
    model = MockLMConfig(default_response="__SEND__:User May I?")
    return Task(ChatAgent(ChatAgentConfig(name="desk", llm=model)), interactive=False)


def _app(version: str = "1", **schedule: Any) -> App:
    app = App("tests", version=version)
    app.task(name="report")(_report)
    app.task(name="asking")(_asking)
    if schedule:
        app.schedule("report", message="Write it.", **schedule)
    return app


def _settings(folder: Path) -> ServiceSettings:
    return load_settings(database_url=f"sqlite:///{folder / 'runs.db'}", bind="127.0.0.1:0", sweep_seconds=0.3)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(_settings(tmp_path_factory.mktemp("server")), _app()) as made:
        yield made


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Client]:
    with Client(server.url) as made:
        yield made


def test_a_schedule_submits_runs_that_tell_of_it(client: Client) -> None:
    made = client.create_schedule(
        "often", "report", "Write it.", every=1.0, tags=["daily"], metadata={"desk": 4}, overlap="queue", turns=3
    )
    until(lambda: len(client.ticks("often").items) >= 2, "two ticks")

    removed = client.remove_schedule("often")
    runs = client.runs(tag="schedule:often").items
    origin = runs[0].metadata["schedule"]
    assert (made.state, len(made.next_ticks), removed.id) == ("active", 5, made.id)
    assert {one.task for one in runs} == {"report"}
    assert (runs[0].tags, runs[0].metadata["desk"]) == (["daily", "schedule:often"], 4)
    assert (origin["id"], origin["name"]) == (made.id, "often")
    assert len({run.metadata["schedule"]["due_at"] for run in runs}) == len(runs)
    until(lambda: client.run(runs[-1].id).status == "completed", "the end of the first run")


def test_the_times_are_shown_in_the_zone_through_a_change_of_the_clocks(client: Client) -> None:
    client.create_schedule(
        "nightly", "report", "Write it.", cron="30 2 * * *", timezone="Europe/Berlin", start_at="2030-03-30T00:00"
    )

    shown = client.schedule("nightly", ahead=3).next_ticks

    # On the 31st the clocks go from 2:00 to 3:00, so 2:30 comes right after that.
    assert [at.isoformat() for at in shown] == [
        "2030-03-30T01:30:00+00:00",
        "2030-03-31T01:00:00+00:00",
        "2030-04-01T00:30:00+00:00",
    ]
    changed = client.change_schedule("nightly", at="2030-12-24T18:00", start_at="2030-01-01T00:00Z")
    assert [at.isoformat() for at in changed.next_ticks] == ["2030-12-24T17:00:00+00:00"]
    assert (changed.cron, changed.timezone) == (None, "Europe/Berlin")


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"cron": "61 * * * *"}, "invalid_schedule", "the minute field"),
        ({"cron": "0 0 30 2 *"}, "invalid_schedule", "would never come"),
        ({"cron": "@daily", "timezone": "Europe/Berlim"}, "invalid_schedule", "the time zone 'Europe/Berlim'"),
        ({"cron": "@daily", "timezone": "Europe"}, "invalid_schedule", "the time zone 'Europe'"),
        ({"cron": "@daily", "timezone": "../../etc/passwd"}, "invalid_schedule", "the time zone"),
        ({}, "invalid_schedule", "found none of them"),
        ({"cron": "@daily", "every": 5}, "invalid_schedule", "found cron and every"),
        ({"at": "2020-01-01T00:00:00Z"}, "invalid_schedule", "in the past"),
        ({"every": 0.1}, "invalid_request", "every"),
        ({"every": 5, "jitter": 6}, "invalid_schedule", "jitter is 6 seconds; expected 0 to 5"),
        ({"every": 5, "task": "nothing"}, "unknown_task", "has no task 'nothing'; it has: report, asking"),
        ({"every": 5, "version": "7"}, "invalid_request", "TURNWISE_VERSION_POLICY is adopt"),
        ({"every": 5, "version": "7\0"}, "invalid_request", "control characters"),
        ({"every": 5, "name": "sch_1"}, "invalid_request", "sch_"),
        ({"every": 5, "metadata": {"schedule": 1}}, "invalid_request", "schedule"),
        ({"every": 5, "overlap": "some"}, "invalid_request", "overlap"),
        ({"every": 5, "message": " "}, "invalid_request", "the message is empty"),
        ({"every": 5, "unknown": 1}, "invalid_request", "unknown"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_kept(
    server: EmbeddedServer, client: Client, given: dict[str, Any], code: str, told: str
) -> None:
    before = client.schedules().items
    body = {"name": "wrong", "task": "report", "message": "Write it."} | given

    answer = httpx2.post(f"{server.url}/v1/schedules", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert told in answer.text
    assert client.schedules().items == before


def test_it_is_paused_triggered_and_resumed(client: Client) -> None:
    client.create_schedule("held", "report", "Write it.", cron="@monthly", timezone="Australia/Lord_Howe")
    paused = client.pause_schedule("held", "holidays")
    run = client.trigger_schedule("held")
    (tick,) = client.ticks("held").items
    resumed = client.resume_schedule("held")

    assert (paused.state, paused.pause_note, paused.next_ticks) == ("paused", "holidays", [])
    assert (tick.outcome, tick.run, tick.triggered_by is None) == ("submitted", run.id, False)
    assert (resumed.state, len(resumed.next_ticks)) == ("active", 5)
    assert resumed.last_tick is not None
    with pytest.raises(ConflictError, match="is not paused"):
        client.resume_schedule("held")
    with pytest.raises(ConflictError, match="there is a schedule 'held'"):
        client.create_schedule("held", "report", "Write it.", cron="@daily")
    with pytest.raises(NotFoundError, match="there is no schedule 'nowhere'"):
        client.schedule("nowhere")
    with pytest.raises(UnknownTaskError):
        client.change_schedule("held", task="nothing")
    with pytest.raises(InvalidScheduleError, match="the hour field"):
        client.change_schedule("held", cron="0 25 * * *")
    assert client.schedule("held").cron == "@monthly"


@pytest.mark.parametrize(
    ("field", "value", "times"),
    [
        ("start_at", "9998-06-01T00:00:00Z", {"every": 31_622_400}),
        ("start_at", "9999-12-31T23:58:00Z", {"cron": "* * * * *"}),
        ("end_at", "9999-12-31T23:59:59Z", {"every": 60}),
        ("at", "9999-12-31T23:59:59-14:00", {}),
        ("start_at", "0001-01-01T00:00:00+14:00", {"every": 60}),
    ],
)
def test_far_times_are_refused_and_leave_nothing(
    client: Client, server: EmbeddedServer, field: str, value: str, times: dict[str, Any]
) -> None:
    body = {"name": "far", "task": "report", "message": "Write it.", field: value, **times}

    answer = httpx2.post(f"{server.url}/v1/schedules", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_schedule")
    assert f"{field} is {value.replace('Z', '+00:00')}; expected a time in the years" in answer.json()["detail"]
    assert "far" not in [one.name for one in client.schedules().items]

    client.create_schedule("near", "report", "Write it.", cron="@monthly")
    change = {field: value, **times}
    assert httpx2.patch(f"{server.url}/v1/schedules/near", json=change).status_code == 422
    client.remove_schedule("near")


def test_a_schedule_with_far_times_that_was_kept_breaks_no_list(tmp_path: Path) -> None:
    far = datetime(9998, 6, 1, tzinfo=UTC).timestamp()
    with EmbeddedServer(_settings(tmp_path), _app()) as server, Client(server.url) as client:
        client.create_schedule("far", "report", "Write it.", every=366 * 86_400.0)
        database = Database(f"sqlite:///{tmp_path / 'runs.db'}")
        with database.begin() as connection:
            connection.execute(sa.update(schedules).values(start_at=far, due_at=far, look_at=far))
        database.close()

        (shown,) = client.schedules().items

        assert [at.year for at in shown.next_ticks] == [9998]


def test_null_leaves_the_message_as_it_is(client: Client, server: EmbeddedServer) -> None:
    client.create_schedule("kept", "report", "Write it.", cron="@monthly", session_id="reports")

    answer = httpx2.patch(f"{server.url}/v1/schedules/kept", json={"message": None, "session_id": None})

    assert (answer.status_code, answer.json()["message"], answer.json()["session_id"]) == (200, "Write it.", None)


def test_a_newer_tick_cancels_the_run_that_waits_for_a_human(client: Client) -> None:
    client.create_schedule("replacing", "asking", "Go.", every=2.0, overlap="cancel")
    until(lambda: len([one for one in client.ticks("replacing").items if one.run]) >= 2, "two runs")
    client.pause_schedule("replacing")

    *_, first = [one for one in client.ticks("replacing").items if one.run]
    until(lambda: client.run(str(first.run)).status == "cancelled", "the end of the first run")


def test_the_command_line(terminal: Terminal, server: EmbeddedServer, client: Client) -> None:
    where = ("--url", server.url)
    out = terminal.run(
        "schedules",
        "add",
        "weekly",
        "report",
        "Write it.",
        "--cron",
        "0 3 * * MON",
        "--timezone",
        "Europe/Berlin",
        *where,
    )
    assert re.match(r"weekly: next at \d{4}-", out)
    client.create_schedule("rare", "report", "Write it.", every=1_234_567.5)
    listed = terminal.run("schedules", "list", *where)
    assert "weekly" in listed
    assert "every 1234567.5 s" in listed
    client.remove_schedule("rare")
    run = terminal.run("schedules", "trigger", "weekly", *where).strip()
    shown = terminal.run("schedules", "show", "weekly", "--next", "2", *where)
    assert run in shown
    assert shown.count("03:00:00+0") == 2
    assert "goes on with: turnwise schedules resume weekly" in terminal.run(
        "schedules", "pause", "weekly", "--note", "holidays", *where
    )
    told = json.loads(terminal.run("schedules", "show", "weekly", "--json", *where))
    assert (told["pause_note"], told["ticks"][0]["run"]) == ("holidays", run)
    assert "next at" in terminal.run("schedules", "resume", "weekly", *where)
    assert terminal.run("schedules", "remove", "weekly", *where) == "weekly is removed.\n"


def test_code_declares_schedules_and_they_go_with_it(tmp_path: Path) -> None:
    soon = datetime.now(UTC) + timedelta(hours=2)
    with EmbeddedServer(_settings(tmp_path), _app(every=timedelta(hours=1))) as server, Client(server.url) as client:
        until(lambda: client.schedules().items, "the schedule of the code")
        (made,) = client.schedules().items
        client.pause_schedule("report", "not yet")
        assert (made.name, made.every, made.declared_by) == ("report", 3_600.0, "1")
        with pytest.raises(ConflictError, match="declared in the code of the application, version '1'"):
            client.remove_schedule("report")
        with pytest.raises(ConflictError, match="change it there, or pause it here"):
            client.change_schedule("report", overlap="queue")
    # The same version with other code, as while one works on it.
    with EmbeddedServer(_settings(tmp_path), _app(at=soon)) as server, Client(server.url) as client:
        until(lambda: client.schedule("report").at, "the changed schedule")
        changed = client.schedule("report")
        assert (changed.id, changed.state, changed.pause_note) == (made.id, "paused", "not yet")
    with EmbeddedServer(_settings(tmp_path), _app("2")) as server, Client(server.url) as client:
        until(lambda: not client.schedules().items, "the end of the schedule")


def test_each_start_tells_of_a_name_that_is_taken_until_it_is_free(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[str]:
        return [one.getMessage() for one in caplog.records if getattr(one, "action", "") == "schedule_name_taken"]

    with EmbeddedServer(_settings(tmp_path), _app()) as server, Client(server.url) as client:
        client.create_schedule("report", "report", "Mine.", every=3_600.0)
    for _ in range(2):
        caplog.clear()
        with EmbeddedServer(_settings(tmp_path), _app(every=60)) as server, Client(server.url) as client:
            until(warnings, "the warning")
            assert client.schedule("report").declared_by is None
        (warning,) = warnings()
        assert "The schedule report of the application is not in force: tenant default has another" in warning
        assert "remove that one (turnwise schedules remove) and start this process again" in warning

    with EmbeddedServer(_settings(tmp_path), _app(every=60)) as server, Client(server.url) as client:
        client.remove_schedule("report")
    with EmbeddedServer(_settings(tmp_path), _app(every=60)) as server, Client(server.url) as client:
        until(lambda: client.schedules().items, "the schedule of the code")
        assert client.schedule("report").declared_by == "1"


def test_code_that_declares_what_cannot_be_does_not_start() -> None:
    app = _app()

    with pytest.raises(InvalidScheduleError, match="the hour field"):
        app.schedule("report", message="Write it.", cron="0 25 * * *")
    with pytest.raises(InvalidScheduleError, match="the schedule 'report': message is '': the message is empty"):
        app.schedule("report", message="", every=60)
    assert app.schedules == []
    with pytest.raises(ApplicationError, match="is no task of application"):
        app.schedule(message="Write it.", every=60)(lambda: _report())
    app.schedule("report", message="Write it.", every=60)
    with pytest.raises(ApplicationError, match="two schedules named 'report'"):
        app.schedule("report", message="Write it.", cron="@daily")
    app.schedule("nothing", message="Write it.", every=60)
    with pytest.raises(ApplicationError, match="for the task 'nothing', which application 'tests' does not have"):
        app.check()
