"""A database that was destroyed is restored from a backup that was taken while runs were under way."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url
from tests.e2e import served
from tests.e2e.expected import assert_same, expected, scenario_named
from tests.e2e.installation import ONE_WORKER, Embedded, distributed_on
from tests.e2e.waiting import until
from tests.support.brokers import fresh_redis
from tests.support.services import require

from turnwise.client import Client
from turnwise.errors import NotFoundError
from turnwise.testing.fake_llm.server import FakeLLMServer

pytestmark = pytest.mark.timeout(400)

SLOW, ORDER, TOOLS = (scenario_named(name) for name in ("slow", "order", "tool_loop"))


class Conversations:
    """One that has ended, one that waits for a human, one whose model thinks; and what happens after the backup."""

    def __init__(self, client: Client, model: FakeLLMServer) -> None:
        self.ended, self.asking = (served.submit(client, each) for each in (TOOLS, ORDER))
        served.status_once(client, self.ended, "completed")
        served.status_once(client, self.asking, "waiting")
        before = model.stats()["requests"]
        self.thinking = served.submit(client, SLOW)
        until(lambda: model.stats()["requests"] >= before + 2, "the slow call to be in flight")

    def go_on(self, client: Client) -> None:
        """Do what no backup knows: answer as the human, play a whole run, end another."""
        first = client.inbox()[0].id
        client.answer(self.asking, "red, please")
        until(lambda: [item for item in client.inbox() if item.id != first], "the next question")
        self.unknown = served.submit(client, TOOLS)
        served.status_once(client, self.unknown, "completed")
        served.status_once(client, self.thinking, "completed")

    def end(self, client: Client) -> None:
        """Each ends as if nothing had happened; what came after the backup is unknown."""
        for run_id, scenario in ((self.ended, TOOLS), (self.asking, ORDER), (self.thinking, SLOW)):
            assert_same(served.finish(client, run_id, scenario), expected(scenario))
        with pytest.raises(NotFoundError):
            client.run(self.unknown)
        assert {run.id for run in client.runs().items} == {self.ended, self.asking, self.thinking}


def test_a_sqlite_file_is_restored_from_a_copy(model: FakeLLMServer, tmp_path: Path) -> None:
    server = Embedded(tmp_path)
    try:
        file, copy = tmp_path / "turnwise.db", tmp_path / "backup.db"
        with Client(server.url) as client:
            conversations = Conversations(client, model)
            connection = sqlite3.connect(file)
            connection.execute("VACUUM INTO ?", (str(copy),))
            connection.close()
            conversations.go_on(client)

            # when the file is lost
            server.process.kill()
            for lost in tmp_path.glob("turnwise.db*"):
                lost.unlink()
            shutil.copy(copy, file)
            server.restart()

            conversations.end(client)
    finally:
        server.stop()


@pytest.mark.postgres
@pytest.mark.redis
def test_a_postgres_database_is_restored_from_a_dump(model: FakeLLMServer, tmp_path: Path) -> None:
    dump, restore = (shutil.which(name) for name in ("pg_dump", "pg_restore"))
    require(dump and restore, "no pg_dump and pg_restore on the path; install postgresql-client")
    copy = tmp_path / "backup.dump"
    with distributed_on(fresh_redis, tmp_path, roles=ONE_WORKER) as installation, Client(installation.url) as client:
        conversations = Conversations(client, model)
        subprocess.run([str(dump), "-Fc", "-f", str(copy), installation.database], check=True, timeout=60)
        conversations.go_on(client)

        # when the database is lost, and every process with it
        for process in installation.processes.values():
            process.kill()
        url = make_url(installation.database)
        server = url.set(database="postgres").render_as_string(hide_password=False)
        name = sql.Identifier(str(url.database))
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        subprocess.run([str(restore), "-d", installation.database, str(copy)], check=True, timeout=60)
        installation.start()

        conversations.end(client)
