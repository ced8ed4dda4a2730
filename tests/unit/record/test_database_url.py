"""URLs of databases: those that name a database, and those that leave it to the server."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from turnwise.base.postgres import LIVELY
from turnwise.errors import ConfigurationError
from turnwise.record.database.database import Database
from turnwise.record.database.database_url import connect_options, file_url, parse_url


@pytest.fixture(autouse=True)
def no_libpq_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGDATABASE", "PGSERVICE", "PGSERVICEFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://postgres@127.0.0.1:5432", "postgresql://postgres@127.0.0.1:5432"),
        ("postgresql://postgres@127.0.0.1:5432/", "postgresql://postgres@127.0.0.1:5432/"),
        ("postgres://me:winter-of-1947@db.example", "postgres://me:***@db.example"),
        ("postgresql://db.example?password=winter-of-1947", "postgresql://db.example?password=***"),
        ("postgresql://db.example?dbname=", "postgresql://db.example"),  # as SQLAlchemy reads it
        ("postgresql://", "postgresql://"),
    ],
)
def test_a_server_without_a_database_is_refused(url: str, shown: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Database(url)

    assert str(refused.value) == (
        f"TURNWISE_DATABASE_URL is {shown!r}, which names no database; expected "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    )


@pytest.mark.parametrize("url", ["postgresql://h?dbname=runs", "postgresql://h/other?dbname=runs"])
def test_a_database_may_be_named_by_its_parameter(url: str) -> None:
    database = Database(url)
    assert (database.url.database, database.name) == ("runs", "postgresql://h/runs")


def test_a_database_may_be_named_by_a_service() -> None:
    assert Database("postgresql://?service=runs").url.query == {"service": "runs"}


def test_a_database_may_be_named_by_the_environment_of_libpq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDATABASE", "runs")
    assert Database("postgresql://h").name == "postgresql://h"


def test_a_service_of_the_environment_counts_if_it_names_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "services").write_text("[named]\ndbname=runs\n[unnamed]\nhost=h\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))

    monkeypatch.setenv("PGSERVICE", "named")
    Database("postgresql://h")

    monkeypatch.setenv("PGSERVICE", "unnamed")
    with pytest.raises(ConfigurationError, match="names no database"):
        Database("postgresql://h")


def test_a_missing_database_that_the_url_does_not_name_is_not_created(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_options: object) -> None:
        raise psycopg.OperationalError('database "runs" does not exist')

    monkeypatch.setattr(psycopg, "connect", refuse)

    with pytest.raises(ConfigurationError, match="createdb"):
        Database("postgresql://?service=runs").create()


@pytest.mark.parametrize(
    ("parameter", "why"),
    [
        ("schema=public", "whose parameter 'schema' is not one of PostgreSQL's libpq; leave it out"),
        # Of psycopg: each statement would be a transaction of its own.
        ("autocommit=true", "whose parameter 'autocommit' is not one of PostgreSQL's libpq; leave it out"),
        ("connect_timeout=x", "whose connect_timeout is 'x'; expected seconds"),
        ("connect_timeout=inf", "whose connect_timeout is 'inf'; expected seconds"),
        ("connect_timeout=3&connect_timeout=4", "whose connect_timeout is ('3', '4'); expected seconds"),
    ],
)
def test_a_parameter_that_libpq_would_not_take_is_refused(parameter: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Database(f"postgresql://me:winter-of-1947@h/runs?{parameter}")

    assert str(refused.value) == f"TURNWISE_DATABASE_URL is 'postgresql://me:***@h/runs?{parameter}', {why}"


@pytest.mark.parametrize("rest", ["?port=winter", "?host=a,b,c&port=1,2", "?host=a:1&host=b:2&port=7"])
def test_hosts_and_ports_that_do_not_fit_together_are_refused(rest: str) -> None:
    with pytest.raises(ConfigurationError, match=r"which cannot be used \(.*\); correct its hosts and ports"):
        Database(f"postgresql://h/runs{rest}")


def test_a_port_that_is_no_number_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'postgresql://h:winter/runs'; expected sqlite"):
        Database("postgresql://h:winter/runs")


def test_parameters_of_libpq_are_taken() -> None:
    url = "postgresql://h/runs?sslmode=require&connect_timeout=2.5&options=-csearch_path%3Dours&replication=database"
    assert Database(url).url.query["options"] == "-csearch_path=ours"


def test_libpq_gets_the_urls_parts_as_they_are_and_limits_that_the_url_does_not_set() -> None:
    options = connect_options(Database("postgresql://me:a b@h:5433/my runs?keepalives_idle=99").url)

    assert (options["password"], options["dbname"], options["port"]) == ("a b", "my runs", 5433)
    assert (options["keepalives_idle"], options["connect_timeout"]) == ("99", LIVELY["connect_timeout"])


@pytest.mark.parametrize("rest", ["", "?client_encoding=latin1", "?client_encoding=a&client_encoding=b"])
def test_libpq_gets_an_encoding_that_the_url_does_not_change(rest: str) -> None:
    assert connect_options(Database(f"postgresql://h/runs{rest}").url)["client_encoding"] == "UTF8"


@pytest.mark.parametrize(
    "rest", ["a.db?check_same_thread=true", "a.db?nonsense=1", "file:a.db?mode=ro&uri=true", "a.db?", "where?/a.db"]
)
def test_parameters_of_sqlite_are_refused(rest: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Database(f"sqlite:///{rest}")

    assert str(refused.value) == (
        f"TURNWISE_DATABASE_URL is 'sqlite:///{rest}', but a SQLite file takes no parameters; leave out what begins at "
        "the '?', or write %3F if it is a part of the path"
    )


def test_a_parameter_that_looks_like_a_secret_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match=r"\?password=\*\*\*'"):
        Database("sqlite:///a.db?password=winter-of-1947")


@pytest.mark.parametrize("url", ["sqlite://data/a.db", "sqlite://me:winter@h/a.db", "sqlite:///a%00.db"])
def test_a_url_of_sqlite_names_a_file_and_nothing_else(url: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a file, sqlite:///FILE") as refused:
        Database(url)

    assert "winter" not in str(refused.value)


@given(path=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
@example(path="/data/100%25/what?/a#b c.db")
@example(path="naïve+1@x:y.db")
def test_every_path_has_a_url_which_is_also_the_one_that_is_shown(path: str) -> None:
    assume(path != ":memory:")
    url = file_url(path)
    assert parse_url(url).database == path
    assert Database(url).name == url


def test_the_file_is_the_one_that_the_url_names(tmp_path: Path) -> None:
    for name, written in [("a?b.db", "a%3Fb.db"), ("a b.db", "a%20b.db"), ("a#b.db", "a#b.db"), ("5%.db", "5%25.db")]:
        database = Database(f"sqlite:///{tmp_path}/{written}")
        with database.read() as connection:
            database.now(connection)
        database.close()
        assert (tmp_path / name).exists()
    assert {file.name for file in tmp_path.glob("*.db")} == {"a?b.db", "a b.db", "a#b.db", "5%.db"}
