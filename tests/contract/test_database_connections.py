"""Connections to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ProgrammingError
from tests.support.databases import postgres_server
from tests.support.services import migrated_postgres

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.database.database import Database


@pytest.mark.postgres
def test_a_server_that_is_gone_without_a_word_is_noticed_as_soon_as_the_url_says_or_in_a_while(
    postgres_url: str,
) -> None:
    url = make_url(postgres_url).update_query_dict({"keepalives_idle": "99"})
    database = Database(url.render_as_string(hide_password=False))

    with database.read() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        told = driver.info.get_parameters()
    database.close()

    assert (told["keepalives_idle"], told["tcp_user_timeout"]) == ("99", "20000")


@pytest.mark.postgres
def test_a_connection_keeps_the_statements_that_it_has_prepared_whatever_is_read_meanwhile(postgres_url: str) -> None:
    database = Database(postgres_url, pool_size=1)

    for _ in range(10):
        with database.begin() as connection:
            database.now(connection)
        with database.read() as connection:
            database.now(connection)
    with database.read() as connection:
        prepared = connection.exec_driver_sql("SELECT statement FROM pg_prepared_statements").scalars().all()
    database.close()

    assert any("clock_timestamp" in statement for statement in prepared), prepared


@pytest.mark.postgres
def test_a_connection_on_which_reading_failed_is_not_used_again(postgres_url: str) -> None:
    database = Database(postgres_url, pool_size=1)

    def server_process() -> int:
        with database.read() as connection:
            return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())

    before = server_process()
    with pytest.raises(ProgrammingError), database.read() as connection:
        connection.exec_driver_sql("SELECT 1 FROM runs WHERE there_is_no_such_thing()")
    after = server_process()
    database.close()

    assert after != before


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("options", "limit"), [({}, "1min"), ({"options": "-c idle_in_transaction_session_timeout=7s"}, "7s")]
)
def test_a_transaction_may_rest_for_as_long_as_the_url_says_or_a_while(
    postgres_url: str, options: dict[str, str], limit: str
) -> None:
    database = Database(make_url(postgres_url).update_query_dict(options).render_as_string(hide_password=False))

    with database.begin() as connection:
        told = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar_one()
        keepalive = connection.exec_driver_sql("SHOW tcp_keepalives_idle").scalar_one()
    database.close()

    assert (told, keepalive) == (limit, "10")


@pytest.mark.postgres
def test_many_rows_are_sent_one_by_one_so_that_the_limit_counts_between_them(postgres_url: str) -> None:
    database, watching = Database(postgres_url), Database(postgres_url)
    seen: list[tuple[str, str]] = []

    def rows(process: int) -> Iterator[tuple[int]]:
        for number in range(3):
            yield (number,)
            with watching.read() as other:
                activity = f"SELECT state, left(query, 6) FROM pg_stat_activity WHERE pid = {process}"
                seen.append(tuple(other.exec_driver_sql(activity).one()))

    with database.begin() as connection:
        connection.exec_driver_sql("CREATE TEMPORARY TABLE numbers (number integer)")
        of_driver = connection.connection.driver_connection
        assert isinstance(of_driver, psycopg.Connection)
        of_driver.cursor().executemany("INSERT INTO numbers VALUES (%s)", rows(of_driver.info.backend_pid))
        found = connection.exec_driver_sql("SELECT count(*) FROM numbers").scalar_one()
    database.close()
    watching.close()

    assert (found, seen) == (3, [("idle in transaction", "INSERT")] * 3)


@pytest.mark.postgres
@pytest.mark.parametrize("by_driver", [True, False], ids=["by the driver", "by SQLAlchemy"])
def test_a_transaction_that_rested_for_too_long_is_an_outage_for_its_process_and_blocks_no_other(
    postgres_url: str, by_driver: bool
) -> None:
    limited = make_url(postgres_url).update_query_dict({"options": "-c idle_in_transaction_session_timeout=100ms"})
    frozen = Database(limited.render_as_string(hide_password=False))
    alive = Database(postgres_url)

    with pytest.raises(DatabaseUnavailableError, match="idle-in-transaction"), frozen.begin() as connection:
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(77)")
        with alive.begin() as other:  # waits for the lock until PostgreSQL takes it from the other
            other.exec_driver_sql("SELECT pg_advisory_xact_lock(77)")
        if by_driver:
            driver = connection.connection.driver_connection
            assert isinstance(driver, psycopg.Connection)
            driver.execute("SELECT 1")
        else:
            connection.exec_driver_sql("SELECT 1")
    with frozen.begin() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar_one() == 1
    frozen.close()
    alive.close()


@pytest.mark.postgres
def test_a_statement_and_a_connection_that_the_server_ended_are_told_from_a_server_that_is_away(
    postgres_url: str,
) -> None:
    database = Database(postgres_url, pool_size=1)

    cut_off = r"cut off a statement,.*due to statement timeout"
    with pytest.raises(DatabaseUnavailableError, match=cut_off), database.begin() as connection:
        connection.exec_driver_sql("SET LOCAL statement_timeout = '10ms'")
        connection.exec_driver_sql("SELECT pg_sleep(30)")
    ended = r"ended a connection \(.*due to administrator command"
    with pytest.raises(DatabaseUnavailableError, match=ended), database.begin() as connection:
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
    database.close()


@pytest.mark.postgres
def test_a_database_that_is_closed_to_connections_is_told_from_a_server_that_is_away() -> None:
    with migrated_postgres() as url:
        database = Database(url)
        with psycopg.connect(postgres_server(), autocommit=True) as administrator:
            name = sql.Identifier(make_url(url).database or "")
            administrator.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        with pytest.raises(DatabaseUnavailableError, match="takes no connections now") as told:
            database.check_schema()
        database.close()
    assert "start PostgreSQL" not in str(told.value)
