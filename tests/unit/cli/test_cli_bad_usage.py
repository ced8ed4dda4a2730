"""Bad input gets one line that says what was found and what to do, exit code 2, and nothing half-written."""

from __future__ import annotations

import importlib
import io
import json
import os
import socket
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
import typer
from tests.support import ports
from tests.support.cli import Terminal, migrated, terminal

from turnwise.cli.commands.runs import submit
from turnwise.errors import AlreadyServedError
from turnwise.record.database.file_lock import EmbeddedLock

__all__ = ["migrated", "terminal"]

DEMO_APP = "turnwise.demo.app:app"


@pytest.fixture
def busy_port() -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    """A port on which no one listens."""
    return ports.free_port()


# --- applications -----------------------------------------------------------------------------------------------------


def test_no_application_says_how_to_name_one(terminal: Terminal) -> None:
    assert "set TURNWISE_APP (or --app)" in terminal.refused("up")


def test_a_missing_application_module_is_named(terminal: Terminal) -> None:
    assert "no module 'nowhere'" in terminal.refused("up", "--app", "nowhere:app")


def test_an_application_that_fails_to_load_tells_why(terminal: Terminal) -> None:
    (terminal.folder / "breaks_on_load.py").write_text("raise RuntimeError('no such mood')")

    assert "RuntimeError: no such mood" in terminal.refused("up", "--app", "breaks_on_load:app")
    assert list(terminal.folder.glob("*.db*")) == []


def test_a_name_that_is_no_application_is_told(terminal: Terminal) -> None:
    (terminal.folder / "just_a_number.py").write_text("app = 7")

    assert "names int; expected a turnwise.App" in terminal.refused("up", "--app", "just_a_number:app")


# --- settings ---------------------------------------------------------------------------------------------------------


def test_a_bad_setting_is_named_with_its_variable(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_MAX_TURNS", "many")

    assert terminal.refused("up", "--app", DEMO_APP).startswith("TURNWISE_MAX_TURNS is ")


def test_an_unknown_log_level_is_told(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_LOG_LEVEL", "LOUD")

    assert "TURNWISE_LOG_LEVEL is 'LOUD'" in terminal.refused("migrate")


def test_an_address_without_a_port_is_told(terminal: Terminal) -> None:
    assert "expected HOST:PORT" in terminal.refused("up", "--app", DEMO_APP, "--bind", "localhost")


def test_a_server_open_to_all_without_a_token_is_refused(terminal: Terminal) -> None:
    assert "TURNWISE_AUTH=token" in terminal.refused("up", "--app", DEMO_APP, "--bind", "0.0.0.0:8080")


@pytest.mark.parametrize("command", ["gateway", "coordinator", "worker"])
def test_a_service_without_a_broker_says_which_setting_is_missing(terminal: Terminal, command: str) -> None:
    assert "TURNWISE_BROKER_URL" in terminal.refused(command, "--app", DEMO_APP)


@pytest.mark.parametrize(
    ("setting", "given", "told"),
    [
        ("TURNWISE_DATABASE_URL", "mysql://here/runs", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
        ("TURNWISE_DATABASE_URL", "sqlite:///runs.db", "postgresql://USER:PASSWORD@HOST:5432/turnwise"),
        ("TURNWISE_DATABASE_URL", "", "amqp://USER:PASSWORD@localhost:5672//"),
    ],
)
def test_an_address_in_a_hint_can_be_copied(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, setting: str, given: str, told: str
) -> None:
    if given:
        monkeypatch.setenv("TURNWISE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
        monkeypatch.setenv("TURNWISE_BROKER_URL", "redis://127.0.0.1:1/0")
        monkeypatch.setenv(setting, given)

    assert told in terminal.refused("coordinator", "--app", DEMO_APP)


@pytest.mark.parametrize("given", ["2,10", "ten", "0", "1,2,3"])
def test_a_range_of_children_is_the_most_and_the_fewest(terminal: Terminal, given: str) -> None:
    told = terminal.refused("worker", "--app", DEMO_APP, "--pool", "prefork", "--autoscale", given)
    assert "expected MAX,MIN" in told


def test_a_worker_of_no_queue_is_refused(terminal: Terminal) -> None:
    assert "expected names of queues" in terminal.refused("worker", "--app", DEMO_APP, "-Q", " ,")


# --- databases --------------------------------------------------------------------------------------------------------


def test_the_embedded_server_refuses_a_database_server(terminal: Terminal) -> None:
    error = terminal.refused("up", "--app", DEMO_APP, "--database", "postgresql://nobody:secret@127.0.0.1/none")

    assert "keeps its runs in a SQLite file" in error
    assert "secret" not in error


def test_a_database_in_a_missing_directory_is_told(terminal: Terminal) -> None:
    error = terminal.refused("up", "--app", DEMO_APP, "--bind", "127.0.0.1:0", "--database", "sqlite:///not/there.db")

    assert "there is no directory not" in error


def test_a_second_embedded_server_on_the_same_file_is_refused(terminal: Terminal) -> None:
    with EmbeddedLock(terminal.folder / "turnwise.db"):
        error = terminal.refused("up", "--app", DEMO_APP, "--bind", "127.0.0.1:0")

    assert f"process {os.getpid()}" in error
    assert not (terminal.folder / "turnwise.db").exists()


@pytest.mark.parametrize("command", ["gateway", "coordinator", "worker"])
def test_a_service_without_a_shared_database_says_which_setting_is_missing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("TURNWISE_BROKER_URL", "redis://127.0.0.1:1/0")
    error = terminal.refused(command, "--app", DEMO_APP)

    assert "TURNWISE_DATABASE_URL is not set" in error and "turnwise migrate" not in error
    assert list(terminal.folder.iterdir()) == []


def test_no_file_is_created_as_a_database_of_a_server(terminal: Terminal) -> None:
    assert "--create-database is for PostgreSQL" in terminal.refused("migrate", "--create-database")
    assert list(terminal.folder.iterdir()) == []


def test_migrate_makes_the_tables_and_may_be_repeated(terminal: Terminal) -> None:
    first, second = terminal.run("migrate"), terminal.run("migrate")

    assert "is up to date" in first
    assert first == second


# --- ports and gateways -----------------------------------------------------------------------------------------------


def test_a_busy_port_is_told_and_no_table_is_made(terminal: Terminal, busy_port: int) -> None:
    error = terminal.refused("up", "--app", DEMO_APP, "--bind", f"127.0.0.1:{busy_port}")

    assert f"127.0.0.1:{busy_port} is in use" in error
    assert not (terminal.folder / "turnwise.db").exists()


def test_a_server_that_could_not_start_leaves_the_database_to_others(terminal: Terminal, busy_port: int) -> None:
    terminal.refused("up", "--app", DEMO_APP, "--bind", f"127.0.0.1:{busy_port}")

    try:
        with EmbeddedLock(terminal.folder / "turnwise.db"):
            pass
    except AlreadyServedError:
        pytest.fail("the lock is still held")


@pytest.mark.parametrize(
    "command",
    [
        ["submit", "triage", "hello"],
        ["watch", "run_1"],
        ["chat", "triage", "hello"],
        ["runs"],
        ["show", "run_1"],
        ["answer", "run_1", "yes"],
        ["cancel", "run_1"],
        ["inbox"],
    ],
)
def test_an_unreachable_gateway_is_told_with_what_to_start(
    terminal: Terminal, free_port: int, command: list[str]
) -> None:
    url = f"http://127.0.0.1:{free_port}"

    error = terminal.refused(*command, "--url", url)

    assert error == f"no gateway answers at {url} (Connection refused); start one with `turnwise up`"


@pytest.mark.parametrize("command", [["submit", "triage", "hello"], ["runs"], ["mcp"]])
def test_an_address_that_is_none_is_told_with_where_it_was_given(
    terminal: Terminal, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = "expected http://HOST:PORT or https://HOST:PORT"
    assert terminal.refused(*command, "--url", "") == f"--url is ''; {expected}"

    monkeypatch.setenv("TURNWISE_URL", "foo")
    assert terminal.refused(*command) == f"TURNWISE_URL is 'foo'; {expected}"


def test_a_message_from_a_standard_input_that_is_closed_is_bad_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    with pytest.raises(typer.BadParameter, match="there is no standard input to read the message from"):
        submit("triage", "-")


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_message_that_is_no_text_is_bad_usage(errors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"caf\xe9 \xff"), encoding="utf-8", errors=errors)
    monkeypatch.setattr(sys, "stdin", given)

    with pytest.raises(typer.BadParameter, match=r"the message is not text in UTF-8$"):
        submit("triage", "-")


def test_a_message_on_the_command_line_that_is_no_text_is_bad_usage(terminal: Terminal) -> None:
    told = terminal.run("submit", "triage", "caf\udce9", code=2)

    assert "the message is not text in UTF-8" in " ".join(told.replace("│", " ").split())


def test_a_limit_that_is_no_amount_is_bad_usage(terminal: Terminal) -> None:
    assert "is not an amount in US dollars" in terminal.run("submit", "triage", "hello", "--max-cost", "cheap", code=2)


def test_a_status_that_no_run_has_is_bad_usage(terminal: Terminal) -> None:
    for command in ("runs", "cancel", "retry"):
        told = terminal.run(command, "--status", "foo", code=2)
        assert "--status" in told and "waiting" in told


@pytest.mark.parametrize("option", ["--task", "--tag", "--session", "--created-after", "--created-before"])
def test_an_empty_condition_chooses_no_runs(terminal: Terminal, option: str) -> None:
    for command in ("runs", "cancel", "retry"):
        assert f"{option} is empty" in terminal.run(command, "--status", "failed", option, "", code=2)
    assert "--search is empty" in terminal.run("runs", "--search", "", code=2)
    assert "--error is empty" in terminal.run("retry", "--error", "", code=2)


@pytest.mark.parametrize("age", ["1000000d", "999999999999d"])
def test_an_age_before_all_years_is_bad_usage(terminal: Terminal, age: str) -> None:
    for command, option in (("runs", "--older-than"), ("cancel", "--older-than"), ("retry", "--since")):
        assert f"{option} {age} is before the year 1" in terminal.run(command, option, age, code=2)


# --- commands that do one thing -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["export", "run_x"], "run_x"),
        (["replay", "run_x", "--app", DEMO_APP], "run_x"),
        (["purge", "--older-than", "1d", "--database", "sqlite:///none/there.db"], "there"),
    ],
)
def test_a_command_that_does_one_thing_says_its_error_as_a_sentence(
    migrated: Terminal, command: list[str], told: str
) -> None:
    error = migrated.run(*command, code=2)

    assert error.startswith("turnwise: ") and told in error


@pytest.mark.parametrize(
    "command",
    [["export", "run_x"], ["purge", "--older-than", "1d"], ["keys", "list"]],
    ids=lambda command: command[0],
)
def test_a_mistyped_file_of_the_database_is_told_and_not_made(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("TURNWISE_DATABASE_URL", "sqlite:///turnwsie.db")
    monkeypatch.setenv("TURNWISE_BROKER_URL", "redis://127.0.0.1:1/0")

    error = terminal.refused(*command)

    assert "there is no file turnwsie.db" in error and "run `turnwise migrate`" in error
    assert list(terminal.folder.iterdir()) == []


def test_a_migration_logs_its_error_as_a_service_does(terminal: Terminal) -> None:
    error = terminal.run("migrate", "--database", "sqlite:///none/there.db", code=2)

    assert json.loads(error)["action"] == "start_failed"


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_bad_line_of_tickets_is_told_with_its_number(terminal: Terminal) -> None:
    good = '{"id": "T-1", "from": "ann@example.com", "subject": "Hello", "text": "Hello there"}'
    (terminal.folder / "mine.jsonl").write_text(f"{good}\nnot a ticket\n")

    assert "line 2: not JSON" in terminal.refused("demo", "--input", "mine.jsonl")


def test_a_missing_file_of_tickets_is_told(terminal: Terminal) -> None:
    assert "none.jsonl cannot be read" in terminal.refused("demo", "--input", "none.jsonl")


def test_an_export_into_a_missing_folder_is_told(migrated: Terminal) -> None:
    error = migrated.refused("export", "run_x", "-o", "none/run.json")

    assert "there is no folder" in error


def test_a_bad_script_is_told_with_its_line(terminal: Terminal) -> None:
    (terminal.folder / "rules.json").write_text("[\n  {]\n")

    assert "rules.json:2:" in terminal.refused("fake-llm", "rules.json")


# --- the program itself -----------------------------------------------------------------------------------------------


def test_a_service_that_is_not_installed_names_its_extra(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def without_celery(name: str, package: str | None = None) -> ModuleType:
        if name == "turnwise_responders.service":
            raise ModuleNotFoundError("No module named 'celery'", name="celery")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without_celery)

    assert "pip install 'turnwise[responders]'" in terminal.refused("worker", "--app", DEMO_APP)


def test_a_command_without_the_record_s_libraries_names_the_extra(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("turnwise.record")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)

    assert "sqlalchemy is not installed" in terminal.refused("migrate")


def test_with_debugging_on_an_error_keeps_its_traceback(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwise.errors import ApplicationError

    monkeypatch.setenv("TURNWISE_DEBUG", "1")

    with pytest.raises(ApplicationError):
        terminal.run("up")
