"""A service that cannot start says why in one line, tells what to do, and exits with 2."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg
import pytest
from tests.e2e.processes import free_port, run_command
from tests.e2e.refusals import refusal, settings
from tests.support.databases import NoPostgresError, fresh_postgres
from tests.support.services import migrated_postgres, missing

from turnwise.record.database.database import Database

_SERVICES = [["gateway"], ["coordinator"], ["worker"]]
each_service = pytest.mark.parametrize("service", _SERVICES, ids=lambda service: service[0])


# Permissions do not keep root out, so tests of them give that up.
_AS_OTHERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ("env",)


def run_without_rights(command: list[str], env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command of a user who has no rights beyond those that files give to their owner."""
    return run_command(command, env, cwd, under=_AS_OTHERS)


@pytest.mark.parametrize(
    "command", [["up"], *_SERVICES, ["migrate"], ["tenants", "list"]], ids=lambda command: command[0]
)
def test_a_setting_with_a_mistyped_name(command: list[str], tmp_path: Path) -> None:
    env = settings(tmp_path, max_cots="2")
    said = refusal(run_command(command, env, tmp_path))
    assert said == "TURNWISE_MAX_COTS is not a setting; did you mean TURNWISE_MAX_COST?"
    assert not (tmp_path / "own.db").exists()


@pytest.mark.postgres
@pytest.mark.parametrize(("service", "scheme"), [("gateway", "amqp"), ("coordinator", "redis"), ("worker", "amqp")])
def test_a_broker_that_does_not_answer(service: str, scheme: str, tmp_path: Path) -> None:
    port = free_port()
    with migrated_postgres() as url:
        env = settings(tmp_path, database_url=url, broker_url=f"{scheme}://127.0.0.1:{port}/")
        assert str(port) in refusal(run_command([service], env, tmp_path))


@each_service
def test_a_service_on_a_file_is_refused_and_makes_none(service: list[str], tmp_path: Path) -> None:
    env = settings(tmp_path, broker_url="redis://127.0.0.1/0")
    said = refusal(run_command(service, env, tmp_path))
    assert "the services share a PostgreSQL database" in said and "turnwise migrate" not in said
    assert not (tmp_path / "own.db").exists()


@each_service
def test_a_database_that_does_not_answer(service: list[str], tmp_path: Path) -> None:
    port = free_port()
    env = settings(
        tmp_path, database_url=f"postgresql://turnwise:secret@127.0.0.1:{port}/none", broker_url="redis://127.0.0.1/0"
    )
    said = refusal(run_command(service, env, tmp_path))
    assert str(port) in said and "secret" not in said


@pytest.mark.postgres
@each_service
def test_a_database_without_the_schema_is_to_be_migrated(service: list[str], tmp_path: Path) -> None:
    try:
        with fresh_postgres() as url:
            env = settings(tmp_path, database_url=url, broker_url="redis://127.0.0.1/0")
            assert "turnwise migrate" in refusal(run_command(service, env, tmp_path))
    except NoPostgresError as error:
        missing(str(error))


@pytest.mark.postgres
def test_a_schema_of_another_version_is_left_alone(tmp_path: Path) -> None:
    try:
        with fresh_postgres() as url:
            env = settings(tmp_path, database_url=url, broker_url="redis://127.0.0.1/0")
            database = Database(url)
            database.migrate()
            database.close()
            with psycopg.connect(url) as connection:
                connection.execute("UPDATE alembic_version SET version_num = '9999'")
                connection.execute("UPDATE schema_support SET oldest_program = '9999'")
            assert "9999" in refusal(run_command(["gateway"], env, tmp_path))
            assert "9999" in refusal(run_command(["migrate"], env, tmp_path))
    except NoPostgresError as error:
        missing(str(error))


def test_an_issuer_without_keys_stops_the_server_and_not_the_migration(tmp_path: Path) -> None:
    env = settings(tmp_path, oidc_issuer="https://issuer.example", oidc_audience="turnwise")
    assert "needs TURNWISE_AUTH=keys" in refusal(run_command(["up"], env, tmp_path))
    assert run_command(["migrate"], env, tmp_path).returncode == 0


@pytest.mark.parametrize("command", [["up"], ["coordinator"]], ids=lambda command: command[0])
def test_an_application_that_is_not_there(command: list[str], tmp_path: Path) -> None:
    env = settings(tmp_path, app="nowhere.at_all:app", broker_url="redis://127.0.0.1/0")
    assert "nowhere" in refusal(run_command(command, env, tmp_path))
    assert not (tmp_path / "own.db").exists()


@pytest.mark.parametrize("command", [["coordinator"], ["migrate"]], ids=lambda command: command[0])
@pytest.mark.parametrize("closed", ["secrets", "secrets/TURNWISE_WIRE_KEYS"])
def test_a_secret_that_this_user_may_not_read(closed: str, command: list[str], tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "TURNWISE_WIRE_KEYS").write_text('["a-key-of-more-than-32-characters"]')
    (tmp_path / closed).chmod(0)
    try:
        done = run_without_rights(command, settings(tmp_path, secrets_dir="secrets"), tmp_path)
    finally:
        (tmp_path / closed).chmod(0o700)
    said = refusal(done)
    assert f"{tmp_path / closed} cannot be read" in said and "Permission denied" in said
    assert "Traceback" not in done.stderr


def test_a_folder_of_the_database_that_this_user_may_not_write_to(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    env = settings(tmp_path, database_url="sqlite:///closed/own.db")
    said = refusal(run_without_rights(["up"], env, tmp_path))
    assert "closed/own.db.lock cannot be written (Permission denied)" in said


@pytest.mark.parametrize("command", [["migrate"], ["keys", "list"]], ids=lambda command: command[0])
def test_a_folder_of_the_database_that_this_user_may_not_search(command: list[str], tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    env = settings(tmp_path, database_url="sqlite:///closed/own.db", broker_url="redis://127.0.0.1/0")
    try:
        done = run_without_rights(command, env, tmp_path)
    finally:
        closed.chmod(0o700)
    assert "sqlite:///closed/own.db does not answer (unable to open database file)" in refusal(done)
    assert "Traceback" not in done.stderr


def test_an_application_that_fails_to_load(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('no such luck')\n")
    said = refusal(run_command(["up"], settings(tmp_path, app="broken:app"), tmp_path))
    assert "broken" in said and "no such luck" in said
    assert not (tmp_path / "own.db").exists()
