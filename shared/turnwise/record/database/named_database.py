"""Names of databases in URLs of PostgreSQL.

libpq takes the user's name, or what the server has by default, for a database that is not named. The tables would then
be made in a database that belongs to other programs.
"""

from __future__ import annotations

from psycopg.pq import Conninfo
from sqlalchemy.engine import URL

from turnwise.errors import ConfigurationError
from turnwise.observability.redaction import redact


def with_database(url: URL) -> URL:
    """Return the URL with the database of its parameter `dbname` in its path, as every user of the URL expects it.

    A URL may leave the database to libpq: to its parameter `service`, to PGSERVICE, or to PGDATABASE. Raises
    `ConfigurationError` if nothing names one.
    """
    named = url.query.get("dbname")
    if isinstance(named, str) and named:  # it wins over the path, in SQLAlchemy and in libpq
        return url.set(database=named).difference_update_query(["dbname"])
    if url.database or url.query.get("service") or _named_by_environment():
        return url
    shown = redact(url.render_as_string(hide_password=True))
    raise ConfigurationError(
        f"TURNWISE_DATABASE_URL is {shown!r}, which names no database; expected "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    )


def _named_by_environment() -> bool:
    """Return whether PGDATABASE, or the service that PGSERVICE names, has a database."""
    return any(option.keyword == b"dbname" and option.val for option in Conninfo.get_defaults())
