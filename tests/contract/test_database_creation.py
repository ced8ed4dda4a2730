"""A database that is missing on a PostgreSQL server is named as such, and `migrate` creates it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url
from tests.support.cli import Terminal, terminal
from tests.support.databases import NoPostgresError, postgres_server
from tests.support.services import missing

from turnwise.base.ids import new_id
from turnwise.errors import ConfigurationError, DatabaseUnavailableError
from turnwise.record.database.database import Database

__all__ = ["terminal"]

pytestmark = pytest.mark.postgres


def _server() -> str:
    try:
        return postgres_server()
    except NoPostgresError as error:
        missing(str(error))


@pytest.fixture
def absent() -> Iterator[str]:
    """URL of a database that does not exist; one that the test creates is dropped."""
    yield from _absent(new_id("tw_absent"))


@pytest.fixture
def spaced() -> Iterator[str]:
    """The same with a blank in its name."""
    yield from _absent(new_id("tw absent"))


def _absent(name: str) -> Iterator[str]:
    yield make_url(_server()).set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def test_the_error_for_a_missing_database_says_how_to_create_it(absent: str) -> None:
    database = Database(absent)

    with pytest.raises(DatabaseUnavailableError) as raised:
        database.check_schema()

    told = str(raised.value)
    assert "does not exist, though its server answers" in told
    assert "turnwise migrate --create-database" in told
    assert "does not answer" not in told
    database.close()


def test_migrate_creates_the_database_once(absent: str, terminal: Terminal) -> None:
    first = terminal.run("migrate", "--create-database", "--database", absent)
    second = terminal.run("migrate", "--create-database", "--database", absent)

    assert "Created the database" in first
    assert "Created the database" not in second
    database = Database(absent)
    database.check_schema()
    database.close()


def test_migrate_creates_a_database_whose_name_has_a_blank(spaced: str, terminal: Terminal) -> None:
    assert "Created the database" in terminal.run("migrate", "--create-database", "--database", spaced)
    assert "Created the database" not in terminal.run("migrate", "--create-database", "--database", spaced)


def test_a_parameter_that_libpq_does_not_know_is_told_in_one_line(absent: str, terminal: Terminal) -> None:
    for command in (["migrate"], ["migrate", "--create-database"], ["purge", "--older-than", "30d"]):
        told = terminal.refused(*command, "--database", f"{absent}?schema=public")

        assert "whose parameter 'schema' is not one of PostgreSQL's libpq" in told


def test_migrate_alone_creates_nothing(absent: str, terminal: Terminal) -> None:
    assert "turnwise migrate --create-database" in terminal.refused("migrate", "--database", absent)


@pytest.fixture
def role() -> Iterator[str]:
    """A user of the server who may do nothing, with the password `secret`."""
    name = new_id("tw_role")
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(sql.Identifier(name)))
        yield name
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_a_user_who_may_create_no_database_is_told_what_to_ask_for(absent: str, role: str) -> None:
    database = Database(make_url(absent).set(username=role, password="secret").render_as_string(False))
    with pytest.raises(ConfigurationError, match=r"CREATE DATABASE .* OWNER"):
        database.create()
    database.close()


def test_a_user_who_may_not_read_the_tables_is_told_in_one_line(absent: str, role: str, terminal: Terminal) -> None:
    terminal.run("migrate", "--create-database", "--database", absent)
    url = make_url(absent).set(username=role, password="secret").render_as_string(False)

    for command in (["migrate"], ["purge", "--older-than", "30d"]):
        told = terminal.refused(*command, "--database", url)

        assert "refuses its user a permission (permission denied for table" in told
        assert "run `turnwise migrate` as the services' user" in told


def test_a_missing_role_is_named(absent: str) -> None:
    # A server that asks for a password says the same of a wrong one and of a user who is not there.
    database = Database(make_url(absent).set(username=new_id("tw_nobody")).render_as_string(False))

    with pytest.raises(DatabaseUnavailableError, match=r"no such user|refuses the user or the password"):
        database.check_schema()
    database.close()
