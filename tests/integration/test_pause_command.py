"""`turnwise pause` of tenants, over an embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from tests.support.cli import Terminal, terminal
from tests.support.gateway_parts import make_app
from tests.support.store_parts import asked_run

from turnwise.cli.embedded import EmbeddedServer
from turnwise.client import Client
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.keys import NewKey

__all__ = ["terminal"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server with a tenant that has a run, one that has a limit, and one that has a key."""
    url = f"sqlite:///{tmp_path_factory.mktemp('pauses') / 'runs.db'}"
    with EmbeddedServer(load_settings(database_url=url, bind="127.0.0.1:0"), make_app()) as made:
        with closing(Database(url)) as database:
            store = Store(database)
            asked_run(store, "elsewhere", run={"tenant": "running"})
            new = NewKey(tenant="keyed", name="a key", scopes=("runs:read",), created_by="a test")
            store.operator().create_key(new)
        with Client(made.url) as client:
            client.set_tenant("limited", max_unfinished_runs=3)
        yield made


@pytest.mark.parametrize("name", ["running", "keyed", "limited"])
def test_a_tenant_of_which_something_is_on_record_is_paused(
    terminal: Terminal, server: EmbeddedServer, name: str
) -> None:
    told = terminal.whole("pause", "tenant", name, "--url", server.url)

    assert told == f"The tenant {name} is paused. It goes on with: turnwise resume tenant {name}\n"


def test_a_tenant_of_which_nothing_is_on_record_is_paused_and_the_name_is_doubted(
    terminal: Terminal, server: EmbeddedServer
) -> None:
    told = terminal.whole("pause", "tenant", "nosuch", "--url", server.url)

    assert "The tenant nosuch is paused." in told
    assert "No run, key or limit of a tenant 'nosuch' is on record" in told
    assert "nosuch" in terminal.run("pauses", "--json", "--url", server.url)
