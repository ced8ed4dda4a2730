"""A new version of Turnwise takes the place of an old one while conversations go on, with a migration in between."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from tests.e2e import in_process, old_version, served
from tests.e2e.expected import assert_same, expected, scenario_named
from tests.e2e.installation import ONE_WORKER, Distributed
from tests.e2e.processes import environment, run_command
from tests.e2e.scenarios import PAGES
from tests.e2e.waiting import until
from tests.support.brokers import BrokerMissing, fresh_rabbitmq
from tests.support.databases import NoPostgresError, fresh_postgres
from tests.support.services import missing

from turnwise.client import Client
from turnwise.record.database.schema import SCHEMA_VERSION
from turnwise.testing.fake_llm.server import FakeLLMServer

# It starts seven processes, of two versions.
pytestmark = [pytest.mark.postgres, pytest.mark.rabbitmq, pytest.mark.timeout(300)]


class Upgrade:
    """A fleet of the old version that runs, and one of this version that does not yet, on one database and broker."""

    def __init__(self, database: str, broker: str, folder: Path, stack: ExitStack) -> None:
        self.database = database
        self.folder = folder
        python = old_version.old_python(folder)
        told = subprocess.run(
            [python, "-c", f"from {old_version.SCHEMA_MODULE} import SCHEMA_VERSION; print(SCHEMA_VERSION)"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == old_version.SCHEMA < SCHEMA_VERSION
        self._migrate(python)
        for name in ("old", "new"):
            (folder / name).mkdir()
        self.old = Distributed(database, broker, folder / "old", python=python, roles=ONE_WORKER)
        self.new = Distributed(database, broker, folder / "new", roles=ONE_WORKER)
        for fleet in (self.old, self.new):
            stack.callback(fleet.stop)
        self.old.start()

    def migrate(self) -> None:
        """Bring the schema to this version's."""
        self._migrate(sys.executable)

    def _migrate(self, python: str) -> None:
        done = run_command(["migrate"], environment(database_url=self.database), self.folder, python)
        assert done.returncode == 0, done.stderr

    def value(self, query: str) -> object:
        """The only value that a query gives."""
        with psycopg.connect(self.database) as connection:
            row = connection.execute(query).fetchone()
        return row[0] if row else None


@pytest.fixture
def upgrade(model: FakeLLMServer, tmp_path: Path) -> Iterator[Upgrade]:
    with ExitStack() as stack:
        try:
            database, broker = stack.enter_context(fresh_postgres()), stack.enter_context(fresh_rabbitmq())
        except (BrokerMissing, NoPostgresError) as error:
            missing(str(error))
        yield Upgrade(database, broker, tmp_path, stack)


def test_processes_are_replaced_one_by_one_and_no_run_is_lost_or_doubled_or_said_otherwise(
    upgrade: Upgrade, model: FakeLLMServer
) -> None:
    # Each scenario is one whose transcript is the same in both versions: a turn of it may be of either.
    runs = {}
    with Client(upgrade.old.url) as client, Client(upgrade.new.url) as new_client:

        def submit(at: Client, *names: str) -> None:
            for name in names:
                runs[served.submit(at, scenario_named(name))] = scenario_named(name)

        # given conversations with the old version: one whose model thinks, one that waits for a human, a session
        submit(client, "order", "tool_loop", "delegation")
        pages = [served.submit(client, PAGES[0], "ann")]
        thinking = model.stats()["requests"]
        submit(client, "slow")
        until(lambda: model.stats()["requests"] >= thinking + 2, "the slow call to be in flight")

        # when the schema is migrated under them, one of them is restarted, and new processes come up beside them
        upgrade.migrate()
        assert upgrade.value("SELECT version_num FROM alembic_version") == SCHEMA_VERSION
        upgrade.old.kill_and_replace("worker")
        submit(client, "circles", "notes", "slow")
        pages.append(served.submit(client, PAGES[1], "ann"))
        upgrade.new.start()
        submit(client, "api_loop", "slow")
        submit(new_client, "passing", "slow")

        # and old ones leave, one by one
        for role in reversed(ONE_WORKER):
            upgrade.old.processes[role].stop()
            assert not upgrade.old.processes[role].running
            submit(new_client, "final")

        # then each run ends as it would have anyway
        for run_id, scenario in runs.items():
            assert_same(served.finish(new_client, run_id, scenario), expected(scenario))
        pages.append(served.submit(new_client, PAGES[2], "ann"))
        for run_id, page, wanted in zip(pages, PAGES, in_process.play_session(PAGES), strict=True):
            assert_same(served.finish(new_client, run_id, page), wanted)

    everyone = len(runs) + len(pages)
    assert upgrade.value("SELECT count(*) FROM runs") == everyone
    assert upgrade.value("SELECT count(*) FROM runs WHERE finished_at IS NULL") == 0
    unanswered = "SELECT count(*) FROM asks WHERE status <> 'answered'"
    assert upgrade.value(unanswered) == 0
    accepted = "SELECT count(*) FROM replies WHERE accepted"
    assert upgrade.value(accepted) == upgrade.value("SELECT count(*) FROM asks")
    query = "SELECT count(*) FROM replies JOIN workers ON id = worker_id WHERE accepted AND pid = {}"
    for fleet in (upgrade.old, upgrade.new):
        answered = upgrade.value(query.format(fleet.processes["worker"].pid))
        assert answered  # each had its part
