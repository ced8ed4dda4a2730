"""Databases of PostgreSQL in encodings other than UTF-8: how they are read, refused, named, and not made."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
import sqlalchemy as sa
from alembic import command
from psycopg import sql
from sqlalchemy.engine import make_url
from tests.support.cli import Terminal, terminal
from tests.support.databases import NoPostgresError, fresh_postgres, pgvector_server, postgres_server
from tests.support.doctor_parts import found
from tests.support.services import missing
from tests.support.store_parts import new_run

from turnwise import Document, HashingEmbedder, PgVectorConfig
from turnwise.base.ids import new_id
from turnwise.errors import ConfigurationError
from turnwise.integrations.retrieval.indexed_store import IndexedStore
from turnwise.integrations.retrieval.opening import Opened
from turnwise.record.database import creation
from turnwise.record.database.database import Database
from turnwise.record.database.migration import config
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT

__all__ = ["terminal"]

pytestmark = pytest.mark.postgres

_SAID = "naïve 🐢"


@contextmanager
def _empty(encoding: str, server: Callable[[], str] = postgres_server) -> Iterator[str]:
    """URL of an empty database of that encoding; skips where no server can be had."""
    with ExitStack() as stack:
        try:
            url = stack.enter_context(fresh_postgres(server(), encoding=encoding))
        except NoPostgresError as error:
            missing(str(error))
        yield url


@contextmanager
def _with_old_tables(encoding: str) -> Iterator[str]:
    """The same with the tables of an earlier version, which did not look at the encoding."""
    with _empty(encoding) as url:
        database = Database(url)
        with database.begin() as connection:
            command.upgrade(config(connection), "0009")
        database.close()
        yield url


def _changed(url: str, **parameters: str) -> str:
    return make_url(url).update_query_dict(parameters).render_as_string(hide_password=False)


@pytest.mark.parametrize(
    "parameters", [{}, {"client_encoding": "sql_ascii"}, {"options": "-cclient_encoding=latin1"}], ids=str
)
def test_connections_are_in_utf8_whatever_the_settings_around_them_say(
    parameters: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with _empty("SQL_ASCII") as url:
        name = sql.Identifier(make_url(url).database or "")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} SET client_encoding = 'latin2'").format(name))
        monkeypatch.setenv("PGCLIENTENCODING", "latin9")
        database = Database(_changed(url, **parameters))

        with database.read() as reading:
            assert reading.execute(sa.text("SHOW client_encoding")).scalar_one() == "UTF8"
        database.close()


def test_a_vector_store_keeps_texts_in_a_database_of_sql_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "sql_ascii")
    with _empty("SQL_ASCII", pgvector_server) as url:
        configured = PgVectorConfig(url=_changed(url, client_encoding="latin1"), embedder=HashingEmbedder())
        store = IndexedStore(embedder=configured.embedder, index=Opened().index(configured))
        store.add([Document(text=_SAID)])

        assert [found.text for found in store.search(_SAID)] == [_SAID]
        store.close()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1", "EUC_JP"])
def test_first_tables_are_made_in_utf8_only(encoding: str, terminal: Terminal) -> None:
    with _empty(encoding) as url:
        for rest in ((), ("--create-database",)):
            told = terminal.refused("migrate", *rest, "--database", url)
            assert f"has the encoding {encoding}" in told
            assert "`createdb -E UTF8 -T template0 NAME`" in told

        database = Database(url)
        assert database.schema_version() is None
        database.close()


def test_tables_that_are_there_are_brought_up_to_date_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with _with_old_tables("SQL_ASCII") as url:
        database = Database(url)
        with caplog.at_level(logging.WARNING):
            database.migrate()
        database.check_schema()
        (warned,) = [record for record in caplog.records if getattr(record, "action", "") == "database_encoding"]
        assert "has the encoding SQL_ASCII" in warned.getMessage()

        # and what is kept there is read as it was written
        tenant = Store(database).tenant(DEFAULT_TENANT)
        run = new_run(message={"content": _SAID})
        tenant.submit(run)
        assert (kept := tenant.run(run.id)) is not None
        assert kept.message == {"content": _SAID}
        database.close()


def test_the_doctor_warns_of_another_encoding_alone(terminal: Terminal) -> None:
    with _with_old_tables("LATIN1") as url:
        terminal.run("migrate", "--database", url)
        told = found("encoding", database_url=url)
        assert told.level == "warning"
        assert "has the encoding LATIN1" in told.said
        assert "createdb -E UTF8 -T template0" in told.mend
    with _empty("UTF8") as url:
        terminal.run("migrate", "--database", url)
        assert "encoding" not in terminal.printed("doctor", "--database", url, code=1)


@pytest.fixture
def absent() -> Iterator[str]:
    """URL of a database that does not exist; one that the test creates is dropped."""
    with _empty("UTF8") as url:
        name = new_id("tw_absent")
        yield make_url(url).set(database=name).render_as_string(hide_password=False)
        with psycopg.connect(postgres_server(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def test_a_database_is_created_in_utf8_where_the_servers_template_is_not(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _empty("SQL_ASCII") as template:
        monkeypatch.setattr(creation, "_TEMPLATE", make_url(template).database)
        database = Database(absent)

        assert database.create()

        with database.read() as connection:
            assert connection.execute(sa.text("SHOW server_encoding")).scalar_one() == "UTF8"
        database.close()


def test_a_database_is_created_from_the_servers_template_if_that_is_in_utf8(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _empty("UTF8") as template:
        with psycopg.connect(template) as connection:
            connection.execute("CREATE TABLE of_the_template ()")
        monkeypatch.setattr(creation, "_TEMPLATE", make_url(template).database)
        database = Database(absent)

        assert database.create()

        with database.read() as reading:
            assert sa.inspect(reading).get_table_names() == ["of_the_template"]
        database.close()


def test_a_locale_that_does_not_allow_the_encoding_is_named(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(postgres_server()) as connection:
        locale = connection.execute("SELECT datctype FROM pg_database WHERE datname = 'template0'").fetchone()
    if locale in (("C",), ("POSIX",)):
        pytest.skip("the locale of this server allows every encoding")
    # given a server whose locale is not one of UTF-8, seen the other way round
    monkeypatch.setattr(creation, "UTF8", "LATIN2")
    database = Database(absent)

    with pytest.raises(ConfigurationError, match=r"does not match locale .*TEMPLATE template0 LOCALE 'C'"):
        database.create()
    database.close()
