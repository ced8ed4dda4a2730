"""The URL of a database: which are accepted, and what PostgreSQL's driver is called with for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from psycopg.pq import Conninfo
from sqlalchemy import exc
from sqlalchemy.engine import URL, make_url

from turnwise.base.postgres import ENCODING, LIVELY
from turnwise.errors import ConfigurationError
from turnwise.observability.redaction import redact
from turnwise.record.database.named_database import with_database


def parse_url(text: str) -> URL:
    """Return the URL with the name of its driver.

    Raises `ConfigurationError` for one that names neither a file of SQLite nor a database of PostgreSQL, for a
    parameter that libpq does not know, and for any parameter of a file.
    """
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError) as error:  # a port that is no number is a `ValueError`
        raise ConfigurationError(
            f"TURNWISE_DATABASE_URL is {redact(text)!r}; expected sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
        ) from error
    kind = url.drivername.partition("+")[0]
    if kind in ("postgresql", "postgres"):
        found = with_database(url).set(drivername="postgresql+psycopg")
        _check_options(found)
        return found
    if kind == "sqlite" and (file := _file_of(text)):
        return URL.create("sqlite+pysqlite", database=file)
    raise ConfigurationError(
        f"TURNWISE_DATABASE_URL is {url.render_as_string(hide_password=True)!r}; expected a file, sqlite:///FILE, "
        "or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    )


def file_url(file: Path | str) -> str:
    """Return the URL of a SQLite file; characters are escaped only if they would be read as something else."""
    escaped = str(file).replace("%", "%25").replace("?", "%3F")
    return f"sqlite:///{escaped}"


def _file_of(text: str) -> str:
    """Return the path in a URL of SQLite, empty if it names no file.

    It is read from the text: SQLAlchemy drops an empty parameter, and whether it decodes a path depends on its version.
    """
    if "?" in text:
        raise ConfigurationError(
            f"TURNWISE_DATABASE_URL is {redact(text)!r}, but a SQLite file takes no parameters; leave out what begins "
            "at the '?', or write %3F if it is a part of the path"
        )
    host, _, path = text.partition("://")[2].partition("/")
    file = unquote(path)
    return "" if host or "\0" in file or file == ":memory:" else file


def connect_options(url: URL) -> dict[str, Any]:
    """Return what psycopg is called with: what the URL has, limits of silence that it does not set, and the encoding.

    Not the URL as a text: SQLAlchemy writes blanks in it as they are, and libpq refuses these.
    """
    _, options = url.get_dialect()().create_connect_args(url)
    options.pop("context", None)  # how values are converted, which is the engine's own
    return {**LIVELY, **options, **ENCODING}


def _check_options(url: URL) -> None:
    """Raise `ConfigurationError` for a parameter that psycopg would refuse as a mistake of the program."""
    try:
        options = connect_options(url)
    except (exc.ArgumentError, ValueError) as error:  # hosts and ports that do not fit together
        raise _refusal(url, f"which cannot be used ({error}); correct its hosts and ports") from error
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    # psycopg has options of its own, such as `autocommit`, which would change what a transaction is.
    if unknown := sorted(options.keys() - known):
        raise _refusal(url, f"whose parameter {unknown[0]!r} is not one of PostgreSQL's libpq; leave it out")
    seconds = options["connect_timeout"]
    try:
        int(float(seconds))
    except (TypeError, ValueError, OverflowError) as error:
        raise _refusal(url, f"whose connect_timeout is {seconds!r}; expected seconds") from error


def _refusal(url: URL, why: str) -> ConfigurationError:
    shown = redact(url.set(drivername="postgresql").render_as_string(hide_password=True))
    return ConfigurationError(f"TURNWISE_DATABASE_URL is {shown!r}, {why}")
